package enrich

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/words"
)

const (
	refreshAfter = 90 * 24 * time.Hour // age at which facts are asked for again
	tellEvery    = 2 * time.Second     // interval of progress events
	showEvery    = 10 * time.Second    // interval of events about new facts, and of waking the sources that need them
	maxPictures  = 3                   // number of pictures of one entity to try
)

// putOff is the wait after the first failure of an entity in a row, the second, and all others. A failure that is not
// the entity's own, such as an outage, counts as the first.
var putOff = [...]time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// worker asks one source, one task at a time.
type worker struct {
	name string // of the source
	r    *Runner
	busy atomic.Bool
	// trouble is the failure on our own side that ended the latest turn, for a person; nil without one.
	trouble atomic.Pointer[words.Text]

	progress        Progress
	toldAt, shownAt time.Time
}

// turn asks until nothing is due or the source may not be asked. It returns when it may be asked again; zero when that
// is unknown.
func (w *worker) turn(ctx context.Context) (until time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.r.c.Log.Error("enrichment panicked",
				"provider", w.name, "err", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	asked := false
	defer func() {
		w.trouble.Store(nil)
		if e, ok := errors.AsType[*resilience.LocalError](err); ok {
			problem := words.Of(e.Problem)
			w.trouble.Store(&problem)
		}
		w.busy.Store(false)
		if asked {
			w.show(context.WithoutCancel(ctx))
		}
	}()
	for ctx.Err() == nil {
		s := w.r.source(w.name)
		if s.Enricher == nil {
			return time.Time{}, nil
		}
		t, err := w.r.c.Store.NextTask(ctx, w.name)
		if errors.Is(err, library.ErrNotFound) {
			return time.Time{}, nil
		}
		if err != nil {
			return time.Time{}, err
		}
		if !asked {
			if err := w.begin(ctx); err != nil {
				return time.Time{}, err
			}
			asked = true
		}
		o, err := w.ask(ctx, s, t)
		if refused, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
			return refused.State.Until, nil
		}
		if errors.Is(err, errSource) {
			return time.Now(), nil // the next call to the guard returns how long to wait
		}
		if err != nil {
			return time.Time{}, err
		}
		if err := w.learn(ctx, o); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, nil
}

// errSource says that a source failed as a whole, not for one entity.
var errSource = errors.New("the source cannot be asked")

// begin notes that the source is being asked.
func (w *worker) begin(ctx context.Context) error {
	w.busy.Store(true)
	w.toldAt, w.shownAt = time.Time{}, time.Now()
	return w.count(ctx)
}

// count reads the progress from the database. learn keeps it up to date in between.
func (w *worker) count(ctx context.Context) error {
	now, err := w.r.c.Store.EnrichmentProgress(ctx)
	w.progress = now[w.name]
	return err
}

// ask makes the calls of one task. It returns an error if the source cannot be asked now for reasons that are not the
// task's, or if its answer cannot be stored.
func (w *worker) ask(ctx context.Context, s Source, t Task) (Outcome, error) {
	o := Outcome{Task: t, State: t.State, Then: w.r.needing(w.name)}
	if t.State == Failed && s.Needs == "" {
		t.MBID = "" // the MBID may be the cause: they are merged and deleted
	}
	var picture []byte
	subject := providers.OfInstallation(s.Provider, library.Enrichment)
	err := w.r.c.Guard.Do(ctx, subject, func(ctx context.Context, call resilience.Call,
		_ providers.Adapter) (err error) {
		if o.Facts, err = s.Enricher.Enrich(ctx, call, t.Entity); err == nil {
			o.Facts.Clean()
			picture, err = w.picture(ctx, call, t.Kind, o.Facts.Pictures)
		}
		return err
	})
	if err == nil && picture != nil {
		if o.Picture, err = w.r.c.Pictures.Keep(picture); err != nil {
			return o, err
		}
	}
	now := time.Now()
	switch {
	case err == nil:
		o.State, o.Due = Done, now.Add(refreshAfter)
		return o, nil
	case errors.Is(err, library.ErrNotThere):
		o.State, o.Due, o.Facts = NotThere, now.Add(s.NotThere), library.Facts{}
		return o, nil
	case ctx.Err() != nil:
		return o, ctx.Err()
	}
	err = o.fail(err, now)
	return o, err
}

// fail postpones a task whose failure may be its own fault. If it cannot be, fail returns the reason why nothing can be
// asked now, and the task stays the next one.
func (o *Outcome) fail(err error, now time.Time) error {
	if _, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*resilience.LocalError](err); ok {
		return err
	}
	v := resilience.VerdictOf(err)
	switch v.Category {
	case resilience.RateLimit, resilience.Quota, resilience.Auth, resilience.Config:
		return errSource
	}
	o.Facts, o.Failures, o.Due = library.Facts{}, max(o.Task.Failures, 1), now.Add(putOff[0])
	if v.Scope == resilience.ScopeItem {
		if o.Task.State == Failed {
			o.Failures = o.Task.Failures + 1
		}
		o.State, o.Due = Failed, now.Add(putOff[min(o.Failures, len(putOff))-1])
	}
	o.Reason = resilience.Excerpt(err.Error())
	return nil
}

// picture fetches the best picture of an entity; nil without one.
func (w *worker) picture(
	ctx context.Context, call resilience.Call, kind string, offered []library.Picture,
) ([]byte, error) {
	if !w.r.keepsPictures() {
		return nil, nil
	}
	wanted := map[string]string{library.KindArtist: "portrait", library.KindAlbum: "cover"}[kind]
	tried := 0
	for _, p := range offered {
		if p.Kind != wanted || tried == maxPictures {
			continue
		}
		tried++
		picture, err := w.r.c.Pictures.Fetch(ctx, call, p.URL)
		if !resilience.IsItem(err) {
			return picture, err
		}
	}
	return nil, nil
}

// learn stores an outcome, even during a stop, and publishes the progress.
func (w *worker) learn(ctx context.Context, o Outcome) error {
	if err := w.r.c.Store.SaveOutcome(context.WithoutCancel(ctx), o); err != nil {
		return err
	}
	w.progress.Add(o.Task.State, -1)
	w.progress.Add(o.State, 1)
	now := time.Now()
	if now.Sub(w.toldAt) >= tellEvery {
		w.toldAt = now
		w.r.tell(ctx, events.Event{
			Type:       events.Progress,
			Connection: library.ConnectionID(w.name),
			Stream:     library.Enrichment,
			Done:       w.progress.Asked(),
			Total:      w.progress.Total(),
		})
	}
	if now.Sub(w.shownAt) >= showEvery {
		if err := w.count(ctx); err != nil { // a tick may have found more
			return err
		}
		w.show(ctx)
	}
	return nil
}

// show publishes that there are new facts, and wakes the sources that need their MBIDs. It does so for several at a
// time, because each turn of a worker costs queries and events.
func (w *worker) show(ctx context.Context) {
	w.shownAt = time.Now()
	w.r.tell(ctx, events.Event{Type: events.Enrichment, Connection: library.ConnectionID(w.name)})
	for _, name := range w.r.needing(w.name) {
		w.r.wake(name, time.Now())
	}
}
