package delivery

import (
	"context"
	"errors"
	"maps"
	"time"
)

const (
	careEvery = time.Minute
	lookAfter = 24 * time.Hour     // a dead letter is looked at again once a day (resilience page, "Deliveries")
	keepDone  = 7 * 24 * time.Hour // how long people see what was carried
)

// CareStore keeps what is looked after.
type CareStore interface {
	TryAgain(ctx context.Context, diedBefore time.Time) (int, error)
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
	again, err := d.store.TryAgain(ctx, now.Add(-lookAfter))
	d.careFailed(ctx, err)
	if again > 0 {
		d.log.Info("dead letters are looked at again", "count", again)
	}
	d.careFailed(ctx, d.resume(ctx))
	d.careFailed(ctx, d.releaseReady(ctx))
	d.careFailed(ctx, d.openQueues(ctx))
	backlog, err := d.queue.Backlog(ctx)
	d.careFailed(ctx, err)
	d.mu.Lock()
	warned := d.warned
	d.warned = backlog > d.opt.BacklogWarn
	d.mu.Unlock()
	if backlog > d.opt.BacklogWarn && !warned {
		d.log.Warn("many deliveries wait", "count", backlog)
	}
}

// resume makes due what the queue has for running although nobody works on it: the database was away for longer than River
// tries to note an end. What has ended just now may still be noted, so it has to have been so at the look before as well.
func (d *Deliveries) resume(ctx context.Context) error {
	lost, err := d.queue.Running(ctx)
	d.mu.Lock()
	maps.DeleteFunc(lost, func(id int64, _ time.Time) bool { return d.working[id] })
	d.mu.Unlock()
	for id, taken := range lost {
		if before, ok := d.lost[id]; ok && before.Equal(taken) {
			d.log.Warn("the end of a delivery's attempt could not be kept, and it is due again", "delivery_id", id)
			err = errors.Join(err, d.queue.Resume(ctx, id))
		}
	}
	d.lost = lost
	return err
}

func (d *Deliveries) careFailed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		d.log.Error("looking after deliveries failed", "err", err)
	}
}
