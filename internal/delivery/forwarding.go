package delivery

import (
	"context"
	"time"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/words"
)

// Rule is a person's rule to forward their listens to a provider.
type Rule struct {
	User       int64
	Connection library.ConnectionID
	Kind       string
	Batch      int           // listens per delivery, at most
	From       time.Time     // listens that were played earlier are not forwarded
	Oldest     time.Duration // nor are those older than this; 0 for any age
	Since      time.Time     // when the rule was made
}

// ForwardingCounts counts the outcomes of forwarding a person's listens to a provider.
type ForwardingCounts struct {
	Sent    int
	Waiting int
	Parked  int
	Refused int // could not be sent
	There   int // were there already
	Next    time.Time
}

// ForwardedListen is a listen with the outcome of forwarding it to a provider.
type ForwardedListen struct {
	ID            int64
	Title, Artist string
	PlayedAt      time.Time
	Outcome       string // a State, or "there": it was there already
	Due           time.Time
	EndedAt       time.Time
	ThereSince    time.Time // when the provider reported it; zero when unknown
	Reason        words.Text
	Delivery      int64 // 0 when it is forgotten
}

// Forward forwards a person's listens to a provider from now on; with earlier, those stored before too, as far as the
// provider takes them and does not have them. It returns how many of those there are: listens, or months of an archive.
func (d *Deliveries) Forward(
	ctx context.Context, user int64, conn library.ConnectionID, earlier bool,
) (n int, err error) {
	r, err := d.rule(user, conn, earlier)
	if err != nil {
		return 0, err
	}
	if _, err := d.Store.Connection(ctx, user, conn); err != nil {
		return 0, err
	}
	if earlier {
		if err := d.room(ctx); err != nil {
			return 0, err
		}
	}
	if n, err = d.Store.StartForwarding(ctx, r, earlier); err == nil {
		d.did(ctx, activity.Entry{User: user, Action: activity.ForwardingOn, Connection: conn})
	}
	d.publish(user, conn)
	return n, err
}

func (d *Deliveries) rule(user int64, conn library.ConnectionID, earlier bool) (Rule, error) {
	now := time.Now()
	// Many services tell the time of a play in whole seconds: a play in this second may come with an earlier time.
	r := Rule{User: user, Connection: conn, Since: now, From: now.Truncate(time.Second), Batch: 1}
	p := d.Registry.Get(conn.Provider())
	switch {
	case p != nil && p.Takes.Archive:
		r.Kind, r.From = Archive, time.Time{}
		return r, nil
	case p == nil || p.Takes.Listens == "":
		return r, ErrNotTaken
	}
	r.Kind, r.Batch, r.Oldest = p.Takes.Listens, p.Takes.Batch, p.Takes.Oldest
	if earlier {
		r.From = earliest(p.Takes)
	}
	return r, nil
}

// earliest returns the time of the oldest play that a provider takes; zero for any.
func earliest(t providers.Takes) time.Time {
	if t.Oldest == 0 {
		return time.Time{}
	}
	return time.Now().Add(-t.Oldest)
}

// Earlier returns how many listens Forward would send at once.
func (d *Deliveries) Earlier(ctx context.Context, user int64, conn library.ConnectionID) (int, error) {
	p := d.Registry.Get(conn.Provider())
	if p == nil || p.Takes.Listens == "" {
		return 0, nil
	}
	return d.Store.CountUnforwarded(ctx, user, conn, earliest(p.Takes))
}

// StopForwarding ends what Forward began. What is enqueued already is still delivered.
func (d *Deliveries) StopForwarding(ctx context.Context, user int64, conn library.ConnectionID) error {
	defer d.publish(user, conn)
	err := d.Store.StopForwarding(ctx, user, conn)
	if err == nil {
		d.did(ctx, activity.Entry{User: user, Action: activity.ForwardingOff, Connection: conn})
	}
	return err
}
