package sync

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// Store is what reading needs.
type Store interface {
	Outlines(context.Context) ([]library.Outline, error)
	Habits(ctx context.Context, stream string) ([]library.Habit, error)
	Connection(ctx context.Context, user int64, conn library.ConnectionID) (library.Connection, error)
	listenStore
	playlistStore
	loveStore
	songStore
	videoStore
	historyStore
	perilStore
}

// historyStore keeps runs.
type historyStore interface {
	SaveRun(context.Context, library.Run) error
}

// Syncer runs every connection's streams when they are due. See the package comment.
type Syncer struct {
	opt    *options
	guard  *Guard
	store  Store
	bus    *events.Bus
	log    *slog.Logger
	reader *reader
	poke   signal // something was added to the queue

	mu     sync.Mutex
	queue  *queue
	runs   map[Key]*run
	behind map[Key]bool // refused because another run is finding out whether trouble is over
	begun  []string     // apps that this server has begun to call, and not ticked for
	ticked time.Time    // when a loop ticked last
	loops  loops
}

// run is one run under way.
type run struct {
	key    Key
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

// signal wakes a goroutine that waits for it, now or next.
type signal chan struct{}

func (s signal) send() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// NewSyncer returns a Syncer; nothing happens before Run.
func NewSyncer(opt Options, g *Guard, store Store, bus *events.Bus) *Syncer {
	now := &options{}
	opt = opt.withDefaults()
	now.Store(&opt)
	rd := &reader{opt: now, guard: g, store: store, bus: bus, log: g.opt.Log, last: &lastReads{of: map[Key]lastRead{}},
		perils: &perils{store: store, log: g.opt.Log},
		habits: &habits{of: map[Key]*habit{}, seeded: map[string]bool{}}}
	return &Syncer{opt: now, guard: g, store: store, bus: bus, log: g.opt.Log, reader: rd, poke: make(signal, 1),
		queue: newQueue(), runs: map[Key]*run{}, behind: map[Key]bool{}}
}

// Configure changes intervals, Workers and RunTimeout; the other fields of opt are ignored. Runs under way keep their
// deadlines.
func (s *Syncer) Configure(opt Options) error {
	opt = opt.withDefaults()
	now := s.opt.now()
	now.ListensEvery, now.PlaylistsEvery = opt.ListensEvery, opt.PlaylistsEvery
	now.Workers, now.RunTimeout = opt.Workers, opt.RunTimeout
	s.opt.Store(&now)
	s.poke.send()
	return errors.Join(s.loops.every("listens", now.ListensEvery), s.loops.every("playlists", now.PlaylistsEvery))
}

// Options returns the settings that hold now.
func (s *Syncer) Options() Options { return s.opt.now() }

// Run works until ctx ends, and returns when every run has ended.
func (s *Syncer) Run(ctx context.Context) error {
	if err := s.reader.perils.load(ctx); err != nil {
		return err
	}
	if err := s.loops.start(ctx, s); err != nil {
		return err
	}
	var workers sync.WaitGroup
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		s.tickBegun(ctx)
		next := s.startDue(ctx, &workers)
		if next.IsZero() {
			timer.Reset(time.Hour)
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
		case <-s.poke:
		case <-timer.C:
		}
	}
	workers.Wait() // before the loops: their Shutdown waits actively
	return s.loops.stop()
}

// startDue starts what is due and has a free worker, and returns when something else will be due.
func (s *Syncer) startDue(ctx context.Context, workers *sync.WaitGroup) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.queue.wake(time.Now())
	for {
		r := s.beginLocked(ctx)
		if r == nil {
			return next
		}
		workers.Go(func() {
			for r != nil { // one goroutine after the other would grow the same deep stack again
				err := s.reader.run(r.ctx, r.key)
				r.cancel()
				r = s.ended(ctx, r, err)
			}
		})
	}
}

// beginLocked notes the next run as under way; nil if none is due, or no worker is free.
func (s *Syncer) beginLocked(ctx context.Context) *run {
	opt := s.opt.now()
	k, ok := s.queue.take(opt.Workers)
	if !ok {
		return nil
	}
	r := &run{key: k, done: make(chan struct{})}
	r.ctx, r.cancel = context.WithTimeout(ctx, opt.RunTimeout)
	s.runs[k] = r
	return r
}

// ended notes the end of a run, and returns the next one for the same worker; nil for none.
func (s *Syncer) ended(ctx context.Context, r *run, err error) (next *run) {
	k := r.key
	s.mu.Lock()
	delete(s.runs, k)
	s.queue.done(k)
	s.requeueLocked(k, err)
	if ctx.Err() == nil {
		s.queue.wake(time.Now())
		next = s.beginLocked(ctx)
	}
	s.mu.Unlock()
	close(r.done)
	s.bus.Publish(k.User, events.Event{Type: events.Connection, Connection: k.Connection})
	s.poke.send()
	return next
}

// requeueLocked makes a failed run due when its backoff ends, not at the next tick. One that was refused because
// another run is finding out waits for that one.
func (s *Syncer) requeueLocked(k Key, err error) {
	if e, ok := errors.AsType[*backoff.NotBeforeError](err); !ok {
		if until := stateAfter(err).Until; !until.IsZero() {
			s.queue.add(k, until)
		}
	} else {
		switch {
		case !e.State.Until.IsZero():
			s.queue.add(k, e.State.Until)
		case e.State.Kind == backoff.Stopped:
		case anyRun(s.runs, k.Connection.Provider()):
			s.behind[k] = true
		default: // the run that was finding out has ended meanwhile
			s.queue.add(k, time.Now().Add(time.Second))
		}
		if e.Endpoint == "" && !e.Met { // it was refused, and no other run has waited for it
			return
		}
	}
	for other := range s.behind {
		if other.Connection.Provider() == k.Connection.Provider() {
			delete(s.behind, other)
			s.queue.add(other, time.Now())
		}
	}
}

// anyRun reports whether a run of the provider is under way, which may find out whether its trouble is over.
func anyRun(runs map[Key]*run, provider string) bool {
	for k := range runs {
		if k.Connection.Provider() == provider {
			return true
		}
	}
	return false
}

// Read reads a stream of a connection to its end, as a run does, but notes no run. The demo begins with it, before Run.
func (s *Syncer) Read(ctx context.Context, k Key) error {
	c, err := s.store.Connection(ctx, k.User, k.Connection)
	if err != nil {
		return err
	}
	read := func(ctx context.Context, call resilience.Call, a providers.Adapter) error {
		_, err := s.reader.read(ctx, call.Turn, c, k.Stream, a)
		return err
	}
	err = s.guard.Do(ctx, providers.OfConnection(c, k.Stream), read)
	if errors.Is(err, providers.ErrNotOffered) {
		return nil
	}
	return err
}

// Start makes all streams of a connection due now. A run that is under way is joined.
func (s *Syncer) Start(user int64, conn library.ConnectionID) { s.start(user, conn, false) }

// StartAnew is Start for a connection that has changed, or whose person asks for news: a run that is under way is
// followed by another. It reports whether one was.
func (s *Syncer) StartAnew(c library.Connection) (followed bool) { return s.start(c.User, c.ID, true) }

func (s *Syncer) start(user int64, conn library.ConnectionID, anew bool) (running bool) {
	p := s.guard.opt.Registry.Get(conn.Provider())
	if p == nil {
		return false
	}
	s.mu.Lock()
	for _, stream := range p.Streams {
		k := Key{user, conn, stream}
		busy := s.runs[k] != nil
		if running = running || busy; anew || !busy {
			s.queue.add(k, time.Now())
			if anew {
				s.queue.first(k)
			}
		}
	}
	s.mu.Unlock()
	s.poke.send()
	return running
}

// stop ends the runs of a connection and removes it from the queue; the next tick, or Start, takes it up again if it
// still exists and is not paused. It returns when its runs have ended.
func (s *Syncer) stop(user int64, conn library.ConnectionID) {
	p := s.guard.opt.Registry.Get(conn.Provider())
	if p == nil {
		return
	}
	var running []*run
	s.mu.Lock()
	for _, stream := range p.Streams {
		k := Key{user, conn, stream}
		s.queue.drop(k)
		s.reader.habits.forget(k)
		delete(s.behind, k)
		if r := s.runs[k]; r != nil {
			r.cancel()
			running = append(running, r)
		}
	}
	s.mu.Unlock()
	for _, r := range running {
		<-r.done
	}
}

// cancel ends the runs of a connection without waiting for them.
func (s *Syncer) cancel(user int64, conn library.ConnectionID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, r := range s.runs {
		if k.User == user && k.Connection == conn {
			r.cancel()
		}
	}
}

// forget drops what is known of the latest reading of a connection, which may be to another account now.
func (s *Syncer) forget(user int64, conn library.ConnectionID) {
	for _, stream := range library.Read {
		s.reader.last.forget(Key{user, conn, stream})
	}
}

// want makes a stream due now. Unlike Start it ignores a run that is under way, which may have begun too early.
func (s *Syncer) want(k Key) {
	s.reader.last.ask(k)
	s.mu.Lock()
	s.queue.add(k, time.Now())
	s.mu.Unlock()
	s.poke.send()
}

// Running reports whether a run of the stream is under way.
func (s *Syncer) Running(k Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[k] != nil
}
