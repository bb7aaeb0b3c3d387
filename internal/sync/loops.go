package sync

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-co-op/gocron/v2"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// loopJitter is the share by which the interval of a loop varies, so that installations do not call in step.
const loopJitter = 0.1

// expiryEvery is how often the ends of authorizations are looked at; the notices count days.
const expiryEvery = time.Hour

// startLoops lets the loops tick. Each only fills the queue, so a tick takes no time.
func (s *Syncer) startLoops(ctx context.Context) (gocron.Scheduler, error) {
	loops, err := gocron.NewScheduler(gocron.WithLogger(gocron.NewLogger(gocron.LogLevelError)), gocron.WithStopTimeout(15*time.Second))
	if err != nil {
		return nil, fmt.Errorf("start loops: %w", err)
	}
	add := func(name string, every time.Duration, work func(context.Context) error) error {
		jitter := time.Duration(float64(every) * loopJitter)
		_, err := loops.NewJob(gocron.DurationRandomJob(every-jitter, every+jitter),
			gocron.NewTask(func() { s.loop(ctx, name, work) }),
			gocron.WithName(name), gocron.WithStartAt(gocron.WithStartImmediately()))
		return err
	}
	err = errors.Join(
		add("listens", s.opt.ListensEvery, func(ctx context.Context) error { return s.Tick(ctx, library.Listens) }),
		add("playlists", s.opt.PlaylistsEvery, func(ctx context.Context) error { return s.Tick(ctx, library.Playlists) }),
		add("authorizations", expiryEvery, s.announceEnds),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start loops: %w", err), loops.Shutdown())
	}
	loops.Start()
	return loops, nil
}

// loop is one tick: an error or a panic in it is logged, and the loop goes on.
func (s *Syncer) loop(ctx context.Context, name string, work func(context.Context) error) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("loop panicked", "err", fmt.Sprint(r), "loop", name, "stack", string(debug.Stack()))
		}
	}()
	if err := work(ctx); err != nil && ctx.Err() == nil {
		s.log.Error("loop failed", "err", err, "loop", name)
	}
}

// announceEnds tells people in time that an authorization will end.
func (s *Syncer) announceEnds(ctx context.Context) error {
	connections, err := s.store.Connections(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range connections {
		p := s.guard.opt.Registry.Get(c.Provider)
		if p == nil || p.OAuth == nil || c.ExpiresAt.IsZero() || time.Until(c.ExpiresAt) <= 0 {
			continue
		}
		if s.guard.state(c, "").Kind != resilience.Stopped {
			errs = append(errs, s.guard.opt.Alerts.Ending(ctx, p, c))
		}
	}
	return errors.Join(errs...)
}
