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
	"reprise/internal/providers"
	"reprise/internal/words"
)

// loopJitter is the share by which the loop's interval varies, so that installations do not call in step.
const loopJitter = 0.1

// Config is what a Runner works with.
type Config struct {
	Every    time.Duration       // how often to look for new listens and due tasks; 1 h by default
	Services *providers.Registry // with the sources, each after the one that it needs
	Store    Store
	Guard    Guard
	Pictures Pictures // nil to keep none
	Bus      *events.Bus
	Log      *slog.Logger
}

// Runner asks the sources. Make it with New, and run it with Run. It is safe for concurrent use.
type Runner struct {
	c       Config
	ticked  chan struct{}
	workers map[string]*worker // by source

	mu    sync.Mutex       // for c.Every and the loop
	loops gocron.Scheduler // nil while nothing runs
	job   gocron.Job
}

// New returns a Runner.
func New(c Config) *Runner {
	if c.Every == 0 {
		c.Every = time.Hour
	}
	r := &Runner{c: c, ticked: make(chan struct{}, 1), workers: map[string]*worker{}}
	for _, s := range r.Sources() {
		r.workers[s.Provider.Name] = &worker{name: s.Provider.Name, r: r, poke: make(chan struct{}, 1)}
	}
	return r
}

// Sources returns all sources as they are now, set up or not.
func (r *Runner) Sources() (all []Source) {
	for _, p := range r.c.Services.All() {
		if p.Enriches != nil {
			all = append(all, newSource(p, r.c.Services, r.keepsPictures()))
		}
	}
	return all
}

// source returns one source as it is now.
func (r *Runner) source(name string) Source {
	return newSource(r.c.Services.Get(name), r.c.Services, r.keepsPictures())
}

func (r *Runner) keepsPictures() bool { return r.c.Pictures != nil && r.c.Pictures.Keeps() }

// needing returns the sources that are set up and need the MBIDs of another one.
func (r *Runner) needing(name string) (all []string) {
	for _, s := range r.Sources() {
		if s.Needs == name && s.Enricher != nil {
			all = append(all, s.Provider.Name)
		}
	}
	return all
}

// Running reports whether a source is being asked now.
func (r *Runner) Running(source string) bool {
	w := r.workers[source]
	return w != nil && w.busy.Load()
}

// Trouble returns the failure on our own side that keeps a source from being asked, for a person; empty without one.
// The next tick tries again.
func (r *Runner) Trouble(source string) words.Text {
	if w := r.workers[source]; w != nil {
		if problem := w.trouble.Load(); problem != nil {
			return *problem
		}
	}
	return words.Text{}
}

// Tick requests a tick now, and returns at once.
func (r *Runner) Tick() { wake(r.ticked) }

// Retry makes the postponed tasks of a source due, and requests a tick.
func (r *Runner) Retry(ctx context.Context, source string) error {
	err := r.c.Store.RetryFailed(ctx, source)
	r.Tick()
	return err
}

// Run works until ctx ends, and waits for the calls under way.
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
	running.Wait() // before Shutdown, which waits actively
	r.mu.Lock()
	r.loops = nil
	r.mu.Unlock()
	return loops.Shutdown()
}

// startLoop starts the loop that requests a tick at every interval.
func (r *Runner) startLoop() (gocron.Scheduler, error) {
	quiet := gocron.WithLogger(gocron.NewLogger(gocron.LogLevelError))
	loops, err := gocron.NewScheduler(quiet, gocron.WithStopTimeout(15*time.Second))
	if err != nil {
		return nil, fmt.Errorf("start loop: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.job, err = loops.NewJob(jittered(r.c.Every), gocron.NewTask(r.Tick), gocron.WithName("enrichment"),
		gocron.WithStartAt(gocron.WithStartImmediately()))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start loop: %w", err), loops.Shutdown())
	}
	r.loops = loops
	loops.Start()
	return loops, nil
}

func jittered(every time.Duration) gocron.JobDefinition {
	jitter := time.Duration(float64(every) * loopJitter)
	return gocron.DurationRandomJob(every-jitter, every+jitter)
}

// SetEvery changes how often the runner looks for new listens and due tasks.
func (r *Runner) SetEvery(every time.Duration) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if every == r.c.Every {
		return nil
	}
	r.c.Every = every
	if r.loops != nil {
		r.job, err = r.loops.Update(r.job.ID(), jittered(every), gocron.NewTask(r.Tick),
			gocron.WithName("enrichment"))
	}
	return err
}

// Every returns how often the runner looks for new listens and due tasks.
func (r *Runner) Every() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.c.Every
}

// tick adds new music to the queue, and wakes the workers.
func (r *Runner) tick(ctx context.Context) {
	if err := r.fill(ctx); err != nil && ctx.Err() == nil { // the next tick continues
		r.c.Log.Error("loop failed", "err", err, "loop", "enrichment")
	}
	for _, w := range r.workers {
		wake(w.poke)
	}
}

// fill adds new music and lost pictures to the queue.
func (r *Runner) fill(ctx context.Context) error {
	for _, s := range r.Sources() {
		if s.Enricher == nil {
			continue
		}
		enqueue := func() (bool, error) { return r.c.Store.Enqueue(ctx, s.Provider.Name, s.Kinds, s.Needs) }
		if err := all(enqueue); err != nil {
			return err
		}
	}
	if !r.keepsPictures() {
		return nil
	}
	return r.c.Store.RenewPictures(ctx, r.c.Pictures.Missing)
}

// all calls some until there is no more to do.
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

// tell publishes an event to everybody, because facts about music are shared.
func (r *Runner) tell(ctx context.Context, e events.Event) {
	people, err := r.c.Store.People(ctx)
	if err != nil {
		return // an event is only a hint; others report failures of the database
	}
	for _, user := range people {
		r.c.Bus.Publish(user, e)
	}
}
