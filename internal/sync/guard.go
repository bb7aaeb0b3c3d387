package sync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"reprise/internal/activity"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/metrics"
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
	Connections(context.Context) ([]providers.Connection, error)
	// Owing is what waits to be carried for a person, by provider.
	Owing(ctx context.Context, user int64) (map[string]delivery.Owing, error)
	KeyStore
	Journal
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
	Bus      *events.Bus
	Log      *slog.Logger
	// FirstDelay is the base of the backoff of what is carried; 0 means that of the Backoff.
	FirstDelay time.Duration

	Metrics *metrics.Metrics

	alerts
	noted successes
	eager sync.Map // streams (resilience.Key) whose next call a person is waiting for
}

// keyOf is where the backoff keeps a stream of a connection.
func keyOf(c providers.Connection, stream string) resilience.Key {
	return resilience.Key{User: c.User, Provider: c.Provider, App: c.App, Stream: stream}
}

// Do lets call work on one stream of a connection, if it may be called now; otherwise it returns a
// *resilience.NotBeforeError. A failure of call is returned after its consequences have been drawn.
func (g *Guard) Do(ctx context.Context, c providers.Connection, stream string, call func(context.Context, providers.Adapter) error) error {
	p := g.Registry.Get(c.Provider)
	if p == nil {
		return fmt.Errorf("provider %q is not known to this version", c.Provider)
	}
	permit, state, ok := g.Backoff.Acquire(keyOf(c, stream), c.Generation)
	if !ok {
		return errors.Join(&resilience.NotBeforeError{State: state}, g.settle(ctx, keyOf(c, stream)))
	}
	ctx = resilience.WithUser(ctx, c.User, c.Provider)
	if _, ok := g.eager.LoadAndDelete(keyOf(c, stream)); ok {
		ctx = resilience.WithProbe(ctx)
	}
	err := g.call(ctx, p, c, call)
	verdict := resilience.WholeCall(resilience.Classify(err))
	if stream == providers.Deliveries && verdict.Scope == resilience.ScopeStream && verdict.FirstDelay == 0 {
		verdict.FirstDelay = g.FirstDelay
	}
	change := permit.Done(verdict)
	err = g.comeBack(err, keyOf(c, stream))
	// What was learned must be kept although the run's own time may be over.
	ctx = context.WithoutCancel(ctx)
	return errors.Join(err, g.learn(ctx, p, c, stream, verdict, change, err))
}

// comeBack is err with the time at which this stream is let in again, where a call was refused by something that all
// users share: the backoff has spread that. Others may hold the same error.
func (g *Guard) comeBack(err error, key resilience.Key) error {
	e, ok := errors.AsType[*resilience.NotBeforeError](err)
	if !ok {
		return err
	}
	mine := *e
	mine.State.Until = g.Backoff.State(key).Until
	return &mine
}

// call lets an adapter work with the connection's credentials.
func (g *Guard) call(ctx context.Context, p *providers.Provider, c providers.Connection, call func(context.Context, providers.Adapter) error) error {
	return g.recovered(c, p, func() error {
		client := g.Client
		if p.OAuth != nil {
			client = g.Tokens.Client(client, p, c)
		}
		return call(ctx, p.Open(client, c.Credentials))
	})
}

// recovered turns a panic of an adapter into that call's failure.
func (g *Guard) recovered(c providers.Connection, p *providers.Provider, call func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			g.Log.Error("adapter panicked", "provider", c.Provider, "user_id", c.User, "err", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = fmt.Errorf("%s: internal error", p.DisplayName)
		}
	}()
	return call()
}

// learn draws the consequences of an outcome: what is kept, who is told.
func (g *Guard) learn(ctx context.Context, p *providers.Provider, c providers.Connection, stream string, v resilience.Verdict, ch resilience.Change, err error) error {
	g.logOutcome(c, stream, v, ch, err)
	g.count(c.Provider, v)
	key := keyOf(c, stream)
	switch {
	case v.Class == resilience.Canceled:
		return nil
	case v.Class == resilience.OK:
		return g.succeed(ctx, p, c, key, ch)
	case ch == resilience.Change{}: // nothing new: an older credential's outcome, or a stop that is known
		return nil
	}
	return g.consequence(ctx, key, func(ctx context.Context) error { return g.failed(ctx, p, c, stream, v, ch, err) })
}

func (g *Guard) count(provider string, v resilience.Verdict) {
	if v.Category == resilience.Unknown {
		g.Metrics.Unclassified(provider)
	}
}

// succeed keeps that a stream has been read to its end, and closes the alerts that this disproves. A success that came
// too late disproves nothing: what has failed since counts.
func (g *Guard) succeed(ctx context.Context, p *providers.Provider, c providers.Connection, key resilience.Key, ch resilience.Change) error {
	state := g.Backoff.State(key)
	if state.Kind == resilience.Stopped {
		return nil
	}
	var err error
	if ch.Kind == resilience.Recovered {
		g.noteRecovery(ctx, c, key, ch.State)
	}
	if g.noted.due(key) || ch.Kind == resilience.Recovered {
		err = g.Store.SaveSuccess(ctx, c.User, c.Provider, key.Stream, time.Now())
	}
	if state.Kind == resilience.Ready {
		err = errors.Join(err, g.disprove(ctx, p, c, key))
	}
	if ch.Kind == resilience.Recovered && ch.State.Scope == resilience.ScopeApp {
		err = errors.Join(err, g.publishToAll(ctx, c))
	}
	return err
}

// failed keeps and tells what a failure that changed something has led to. It may be repeated.
func (g *Guard) failed(ctx context.Context, p *providers.Provider, c providers.Connection, stream string, v resilience.Verdict, ch resilience.Change, err error) error {
	g.telling.Lock()
	defer g.telling.Unlock()
	g.unsettle(p, c, ch)
	advice, detail := adviceOf(err), resilience.Excerpt(err.Error())
	key := keyOf(c, stream)
	if ch.State.Scope != resilience.ScopeStream {
		key.Stream = ""
	}
	errs := []error{g.Store.SaveFailure(ctx, c.User, c.Provider, key.Stream, advice, detail)}
	if ch.NewHold && !ofKeys(err) {
		errs = append(errs, g.saveHold(ctx, key, ch.State))
	}
	a := alert{provider: p, connection: c, category: v.Category, detail: detail}
	switch {
	case ch.Kind == resilience.BecameFatal:
		a.category = ch.State.Category
		errs = append(errs, g.stopped(ctx, a, key, stream, ch.State, advice))
	case ch.Kind == resilience.StillFailing:
		a.cause, a.words, a.severity = notify.CauseStill, notify.StillFailing(p, ch.State), notify.Warning
		errs = append(errs, g.noteTold(ctx, c, key, ch.State, activity.StillFailing, "", g.tell(ctx, a)))
	case ch.NewHold && v.Category == resilience.Quota && ch.State.Scope == resilience.ScopeApp:
		a.cause, a.words, a.severity = notify.CauseQuota, notify.Explain(p, c, ch.State, stream, advice, ""), notify.Warning
		errs = append(errs, g.tellAdmins(ctx, a))
	}
	if ch.NewHold {
		g.noteHold(ctx, c, key, ch.State)
	}
	if ch.State.Scope == resilience.ScopeApp {
		g.adviseApp(c, advice)
		errs = append(errs, g.publishToAll(ctx, c))
	}
	return errors.Join(errs...)
}

// ofKeys says whether a hold is that of the keys of a pool. Their waits are stored key by key, so that they end with the
// keys: an administrator who has set another one waits for nothing.
func ofKeys(err error) bool {
	_, ok := errors.AsType[*resilience.KeysError](err)
	return ok
}

func (g *Guard) saveHold(ctx context.Context, key resilience.Key, s resilience.State) error {
	if s.Scope == resilience.ScopeApp {
		key.User, key.Stream = 0, ""
	}
	return g.Store.SaveHold(ctx, resilience.Hold{Key: key, Category: s.Category, Since: s.Since, Until: s.Until})
}

// stopped keeps a stop and tells whoever has to act.
func (g *Guard) stopped(ctx context.Context, a alert, key resilience.Key, stream string, s resilience.State, advice string) error {
	c := a.connection
	owing, err := g.Store.Owing(ctx, c.User)
	if err != nil {
		return err
	}
	a.words, a.severity = notify.Explain(a.provider, c, s, stream, advice, owing[c.Provider].String()), notify.Error
	a.cause = notify.Cause(s.Category.String(), s.Scope, stream)
	if s.Scope == resilience.ScopeApp { // a changed setting ends it, so a restart may try again
		a.words = notify.ExplainForAll(a.provider, s, advice)
		return g.noteTold(ctx, c, key, s, activity.Stopped, a.words.Message, g.tellAdmins(ctx, a))
	}
	if a.words.Owner == notify.Administrator {
		a.cause = notify.Of(a.cause, c.User)
		err = g.tellAdmins(ctx, a)
	} else {
		err = g.tell(ctx, a)
	}
	if s.Category == resilience.Auth { // it has ended: that it will is no news any more
		err = errors.Join(err, g.Notifier.Resolve(ctx, c.User, c.Provider, notify.CauseEnds30, notify.CauseEnds7, notify.CauseEnds1))
	}
	// Last: a process that is killed before this finds out once more, but never stays stopped without having told.
	err = errors.Join(err, g.Store.SaveStop(ctx, resilience.Stop{Key: key, Generation: c.Generation, Category: s.Category, Since: s.Since}))
	return g.noteTold(ctx, c, key, s, activity.Stopped, a.words.Message, err)
}

// adviceOf is what the failure itself says a person should do.
func adviceOf(err error) string {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && e.Meaning != nil {
		return e.Meaning.Advice
	}
	if e, ok := errors.AsType[*resilience.KeysError](err); ok {
		return e.Advice
	}
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return e.Setting + ": " + e.Problem
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return e.Problem
	}
	if e, ok := errors.AsType[*resilience.NotBeforeError](err); ok && e.Offline {
		return notify.Offline
	}
	return ""
}

func (g *Guard) logOutcome(c providers.Connection, stream string, v resilience.Verdict, ch resilience.Change, err error) {
	if v.BadWait && ch != (resilience.Change{}) {
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
