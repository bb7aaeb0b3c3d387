package sync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/go-co-op/gocron/v2"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// loopJitter is the share by which the interval of a loop varies, so that installations do not call in step.
const loopJitter = 0.1

// expiryEvery is how often the ends of authorizations are checked; the notices are days ahead.
const expiryEvery = time.Hour

// startLoops starts the loops. A tick only fills the queue, so it takes no time.
func startLoops(ctx context.Context, s *Syncer) (gocron.Scheduler, error) {
	loops, err := gocron.NewScheduler(gocron.WithLogger(gocron.NewLogger(gocron.LogLevelError)),
		gocron.WithStopTimeout(15*time.Second))
	if err != nil {
		return nil, fmt.Errorf("start loops: %w", err)
	}
	add := func(name string, every time.Duration, work func(context.Context) error) error {
		jitter := time.Duration(float64(every) * loopJitter)
		_, err := loops.NewJob(gocron.DurationRandomJob(every-jitter, every+jitter),
			gocron.NewTask(func() { tick(ctx, s.log.With("loop", name), work) }),
			gocron.WithName(name), gocron.WithStartAt(gocron.WithStartImmediately()))
		return err
	}
	of := func(stream string) func(context.Context) error {
		return func(ctx context.Context) error { return s.Tick(ctx, stream) }
	}
	err = errors.Join(
		add("listens", s.opt.ListensEvery, of(library.Listens)),
		add("playlists", s.opt.PlaylistsEvery, of(library.Playlists)),
		add("authorizations", expiryEvery, s.reader.announceEnds),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start loops: %w", err), loops.Shutdown())
	}
	loops.Start()
	return loops, nil
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
	connections, err := rd.store.Connections(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range connections {
		p := rd.guard.opt.Registry.Get(c.Provider())
		if p == nil || p.OAuth == nil || c.ExpiresAt.IsZero() || time.Until(c.ExpiresAt) <= 0 {
			continue
		}
		if rd.guard.state(c, "").Kind != resilience.Stopped {
			errs = append(errs, rd.guard.opt.Alerts.Ending(ctx, p, c))
		}
	}
	return errors.Join(errs...)
}
