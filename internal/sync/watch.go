package sync

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

const (
	// watchEvery is how often a connection is asked what it plays: a track lasts about four minutes.
	watchEvery = time.Minute
	// watchedAtOnce is how many connections are asked at once, and watchWithin how long all of them may take.
	watchedAtOnce = 8
	watchWithin   = watchEvery / 2
	// watchShare is how much of a pace that connections share this may take. Where so many share it that this is not
	// enough, none of them is asked.
	watchShare = 0.1
)

// Heard receives what connections are playing.
type Heard interface {
	// Begins notes what a connection plays; the same again changes nothing.
	Begins(user int64, from library.ConnectionID, p library.Playing)
	// Ends notes that it plays nothing, if the track is zero.
	Ends(user int64, from library.ConnectionID, t library.Track)
}

// watchStore is what a Watch reads.
type watchStore interface {
	Outlines(context.Context) ([]library.Outline, error)
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
}

// Watch asks connections what they play now. That is worth nothing later: nothing is stored, an error is not tried
// again, and a connection that may not call is not asked. It is safe for concurrent use.
type Watch struct {
	guard *Guard
	store watchStore
	heard Heard
	log   *slog.Logger
	on    atomic.Bool
	mu    sync.Mutex
	lacks map[backoff.Key]lack
}

// lack notes that a connection does not say what it plays. It ends when the connection is reconnected.
type lack struct {
	generation int64
	since      time.Time
}

// NewWatch returns a Watch; nothing happens before Run, and nothing is asked unless it is on.
func NewWatch(g *Guard, store watchStore, heard Heard, on bool) *Watch {
	w := &Watch{guard: g, store: store, heard: heard, log: g.opt.Log, lacks: map[backoff.Key]lack{}}
	w.on.Store(on)
	return w
}

// Configure turns it on or off.
func (w *Watch) Configure(on bool) { w.on.Store(on) }

// On reports whether it is on.
func (w *Watch) On() bool { return w.on.Load() }

// Run works until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if !w.On() {
			continue
		}
		tick(ctx, w.log.With("loop", "now playing"), w.once)
	}
}

// once asks all connections.
func (w *Watch) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, watchWithin)
	defer cancel()
	all, err := w.store.Outlines(ctx)
	if err != nil {
		return err
	}
	sharing := map[string]float64{} // calls a second, by app
	for _, l := range all {
		sharing[l.Provider()+" "+l.App] += 1 / watchEvery.Seconds()
	}
	var g errgroup.Group
	g.SetLimit(watchedAtOnce)
	for _, l := range all {
		p := w.guard.opt.Registry.Get(l.Provider())
		if p == nil || !p.Plays || l.Paused || !w.guard.Holds(l.ID, l.App) {
			continue
		}
		if pace := p.SharedPace(l.App); pace > 0 && sharing[l.Provider()+" "+l.App] > pace*watchShare {
			continue
		}
		g.Go(func() error {
			w.ask(ctx, l.User, l.ID)
			return nil
		})
	}
	return g.Wait()
}

// ask asks a connection, unless it may not be called or does not say.
func (w *Watch) ask(ctx context.Context, user int64, id library.ConnectionID) {
	c, err := w.store.Connection(ctx, user, id)
	if err != nil || w.guard.state(c, library.Listens).Kind != backoff.Ready || w.silent(c) {
		return
	}
	var playing library.Playing
	err = w.guard.Do(ctx, providers.OfConnection(c, library.Listens),
		func(ctx context.Context, _ resilience.Call, a providers.Adapter) (err error) {
			playing, err = a.(providers.PlayingSource).NowPlaying(ctx)
			return unlessItsOwn(err)
		})
	switch {
	case errors.Is(err, providers.ErrNotOffered):
		w.mu.Lock()
		w.lacks[providers.KeyOf(c, "")] = lack{c.Generation, time.Now()}
		w.mu.Unlock()
	case err != nil: // the guard has drawn the consequences
	case playing.Title == "":
		w.heard.Ends(user, id, library.Track{})
	default:
		w.heard.Begins(user, id, playing)
	}
}

// unlessItsOwn returns err, or providers.ErrNotOffered if it is about this call alone, which causes no alert about
// reading.
func unlessItsOwn(err error) error {
	if v := resilience.VerdictOf(err); v.Class == resilience.Fatal && v.Category != resilience.Auth {
		return providers.ErrNotOffered
	}
	return err
}

// silent reports whether a connection has said lately that what it plays can't be read.
func (w *Watch) silent(c library.Connection) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, ok := w.lacks[providers.KeyOf(c, "")]
	return ok && l.generation == c.Generation && time.Since(l.since) < lookAgain
}
