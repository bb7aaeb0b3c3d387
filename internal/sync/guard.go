package sync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"reprise/internal/alerts"
	"reprise/internal/leases"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/turns"
)

// GuardOptions are what [NewGuard] needs.
type GuardOptions struct {
	Backoff  *backoff.Manager
	Client   *http.Client // on a transport.Transport
	Tokens   *oauth.Tokens
	Registry *providers.Registry
	Keys     KeyStore
	Alerts   *alerts.Alerts
	Log      *slog.Logger
	Metrics  *metrics.Metrics // nil for none
	Screen   *hosts.Screen    // what a person may read about a server that they have named; nil for everything
	// FirstDelay is the base of the backoff of deliveries; 0 means that of the Backoff.
	FirstDelay time.Duration
	Apps       *leases.Holder // which apps this server calls; nil for all
}

// Guard is in front of every upstream call: it asks whether the call may be made now, and has the consequences of its
// outcome drawn. Safe for concurrent use.
type Guard struct {
	opt   GuardOptions
	first atomic.Int64 // FirstDelay
	eager sync.Map     // streams (backoff.Key) whose next call a person is waiting for
}

// NewGuard returns a Guard.
func NewGuard(opt GuardOptions) *Guard {
	g := &Guard{opt: opt}
	g.first.Store(int64(opt.FirstDelay))
	return g
}

// Configure changes FirstDelay.
func (g *Guard) Configure(firstDelay time.Duration) { g.first.Store(int64(firstDelay)) }

// FirstDelay returns the base of the backoff of deliveries that holds now.
func (g *Guard) FirstDelay() time.Duration { return time.Duration(g.first.Load()) }

// Do makes a call if the subject may call now; otherwise it returns a *backoff.NotBeforeError. do is given the call,
// and the adapter of the subject's connection that is opened for it, nil without one.
//
// The permit is asked for again before every request. A call that meets a stop or a hold breaks off, as if it had been
// refused: the error is a *backoff.NotBeforeError, with Met.
//
// If the call fails, the error wraps a *backoff.Failure, and its consequences have been drawn; those of a channel
// are up to the caller. If the call breaks off because something shared by all users may not be called now, the error
// also wraps a *backoff.NotBeforeError, with the time at which this stream may call again.
func (g *Guard) Do(
	ctx context.Context, s providers.Subject, do func(context.Context, resilience.Call, providers.Adapter) error,
) error {
	if s.Provider == nil {
		if s.Provider = g.opt.Registry.Get(s.Connection.Provider()); s.Provider == nil {
			return fmt.Errorf("provider %q is not known to this version", s.Connection.ID)
		}
	}
	ctx, done, err := g.use(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	key := s.Key()
	permit, state, ok := g.opt.Backoff.Acquire(key, s.Connection.Generation)
	if !ok {
		return errors.Join(&backoff.NotBeforeError{State: state}, g.opt.Alerts.Finish(ctx, key))
	}
	permit.Terms = s.Terms(g.FirstDelay())
	_, eager := g.eager.LoadAndDelete(key)
	call := resilience.Call{Client: g.opt.Client, User: key.User, Provider: s.Provider.Name, Stream: s.Stream,
		Eager: eager, Attempt: s.Attempt, Permit: &permit, Turn: &turns.Turn{}}
	err = g.recovered(ctx, s, call, do)
	call.Turn.End()
	if !s.Channel { // the channels have done it
		err = g.opt.Screen.Hide(ctx, call, s.Provider.NamedHost(s.Connection.Credentials), err)
	}
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok && e.Met {
		return g.brokenOff(ctx, s, &permit, e)
	}
	f := &backoff.Failure{Change: permit.Done(verdictFor(s, err)), Err: err}
	if shared, ok := errors.AsType[*backoff.NotBeforeError](err); ok { // others may hold the same error
		mine := *shared
		mine.State.Until = f.Change.Stream.Until // the backoff has spread these
		f.Err = &mine
	}
	g.report(s, f, call.First(), permit.Waited())
	// What was learned must be stored even if the caller's own time is over.
	ctx = context.WithoutCancel(ctx)
	switch {
	case err == nil:
		noted := g.opt.Alerts.Succeeded(ctx, s, f.Change)
		if noted != nil && (s.Channel || s.Stream == library.Deliveries) {
			// What was sent has arrived. A failure here would have it sent again.
			g.opt.Log.Error("success of a delivery cannot be noted", "provider", s.Provider.Name,
				"user_id", s.Connection.User, "err", noted)
			return nil
		}
		return noted
	case f.Verdict().Class == resilience.OK, f.Verdict().Scope == resilience.ScopeItem: // the call itself went well
		return errors.Join(f, g.opt.Alerts.Succeeded(ctx, s, f.Change))
	case f.Verdict().Class == resilience.Canceled, !f.Change.News():
		return f
	}
	return errors.Join(f, g.opt.Alerts.Failed(ctx, s, f))
}

// brokenOff ends a run that met the stop or hold of another run, which reports it. Nothing is learned from a request
// that was not sent.
func (g *Guard) brokenOff(
	ctx context.Context, s providers.Subject, permit *backoff.Permit, e *backoff.NotBeforeError,
) error {
	permit.Done(resilience.Verdict{Class: resilience.Canceled})
	g.opt.Log.LogAttrs(context.Background(), slog.LevelInfo, "run broken off",
		slog.String("provider", s.Provider.Name), slog.Int64("user_id", s.Connection.User),
		slog.String("stream", s.Stream), slog.String("endpoint", e.Endpoint),
		slog.String("category", e.State.Category.String()), slog.Time("until", e.State.Until))
	return errors.Join(&backoff.NotBeforeError{State: e.State, Met: true},
		g.opt.Alerts.Finish(context.WithoutCancel(ctx), s.Key()))
}

// Refuse draws the consequences of a failure without a call, unless the subject may not call anyway.
func (g *Guard) Refuse(ctx context.Context, s providers.Subject, v resilience.Verdict, err error) error {
	permit, _, ok := g.opt.Backoff.Acquire(s.Key(), s.Connection.Generation)
	if !ok {
		return nil
	}
	f := &backoff.Failure{Change: permit.Done(v), Err: err}
	g.report(s, f, 0, 0)
	return g.opt.Alerts.Failed(ctx, s, f)
}

// verdictFor returns the verdict on the outcome of a call for a subject.
func verdictFor(s providers.Subject, err error) resilience.Verdict {
	switch {
	case errors.Is(err, library.ErrNotThere):
		return resilience.Verdict{}
	case errors.Is(err, providers.ErrNotOffered): // perhaps without a call
		return resilience.Verdict{Class: resilience.Canceled}
	}
	return resilience.VerdictOf(err)
}

// recovered makes a call, and turns a panic of an adapter into that call's failure.
func (g *Guard) recovered(
	ctx context.Context, s providers.Subject, call resilience.Call,
	do func(context.Context, resilience.Call, providers.Adapter) error,
) (err error) {
	defer func() {
		if r := recover(); r != nil {
			stack := debug.Stack()
			if elsewhere, ok := r.(panicked); ok {
				r, stack = elsewhere.value, elsewhere.stack
			}
			g.opt.Log.Error("adapter panicked", "provider", s.Provider.Name, "user_id", s.Connection.User,
				"err", fmt.Sprint(r), "stack", string(stack))
			err = fmt.Errorf("%s: internal error", s.Provider.DisplayName)
		}
	}()
	if s.Channel || s.Installation() {
		return do(ctx, call, nil)
	}
	authorized := call
	if s.Provider.OAuth != nil {
		authorized = g.opt.Tokens.Authorize(call, s.Provider, s.Connection)
	}
	return do(ctx, call, s.Provider.Open(authorized, s.Connection.Credentials))
}

// report logs and counts an outcome. attempt is the number of the call's first attempt at each request, 0 if it made
// none, and waited is the time since the failure before it.
func (g *Guard) report(s providers.Subject, f *backoff.Failure, attempt int, waited time.Duration) {
	v, ch := f.Verdict(), f.Change
	wait, ok := errors.AsType[*backoff.NotBeforeError](f.Err)
	if v.Category == resilience.Unknown && !(ok && wait.Busy) {
		g.opt.Metrics.Unclassified(s.Provider.Name)
	}
	attrs := []slog.Attr{slog.String("provider", s.Provider.Name), slog.Int64("user_id", s.Connection.User),
		slog.String("stream", s.Stream)}
	if v.BadWait && ch.News() {
		g.opt.Log.LogAttrs(context.Background(), slog.LevelWarn, "upstream named a wait that cannot be used", attrs...)
	}
	level := slog.LevelDebug
	switch {
	case ch.Kind == backoff.BecameFatal:
		level = slog.LevelWarn
	case ch.News():
		level = slog.LevelInfo
	}
	attrs = append(attrs, slog.String("class", v.Class.String()), slog.String("category", v.Category.String()))
	if attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", attempt))
	}
	if waited > 0 {
		attrs = append(attrs, slog.Int64("waited_ms", waited.Milliseconds()))
	}
	if !ch.Fault.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", ch.Fault.Until))
	}
	if f.Err != nil {
		attrs = append(attrs, slog.String("err", resilience.Excerpt(f.Err.Error())))
	}
	g.opt.Log.LogAttrs(context.Background(), level, "run ended", attrs...)
}

// Ready reports whether deliveries to a connection may go out without a person having to act first.
func (g *Guard) Ready(c library.Connection) bool {
	return g.state(c, library.Deliveries).Kind != backoff.Stopped
}

// state returns what keeps a stream of a connection from calling now.
func (g *Guard) state(c library.Connection, stream string) backoff.State {
	return g.opt.Backoff.State(providers.KeyOf(c, stream))
}

// hurry makes the next call of every stream of a connection a probe, because a person is waiting for it.
func (g *Guard) hurry(p *providers.Provider, c library.Connection) {
	for _, stream := range p.Guarded() {
		g.eager.Store(providers.KeyOf(c, stream), true)
	}
}

// ChannelRenewed forgets the trouble of a channel, because a person has changed it or a test succeeded.
func (g *Guard) ChannelRenewed(user int64, channel library.ConnectionID, version int64) {
	g.opt.Backoff.Reconnected(providers.OfChannel(user, channel, "", version).Key(), version)
}

// ChannelRemoved forgets a channel.
func (g *Guard) ChannelRemoved(user int64, channel library.ConnectionID) {
	g.opt.Backoff.Forget(user, string(channel))
}
