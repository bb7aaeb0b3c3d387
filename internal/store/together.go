package store

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"slices"
	"sync"

	"reprise/internal/library"
)

// together holds small writes back, to store them in one transaction: with the next larger one, or at the end. A run
// that finds nothing new writes three facts about itself; on a memory card each transaction costs as much as a page of
// listens.
type together struct {
	mu    sync.Mutex
	steps []step

	stored bool  // by this run or another; guarded by ends.turn, as is err
	err    error // of that
}

// step is a write that is held back. A later one of the same fact takes its place.
type step struct {
	fact string
	do   func(ctx context.Context, tx *sql.Tx) error
}

// ends are runs that have ended, and wait for what they hold back to be stored. While one transaction is under way
// others gather here, and the next one stores them all: a commit waits for the disk.
type ends struct {
	turn    sync.Mutex // held during the transaction
	mu      sync.Mutex
	waiting []*together
}

func (e *ends) wait(t *together) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = append(e.waiting, t)
}

// gather takes those that wait.
func (e *ends) gather() (all []*together) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all, e.waiting = e.waiting, nil
	return all
}

// togetherKey is the key of a context's together.
type togetherKey struct{}

// Together returns a context for one run. What the run writes with it of its positions, its success and its outcome is
// stored with the next listens that it stores, or at last by end: of each fact the latest. What is held back is lost if
// the process ends before: then the run reads the same again.
func (s *Store) Together(ctx context.Context) (run context.Context, end func(context.Context) error) {
	t := &together{}
	return context.WithValue(ctx, togetherKey{}, t), func(ctx context.Context) error {
		if t.empty() {
			return nil
		}
		t.stored, t.err = false, nil
		s.ends.wait(t)
		runtime.Gosched() // others may be about to end
		s.ends.turn.Lock()
		defer s.ends.turn.Unlock()
		if !t.stored {
			s.storeEnds(context.WithValue(ctx, togetherKey{}, nil), s.ends.gather())
		}
		return t.err
	}
}

// storeEnds stores what runs have held back, in one transaction; if that fails, in one for each run, so that none
// suffers for another.
func (s *Store) storeEnds(ctx context.Context, all []*together) {
	err := s.write(ctx, func(tx *sql.Tx) error {
		for _, t := range all {
			if err := t.store(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	for _, t := range all {
		t.stored, t.err = true, err
		if err != nil && len(all) > 1 {
			t.err = s.write(ctx, func(tx *sql.Tx) error { return t.store(ctx, tx) })
		}
		if t.err == nil {
			t.take()
		}
	}
}

func (t *together) empty() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.steps) == 0
}

// take returns what was held back, which is no longer.
func (t *together) take() (steps []step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	steps, t.steps = t.steps, nil
	return steps
}

// store writes what is held back, and keeps it until the transaction is committed.
func (t *together) store(ctx context.Context, tx *sql.Tx) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return runSteps(ctx, tx, t.steps)
}

// runSteps writes in order. A run of a connection that has been replaced meanwhile leaves no position; its other facts
// hold.
func runSteps(ctx context.Context, tx *sql.Tx, steps []step) error {
	for _, one := range steps {
		if err := one.do(ctx, tx); err != nil && !errors.Is(err, library.ErrReplaced) {
			return err
		}
	}
	return nil
}

// soon stores a small fact about a run: together with what else the run writes, or at once without one.
func (s *Store) soon(ctx context.Context, fact string, do func(context.Context, *sql.Tx) error) error {
	t, ok := ctx.Value(togetherKey{}).(*together)
	if !ok {
		return s.write(ctx, func(tx *sql.Tx) error { return do(ctx, tx) })
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.IndexFunc(t.steps, func(earlier step) bool { return earlier.fact == fact }); i >= 0 {
		t.steps[i].do = do
	} else {
		t.steps = append(t.steps, step{fact, do})
	}
	return nil
}

// first runs in a transaction what was held back until now. If that is not committed, undo holds it back again.
func first(ctx context.Context, tx *sql.Tx) (undo func(), err error) {
	t, ok := ctx.Value(togetherKey{}).(*together)
	if !ok {
		return func() {}, nil
	}
	steps := t.take()
	undo = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.steps = append(steps, t.steps...)
	}
	return undo, runSteps(ctx, tx, steps)
}
