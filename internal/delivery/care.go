package delivery

import (
	"context"
	"time"
)

const (
	careEvery = time.Minute
	lookAfter = 24 * time.Hour     // a dead letter is looked at again once a day (resilience page, "Deliveries")
	keepDone  = 7 * 24 * time.Hour // how long people see what was carried
)

// CareStore keeps what is looked after.
type CareStore interface {
	Backlog(context.Context) (int, error)
	LookAgain(ctx context.Context, diedBefore time.Time) (int, error)
	Retire(ctx context.Context, doneBefore, deadBefore time.Time) (dead []Delivery, err error)
}

// care looks at dead letters again, removes what is old, and says in the log when much waits.
func (d *Deliveries) care(ctx context.Context) {
	now := time.Now()
	dead, err := d.store.Retire(ctx, now.Add(-keepDone), now.Add(-d.opt.KeepDead))
	d.careFailed(ctx, err)
	for _, v := range dead {
		d.log.Warn("dead letter removed", "delivery_id", v.ID, "user_id", v.User, "provider", v.Provider, "kind", v.Kind, "items", v.Items, "category", v.Category)
	}
	again, err := d.store.LookAgain(ctx, now.Add(-lookAfter))
	d.careFailed(ctx, err)
	if again > 0 {
		d.log.Info("dead letters are looked at again", "count", again)
	}
	d.careFailed(ctx, d.releaseReady(ctx))
	d.careFailed(ctx, d.openQueues(ctx))
	backlog, err := d.store.Backlog(ctx)
	d.careFailed(ctx, err)
	d.mu.Lock()
	warned := d.warned
	d.warned = backlog > d.opt.BacklogWarn
	d.mu.Unlock()
	if backlog > d.opt.BacklogWarn && !warned {
		d.log.Warn("many deliveries wait", "count", backlog)
	}
}

func (d *Deliveries) careFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.log.Error("looking after deliveries failed", "err", err)
	}
}
