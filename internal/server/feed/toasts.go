package feed

import (
	"strconv"
	"time"

	"reprise/internal/notify"
)

// toasts decides which notifications one tab announces: what happens while it is open, and what none of the person's
// tabs had shown before it was opened. Each is announced once.
type toasts struct {
	since time.Time       // when the stream of the tab began
	said  map[string]bool // by notification and opening
}

func newToasts() toasts { return toasts{since: time.Now(), said: map[string]bool{}} }

// of returns a notification as the tab gets it now.
func (t *toasts) of(n notice) []byte {
	if t.wants(n.Notification) {
		return n.loud
	}
	return n.quiet
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
