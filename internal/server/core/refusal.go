package core

import (
	"context"
	"net/http"
	"strings"
	"time"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/digest"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/resilience/backoff"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// Refusal is an error that a handler returns, with its words before they are put into a language. See [Problem].
type Refusal struct {
	Status                 int
	Title, Detail          words.Text
	Until                  time.Time // of a wait
	OfAccount              bool      // the page of the person's own account is where to go on
	OldAccount, NewAccount string    // of a choice between accounts
	// Fields says what is wrong with each of several fields, by name.
	Fields    map[string]words.Text
	challenge string // the header WWW-Authenticate, where a token is wrong or too small
}

// BadRequest returns the Refusal of a request that has to be written in another way.
func BadRequest(title, detail words.Text) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Title: title, Detail: detail}
}

// Error returns what a person reads, in English.
func (r *Refusal) Error() string { return r.Title.String() }

// Problem returns the refusal in the language of a context.
func (r *Refusal) Problem(ctx context.Context) *Problem {
	p := &Problem{Type: "about:blank", Status: r.Status, Title: r.Title.T(ctx), Detail: r.Detail.T(ctx),
		OldAccount: r.OldAccount, NewAccount: r.NewAccount, ofAccount: r.OfAccount}
	if !r.Until.IsZero() {
		until := r.Until.UTC()
		p.Until = &until
	}
	if len(r.Fields) > 0 {
		p.Fields = make(map[string]string, len(r.Fields))
	}
	for name, text := range r.Fields {
		p.Fields[name] = text.T(ctx)
	}
	return p
}

// NotFound returns the refusal of a request that names what does not exist.
func NotFound(detail words.Text) *Refusal {
	return &Refusal{Status: http.StatusNotFound, Title: words.New("problem.not_found.title"), Detail: detail}
}

// Check returns the refusal of what a person typed.
func Check(detail words.Text) *Refusal {
	return &Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.input.title"), Detail: detail}
}

// NotAChoice returns the refusal of a value that a parameter or a field cannot have. known are those that it can.
func NotAChoice(name, value string, known ...string) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Title: words.New("problem.choice.title"),
		Detail: words.New("problem.choice.text", "Name", name, "Value", shortened(value),
			"Known", strings.Join(known, ", "))}
}

// NotATime returns the refusal of a parameter that is not a time.
func NotATime(name string) *Refusal {
	return &Refusal{Status: http.StatusBadRequest, Title: words.New("problem.time.title"),
		Detail: words.New("problem.time.text", "Name", name, "Example", "2026-11-20T21:00:00Z")}
}

// known are the errors of other packages that have no details, with their words. The first match counts, so the more
// specific errors come first.
var known = []struct {
	err     error
	refusal Refusal
}{
	{oauth.ErrState, Refusal{Status: http.StatusBadRequest, Title: words.New("problem.state.title"),
		Detail: words.New("problem.state.text")}},
	{oauth.ErrRefused, Refusal{Status: http.StatusForbidden, Title: words.New("problem.declined.title"),
		Detail: words.New("problem.declined.text")}},
	{syncer.ErrPaused, Refusal{Status: http.StatusConflict, Title: words.New("problem.paused.title"),
		Detail: words.New("problem.paused.text")}},
	{notify.ErrNotYours, Refusal{Status: http.StatusConflict, Title: words.New("problem.channel.title"),
		Detail: words.New("problem.channel.text")}},
	{notify.ErrCrowded, Refusal{Status: http.StatusConflict, Title: words.New("channels.problem.crowded"),
		Detail: words.New("input.channels", "Number", notify.MostChannels)}},
	{syncer.ErrTooMany, Refusal{Status: http.StatusConflict, Title: words.New("problem.connections.title"),
		Detail: words.New("problem.connections.text")}},
	{digest.ErrThere, Refusal{Status: http.StatusConflict, Title: words.New("problem.digest_there.title"),
		Detail: words.New("problem.digest_there.text")}},
	{digest.ErrAnother, Refusal{Status: http.StatusConflict, Title: words.New("problem.digest_another.title"),
		Detail: words.New("problem.digest_another.text")}},
	{digest.ErrSilent, Refusal{Status: http.StatusConflict, Title: words.New("problem.digest_silent.title"),
		Detail: words.New("problem.digest_silent.text")}},
	{digest.ErrOff, Refusal{Status: http.StatusConflict, Title: words.New("problem.digest_off.title"),
		Detail: words.New("problem.digest_off.text")}},
	{imports.ErrTooLarge, Refusal{Status: http.StatusRequestEntityTooLarge, Title: words.New("problem.file.title"),
		Detail: words.New("problem.file.text")}},
	{imports.ErrBusy, Refusal{Status: http.StatusConflict, Title: words.New("problem.imports.title"),
		Detail: words.New("problem.imports.text")}},
	{delivery.ErrNotOffered, Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.song.title"),
		Detail: words.New("problem.song.text")}},
	{delivery.ErrNotAllowed, Refusal{Status: http.StatusConflict, Title: words.New("problem.not_allowed.title"),
		Detail: words.New("problem.not_allowed.text")}},
	{delivery.ErrUnderWay, Refusal{Status: http.StatusConflict, Title: words.New("problem.under_way.title"),
		Detail: words.New("problem.under_way.text")}},
	{delivery.ErrOneWay, Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.one_way.title"),
		Detail: words.New("problem.one_way.text")}},
	{delivery.ErrNotAsked, Refusal{Status: http.StatusConflict, Title: words.New("problem.not_asked.title"),
		Detail: words.New("problem.not_asked.text")}},
	{delivery.ErrNotTaken, Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.not_taken.title"),
		Detail: words.New("problem.not_taken.text")}},
	{accounts.ErrTaken, Refusal{Status: http.StatusConflict, Title: words.New("problem.taken.title"),
		Detail: words.New("problem.taken.account")}},
	{accounts.ErrTokenName, Refusal{Status: http.StatusConflict, Title: words.New("problem.taken.title"),
		Detail: words.New("problem.taken.token")}},
	{accounts.ErrWrongRecovery, Refusal{Status: http.StatusUnauthorized, Title: words.New("problem.code.not"),
		Detail: words.New("problem.code.wrong_recovery")}},
	{accounts.ErrWrongCode, Refusal{Status: http.StatusUnauthorized, Title: words.New("problem.code.not"),
		Detail: words.New("problem.code.wrong")}},
	{accounts.ErrWrong, Refusal{Status: http.StatusUnauthorized, Title: words.New("problem.sign_in.title"),
		Detail: words.New("problem.sign_in.wrong")}},
	{accounts.ErrUnknown, Refusal{Status: http.StatusUnauthorized, Title: words.New("problem.sign_in.title"),
		Detail: words.New("problem.sign_in.first")}},
	{accounts.ErrLastAdmin, Refusal{Status: http.StatusConflict, Title: words.New("problem.last_admin.title"),
		Detail: words.New("problem.last_admin.text")}},
	{accounts.ErrLink, Refusal{Status: http.StatusGone, Title: words.New("problem.link.title"),
		Detail: words.New("problem.link.text")}},
	{accounts.ErrNotFirst, Refusal{Status: http.StatusConflict, Title: words.New("problem.not_first.title"),
		Detail: words.New("problem.not_first.text")}},
	{library.ErrNotFound, Refusal{Status: http.StatusNotFound, Title: words.New("problem.not_found.title"),
		Detail: words.New("problem.not_found.text")}},
	{library.ErrBadCursor, Refusal{Status: http.StatusBadRequest, Title: words.New("problem.cursor.title"),
		Detail: words.New("problem.cursor.text")}},
}

// HTTPProblem returns the refusal for a status without an error of ours.
func HTTPProblem(code int) *Refusal {
	r := &Refusal{Status: code, Title: words.New("problem.status", "Code", code)}
	switch code {
	case http.StatusNotFound:
		r.Title, r.Detail = words.New("problem.not_found.page"), words.New("problem.not_found.address")
	case http.StatusMethodNotAllowed:
		r.Title, r.Detail = words.New("problem.method.title"), words.New("problem.method.text")
	case http.StatusRequestEntityTooLarge:
		r.Title, r.Detail = words.New("problem.large.title"), words.New("problem.large.text")
	case http.StatusUnsupportedMediaType:
		r.Title, r.Detail = words.New("problem.json.title"), words.New("problem.json.text")
	case http.StatusBadRequest:
		r.Title, r.Detail = words.New("problem.unreadable.title"), words.New("problem.unreadable.text")
	}
	return r
}

// NotBefore returns the refusal of a call to a service that may not be made now.
func NotBefore(service words.Text, state backoff.State) *Refusal {
	r := &Refusal{Status: http.StatusConflict, Title: words.New("problem.not_now.title"), Until: state.Until}
	switch {
	case state.Kind == backoff.Held && state.Until.IsZero():
		r.Detail = words.New("problem.not_now.trial", "Service", service)
	case state.Kind == backoff.Held:
		r.Detail = words.New("problem.not_now.until", "Service", service, "Until", state.Until)
	case state.Kind == backoff.Stopped:
		r.Detail = words.New("problem.not_now.stopped", "Service", service)
	default:
		r.Detail = words.New("problem.not_now.failed", "Service", service)
	}
	return r
}
