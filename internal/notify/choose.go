package notify

import (
	"slices"
	"time"
)

// Choice is what changes when one of the alerts about a connection is chosen to be shown.
type Choice struct {
	Replaced []Notification // those that were shown until now
	Shown    *Notification  // the one to show; nil if it is shown already, as it is
	Announce bool           // Shown is news: a browser and the channels tell of it as of one that was just opened
}

// Choose chooses which alert about a connection is shown: the first by [Notification.Before]. n is the alert that was
// just opened or resolved, and open are the open notifications of the same person, among them alerts about other
// connections and what is no alert; see [Notification.Like].
func Choose(n Notification, open []Notification, now time.Time) (c Choice) {
	alike := n.Like(open)
	if len(alike) == 0 {
		return c
	}
	best := alike[0]
	for _, o := range alike[1:] {
		if o.Before(best) {
			best = o
		}
	}
	for _, o := range alike {
		if o.ID != best.ID && !o.Waits {
			o.Waits, o.ReplacedAt = true, now
			c.Replaced = append(c.Replaced, o)
		}
	}
	also := best.AlsoStopped(alike)
	if !best.Waits && slices.Equal(also, best.Also) {
		return c
	}
	neverShown := best.Waits && best.ReplacedAt.IsZero()
	more := slices.ContainsFunc(also, func(stream string) bool { return !slices.Contains(best.Also, stream) })
	c.Announce = neverShown || more
	best.Also, best.Waits, best.ReplacedAt = also, false, time.Time{}
	if c.Announce {
		best.SeenAt, best.AcknowledgedAt = time.Time{}, time.Time{}
		if best.ID != n.ID { // an older alert, which is only announced now
			best.CreatedAt = now
		}
	}
	c.Shown = &best
	return c
}

// Like returns those of all that are alerts about the same connection of the same person as n.
func (n Notification) Like(all []Notification) (alike []Notification) {
	mine, _ := n.AlertOf()
	for _, o := range all {
		if of, shared := o.AlertOf(); shared && of == mine && o.Connection == n.Connection && o.User == n.User {
			alike = append(alike, o)
		}
	}
	return alike
}
