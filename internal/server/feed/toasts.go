package feed

import (
	"context"
	"strconv"
	"time"

	"reprise/internal/notify"
	"reprise/internal/server/core"
)

// toasts decides which notifications one tab announces: what happens while it is open, and what none of the person's
// tabs had shown before it was opened. Each is announced once.
type toasts struct {
	since time.Time       // when the stream of the tab began
	said  map[string]bool // by notification and opening
}

func newToasts() toasts { return toasts{since: time.Now(), said: map[string]bool{}} }

// announcement is a notification as a stream sends it.
type announcement struct {
	core.Notification
	Toast bool `json:"toast"` // the tab announces it now
}

func (t *toasts) of(ctx context.Context, n notify.Notification) announcement {
	return announcement{Notification: core.ViewNotification(ctx, n), Toast: t.wants(n)}
}

func (t *toasts) wants(n notify.Notification) bool {
	key := strconv.FormatInt(n.ID, 10) + "/" + strconv.FormatInt(n.CreatedAt.UnixMilli(), 10)
	if !n.Open() || !n.AcknowledgedAt.IsZero() || t.said[key] {
		return false
	}
	t.said[key] = true
	// Another tab may be quicker and have shown it already; this one shows it nevertheless.
	return n.SeenAt.IsZero() || n.CreatedAt.After(t.since)
}
