package delivery

import (
	"context"
	"sync"
	"sync/atomic"
)

// options are the settings that hold now. They also bound how many attempts are under way at once.
type options struct {
	now atomic.Pointer[Options]

	mu    sync.Mutex
	used  int           // slots
	freed chan struct{} // closed when a slot may be free
}

func newOptions(o Options) *options {
	now := &options{freed: make(chan struct{})}
	o = o.withDefaults()
	now.now.Store(&o)
	return now
}

// get returns the settings that hold now.
func (o *options) get() Options { return *o.now.Load() }

// set changes them, except for Metrics and Began. Attempts under way go on.
func (o *options) set(next Options) {
	now := o.get()
	next.Metrics, next.Began = now.Metrics, now.Began
	next = next.withDefaults()
	o.now.Store(&next)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wakeLocked()
}

func (o *options) wakeLocked() {
	close(o.freed)
	o.freed = make(chan struct{})
}

// slot waits for a free slot; false if ctx ends first. The caller gives it back with free.
func (o *options) slot(ctx context.Context) bool {
	for {
		o.mu.Lock()
		if o.used < o.get().Workers {
			o.used++
			o.mu.Unlock()
			return true
		}
		freed := o.freed
		o.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

func (o *options) free() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.used--
	o.wakeLocked()
}
