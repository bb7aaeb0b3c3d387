// Package notify stores what a person has to know until its cause is gone, and words it.
//
// A notification is stored before anybody sees it, and is unique per user, provider, cause and generation of the
// credential: however often its cause occurs, in however many callers, ticks and restarts, there is one. It is open
// until its cause is gone (resolved); acknowledging it only ends its demand for attention. The toast in a browser is
// its announcement, no more: it is shown once, until one of the person's tabs has shown it (seen).
//
// Of the alerts about one connection a person sees one, the most important; see [Notification.Before]. A new cause
// replaces the old one. What is replaced, or less important, waits: it is shown when what is before it is over.
package notify

import (
	"context"
	"errors"
	"strconv"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/words"
)

// Severity is the urgency of a notification.
type Severity string

// The severities.
const (
	Info    Severity = "info"
	Success Severity = "success"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// LostCause is the cause of the notification that plays were lost. An import of the service's export ends it.
const LostCause = "lost"

// Action is the one button of a notification.
type Action struct {
	Label words.Text
	URL   string // a path of this server
}

// Notification is a stored message for one person.
type Notification struct {
	ID         int64
	User       int64
	Connection library.ConnectionID
	Cause      string // what it is about, from a closed set; part of its identity
	Generation int64  // of the credential it is about, 0 for an administrator's; part of its identity
	Severity   Severity
	Category   string
	Title      words.Text
	Message    words.Text
	Detail     string // what the upstream said, for "Details"
	Action     Action
	Instead    bool // takes the place of one with the same cause that is open with another severity

	// Also are the streams of the connection that have stopped beside the one that this is about.
	Also []string
	// Waits says that another alert of the connection is shown in its place.
	Waits bool

	CreatedAt      time.Time
	SeenAt         time.Time // when a tab of the person had shown it
	AcknowledgedAt time.Time // when the person dismissed it
	ReplacedAt     time.Time // when another alert of the connection took its place
	ResolvedAt     time.Time
	MendedBy       int64 // see Closing; of one that has just been closed
}

// Changes are the notifications that a call has changed.
type Changes struct {
	Opened []Notification // to be announced
	Others []Notification // closed, replaced, or shown again as they were
}

// Closing selects open notifications to be closed: those about a connection with one of these causes; without causes,
// all about its credential (those with a generation). User 0 means every user. Begins selects by how causes begin
// instead, but for those in Causes. With IDs, only those of them are closed.
type Closing struct {
	User       int64
	Connection library.ConnectionID
	Causes     []string
	Begins     []string
	IDs        []int64
	// MendedBy is who has mended what they are about, and has just seen that it works; 0 for nobody.
	MendedBy int64
}

// Store keeps notifications.
type Store interface {
	// OpenNotification stores n unless it is open already.
	OpenNotification(ctx context.Context, n Notification) (Changes, error)
	// ResolveNotifications closes notifications. It closes all at once, so that a connection recovers once.
	ResolveNotifications(context.Context, ...Closing) (Changes, error)
	// SeeNotification reports whether it was not seen before.
	SeeNotification(ctx context.Context, user, id int64) (bool, error)
	// AckNotification reports whether there was anything to acknowledge.
	AckNotification(ctx context.Context, user, id int64) (bool, error)
	// Admins returns the ids of the administrators.
	Admins(context.Context) ([]int64, error)
}

// Notifier opens and closes notifications, and publishes that to the browsers. Safe for concurrent use.
type Notifier struct {
	store  Store
	bus    *events.Bus
	opened func(Severity)
}

// New returns a Notifier. It calls opened, unless that is nil, with the severity of every notification that it opens.
func New(store Store, bus *events.Bus, opened func(Severity)) *Notifier {
	return &Notifier{store: store, bus: bus, opened: opened}
}

// Open opens a notification, unless it is open already.
func (n *Notifier) Open(ctx context.Context, v Notification) error {
	v.CreatedAt = time.Now()
	changes, err := n.store.OpenNotification(ctx, v)
	n.changed(changes)
	return err
}

// OpenForAdmins opens a notification for every administrator, as worded returns it for the one with this id.
func (n *Notifier) OpenForAdmins(ctx context.Context, worded func(admin int64) Notification) error {
	admins, err := n.store.Admins(ctx)
	for _, id := range admins {
		v := worded(id)
		v.User = id
		err = errors.Join(err, n.Open(ctx, v))
	}
	return err
}

// Resolve closes the notifications with these causes; without causes, all about the user's own credential. User 0
// means every user.
func (n *Notifier) Resolve(ctx context.Context, user int64, conn library.ConnectionID, causes ...string) error {
	return n.Close(ctx, Closing{User: user, Connection: conn, Causes: causes})
}

// Close closes notifications, all at once.
func (n *Notifier) Close(ctx context.Context, all ...Closing) error {
	changes, err := n.store.ResolveNotifications(ctx, all...)
	n.changed(changes)
	return err
}

func (n *Notifier) changed(c Changes) {
	for _, v := range c.Others {
		n.publish(v.User, v.ID)
	}
	for _, v := range c.Opened {
		if n.opened != nil {
			n.opened(v.Severity)
		}
		n.publish(v.User, v.ID)
	}
}

// See notes that a tab has shown a notification to the person, and publishes that to their other tabs.
func (n *Notifier) See(ctx context.Context, user, id int64) error {
	changed, err := n.store.SeeNotification(ctx, user, id)
	if err == nil && changed {
		n.publish(user, id)
	}
	return err
}

// Acknowledge notes that the person has dismissed a notification, and publishes that to their browsers.
func (n *Notifier) Acknowledge(ctx context.Context, user, id int64) error {
	changed, err := n.store.AckNotification(ctx, user, id)
	if err == nil && changed {
		n.publish(user, id)
	}
	return err
}

func (n *Notifier) publish(user, id int64) {
	n.bus.Publish(user, events.Event{Type: events.Notification, ID: strconv.FormatInt(id, 10)})
}
