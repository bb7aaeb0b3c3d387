// Package notify stores what a person has to know until its cause is gone, and words it.
//
// A notification is stored before anybody sees it, and is unique per user, provider, cause and generation of the
// credential: however often its cause occurs, in however many callers, ticks and restarts, there is one. It is open
// until its cause is gone (resolved); acknowledging it only ends its demand for attention. The toast in a browser is
// its announcement, no more.
package notify

import (
	"context"
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

	CreatedAt      time.Time
	AcknowledgedAt time.Time
	ResolvedAt     time.Time
}

// Store keeps notifications.
type Store interface {
	// OpenNotification stores n unless it is open already, and reports whether it stored it.
	OpenNotification(ctx context.Context, n Notification) (stored Notification, opened bool, err error)
	// ResolveNotifications closes the open notifications of a provider with one of these causes and returns them;
	// without causes, all about a credential (those with a generation). User 0 stands for every user.
	ResolveNotifications(ctx context.Context, user int64, conn library.ConnectionID,
		causes ...string) ([]Notification, error)
	// AckNotification reports whether there was anything to acknowledge.
	AckNotification(ctx context.Context, user, id int64) (bool, error)
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
	stored, opened, err := n.store.OpenNotification(ctx, v)
	if err != nil || !opened {
		return err
	}
	if n.opened != nil {
		n.opened(stored.Severity)
	}
	n.publish(stored.User, stored.ID)
	return nil
}

// Resolve closes the notifications with these causes; without causes, all about the user's own credential. User 0
// stands for every user.
func (n *Notifier) Resolve(ctx context.Context, user int64, conn library.ConnectionID, causes ...string) error {
	closed, err := n.store.ResolveNotifications(ctx, user, conn, causes...)
	for _, v := range closed {
		n.publish(v.User, v.ID)
	}
	return err
}

// Acknowledge notes that the person has seen a notification, and publishes that to their browsers.
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
