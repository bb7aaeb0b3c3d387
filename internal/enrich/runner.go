package enrich

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/queue"
	"reprise/internal/words"

	"github.com/riverqueue/river"
)

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
	workers map[string]*worker // by source

	mu   sync.Mutex // for c.Every and what follows
	tick time.Time  // the next one
	// again is when each source is asked next. One that is not there waits for the next tick.
	again map[string]time.Time
}

// New returns a Runner.
func New(c Config) *Runner {
	if c.Every == 0 {
		c.Every = time.Hour
	}
	r := &Runner{c: c, workers: map[string]*worker{}, again: map[string]time.Time{}}
	for _, s := range r.Sources() {
		r.workers[s.Provider.Name] = &worker{name: s.Provider.Name, r: r}
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
func (r *Runner) Tick() {
	r.mu.Lock()
	r.tick = time.Time{}
	r.mu.Unlock()
	r.c.Store.Queue().Look(Job{}.Kind())
}

// wake has a source asked at a time.
func (r *Runner) wake(source string, at time.Time) {
	r.mu.Lock()
	r.again[source] = at
	r.mu.Unlock()
	r.c.Store.Queue().Look(Job{}.Kind())
}

// Retry makes the postponed tasks of a source due, and requests a tick.
func (r *Runner) Retry(ctx context.Context, source string) error {
	err := r.c.Store.RetryFailed(ctx, source)
	r.Tick()
	return err
}

// Job asks for a turn at a source.
type Job struct {
	Source string `json:"source"`
}

// Kind implements river.JobArgs.
func (Job) Kind() string { return "enrich" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (j Job) InsertOpts() river.InsertOpts { return queue.Unique(j) }

// Run works until ctx ends, and waits for the calls under way.
func (r *Runner) Run(ctx context.Context) error {
	return queue.Work(ctx, r.c.Store.Queue(), queue.Crew[Job]{Work: r.work, AtOnce: max(len(r.workers), 1),
		Due: r.due, Log: r.c.Log,
		Failed: func(err error) { r.c.Log.Error("enrichment cannot be looked up", "err", err) }})
}

// due returns a job for each source that may be asked and for which there is a task, and when the next one may be
// asked. At a tick it first adds new music to the tasks.
func (r *Runner) due(ctx context.Context, _, now time.Time) (jobs []Job, next time.Time, err error) {
	if r.ticks(now) {
		if err := r.fill(ctx); err != nil && ctx.Err() == nil { // the next tick continues
			r.c.Log.Error("loop failed", "err", err, "loop", "enrichment")
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	next = r.tick
	for source, at := range r.again {
		switch {
		case !at.After(now) && r.idle(ctx, source):
			delete(r.again, source)
		case !at.After(now):
			jobs = append(jobs, Job{source})
		case at.Before(next):
			next = at
		}
	}
	return jobs, next, nil
}

// idle reports whether there is no task for a source.
func (r *Runner) idle(ctx context.Context, source string) bool {
	if r.source(source).Enricher == nil {
		return true
	}
	_, err := r.c.Store.NextTask(ctx, source)
	return errors.Is(err, library.ErrNotFound)
}

// ticks reports whether it is time for a tick. If so, it sets the time of the next one, and every source may be asked.
func (r *Runner) ticks(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tick.After(now) {
		return false
	}
	r.tick = queue.Again(now, r.c.Every)
	for source := range r.workers {
		r.again[source] = now
	}
	return true
}

// work works a job.
func (r *Runner) work(ctx context.Context, job *river.Job[Job]) error {
	source := job.Args.Source
	r.mu.Lock()
	delete(r.again, source)
	r.mu.Unlock()
	until, err := r.workers[source].turn(ctx)
	if err != nil && ctx.Err() == nil { // the next tick tries again
		r.c.Log.Error("enrichment cannot continue", "provider", source, "err", err)
	}
	if !until.IsZero() {
		r.wake(source, time.Now().Add(max(time.Until(until), time.Second)))
	}
	return queue.End(context.WithoutCancel(ctx), r.c.Store.Queue(), job)
}

// SetEvery changes how often the runner looks for new listens and due tasks.
func (r *Runner) SetEvery(every time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if every != r.c.Every {
		r.tick = r.tick.Add(every - r.c.Every)
		r.c.Every = every
		r.c.Store.Queue().Look(Job{}.Kind())
	}
}

// Every returns how often the runner looks for new listens and due tasks.
func (r *Runner) Every() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.c.Every
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
