package enrich

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"reprise/internal/events"
)

// loopJitter is the share by which the interval of the loop varies, so that installations do not call in step.
const loopJitter = 0.1

// Options shape a Runner.
type Options struct {
	Every time.Duration // how often the listens are looked through for new music, and the queue for what is due; 1 h by default
}

// Runner asks the sources. Make it with New, and run it with Run. Safe for concurrent use.
type Runner struct {
	every    time.Duration
	sources  []Source
	store    Store
	guard    Guard
	pictures Pictures // nil: none are kept
	bus      *events.Bus
	log      *slog.Logger

	ticked  chan struct{}
	workers map[string]*worker // of the sources that can be asked
}

// New returns a Runner; nothing happens before Run. A source comes after the one that it needs.
func New(opt Options, sources []Source, store Store, guard Guard, pictures Pictures, bus *events.Bus, log *slog.Logger) *Runner {
	if opt.Every == 0 {
		opt.Every = time.Hour
	}
	r := &Runner{every: opt.Every, sources: sources, store: store, guard: guard, pictures: pictures, bus: bus, log: log,
		ticked: make(chan struct{}, 1), workers: map[string]*worker{}}
	for _, s := range sources {
		if s.Enricher == nil {
			continue
		}
		r.workers[s.Provider.Name] = &worker{Source: s, r: r, poke: make(chan struct{}, 1)}
		if before := r.workers[s.Needs]; before != nil {
			before.then = append(before.then, s.Provider.Name)
		}
	}
	return r
}

// Sources are all sources, also those that are not set up.
func (r *Runner) Sources() []Source { return r.sources }

// Running says whether a source is being asked now.
func (r *Runner) Running(source string) bool {
	w := r.workers[source]
	return w != nil && w.busy.Load()
}

// Trouble is what a person should know of a fault on our own side because of which a source is not being asked; empty
// without one. It is tried again with the next tick.
func (r *Runner) Trouble(source string) string {
	if w := r.workers[source]; w != nil {
		if said := w.trouble.Load(); said != nil {
			return *said
		}
	}
	return ""
}

// Tick lets a tick happen now, and returns at once.
func (r *Runner) Tick() { wake(r.ticked) }

// Retry makes due what is put off at a source, and lets a tick happen now.
func (r *Runner) Retry(ctx context.Context, source string) error {
	err := r.store.RetryFailed(ctx, source)
	r.Tick()
	return err
}

// Run works until ctx ends, and returns when the calls under way have ended.
func (r *Runner) Run(ctx context.Context) error {
	loops, err := r.startLoop()
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	for _, w := range r.workers {
		running.Go(func() { w.run(ctx) })
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-r.ticked:
			r.tick(ctx)
		}
	}
	running.Wait() // before the loop: its Shutdown waits actively
	return loops.Shutdown()
}

// startLoop lets the loop tick. A tick only says that it is time, so it takes none itself.
func (r *Runner) startLoop() (gocron.Scheduler, error) {
	loops, err := gocron.NewScheduler(gocron.WithLogger(gocron.NewLogger(gocron.LogLevelError)), gocron.WithStopTimeout(15*time.Second))
	if err != nil {
		return nil, fmt.Errorf("start loop: %w", err)
	}
	jitter := time.Duration(float64(r.every) * loopJitter)
	_, err = loops.NewJob(gocron.DurationRandomJob(r.every-jitter, r.every+jitter), gocron.NewTask(r.Tick),
		gocron.WithName("enrichment"), gocron.WithStartAt(gocron.WithStartImmediately()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start loop: %w", err), loops.Shutdown())
	}
	loops.Start()
	return loops, nil
}

// tick looks for new music, puts it into the queue of each source, and lets the sources be asked.
func (r *Runner) tick(ctx context.Context) {
	if err := r.fill(ctx); err != nil && ctx.Err() == nil { // the next tick goes on where this one was
		r.log.Error("loop failed", "err", err, "loop", "enrichment")
	}
	for _, w := range r.workers {
		wake(w.poke)
	}
}

// fill brings the queue up to date: with new music, and with pictures that had to make room or were removed.
func (r *Runner) fill(ctx context.Context) error {
	if err := all(func() (bool, error) { return r.store.FindEntities(ctx) }); err != nil {
		return err
	}
	for _, s := range r.sources {
		if s.Enricher == nil {
			continue
		}
		if err := all(func() (bool, error) { return r.store.Enqueue(ctx, s.Provider.Name, s.Kinds, s.Needs) }); err != nil {
			return err
		}
	}
	if r.pictures == nil {
		return nil
	}
	return r.store.RenewPictures(ctx, r.pictures.Missing)
}

// all does a thing until there is no more of it.
func all(some func() (more bool, err error)) error {
	for {
		if more, err := some(); err != nil || !more {
			return err
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// tell publishes an event to everybody: music is nobody's own.
func (r *Runner) tell(ctx context.Context, e events.Event) {
	people, err := r.store.People(ctx)
	if err != nil {
		return // an event is a hint only, and what is wrong with the database is said by whoever needs it
	}
	for _, user := range people {
		r.bus.Publish(user, e)
	}
}
