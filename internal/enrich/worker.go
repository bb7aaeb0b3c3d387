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
)

const (
	refreshAfter = 90 * 24 * time.Hour // facts that were found
	tellEvery    = 2 * time.Second     // progress
	showEvery    = 10 * time.Second    // that there is something new to be shown, and to be asked for by other sources
	mostPictures = 3                   // that are tried of one entity
)

// putOff is how long what has failed waits, after the first failure in a row, the second, and all others. What failed for
// a reason that is not its own waits as after the first: outages pass.
var putOff = [...]time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// worker asks one source, one thing at a time.
type worker struct {
	Source
	r    *Runner
	then []string // the sources that need this one's MBIDs
	poke chan struct{}
	busy atomic.Bool
	// trouble is what a person should know of a fault on our own side that has ended the latest turn; nil without one.
	trouble atomic.Pointer[string]

	progress    Progress
	told, shown time.Time
}

// run takes turns until ctx ends: when it is poked, and when what stands against the source is over.
func (w *worker) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		timer.Stop()
		until, err := w.turn(ctx)
		if err != nil && ctx.Err() == nil { // the next tick tries again
			w.r.log.Error("enrichment cannot go on", "provider", w.Provider.Name, "err", err)
		}
		if !until.IsZero() {
			timer.Reset(max(time.Until(until), time.Second))
		}
		select {
		case <-ctx.Done():
		case <-w.poke:
		case <-timer.C:
		}
	}
}

// turn asks until nothing is due, or the source may not be asked; then it says until when, if that is known.
func (w *worker) turn(ctx context.Context) (until time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			w.r.log.Error("enrichment panicked", "provider", w.Provider.Name, "err", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
	}()
	asked := false
	defer func() {
		w.trouble.Store(nil)
		if e, ok := errors.AsType[*resilience.LocalError](err); ok {
			w.trouble.Store(&e.Problem)
		}
		w.busy.Store(false)
		if asked {
			w.show(context.WithoutCancel(ctx))
		}
	}()
	for ctx.Err() == nil {
		t, err := w.r.store.NextTask(ctx, w.Provider.Name)
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
		o, err := w.ask(ctx, t)
		if refused, ok := errors.AsType[*resilience.NotBeforeError](err); ok {
			return refused.State.Until, nil
		}
		if errors.Is(err, errSource) {
			return time.Now(), nil // by then the guard says until when
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

// errSource says that a failure is not the fault of what was asked for.
var errSource = errors.New("the source refuses to be asked")

// begin says that the source is being asked from now on.
func (w *worker) begin(ctx context.Context) error {
	w.busy.Store(true)
	w.told, w.shown = time.Time{}, time.Now()
	return w.count(ctx)
}

// count looks how far it is; in between every outcome is counted.
func (w *worker) count(ctx context.Context) error {
	now, err := w.r.store.EnrichmentProgress(ctx)
	w.progress = now[w.Provider.Name]
	return err
}

// ask makes the calls of one task. An error says that the source cannot be asked now, for reasons that are not the
// task's, or that what it told cannot be kept here.
func (w *worker) ask(ctx context.Context, t Task) (Outcome, error) {
	o := Outcome{Task: t, State: t.State, Then: w.then}
	if t.State == Failed && w.Needs == "" {
		t.MBID = "" // it may be what leads nowhere: ids are merged and deleted
	}
	var picture []byte
	subject := providers.OfInstallation(w.Provider, library.Enrichment)
	err := w.r.guard.Do(ctx, subject, func(ctx context.Context, _ providers.Adapter) (err error) {
		if o.Facts, err = w.Enricher.Enrich(ctx, t.Entity); err == nil {
			picture, err = w.picture(ctx, t.Kind, o.Facts.Pictures)
		}
		return err
	})
	if err == nil && picture != nil {
		if o.Picture, err = w.r.pictures.Keep(picture); err != nil {
			return o, err
		}
	}
	now := time.Now()
	switch {
	case err == nil:
		o.State, o.Due = Done, now.Add(refreshAfter)
		return o, nil
	case errors.Is(err, library.ErrNotThere):
		o.State, o.Due, o.Facts = NotThere, now.Add(w.NotThere), library.Facts{}
		return o, nil
	case ctx.Err() != nil:
		return o, ctx.Err()
	}
	err = o.fail(err, now)
	return o, err
}

// fail puts a task off whose own fault a failure may be. Where it cannot be, the task stays what is asked next, and the
// error says why nothing is asked now.
func (o *Outcome) fail(err error, now time.Time) error {
	if _, ok := errors.AsType[*resilience.NotBeforeError](err); ok {
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

// picture gets the best picture that there is of an entity; nil without one.
func (w *worker) picture(ctx context.Context, kind string, offered []library.Picture) ([]byte, error) {
	if w.r.pictures == nil {
		return nil, nil
	}
	wanted := map[string]string{library.KindArtist: "portrait", library.KindAlbum: "cover"}[kind]
	tried := 0
	for _, p := range offered {
		if p.Kind != wanted || tried == mostPictures {
			continue
		}
		tried++
		picture, err := w.r.pictures.Fetch(ctx, p.URL)
		if !resilience.IsItem(err) {
			return picture, err
		}
	}
	return nil, nil
}

// learn stores an outcome and tells those who watch. What was answered is kept although we are being stopped.
func (w *worker) learn(ctx context.Context, o Outcome) error {
	if err := w.r.store.SaveOutcome(context.WithoutCancel(ctx), o); err != nil {
		return err
	}
	w.progress.Add(o.Task.State, -1)
	w.progress.Add(o.State, 1)
	now := time.Now()
	if now.Sub(w.told) >= tellEvery {
		w.told = now
		w.r.tell(ctx, events.Event{Type: events.Progress, Provider: w.Provider.Name, Stream: library.Enrichment, Done: w.progress.Asked(), Total: w.progress.Total()})
	}
	if now.Sub(w.shown) >= showEvery {
		if err := w.count(ctx); err != nil { // a tick may have found more
			return err
		}
		w.show(ctx)
	}
	return nil
}

// show tells everybody that more is known, and lets the sources go on that may have waited for it. They are not poked for
// every single MBID: each time would be a turn of theirs, and a turn is counted and told.
func (w *worker) show(ctx context.Context) {
	w.shown = time.Now()
	w.r.tell(ctx, events.Event{Type: events.Enrichment, Provider: w.Provider.Name})
	for _, name := range w.then {
		wake(w.r.workers[name].poke)
	}
}
