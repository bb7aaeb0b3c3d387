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
	"reprise/internal/library"
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
	Connections(context.Context) ([]library.Connection, error)
	// Owing is what waits to be carried for a person, by provider.
	Waiting(ctx context.Context, user int64) (map[string]delivery.Waiting, error)
	KeyStore
	Journal
}

// Guard stands before every upstream call of a connection: it asks whether the call may be made, and tells everyone
// whom it concerns what the outcome meant. Safe for concurrent use.
type Guard struct {
	Backoff  *resilience.Backoff
	Client   *http.Client // on a resilience.Transport
	Tokens   *oauth.Tokens
	Registry *providers.Registry
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
func keyOf(c library.Connection, stream string) resilience.Key {
	return resilience.Key{User: c.User, Provider: c.Provider, App: c.App, Stream: stream}
}

// Do lets call work on one stream of a connection, if it may be called now; otherwise it returns a
// *resilience.NotBeforeError. A failure of call is returned after its consequences have been drawn.
func (g *Guard) Do(ctx context.Context, c library.Connection, stream string, call func(context.Context, providers.Adapter) error) error {
	p := g.Registry.Get(c.Provider)
	if p == nil {
		return fmt.Errorf("provider %q is not known to this version", c.Provider)
	}
	judge := func(err error) resilience.Verdict {
		v := resilience.WholeCall(resilience.Classify(err))
		if stream == library.Deliveries && v.Scope == resilience.ScopeStream && v.FirstDelay == 0 {
			v.FirstDelay = g.FirstDelay
		}
		return v
	}
	o, made := g.attempt(ctx, p, keyOf(c, stream), c.Generation, judge, func(ctx context.Context) error {
		client := g.Client
		if p.OAuth != nil {
			client = g.Tokens.Client(client, p, c)
		}
		return call(ctx, p.Open(client, c.Credentials))
	})
	if !made {
		return o.err
	}
	// What was learned must be kept although the run's own time may be over.
	return errors.Join(o.err, g.learn(context.WithoutCancel(ctx), p, c, stream, o))
}

// outcome is what a call came to.
type outcome struct {
	verdict resilience.Verdict
	change  resilience.Change
	err     error
}

// attempt is the one way to an upstream: a permit, the call, and what judge says that its end means. Without a permit the
// call is not made, and the error is a *resilience.NotBeforeError.
func (g *Guard) attempt(ctx context.Context, p *providers.Provider, key resilience.Key, generation int64,
	judge func(error) resilience.Verdict, call func(context.Context) error) (o outcome, made bool) {
	permit, state, ok := g.Backoff.Acquire(key, generation)
	if !ok {
		return outcome{err: errors.Join(&resilience.NotBeforeError{State: state}, g.settle(ctx, key))}, false
	}
	ctx = resilience.WithUser(ctx, key.User, p.Name)
	if _, ok := g.eager.LoadAndDelete(key); ok {
		ctx = resilience.WithProbe(ctx)
	}
	err := g.recovered(ctx, key.User, p, call)
	o.verdict = judge(err)
	o.change = permit.Done(o.verdict)
	o.err = g.comeBack(err, key)
	g.logOutcome(p.Name, key, o)
	g.count(p.Name, o.verdict)
	return o, true
}

func (g *Guard) count(provider string, v resilience.Verdict) {
	if v.Category == resilience.Unknown {
		g.Metrics.Unclassified(provider)
	}
}

// ofOneThing is the verdict on a call that was about one thing alone: when that is not there or not taken, this says
// nothing about anything else.
func ofOneThing(err error) resilience.Verdict {
	v := resilience.Classify(err)
	if errors.Is(err, library.ErrNotThere) || v.Scope == resilience.ScopeItem {
		return resilience.Verdict{}
	}
	return v
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

// recovered turns a panic of an adapter into that call's failure.
func (g *Guard) recovered(ctx context.Context, user int64, p *providers.Provider, call func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			stack := debug.Stack()
			if elsewhere, ok := r.(panicked); ok {
				r, stack = elsewhere.value, elsewhere.stack
			}
			g.Log.Error("adapter panicked", "provider", p.Name, "user_id", user, "err", fmt.Sprint(r), "stack", string(stack))
			err = fmt.Errorf("%s: internal error", p.DisplayName)
		}
	}()
	return call(ctx)
}

// learn draws the consequences of an outcome: what is kept, who is told.
func (g *Guard) learn(ctx context.Context, p *providers.Provider, c library.Connection, stream string, o outcome) error {
	key := keyOf(c, stream)
	switch {
	case o.verdict.Class == resilience.Canceled:
		return nil
	case o.verdict.Class == resilience.OK:
		return g.succeed(ctx, p, c, key, o.change)
	case o.change == resilience.Change{}: // nothing new: an older credential's outcome, or a stop that is known
		return nil
	}
	return g.consequence(ctx, key, func(ctx context.Context) error { return g.failed(ctx, p, c, stream, o.verdict, o.change, o.err) })
}

// succeed keeps that a stream has been read to its end, and closes the alerts that this disproves. A success that came
// too late disproves nothing: what has failed since counts.
func (g *Guard) succeed(ctx context.Context, p *providers.Provider, c library.Connection, key resilience.Key, ch resilience.Change) error {
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
func (g *Guard) failed(ctx context.Context, p *providers.Provider, c library.Connection, stream string, v resilience.Verdict, ch resilience.Change, err error) error {
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
		errs = append(errs, g.stopped(ctx, a, key, stream, ch.State, err))
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
func (g *Guard) stopped(ctx context.Context, a alert, key resilience.Key, stream string, s resilience.State, why error) error {
	c := a.connection
	owing, err := g.Store.Waiting(ctx, c.User)
	if err != nil {
		return err
	}
	a.words, a.severity = notify.Explain(a.provider, c, s, stream, adviceOf(why), owing[c.Provider].String()), notify.Error
	a.cause = notify.Cause(s.Category.String(), s.Scope, stream)
	if s.Scope == resilience.ScopeApp { // a changed setting ends it, so a restart may try again
		a.words = notify.ExplainForAll(a.provider, s, adminAdvice(why))
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
	if _, ok := errors.AsType[*resilience.SettingError](err); ok { // which one is the administrator's business
		return "A setting is missing or wrong."
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return e.Problem
	}
	if e, ok := errors.AsType[*resilience.NotBeforeError](err); ok && e.Offline {
		return notify.Offline
	}
	return ""
}

// adminAdvice is adviceOf for administrators, who can do something about the settings.
func adminAdvice(err error) string {
	if e, ok := errors.AsType[*resilience.SettingError](err); ok {
		return "The setting " + e.Setting + " is missing or wrong. " + e.Problem
	}
	return adviceOf(err)
}

func (g *Guard) logOutcome(provider string, key resilience.Key, o outcome) {
	attrs := []slog.Attr{slog.String("provider", provider), slog.Int64("user_id", key.User), slog.String("stream", key.Stream)}
	if o.verdict.BadWait && o.change != (resilience.Change{}) {
		g.Log.LogAttrs(context.Background(), slog.LevelWarn, "upstream named a wait that cannot be used", attrs...)
	}
	level := slog.LevelDebug
	switch {
	case o.change.Kind == resilience.BecameFatal:
		level = slog.LevelWarn
	case o.change.Kind != resilience.Unchanged:
		level = slog.LevelInfo
	}
	attrs = append(attrs, slog.String("class", o.verdict.Class.String()), slog.String("category", o.verdict.Category.String()))
	if !o.change.State.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", o.change.State.Until))
	}
	if o.err != nil {
		attrs = append(attrs, slog.String("err", resilience.Excerpt(o.err.Error())))
	}
	g.Log.LogAttrs(context.Background(), level, "run ended", attrs...)
}
