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
	"reprise/internal/imports"
	"reprise/internal/leases"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// Problem is an error as a person or a program reads it (RFC 9457): in the language of the one who asked. Handlers
// return a [Refusal].
type Problem struct {
	Type       string     `json:"type"`
	Status     int        `json:"status"`
	Title      string     `json:"title"`
	Detail     string     `json:"detail,omitempty"`
	Until      *time.Time `json:"until,omitempty" doc:"When a wait ends."`
	OldAccount string     `json:"old_account,omitempty"` // of a choice between accounts
	NewAccount string     `json:"new_account,omitempty"`
	// Fields says what is wrong with each of several fields, by name.
	Fields map[string]string `json:"fields,omitempty" doc:"What is wrong, by field."`

	ofAccount bool // see Refusal
}

// Seconds after which a request is worth repeating.
const (
	backlogWait = 60 // when too many deliveries wait
	busyWait    = 5  // when too many sign in at once
	troubleWait = 30 // when this server has trouble
	awayWait    = 3  // when another server takes over
)

// Problem returns the words for an error, in the language of the request. An error without words is a fault of ours:
// it is logged, and nothing of it is shown.
func (k *Core) Problem(c echo.Context, err error) *Problem {
	return k.refusal(c, err).Problem(c.Request().Context())
}

// refusal returns the words for an error, before they are put into a language.
func (k *Core) refusal(c echo.Context, err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	if r := k.typed(c, err); r != nil {
		return r
	}
	for _, kn := range known {
		if errors.Is(err, kn.err) {
			return &kn.refusal
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
	return &Refusal{Status: http.StatusInternalServerError, Title: words.New("problem.fault.title"),
		Detail: words.New("problem.fault.text")}
}

// typed returns the words for an error whose type carries the details; nil for other errors.
func (k *Core) typed(c echo.Context, err error) *Refusal {
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		return NotBefore(k.serviceOf(c), e.State)
	}
	if e, ok := errors.AsType[*syncer.OtherAccountError](err); ok && e.Moved {
		return &Refusal{Status: http.StatusConflict, OldAccount: e.Old, NewAccount: e.New,
			Title:  words.New("problem.other_address.title"),
			Detail: words.New("problem.other_address.text", "Old", e.Old, "New", e.New)}
	}
	if e, ok := errors.AsType[*syncer.OtherAccountError](err); ok {
		return &Refusal{Status: http.StatusConflict, OldAccount: e.Old, NewAccount: e.New,
			Title:  words.New("problem.other_account.title"),
			Detail: words.New("problem.other_account.text", "Old", e.Old, "New", e.New)}
	}
	if e, ok := errors.AsType[*imports.RefusedError](err); ok {
		return &Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.export.title"),
			Detail: e.Problem}
	}
	if e, ok := errors.AsType[*imports.RoomError](err); ok {
		return &Refusal{Status: http.StatusInsufficientStorage, Title: words.New("problem.room.title"),
			Detail: e.Problem()}
	}
	if e, ok := errors.AsType[accounts.InputError](err); ok {
		return Check(e.Text)
	}
	return k.later(c, err)
}

// later returns the words for an error that passes, and sets the header Retry-After; nil for other errors.
func (k *Core) later(c echo.Context, err error) *Refusal {
	after := func(seconds int) { c.Response().Header().Set("Retry-After", strconv.Itoa(seconds)) }
	if e, ok := errors.AsType[*WaitError](err); ok {
		after(e.seconds())
		return &Refusal{Status: http.StatusTooManyRequests, Title: words.New("problem.tries.title"), Detail: e.words()}
	}
	if errors.Is(err, accounts.ErrBusy) {
		after(busyWait)
		return &Refusal{Status: http.StatusServiceUnavailable, Title: words.New("problem.busy.title"),
			Detail: words.New("problem.tries.seconds", "Count", busyWait)}
	}
	if errors.Is(err, errShare) {
		after(busyWait)
		return &Refusal{Status: http.StatusTooManyRequests, Title: words.New("problem.share.title"),
			Detail: words.New("problem.share.text", "Most", mostAtOnce)}
	}
	if e, ok := errors.AsType[*delivery.BacklogError](err); ok {
		after(backlogWait)
		return &Refusal{Status: http.StatusTooManyRequests, Title: words.New("problem.backlog.title"),
			Detail: words.New("problem.backlog.text", "Count", e.Waiting, "Limit", e.Limit)}
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		k.Log.Error("local trouble", "err", err, "path", c.Path())
		after(troubleWait)
		return &Refusal{Status: http.StatusServiceUnavailable, Title: words.New("problem.local.title"),
			Detail: words.Of(e.Problem)}
	}
	return nil
}

// serviceOf returns what people read for the connection or the provider that a request is about.
func (k *Core) serviceOf(c echo.Context) words.Text {
	for _, param := range []string{"id", "connection"} {
		if id, p, err := k.ConnectionIn(c, param); err == nil {
			one := library.Connection{ID: id}
			if names, err := k.store.ConnectionNames(c.Request().Context(), UserOf(c).ID); err == nil {
				one.Name = names[id]
			}
			return p.Label(one)
		}
	}
	if p := k.Registry.Get(c.Param("provider")); p != nil {
		return p.Label(library.Connection{})
	}
	return words.New("problem.service")
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
	if e, ok := errors.AsType[*leases.Elsewhere](err); ok && e.Server != "" { // that server answers
		return
	}
	p := k.Problem(c, err)
	k.refusedAccess(c, p.Status)
	h := c.Response().Header()
	h.Set("Cache-Control", "no-store") // whatever may be said of the answer that it takes the place of
	h.Del("ETag")
	if r, ok := errors.AsType[*Refusal](err); ok && r.challenge != "" {
		h.Set("WWW-Authenticate", r.challenge)
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
	c.Response().Header().Set(echo.HeaderContentType, problemType)
	return c.JSON(p.Status, p)
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
				err = &Refusal{Status: http.StatusInternalServerError, Title: words.New("problem.fault.title"),
					Detail: words.New("problem.fault.panic")}
			}
		}()
		return next(c)
	}
}
