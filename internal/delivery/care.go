package delivery

import (
	"context"
	"time"

	"reprise/internal/library"
)

// LookAgain is how long after it died a dead letter is tried again whose connection is there and not paused
// (docs/resilience.md).
const LookAgain = 24 * time.Hour

const (
	careEvery = time.Minute
	// careSeldom is how often care looks for what has only grown older: nothing has changed since it looked last.
	careSeldom = time.Hour
	keepDone   = 7 * 24 * time.Hour // how long people see what was delivered
)

// careStore is what the runner needs of the store.
type careStore interface {
	// Changes returns a number that grows with every change of the database.
	Changes() uint64
	// Parked returns the connections to which deliveries are parked.
	Parked(context.Context) ([]library.Connection, error)
	// ReleaseChannels makes the parked deliveries due of channels that are not stopped.
	ReleaseChannels(context.Context) error
	// TryAgain makes dead letters that died before a time due for one more attempt each.
	TryAgain(ctx context.Context, diedBefore time.Time) (int, error)
	// Retire removes old deliveries, and returns the dead letters among them.
	Retire(ctx context.Context, doneBefore, deadBefore time.Time) (dead []Delivery, err error)
}

// cared is when care began last, and how often the database had changed then.
type cared struct {
	at      time.Time
	changes uint64
}

// restless reports whether care may find something to do: something has changed or failed, or much time has passed.
func (r *runner) restless() bool {
	return r.failed.Load() || time.Since(r.cared.at) >= careSeldom || r.Store.Changes() != r.cared.changes
}

// care releases what was parked for a reason that is gone. On the server that leads it also tries dead letters again,
// removes old deliveries, and logs when the backlog is long.
func (r *runner) care(ctx context.Context) {
	now := time.Now()
	r.cared = cared{now, r.Store.Changes()}
	r.failed.Store(false)
	r.careFailed(ctx, r.releaseReady(ctx))
	if !r.Guard.Leads() {
		return
	}
	dead, err := r.Store.Retire(ctx, now.Add(-keepDone), now.Add(-r.opt.get().KeepDead))
	r.careFailed(ctx, err)
	for _, v := range dead {
		r.Log.Warn("dead letter removed", "delivery_id", v.ID, "user_id", v.User, "provider", v.Connection, "kind",
			v.Kind,
			"items", v.Items, "category", v.Category)
	}
	again, err := r.Store.TryAgain(ctx, now.Add(-LookAgain))
	r.careFailed(ctx, err)
	if again > 0 {
		r.Log.Info("dead letters are tried again", "count", again)
	}
	backlog, err := r.Store.Backlog(ctx)
	r.careFailed(ctx, err)
	warned := r.warned
	r.warned = backlog >= r.opt.get().BacklogWarn
	if r.warned && !warned {
		r.Log.Warn("many deliveries wait", "count", backlog)
	}
}

func (r *runner) careFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		r.failed.Store(true)
		r.Log.Error("maintenance of deliveries failed", "err", err)
	}
}
