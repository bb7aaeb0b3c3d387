package core

import (
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/digest"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
	"reprise/web"
)

// Problem is an error as a person or a program reads it (RFC 9457).
type Problem struct {
	Type       string     `json:"type"`
	Status     int        `json:"status"`
	Title      string     `json:"title"`
	Detail     string     `json:"detail,omitempty"`
	Until      *time.Time `json:"until,omitempty"`       // of a wait
	OldAccount string     `json:"old_account,omitempty"` // of a choice between accounts
	NewAccount string     `json:"new_account,omitempty"`
	// Fields says what is wrong with each of several fields, by name.
	Fields    map[string]string `json:"fields,omitempty"`
	challenge string            // the header WWW-Authenticate, where a token is wrong or too small
}

// Error implements error.
func (p *Problem) Error() string { return p.Title }

// NotFound returns the problem of a request that names what does not exist.
func NotFound(detail string) *Problem {
	return &Problem{Status: http.StatusNotFound, Title: "Not found", Detail: detail}
}

// Seconds after which a request is worth repeating.
const (
	backlogWait = 60 // when too many deliveries wait
	busyWait    = 5  // when too many sign in at once
	troubleWait = 30 // when this server has trouble
)

// Problem returns the words for an error. An error without words is a fault of ours: it is logged, and nothing of
// it is shown.
func (k *Core) Problem(c echo.Context, err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if p := k.typed(c, err); p != nil {
		return p
	}
	for _, kn := range known {
		if errors.Is(err, kn.err) {
			p := kn.problem
			return &p
		}
	}
	if he, ok := errors.AsType[*echo.HTTPError](err); ok {
		if takes := otherMethods(c); he.Code == http.StatusNotFound && len(takes) > 0 {
			c.Response().Header().Set("Allow", strings.Join(takes, ", "))
			return HTTPProblem(http.StatusMethodNotAllowed)
		}
		return HTTPProblem(he.Code)
	}
	k.Log.Error("request failed", "err", err, "method", c.Request().Method, "path", c.Path())
	return &Problem{Status: http.StatusInternalServerError, Title: "Something went wrong here",
		Detail: "The server's log says what. Trying again may help."}
}

// typed returns the problem for an error whose type carries the details; nil for other errors.
func (k *Core) typed(c echo.Context, err error) *Problem {
	if e, ok := errors.AsType[*resilience.NotBeforeError](err); ok {
		return NotBefore(k.serviceOf(c), e.State)
	}
	if e, ok := errors.AsType[*syncer.OtherAccountError](err); ok && e.Moved {
		return &Problem{Status: http.StatusConflict, Title: "Another address", OldAccount: e.Old, NewAccount: e.New,
			Detail: fmt.Sprintf("Until now this connection led to %s; these credentials lead to %s. If it is the same "+
				`server at a new address, send "other_account": "moved", and everything stays as it is.`, e.Old, e.New)}
	}
	if e, ok := errors.AsType[*syncer.OtherAccountError](err); ok {
		return &Problem{Status: http.StatusConflict, Title: "Another account", OldAccount: e.Old, NewAccount: e.New,
			Detail: fmt.Sprintf("Until now this connection belonged to %s; these credentials belong to %s. "+
				"Choose which one you want to keep.", e.Old, e.New)}
	}
	if e, ok := errors.AsType[*WaitError](err); ok {
		c.Response().Header().Set("Retry-After", strconv.Itoa(e.seconds()))
		return &Problem{Status: http.StatusTooManyRequests, Title: "Too many tries",
			Detail: "Please wait " + e.words() + ", then try again."}
	}
	if errors.Is(err, accounts.ErrBusy) {
		c.Response().Header().Set("Retry-After", strconv.Itoa(busyWait))
		return &Problem{Status: http.StatusServiceUnavailable, Title: "Too many sign in at once",
			Detail: fmt.Sprintf("Please wait %d seconds, then try again.", busyWait)}
	}
	if errors.Is(err, errShare) {
		c.Response().Header().Set("Retry-After", strconv.Itoa(busyWait))
		return &Problem{Status: http.StatusTooManyRequests, Title: "Too much at once",
			Detail: fmt.Sprintf("%d answers to you are under way already, and the next ones waited too long. "+
				"Try again when one of them is done.", mostAtOnce)}
	}
	if e, ok := errors.AsType[*delivery.BacklogError](err); ok {
		c.Response().Header().Set("Retry-After", strconv.Itoa(backlogWait))
		return &Problem{Status: http.StatusTooManyRequests, Title: "Too much is waiting",
			Detail: fmt.Sprintf("%s wait to be sent already, and %d is the limit. Nothing was added. "+
				"Try again when "+
				"some of them have gone out; the page of deliveries says what they wait for.",
				web.Count(e.Waiting, "delivery", "deliveries"), e.Limit)}
	}
	if e, ok := errors.AsType[*imports.RefusedError](err); ok {
		return &Problem{Status: http.StatusUnprocessableEntity, Title: "Not an export", Detail: e.Problem}
	}
	if e, ok := errors.AsType[*imports.RoomError](err); ok {
		return &Problem{Status: http.StatusInsufficientStorage, Title: "Not enough room", Detail: e.Problem()}
	}
	if e, ok := errors.AsType[accounts.InputError](err); ok {
		return &Problem{Status: http.StatusUnprocessableEntity, Title: "Please check what you entered",
			Detail: string(e)}
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		k.Log.Error("local trouble", "err", err, "path", c.Path())
		c.Response().Header().Set("Retry-After", strconv.Itoa(troubleWait))
		return &Problem{Status: http.StatusServiceUnavailable, Title: "This server has trouble", Detail: e.Problem}
	}
	return nil
}

// known are the errors of other packages that have no details, with their words. The first match counts, so the
// more
// specific errors come first.
var known = []struct {
	err     error
	problem Problem
}{
	{oauth.ErrState, Problem{Status: http.StatusBadRequest, Title: "This link is no longer good",
		Detail: "The answer from the provider came too late, came twice, or belongs to another browser. Nothing " +
			"was changed. Please connect once more."}},
	{oauth.ErrRefused, Problem{Status: http.StatusForbidden, Title: "Permission was not given",
		Detail: "You did not allow it at the provider, so nothing was changed. You can connect again " +
			"at any time."}},
	{syncer.ErrPaused, Problem{Status: http.StatusConflict, Title: "Paused",
		Detail: "This connection is paused. Press Resume first."}},
	{notify.ErrNotYours, Problem{Status: http.StatusConflict, Title: "From the settings",
		Detail: "This channel stems from the setting notify.urls. The administrator changes or removes it there."}},
	{digest.ErrThere, Problem{Status: http.StatusConflict, Title: "There is one already",
		Detail: "The last week's digest has been written already, or is being written."}},
	{digest.ErrAnother, Problem{Status: http.StatusConflict, Title: "Another week has ended",
		Detail: "The page that you asked on was about an earlier week. Open it again: it shows what would be " +
			"sent about the last one. Nothing was sent."}},
	{digest.ErrSilent, Problem{Status: http.StatusConflict, Title: "Nothing to write about",
		Detail: "You heard nothing in the last full week, as far as your services have told. Nothing was sent."}},
	{digest.ErrOff, Problem{Status: http.StatusConflict, Title: "Not set up",
		Detail: "This installation has no language model. The administrator can name one in the settings " +
			"providers.openai.model and providers.openai.keys."}},
	{imports.ErrTooLarge, Problem{Status: http.StatusRequestEntityTooLarge, Title: "Too large",
		Detail: "The file is larger than 2 GiB. Unpack it, and import the files in it one after the other."}},
	{imports.ErrBusy, Problem{Status: http.StatusConflict, Title: "One after the other",
		Detail: "You are sending a file already, or three wait to be imported. Go on when one of them is done."}},
	{delivery.ErrNotOffered, Problem{Status: http.StatusUnprocessableEntity, Title: "Not one of these",
		Detail: "Choose one of the songs that are offered, or say that it is none of them."}},
	{delivery.ErrNotTaken, Problem{Status: http.StatusUnprocessableEntity, Title: "Not taken there",
		Detail: "This service does not take what you want to send, or it is the one that it came from."}},
	{accounts.ErrTaken, Problem{Status: http.StatusConflict, Title: "The name is taken",
		Detail: "There is an account of that name already. Choose another name."}},
	{accounts.ErrTokenName, Problem{Status: http.StatusConflict, Title: "The name is taken",
		Detail: "You have a token of that name already. Choose another name, or revoke that one first."}},
	{accounts.ErrWrong, Problem{Status: http.StatusUnauthorized, Title: "Not signed in",
		Detail: "The name or the password is wrong."}},
	{accounts.ErrUnknown, Problem{Status: http.StatusUnauthorized, Title: "Not signed in",
		Detail: "Sign in first: POST /api/v1/session, or open the page."}},
	{accounts.ErrLastAdmin, Problem{Status: http.StatusConflict, Title: "The last administrator",
		Detail: "Nobody else administers this server. Make another person an administrator first."}},
	{accounts.ErrLink, Problem{Status: http.StatusGone, Title: "This link does not work any more",
		Detail: "It has been used, taken back, or has expired. Ask the administrator for a new one."}},
	{accounts.ErrNotFirst, Problem{Status: http.StatusConflict, Title: "Set up already",
		Detail: "The first account has been made already. Sign in, or ask the administrator for an account."}},
	{library.ErrNotFound, Problem{Status: http.StatusNotFound, Title: "Not found",
		Detail: "There is nothing of that name or number in your account."}},
	{library.ErrBadCursor, Problem{Status: http.StatusBadRequest, Title: "Not a cursor",
		Detail: "before takes what the page before this one gave as next."}},
}

// HTTPProblem returns the problem for a status without an error of ours.
func HTTPProblem(code int) *Problem {
	p := &Problem{Status: code, Title: http.StatusText(code)}
	switch code {
	case http.StatusNotFound:
		p.Title, p.Detail = "Not found", "There is no page or call at this address."
	case http.StatusMethodNotAllowed:
		p.Title, p.Detail = "Not that way", "This address does not take that kind of request."
	case http.StatusRequestEntityTooLarge:
		p.Title, p.Detail = "Too large", "What was sent is too large."
	case http.StatusUnsupportedMediaType:
		p.Title, p.Detail = "Not JSON", "Send JSON, with Content-Type: application/json."
	case http.StatusBadRequest:
		p.Title, p.Detail = "Not readable", "What was sent cannot be read."
	}
	return p
}

// serviceOf returns what people read for the connection or the provider that a request is about.
func (k *Core) serviceOf(c echo.Context) string {
	for _, param := range []string{"id", "connection"} {
		if id, p, err := k.ConnectionIn(c, param); err == nil {
			return library.Connection{ID: id}.Label(p.DisplayName)
		}
	}
	if p := k.Registry.Get(c.Param("provider")); p != nil {
		return p.DisplayName
	}
	return "The service"
}

// NotBefore returns the problem of a call to a service that may not be made now.
func NotBefore(service string, state resilience.State) *Problem {
	p := &Problem{Status: http.StatusConflict, Title: "Not now"}
	switch state.Kind {
	case resilience.Held:
		if state.Until.IsZero() {
			p.Detail = service + " had asked us to wait, and a call that finds out whether it still does " +
				"is under way."
			break
		}
		p.Detail = service + " asked us to wait until " + state.Until.UTC().Format(time.RFC3339) +
			". We go on by ourselves then."
	case resilience.Stopped:
		p.Detail = service + " needs attention first; its page says what to do."
	default:
		p.Detail = "The last attempt with " + service +
			" failed. We try again by ourselves; press Try again if you cannot wait."
	}
	if !state.Until.IsZero() {
		until := state.Until.UTC()
		p.Until = &until
	}
	p.Detail = library.InSentence(p.Detail, service)
	return p
}

// otherMethods returns the methods that the path of a request takes, unless it takes the request's own.
func otherMethods(c echo.Context) (takes []string) {
	e, r := c.Echo(), c.Request()
	for _, method := range []string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	} {
		c := e.NewContext(r, nil)
		e.Router().Find(method, echo.GetPath(r), c)
		if c.Path() != "" && !strings.HasSuffix(c.Path(), "*") {
			takes = append(takes, method)
		}
	}
	return takes
}

// AnswerError is echo's error handler: a page for browsers, problem+json for programs.
func (k *Core) AnswerError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := k.Problem(c, err)
	k.refusedAccess(c, p.Status)
	if p.challenge != "" {
		c.Response().Header().Set("WWW-Authenticate", p.challenge)
	}
	if isAPI(c) {
		err = writeProblem(c, p)
	} else {
		again := ""
		if p.Status == http.StatusServiceUnavailable {
			again = k.CameFrom(c)
			if c.Request().Method == http.MethodGet {
				again = c.Request().URL.RequestURI()
			}
		}
		err = k.Show(c, p.Status, p.Title, errorPage(p, again))
	}
	if err != nil {
		k.Log.Debug("answer not delivered", "err", err)
	}
}

func writeProblem(c echo.Context, p *Problem) error {
	out := *p
	if out.Type == "" {
		out.Type = "about:blank"
	}
	c.Response().Header().Set(echo.HeaderContentType, "application/problem+json")
	return c.JSON(out.Status, out)
}

// RecoverPanic is middleware that turns a panic into an error page, and logs its stack. It lets http.ErrAbortHandler
// pass, with which a handler breaks its answer off.
func (k *Core) RecoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			r := recover()
			if r == http.ErrAbortHandler {
				panic(r)
			}
			if r != nil {
				k.Log.Error("request panicked", "err", fmt.Sprint(r), "path", c.Path(), "stack",
					string(debug.Stack()))
				err = &Problem{Status: http.StatusInternalServerError, Title: "Something went wrong here",
					Detail: "The server's log says what."}
			}
		}()
		return next(c)
	}
}
