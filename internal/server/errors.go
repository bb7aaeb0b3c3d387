package server

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
	"reprise/internal/providers"
	"reprise/internal/resilience"
	syncer "reprise/internal/sync"
	"reprise/web"
)

// problem is an error as a person or a program reads it (RFC 9457).
type problem struct {
	Type       string     `json:"type"`
	Status     int        `json:"status"`
	Title      string     `json:"title"`
	Detail     string     `json:"detail,omitempty"`
	Until      *time.Time `json:"until,omitempty"`       // of a wait
	OldAccount string     `json:"old_account,omitempty"` // of a choice between accounts
	NewAccount string     `json:"new_account,omitempty"`
	challenge  string     // the header WWW-Authenticate, where a token is wrong or too small
}

func (p *problem) Error() string { return p.Title }

// problemOf finds the words for an error. What has none is our own fault: it is logged, and nothing of it is shown.
func (s *Server) problemOf(c echo.Context, err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*resilience.NotBeforeError](err); ok {
		return notBefore(s.named(c), e.State)
	}
	if e, ok := errors.AsType[*syncer.OtherAccountError](err); ok {
		return &problem{Status: http.StatusConflict, Title: "Another account", OldAccount: e.Old, NewAccount: e.New,
			Detail: fmt.Sprintf("Until now this connection belonged to %s; these credentials belong to %s. Choose which one you want to keep.", e.Old, e.New)}
	}
	if e, ok := errors.AsType[*delivery.BacklogError](err); ok {
		c.Response().Header().Set("Retry-After", strconv.Itoa(backlogWait))
		return &problem{Status: http.StatusTooManyRequests, Title: "Too much is waiting", Detail: fmt.Sprintf("%s wait to be sent already, and %d is the limit. "+
			"Nothing was added. Try again when some of them have gone out; the page of deliveries says what they wait for.", web.Count(e.Waiting, "delivery", "deliveries"), e.Limit)}
	}
	if e, ok := errors.AsType[*imports.RefusedError](err); ok {
		return &problem{Status: http.StatusUnprocessableEntity, Title: "Not an export", Detail: e.Problem}
	}
	if e, ok := errors.AsType[accounts.InputError](err); ok {
		return &problem{Status: http.StatusUnprocessableEntity, Title: "Please check what you entered", Detail: string(e)}
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		s.Log.Error("local trouble", "err", err, "path", c.Path())
		c.Response().Header().Set("Retry-After", strconv.Itoa(troubleWait))
		return &problem{Status: http.StatusServiceUnavailable, Title: "This server has trouble", Detail: e.Problem}
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			p := k.problem
			return &p
		}
	}
	if he, ok := errors.AsType[*echo.HTTPError](err); ok {
		if takes := s.otherMethods(c.Request()); he.Code == http.StatusNotFound && len(takes) > 0 {
			c.Response().Header().Set("Allow", strings.Join(takes, ", "))
			return httpProblem(http.StatusMethodNotAllowed)
		}
		return httpProblem(he.Code)
	}
	s.Log.Error("request failed", "err", err, "method", c.Request().Method, "path", c.Path())
	return &problem{Status: http.StatusInternalServerError, Title: "Something went wrong here", Detail: "The server's log says what. Trying again may help."}
}

// backlogWait is after how many seconds it is worth asking again whether there is room for more deliveries.
const backlogWait = 60

// troubleWait is after how many seconds it is worth asking again whether our own trouble has passed.
const troubleWait = 30

// known are the errors that other packages name, with what people read. The first that matches an error holds, so the
// more specific ones come first.
var known = []struct {
	err     error
	problem problem
}{
	{oauth.ErrState, problem{Status: http.StatusBadRequest, Title: "This link is no longer good", Detail: "The answer from the provider came too late, came " +
		"twice, or belongs to another browser. Nothing was changed. Please connect once more."}},
	{oauth.ErrRefused, problem{Status: http.StatusForbidden, Title: "Permission was not given", Detail: "You did not allow it at the provider, so nothing was " +
		"changed. You can connect again at any time."}},
	{syncer.ErrPaused, problem{Status: http.StatusConflict, Title: "Paused", Detail: "This connection is paused. Press Resume first."}},
	{notify.ErrNotYours, problem{Status: http.StatusConflict, Title: "From the settings", Detail: "This channel stems from the setting notify.urls. The administrator changes or removes it there."}},
	{digest.ErrThere, problem{Status: http.StatusConflict, Title: "There is one already", Detail: "The last week's digest has been written already, or is being written."}},
	{digest.ErrAnother, problem{Status: http.StatusConflict, Title: "Another week has ended", Detail: "The page that you asked on was about an earlier week. Open it again: it " +
		"shows what would be sent about the last one. Nothing was sent."}},
	{digest.ErrSilent, problem{Status: http.StatusConflict, Title: "Nothing to write about", Detail: "You heard nothing in the last full week, as far as your services have " +
		"told. Nothing was sent."}},
	{digest.ErrOff, problem{Status: http.StatusConflict, Title: "Not set up", Detail: "This installation has no language model. The administrator can name one in the settings " +
		"providers.openai.model and providers.openai.keys."}},
	{imports.ErrTooLarge, problem{Status: http.StatusRequestEntityTooLarge, Title: "Too large", Detail: "The file is larger than 2 GiB. Unpack it, and import the files " +
		"in it one after the other."}},
	{imports.ErrBusy, problem{Status: http.StatusConflict, Title: "One after the other", Detail: "You are sending a file already, or three wait to be imported. Go on when " +
		"one of them is done."}},
	{delivery.ErrNotTaken, problem{Status: http.StatusUnprocessableEntity, Title: "Not taken there", Detail: "This service does not take what you want to send, or " +
		"it is the one that it came from."}},
	{accounts.ErrTaken, problem{Status: http.StatusConflict, Title: "The name is taken", Detail: "There is an account of that name already. Choose another name."}},
	{accounts.ErrTokenName, problem{Status: http.StatusConflict, Title: "The name is taken", Detail: "You have a token of that name already. Choose another name, or revoke that one first."}},
	{accounts.ErrWrong, problem{Status: http.StatusUnauthorized, Title: "Not signed in", Detail: "The name or the password is wrong."}},
	{accounts.ErrUnknown, problem{Status: http.StatusUnauthorized, Title: "Not signed in", Detail: "Sign in first: POST /api/v1/session, or open the page."}},
	{accounts.ErrNotFirst, problem{Status: http.StatusConflict, Title: "Set up already", Detail: "The first account has been made already. Sign in, or ask " +
		"the administrator for an account."}},
	{library.ErrNotFound, problem{Status: http.StatusNotFound, Title: "Not found", Detail: "There is nothing of that name or number in your account."}},
	{library.ErrBadCursor, problem{Status: http.StatusBadRequest, Title: "Not a cursor", Detail: "before takes what the page before this one gave as next."}},
}

func httpProblem(code int) *problem {
	p := &problem{Status: code, Title: http.StatusText(code)}
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

// named is the service that a request is about.
func (s *Server) named(c echo.Context) string {
	if p := s.Registry.Get(c.Param("provider")); p != nil {
		return p.DisplayName
	}
	return "The service"
}

// notBefore says why nothing is asked of a service now.
func notBefore(service string, state resilience.State) *problem {
	p := &problem{Status: http.StatusConflict, Title: "Not now"}
	switch state.Kind {
	case resilience.Held:
		if state.Until.IsZero() {
			p.Detail = service + " had asked us to wait, and a call that finds out whether it still does is under way."
			break
		}
		p.Detail = service + " asked us to wait until " + state.Until.UTC().Format(time.RFC3339) + ". We go on by ourselves then."
	case resilience.Stopped:
		p.Detail = service + " needs attention first; its page says what to do."
	default:
		p.Detail = "The last attempt with " + service + " failed. We try again by ourselves; press Try again if you cannot wait."
	}
	if !state.Until.IsZero() {
		until := state.Until.UTC()
		p.Until = &until
	}
	return p
}

// refused puts the failed proof of new credentials into words.
func refused(p *providers.Provider, err error) error {
	if e, ok := errors.AsType[*resilience.NotBeforeError](err); ok && e.Endpoint == "" {
		return err
	}
	if _, ok := errors.AsType[*syncer.OtherAccountError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		return err
	}
	w := notify.Refused(p, err)
	return &problem{Status: http.StatusUnprocessableEntity, Title: w.Title, Detail: w.Message}
}

// errorView is what the page of an error is filled with.
type errorView struct {
	Title, Detail string
	Again         string // where to try again; empty where that does not help
}

// answerError is echo's error handler: a page for browsers, problem+json for programs.
func (s *Server) answerError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	p := s.problemOf(c, err)
	if p.challenge != "" {
		c.Response().Header().Set("WWW-Authenticate", p.challenge)
	}
	if p == errTries {
		c.Response().Header().Set("Retry-After", strconv.Itoa(int(triesEvery.Seconds())))
	}
	if isAPI(c) {
		err = writeProblem(c, p)
	} else {
		v := errorView{Title: p.Title, Detail: p.Detail}
		if p.Status == http.StatusServiceUnavailable {
			v.Again = s.cameFrom(c)
			if c.Request().Method == http.MethodGet {
				v.Again = c.Request().URL.RequestURI()
			}
		}
		err = s.render(c, p.Status, "error", p.Title, v)
	}
	if err != nil {
		s.Log.Debug("answer not delivered", "err", err)
	}
}

func writeProblem(c echo.Context, p *problem) error {
	out := *p
	if out.Type == "" {
		out.Type = "about:blank"
	}
	c.Response().Header().Set(echo.HeaderContentType, "application/problem+json")
	return c.JSON(out.Status, out)
}

func isAPI(c echo.Context) bool { return strings.HasPrefix(c.Request().URL.Path, "/api/") }

// recoverPanic turns a panic into an error page; its stack stays in the log.
func (s *Server) recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if r := recover(); r != nil {
				s.Log.Error("request panicked", "err", fmt.Sprint(r), "path", c.Path(), "stack", string(debug.Stack()))
				err = &problem{Status: http.StatusInternalServerError, Title: "Something went wrong here", Detail: "The server's log says what."}
			}
		}()
		return next(c)
	}
}
