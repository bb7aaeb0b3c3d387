// Package turns bounds the memory that large answers take: they are read one after the other.
package turns

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// The limits of turns.
const (
	largeAtOnce = 2               // large answers that are in memory at the same time
	maxTurn     = 2 * time.Minute // how long a call waits for its turn here; then the stream is put off
)

// Queue lets large answers take turns, so that those of all upstreams at once fit into a small server's memory: two
// are read and used at the same time, at most one of them for the same person, and the first to ask comes first. Safe
// for concurrent use.
type Queue struct {
	mu      sync.Mutex
	free    int
	holding map[int64]bool // the persons who have a turn
	waiting []*waiter      // in the order in which they came
}

type waiter struct {
	user    int64
	granted chan struct{}
}

// New returns a Queue whose turns nobody holds.
func New() *Queue { return &Queue{free: largeAtOnce, holding: map[int64]bool{}} }

// ErrNone says that a call waited for its turn in vain.
var ErrNone = errors.New("too many large answers at once")

// acquire waits for the turn of a person.
func (ts *Queue) acquire(ctx context.Context, user int64) error {
	ts.mu.Lock()
	if ts.free > 0 && !ts.holding[user] {
		ts.grantLocked(user)
		ts.mu.Unlock()
		return nil
	}
	w := &waiter{user, make(chan struct{})}
	ts.waiting = append(ts.waiting, w)
	ts.mu.Unlock()
	timer := time.NewTimer(maxTurn)
	defer timer.Stop()
	select {
	case <-w.granted:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if i := slices.Index(ts.waiting, w); i >= 0 {
		ts.waiting = slices.Delete(ts.waiting, i, i+1)
	} else { // granted meanwhile
		ts.releaseLocked(user)
	}
	return ErrNone
}

func (ts *Queue) grantLocked(user int64) {
	ts.free--
	ts.holding[user] = true
}

func (ts *Queue) release(user int64) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.releaseLocked(user)
}

// releaseLocked gives a turn back, and to the first who waits and has none.
func (ts *Queue) releaseLocked(user int64) {
	ts.free++
	delete(ts.holding, user)
	for i := 0; i < len(ts.waiting) && ts.free > 0; {
		w := ts.waiting[i]
		if ts.holding[w.user] {
			i++
			continue
		}
		ts.waiting = slices.Delete(ts.waiting, i, i+1)
		ts.grantLocked(w.user)
		close(w.granted)
	}
}

// Turn is what one piece of work, such as a run, holds of a [Queue]. The calls of the work that carry it may get large
// answers, one after the other: each waits for its turn, which it keeps until the next call, or until End is called, so
// that the work is done with one answer before it asks for another. A new Turn holds nothing; a nil one never does.
type Turn struct {
	mu    sync.Mutex
	of    *Queue // nil while nothing is held
	user  int64
	large func(context.Context) error // see BeforeLarge; nil for none
}

// BeforeLarge has f called before the first large answer from now on is read. If f returns an error, so does the call.
func (t *Turn) BeforeLarge(f func(context.Context) error) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.large = f
}

// Held reports whether the latest answer is a large one.
func (t *Turn) Held() bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of != nil
}

// End gives back what is held. It may be called more than once.
func (t *Turn) End() {
	if t == nil {
		return
	}
	t.mu.Lock()
	of := t.of
	t.of = nil
	t.mu.Unlock()
	if of != nil {
		of.release(t.user)
	}
}

// Take waits for a turn unless it is held already. The call that waits holds none.
func (t *Turn) Take(ctx context.Context, of *Queue, user int64) error {
	t.mu.Lock()
	held, large := t.of != nil, t.large
	t.mu.Unlock()
	if held {
		return nil
	}
	if err := of.acquire(ctx, user); err != nil {
		return err
	}
	t.mu.Lock()
	t.of, t.user, t.large = of, user, nil
	t.mu.Unlock()
	if large != nil {
		return large(ctx)
	}
	return nil
}
