package sync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"reprise/internal/notify"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// StateStore keeps what the guard must remember across restarts.
type StateStore interface {
	SaveSuccess(ctx context.Context, user int64, provider, stream string, at time.Time) error
	SaveFailure(ctx context.Context, user int64, provider, stream, advice, detail string) error
	SaveStop(context.Context, resilience.Stop) error
	SaveHold(context.Context, resilience.Hold) error
	Admins(context.Context) ([]int64, error)
}

// Guard stands before every upstream call of a connection: it asks whether the call may be made, and tells everyone
// whom it concerns what the outcome meant. Safe for concurrent use.
type Guard struct {
	Backoff  *resilience.Backoff
	Client   *http.Client // on a resilience.Transport
	Tokens   *oauth.Tokens
	Registry providers.Registry
	Store    StateStore
	Notifier *notify.Notifier
	Log      *slog.Logger
}

// keyOf is where the backoff keeps a stream of a connection.
func keyOf(c providers.Connection, stream string) resilience.Key {
	return resilience.Key{User: c.User, Provider: c.Provider, App: c.App, Stream: stream}
}

// Do lets call read one stream of a connection, if it may be called now; otherwise it returns a
// *resilience.NotBeforeError. A failure of call is returned after its consequences have been drawn.
func (g *Guard) Do(ctx context.Context, c providers.Connection, stream string, call func(context.Context, providers.Adapter) error) error {
	p := g.Registry.Get(c.Provider)
	if p == nil {
		return fmt.Errorf("provider %q is not known to this version", c.Provider)
	}
	permit, state, ok := g.Backoff.Acquire(keyOf(c, stream), c.Generation)
	if !ok {
		return &resilience.NotBeforeError{State: state}
	}
	ctx = resilience.WithUser(ctx, c.User, c.Provider)
	err := g.call(ctx, p, c, call)
	verdict := resilience.WholeCall(resilience.Classify(err))
	change := permit.Done(verdict)
	// What was learned must be kept although the run's own time may be over.
	ctx = context.WithoutCancel(ctx)
	return errors.Join(err, g.learn(ctx, p, c, stream, verdict, change, err))
}

// call turns a panic of an adapter into that call's failure.
func (g *Guard) call(ctx context.Context, p *providers.Provider, c providers.Connection, call func(context.Context, providers.Adapter) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			g.Log.Error("adapter panicked", "provider", c.Provider, "user_id", c.User, "err", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: internal error", p.DisplayName)
		}
	}()
	client := g.Client
	if p.OAuth != nil {
		client = g.Tokens.Client(client, p, c)
	}
	return call(ctx, p.Open(client, c.Credentials))
}

// learn draws the consequences of an outcome: what is kept, who is told.
func (g *Guard) learn(ctx context.Context, p *providers.Provider, c providers.Connection, stream string, v resilience.Verdict, ch resilience.Change, err error) error {
	g.logOutcome(c, stream, v, ch, err)
	switch {
	case v.Class == resilience.Canceled:
		return nil
	case v.Class == resilience.OK:
		return errors.Join(g.Store.SaveSuccess(ctx, c.User, c.Provider, stream, time.Now()), g.recovered(ctx, c, ch))
	}
	if ch == (resilience.Change{}) { // nothing new: an older credential's outcome, or a stop that is known
		return nil
	}
	advice, detail := adviceOf(err), resilience.Excerpt(err.Error())
	where := stream
	if ch.State.Scope != resilience.ScopeStream {
		where = ""
	}
	errs := []error{g.Store.SaveFailure(ctx, c.User, c.Provider, where, advice, detail)}
	key := keyOf(c, where)
	if ch.NewHold {
		hold := resilience.Hold{Key: key, Category: ch.State.Category, Since: ch.State.Since, Until: ch.State.Until}
		if ch.State.Scope == resilience.ScopeApp {
			hold.Key.User = 0
		}
		errs = append(errs, g.Store.SaveHold(ctx, hold))
		if v.Category == resilience.Quota && v.Scope == resilience.ScopeApp {
			errs = append(errs, g.tellAdmins(ctx, p, notify.CauseQuota, notify.Explain(p, c, ch.State, stream, advice), v, detail))
		}
	}
	switch ch.Kind {
	case resilience.BecameFatal:
		errs = append(errs, g.stopped(ctx, p, c, stream, key, v, ch, advice, detail))
	case resilience.StillFailing:
		errs = append(errs, g.tell(ctx, c, p, notify.CauseStill, notify.StillFailing(p, ch.State), notify.Warning, v, detail))
	}
	return errors.Join(errs...)
}

func (g *Guard) stopped(ctx context.Context, p *providers.Provider, c providers.Connection, stream string, key resilience.Key, v resilience.Verdict, ch resilience.Change, advice, detail string) error {
	words := notify.Explain(p, c, ch.State, stream, advice)
	cause := notify.Cause(ch.State, stream)
	if ch.State.Scope == resilience.ScopeApp { // a changed setting ends it, so a restart may try again
		return g.tellAdmins(ctx, p, cause, words, v, detail)
	}
	err := g.Store.SaveStop(ctx, resilience.Stop{Key: key, Generation: c.Generation, Category: ch.State.Category, Since: ch.State.Since})
	if words.Owner == notify.Administrator {
		return errors.Join(err, g.tellAdmins(ctx, p, cause, words, v, detail))
	}
	if ch.State.Category == resilience.Auth { // it has ended: that it will is no news any more
		err = errors.Join(err, g.Notifier.Resolve(ctx, c.User, c.Provider, notify.CauseEnds30, notify.CauseEnds7, notify.CauseEnds1))
	}
	return errors.Join(err, g.tell(ctx, c, p, cause, words, notify.Error, v, detail))
}

func (g *Guard) recovered(ctx context.Context, c providers.Connection, ch resilience.Change) error {
	if ch.Kind != resilience.Recovered {
		return nil
	}
	if ch.State.Scope == resilience.ScopeApp {
		return g.Notifier.Resolve(ctx, 0, c.Provider, notify.CauseQuota, "config:app", "auth:app", "permission:app")
	}
	return g.Notifier.Resolve(ctx, c.User, c.Provider, recoverable...)
}

// recoverable are the causes that a success disproves; the end of an authorization is not among them.
var recoverable = func() []string {
	causes := []string{notify.CauseStill}
	for _, category := range []resilience.Category{resilience.Auth, resilience.Permission, resilience.Config, resilience.Contract} {
		causes = append(causes, category.String(), category.String()+":"+providers.Listens, category.String()+":"+providers.Playlists)
	}
	return causes
}()

func (g *Guard) tell(ctx context.Context, c providers.Connection, p *providers.Provider, cause string, w notify.Words, s notify.Severity, v resilience.Verdict, detail string) error {
	return g.Notifier.Open(ctx, notify.Notification{User: c.User, Provider: c.Provider, Cause: cause, Generation: c.Generation,
		Severity: s, Category: v.Category.String(), Title: w.Title, Message: w.Message, Detail: detail, Action: actionFor(p, v)})
}

// tellAdmins tells every administrator once, whoever's connection met the cause.
func (g *Guard) tellAdmins(ctx context.Context, p *providers.Provider, cause string, w notify.Words, v resilience.Verdict, detail string) error {
	admins, err := g.Store.Admins(ctx)
	for _, id := range admins {
		err = errors.Join(err, g.Notifier.Open(ctx, notify.Notification{User: id, Provider: p.Name, Cause: cause, Severity: notify.Error,
			Category: v.Category.String(), Title: w.Title, Message: w.Message, Detail: detail,
			Action: notify.Action{Label: "Open settings", URL: "/settings"}}))
	}
	return err
}

func actionFor(p *providers.Provider, v resilience.Verdict) notify.Action {
	switch v.Category {
	case resilience.Auth, resilience.Config:
		return notify.Action{Label: "Reconnect", URL: "/connect/" + p.Name}
	}
	return notify.Action{Label: "Look at it", URL: "/connections/" + p.Name}
}

// adviceOf is what the failure itself says a person should do.
func adviceOf(err error) string {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning != nil {
		return e.Meaning.Advice
	}
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return e.Setting + ": " + e.Problem
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return e.Problem
	}
	return ""
}

func (g *Guard) logOutcome(c providers.Connection, stream string, v resilience.Verdict, ch resilience.Change, err error) {
	if v.BadWait && ch.Kind == resilience.Began {
		g.Log.Warn("upstream named a wait that cannot be used", "provider", c.Provider, "user_id", c.User, "stream", stream)
	}
	level := slog.LevelDebug
	switch {
	case ch.Kind == resilience.BecameFatal:
		level = slog.LevelWarn
	case ch.Kind != resilience.Unchanged:
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{slog.String("provider", c.Provider), slog.Int64("user_id", c.User), slog.String("stream", stream),
		slog.String("class", v.Class.String()), slog.String("category", v.Category.String())}
	if !ch.State.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", ch.State.Until))
	}
	if err != nil {
		attrs = append(attrs, slog.String("err", resilience.Excerpt(err.Error())))
	}
	g.Log.LogAttrs(context.Background(), level, "run ended", attrs...)
}
