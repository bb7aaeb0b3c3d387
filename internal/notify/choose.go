package notify

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/words"
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

// ofUser separates the cause of an administrator's notification from whose connection it is about.
const ofUser = " of user "

// alerts are the causes of alerts about a connection: what happened, without its stream and whose connection it is. A
// question about a copy is one, too.
var alerts = map[string]bool{resilience.Auth.String(): true, resilience.Permission.String(): true,
	resilience.Config.String(): true, resilience.Contract.String(): true, CauseStill: true, CauseQuota: true,
	CauseEnds30: true, CauseEnds7: true, CauseEnds1: true}

// AlertOf returns what the notification is an alert of. Of the alerts about one connection a person sees one at a time:
// two with the same connection and equal keys are about the same connection of the same person. false: it is no alert
// of a connection but independent, as one about a channel, an import or what somebody asks for.
func (n Notification) AlertOf() (key string, ok bool) {
	cause, of, _ := strings.Cut(n.Cause, ofUser)
	what, _, _ := strings.Cut(cause, ":")
	if n.Connection == "" || !asksOfCopy(cause) && !alerts[what] {
		return "", false
	}
	whose := n.User
	if of != "" {
		whose, _ = strconv.ParseInt(of, 10, 64)
	}
	return strconv.FormatInt(whose, 10), true
}

// importance orders the alerts of a connection. Somebody who has to do something about a stop does
// not need to know at the same time that the authorization ends in a month.
func (n Notification) importance() int {
	what, _, _ := strings.Cut(n.Cause, ":")
	switch {
	case n.Severity == Error:
		return 5 // it stopped, until its reader acts
	case what == "permission" || what == "config":
		return 4 // it is tried again, but needs the administrator
	case asksOfCopy(n.Cause):
		return 3
	case n.Severity == Warning:
		return 2
	case n.Severity == Success:
		return 1
	}
	return 0
}

// Before reports whether n is shown rather than another alert of its connection: it is more important, or as important
// and newer.
func (n Notification) Before(other Notification) bool {
	if a, b := n.importance(), other.importance(); a != b {
		return a > b
	}
	if !n.CreatedAt.Equal(other.CreatedAt) {
		return n.CreatedAt.After(other.CreatedAt)
	}
	return n.ID > other.ID
}

// Trouble reports whether the end of what the notification is about is a recovery: "works again".
func (n Notification) Trouble() bool { return IsTrouble(n.Severity, n.Cause) }

// IsTrouble is [Notification.Trouble] of one with this severity and cause.
func IsTrouble(s Severity, cause string) bool { return s == Error || cause == CauseStill }

// Stopped returns the stream that the notification says has stopped; empty if it is about the connection as a whole, or
// about something else.
func (n Notification) Stopped() (stream string) {
	cause, _, _ := strings.Cut(n.Cause, ofUser)
	_, stream, _ = strings.Cut(cause, ":")
	if n.Severity != Error || stream == "app" {
		return ""
	}
	return stream
}

// AlsoStopped returns the streams of others that have stopped beside that of n, in order.
func (n Notification) AlsoStopped(others []Notification) (streams []string) {
	mine := n.Stopped()
	if mine == "" {
		return nil
	}
	for _, o := range others {
		if s := o.Stopped(); s != "" && s != mine {
			streams = append(streams, s)
		}
	}
	slices.Sort(streams)
	return slices.Compact(streams)
}

// Says returns the message, and what else has stopped.
func (n Notification) Says() words.Text {
	all := []words.Text{n.Message}
	for _, stream := range n.Also {
		all = append(all, words.Each("alerts.also_", stream))
	}
	return words.Join(all...)
}

// Open reports whether the notification is shown until its cause is gone.
func (n Notification) Open() bool { return n.ResolvedAt.IsZero() && n.ReplacedAt.IsZero() && !n.Waits }
