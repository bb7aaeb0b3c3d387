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
		if left := time.Until(l.ExpiresAt); p == nil || p.OAuth == nil || left <= 0 || left > alerts.FirstNotice {
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
