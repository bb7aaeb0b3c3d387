package sync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"reprise/internal/alerts"
	"reprise/internal/library"
	"reprise/internal/resilience/backoff"
)

// loopJitter is the share by which the interval of a loop varies, so that installations do not call in step.
const loopJitter = 0.1

// LovesEvery is about how often it is read what people love.
const LovesEvery = time.Hour

// SongsEvery is about how often it is read which songs people's libraries have: a page of 500 songs is a call.
const SongsEvery = 24 * time.Hour

// expiryEvery is how often the ends of authorizations are checked; the notices are days ahead.
const expiryEvery = time.Hour

// loops are the loops of a Syncer. A tick only fills the queue, so it takes no time.
type loops struct {
	mu        sync.Mutex
	scheduler gocron.Scheduler // nil while nothing runs
	jobs      map[string]loop
}

// loop is one of them.
type loop struct {
	job      gocron.Job
	interval time.Duration
	task     gocron.Task
}

// start starts the loops; each ticks at once.
func (l *loops) start(ctx context.Context, s *Syncer) error {
	scheduler, err := gocron.NewScheduler(gocron.WithLogger(gocron.NewLogger(gocron.LogLevelError)),
		gocron.WithStopTimeout(15*time.Second))
	if err != nil {
		return fmt.Errorf("start loops: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.jobs = map[string]loop{}
	add := func(name string, every time.Duration, work func(context.Context) error) error {
		task := gocron.NewTask(func() { tick(ctx, s.log.With("loop", name), work) })
		job, err := scheduler.NewJob(jittered(every), task, gocron.WithName(name),
			gocron.WithStartAt(gocron.WithStartImmediately()))
		if err == nil {
			l.jobs[name] = loop{job, every, task}
		}
		return err
	}
	of := func(stream string) func(context.Context) error {
		return func(ctx context.Context) error { return s.Tick(ctx, stream) }
	}
	opt := s.opt.now()
	err = errors.Join(
		add("listens", opt.ListensEvery, of(library.Listens)),
		add("playlists", opt.PlaylistsEvery, of(library.Playlists)),
		add("loves", LovesEvery, of(library.Loves)),
		add("songs", SongsEvery, of(library.Songs)),
		add("authorizations", expiryEvery, s.reader.announceEnds),
	)
	if err != nil {
		return errors.Join(fmt.Errorf("start loops: %w", err), scheduler.Shutdown())
	}
	scheduler.Start()
	l.scheduler = scheduler
	return nil
}

func jittered(every time.Duration) gocron.JobDefinition {
	jitter := time.Duration(float64(every) * loopJitter)
	return gocron.DurationRandomJob(every-jitter, every+jitter)
}

// every changes the interval of a loop, from now on.
func (l *loops) every(name string, interval time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	one, ok := l.jobs[name]
	if !ok || l.scheduler == nil || one.interval == interval {
		return nil
	}
	job, err := l.scheduler.Update(one.job.ID(), jittered(interval), one.task, gocron.WithName(name))
	if err != nil {
		return fmt.Errorf("change loop %s: %w", name, err)
	}
	l.jobs[name] = loop{job, interval, one.task}
	return nil
}

func (l *loops) stop() error {
	l.mu.Lock()
	scheduler := l.scheduler
	l.scheduler = nil
	l.mu.Unlock()
	return scheduler.Shutdown()
}

// tick is one tick of a loop: an error or a panic in it is logged, and the loop goes on.
func tick(ctx context.Context, log *slog.Logger, work func(context.Context) error) {
	defer func() {
		if r := recover(); r != nil {
			log.Error("loop panicked", "err", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	if err := work(ctx); err != nil && ctx.Err() == nil {
		log.Error("loop failed", "err", err)
	}
}

// announceEnds tells people in time that an authorization will end.
func (rd *reader) announceEnds(ctx context.Context) error {
	links, err := rd.store.Outlines(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range links {
		p := rd.guard.opt.Registry.Get(l.Provider())
		left := time.Until(l.ExpiresAt)
		if p == nil || p.OAuth == nil || left <= 0 || left > alerts.FirstNotice || !rd.guard.Holds(l.ID, l.App) {
			continue
		}
		c, err := rd.store.Connection(ctx, l.User, l.ID)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if rd.guard.state(c, "").Kind != backoff.Stopped {
			errs = append(errs, rd.guard.opt.Alerts.Ending(ctx, p, c))
		}
	}
	return errors.Join(errs...)
}

// Tick makes a stream of all connections due that this server calls, or of those that need it most where a pace has no
// room for all.
func (s *Syncer) Tick(ctx context.Context, stream string) error {
	return s.tickSome(ctx, stream, func(library.Outline) bool { return true })
}

// tickSome is Tick for some connections.
func (s *Syncer) tickSome(ctx context.Context, stream string, some func(library.Outline) bool) error {
	all, err := s.store.Outlines(ctx)
	if err == nil {
		err = s.keepApps(ctx, all)
	}
	if err != nil {
		return err
	}
	type group struct{ provider, app string }
	var due []Key
	sharing := map[group][]Key{} // those that share a pace
	for _, l := range all {
		p, k := s.guard.opt.Registry.Get(l.Provider()), Key{l.User, l.ID, stream}
		switch {
		case p == nil || !p.Pulls(stream) || l.Paused || time.Since(s.reader.last.get(k).lacks) < lookAgain,
			!some(l), !s.guard.Holds(l.ID, l.App):
		case p.SharedPace(l.App) > 0:
			g := group{l.Provider(), l.App}
			sharing[g] = append(sharing[g], k)
		default:
			due = append(due, k)
		}
	}
	now := time.Now()
	for g, keys := range sharing {
		p := s.guard.opt.Registry.Get(g.provider)
		runs, short := allowance(p, stream, len(keys), p.SharedPace(g.app), s.Every)
		if !short {
			s.reader.habits.roomy(keys)
			due = append(due, keys...)
			continue
		}
		if err := s.seedHabits(ctx, stream); err != nil {
			return err
		}
		chosen := s.reader.habits.choose(keys, now, s.Every(stream), runs)
		s.tick(chosen, now, time.Duration(float64(s.Every(stream))/max(runs, 1)))
	}
	s.tick(due, now, 0)
	return nil
}

// seedHabits reads what is known of habits from before the start, once.
func (s *Syncer) seedHabits(ctx context.Context, stream string) error {
	if !s.reader.habits.needsSeed(stream) {
		return nil
	}
	all, err := s.store.Habits(ctx, stream)
	if err == nil {
		s.reader.habits.seed(stream, all, time.Now())
	}
	return err
}

// tick makes streams due, with that much time between two.
func (s *Syncer) tick(keys []Key, now time.Time, space time.Duration) {
	s.mu.Lock()
	s.ticked = now
	for i, k := range keys {
		if s.runs[k] == nil { // a run under way is the one that this tick would have started
			s.queue.add(k, now.Add(time.Duration(i)*space))
		}
	}
	s.mu.Unlock()
	s.poke.send()
}

// Rhythm returns about how often a stream of a connection is read, zero if no loop reads it. Where so many connections
// share its pace that it isn't read with every tick, sharing is how many; else it is 0.
func (s *Syncer) Rhythm(k Key) (every time.Duration, sharing int) {
	loop := s.Every(k.Stream)
	every, sharing = s.reader.habits.rhythm(k)
	unit := 5 * time.Minute // nobody reads more exactly
	if every > 2*time.Hour {
		unit = time.Hour
	}
	if every = every.Round(unit); every > loop {
		return every, sharing
	}
	return loop, 0
}

// Every returns about how often a loop reads a stream; zero if none does.
func (s *Syncer) Every(stream string) time.Duration {
	switch stream {
	case library.Listens:
		return s.opt.now().ListensEvery
	case library.Playlists:
		return s.opt.now().PlaylistsEvery
	case library.Loves:
		return LovesEvery
	case library.Songs:
		return SongsEvery
	}
	return 0
}

// TickedAt returns when a loop ticked last; zero before the first tick.
func (s *Syncer) TickedAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ticked
}
