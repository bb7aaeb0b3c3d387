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
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// GuardOptions are what [NewGuard] needs.
type GuardOptions struct {
	Backoff  *resilience.Backoff
	Client   *http.Client // on a resilience.Transport
	Tokens   *oauth.Tokens
	Registry *providers.Registry
	Keys     KeyStore
	Alerts   *alerts.Alerts
	Log      *slog.Logger
	Metrics  *metrics.Metrics   // nil for none
	Screen   *resilience.Screen // what a person may read about a server that they have named; nil for everything
	// FirstDelay is the base of the backoff of deliveries; 0 means that of the Backoff.
	FirstDelay time.Duration
}

// Guard is in front of every upstream call: it asks whether the call may be made now, and has the consequences of its
// outcome drawn. Safe for concurrent use.
type Guard struct {
	opt   GuardOptions
	first atomic.Int64 // FirstDelay
	eager sync.Map     // streams (resilience.Key) whose next call a person is waiting for
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

// Do makes a call if the subject may call now; otherwise it returns a *resilience.NotBeforeError. The call is given
// the adapter of the subject's connection, nil without one.
//
// The permit is asked for again before every request. A call that meets a stop or a hold breaks off, as if it had been
// refused: the error is a *resilience.NotBeforeError, with Met.
//
// If the call fails, the error wraps a *resilience.Failure, and its consequences have been drawn; those of a channel
// are up to the caller. If the call breaks off because something shared by all users may not be called now, the error
// also wraps a *resilience.NotBeforeError, with the time at which this stream may call again.
func (g *Guard) Do(
	ctx context.Context, s providers.Subject, call func(context.Context, providers.Adapter) error,
) error {
	if s.Provider == nil {
		if s.Provider = g.opt.Registry.Get(s.Connection.Provider()); s.Provider == nil {
			return fmt.Errorf("provider %q is not known to this version", s.Connection.ID)
		}
	}
	key := s.Key()
	permit, state, ok := g.opt.Backoff.Acquire(key, s.Connection.Generation)
	if !ok {
		return errors.Join(&resilience.NotBeforeError{State: state}, g.opt.Alerts.Finish(ctx, key))
	}
	callCtx := resilience.WithPermit(resilience.WithUser(ctx, key.User, s.Provider.Name), permit)
	if _, ok := g.eager.LoadAndDelete(key); ok {
		callCtx = resilience.WithProbe(callCtx)
	}
	callCtx, end := resilience.WithTurns(callCtx)
	err := g.recovered(callCtx, s, call)
	end()
	if !s.Channel { // the channels have done it
		err = g.opt.Screen.Hide(callCtx, key.User, s.Provider.NamedHost(s.Connection.Credentials), err)
	}
	if e, ok := errors.AsType[*resilience.NotBeforeError](err); ok && e.Met {
		return g.brokenOff(ctx, s, &permit, e)
	}
	v, learned := g.judge(s, err)
	f := &resilience.Failure{Verdict: v, Change: permit.Done(learned), Err: err}
	if shared, ok := errors.AsType[*resilience.NotBeforeError](err); ok { // others may hold the same error
		mine := *shared
		mine.State.Until = f.Change.After.Until // the backoff has spread these
		f.Err = &mine
	}
	g.report(s, f, resilience.AttemptIn(callCtx), permit.Waited())
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
	case learned.Class == resilience.OK:
		return errors.Join(f, g.opt.Alerts.Succeeded(ctx, s, f.Change))
	case v.Class == resilience.Canceled, !f.Change.News():
		return f
	}
	return errors.Join(f, g.opt.Alerts.Failed(ctx, s, f))
}

// brokenOff ends a run that met the stop or hold of another run, which reports it. Nothing is learned from a request
// that was not sent.
func (g *Guard) brokenOff(
	ctx context.Context, s providers.Subject, permit *resilience.Permit, e *resilience.NotBeforeError,
) error {
	permit.Done(resilience.Verdict{Class: resilience.Canceled})
	g.opt.Log.LogAttrs(context.Background(), slog.LevelInfo, "run broken off",
		slog.String("provider", s.Provider.Name), slog.Int64("user_id", s.Connection.User),
		slog.String("stream", s.Stream), slog.String("endpoint", e.Endpoint),
		slog.String("category", e.State.Category.String()), slog.Time("until", e.State.Until))
	return errors.Join(&resilience.NotBeforeError{State: e.State, Met: true},
		g.opt.Alerts.Finish(context.WithoutCancel(ctx), s.Key()))
}

// Refuse draws the consequences of a failure without a call, unless the subject may not call anyway.
func (g *Guard) Refuse(ctx context.Context, s providers.Subject, v resilience.Verdict, err error) error {
	permit, _, ok := g.opt.Backoff.Acquire(s.Key(), s.Connection.Generation)
	if !ok {
		return nil
	}
	f := &resilience.Failure{Verdict: v, Change: permit.Done(v), Err: err}
	g.report(s, f, 0, 0)
	return g.opt.Alerts.Failed(ctx, s, f)
}

// judge returns what an outcome means, and what the backoff learns from that.
func (g *Guard) judge(s providers.Subject, err error) (v, learned resilience.Verdict) {
	switch {
	case errors.Is(err, library.ErrNotThere):
		return v, v
	case errors.Is(err, providers.ErrNotOffered) && s.Stream != library.Deliveries: // perhaps without a call
		v.Class = resilience.Canceled
		return v, v
	}
	v = resilience.Classify(err)
	v.Attempt = resilience.AttemptOf(err)
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok && v.Class == resilience.Retriable && !s.Channel {
		own := s.Provider.NamedHost(s.Connection.Credentials) != ""
		v.Astray, v.ForAdmin = e.Astray(), !own
		v.Mendable = v.Astray && (own || s.Provider.OtherAddress() != "")
	}
	if s.Channel || s.Installation() {
		if v.Scope == resilience.ScopeItem { // says nothing about any other call
			return v, learned
		}
	} else {
		v = resilience.WholeCall(v) // the adapter has skipped the item if it could
	}
	if s.Stream == library.Deliveries && v.Category == resilience.Network && v.Scope == resilience.ScopeConnection {
		// Reading finds out for itself. Six deliveries in half a minute would make it wait for half an hour, and its
		// waits are too long for them.
		v.Scope = resilience.ScopeStream
	}
	deliveries := s.Channel || s.Stream == library.Deliveries && v.Scope == resilience.ScopeStream
	if deliveries && v.FirstDelay == 0 {
		v.FirstDelay = time.Duration(g.first.Load())
	}
	return v, v
}

// recovered makes a call, and turns a panic of an adapter into that call's failure.
func (g *Guard) recovered(
	ctx context.Context, s providers.Subject, call func(context.Context, providers.Adapter) error,
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
		return call(ctx, nil)
	}
	client := g.opt.Client
	if s.Provider.OAuth != nil {
		client = g.opt.Tokens.Client(client, s.Provider, s.Connection)
	}
	return call(ctx, s.Provider.Open(client, s.Connection.Credentials))
}

// report logs and counts an outcome. attempt is the number of the call's first attempt at each request, 0 if it made
// none, and waited is the time since the failure before it.
func (g *Guard) report(s providers.Subject, f *resilience.Failure, attempt int, waited time.Duration) {
	v, ch := f.Verdict, f.Change
	wait, ok := errors.AsType[*resilience.NotBeforeError](f.Err)
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
	case ch.Kind == resilience.BecameFatal:
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
	if !ch.State.Until.IsZero() {
		attrs = append(attrs, slog.Time("until", ch.State.Until))
	}
	if f.Err != nil {
		attrs = append(attrs, slog.String("err", resilience.Excerpt(f.Err.Error())))
	}
	g.opt.Log.LogAttrs(context.Background(), level, "run ended", attrs...)
}

// Ready reports whether deliveries to a connection may go out without a person having to act first.
func (g *Guard) Ready(c library.Connection) bool {
	return g.state(c, library.Deliveries).Kind != resilience.Stopped
}

// state returns what keeps a stream of a connection from calling now.
func (g *Guard) state(c library.Connection, stream string) resilience.State {
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
