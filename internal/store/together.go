package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"reprise/internal/library"
)

// together holds small writes back, to store them in one transaction: with the next larger one, or at the end. A run
// that finds nothing new writes three facts about itself; on a memory card each transaction costs as much as a page of
// listens.
type together struct {
	mu    sync.Mutex
	steps []step
}

// step is a write that is held back.
type step func(ctx context.Context, tx *sql.Tx) error

// togetherKey is the key of a context's together.
type togetherKey struct{}

// Together returns a context for one run. What the run writes with it of its positions, its success and its outcome is
// stored with the next listens that it stores, in the same order, or at last by end. What is held back is lost if the
// process ends before: then the run reads the same again.
func (s *Store) Together(ctx context.Context) (run context.Context, end func(context.Context) error) {
	t := &together{}
	return context.WithValue(ctx, togetherKey{}, t), func(ctx context.Context) error {
		t.mu.Lock()
		empty := len(t.steps) == 0
		t.mu.Unlock()
		if empty {
			return nil
		}
		return s.write(context.WithValue(ctx, togetherKey{}, t), func(*sql.Tx) error { return nil })
	}
}

// soon stores something small: together with what else a run writes, or at once without one.
func (s *Store) soon(ctx context.Context, do step) error {
	t, ok := ctx.Value(togetherKey{}).(*together)
	if !ok {
		return s.write(ctx, func(tx *sql.Tx) error { return do(ctx, tx) })
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.steps = append(t.steps, do)
	return nil
}

// first runs in a transaction what was held back until now. If that is not committed, undo holds it back again.
func first(ctx context.Context, tx *sql.Tx) (undo func(), err error) {
	t, ok := ctx.Value(togetherKey{}).(*together)
	if !ok {
		return func() {}, nil
	}
	t.mu.Lock()
	steps := t.steps
	t.steps = nil
	t.mu.Unlock()
	undo = func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.steps = append(steps, t.steps...)
	}
	for _, do := range steps {
		// A run of a connection that has been replaced meanwhile leaves no position. Its other facts hold.
		if err := do(ctx, tx); err != nil && !errors.Is(err, library.ErrReplaced) {
			return undo, err
		}
	}
	return undo, nil
}
