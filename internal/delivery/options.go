package delivery

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// options are the settings that hold now. They also bound how many attempts are under way at once.
type options struct {
	now     atomic.Pointer[Options]
	slots   atomic.Pointer[semaphore.Weighted] // as many as Workers
	waiting atomic.Int32                       // for a slot
}

func newOptions(o Options) *options {
	now := &options{}
	now.store(o)
	return now
}

func (o *options) store(next Options) {
	next = next.withDefaults()
	o.now.Store(&next)
	o.slots.Store(semaphore.NewWeighted(int64(next.Workers)))
}

// get returns the settings that hold now.
func (o *options) get() Options { return *o.now.Load() }

// set changes them, except for Metrics and Began. Attempts under way go on, beside as many as the new settings allow.
func (o *options) set(next Options) {
	now := o.get()
	next.Metrics, next.Began = now.Metrics, now.Began
	o.store(next)
}

// slot waits for a free slot, which the caller gives back with free; not ok if ctx ends first.
func (o *options) slot(ctx context.Context) (free func(), ok bool) {
	o.waiting.Add(1)
	defer o.waiting.Add(-1)
	slots := o.slots.Load()
	if slots.Acquire(ctx, 1) != nil {
		return nil, false
	}
	return func() { slots.Release(1) }, true
}

// contended reports whether others wait for a slot.
func (o *options) contended() bool { return o.waiting.Load() > 0 }
