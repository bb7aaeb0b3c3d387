package notifications

import (
	"context"
	"time"

	"reprise/internal/notify"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// note is a notification on the page of notifications.
type note struct {
	ID, Severity           string
	Title, Message, Detail string
	Shape                  string // of what is open and not good news
	Over                   string // why it is over, in a word; empty while it is open
	At                     time.Time
	Actions                []ui.Action
	Dismissed              time.Time
}

// noteOf returns a notification as the page shows it.
func noteOf(ctx context.Context, n core.Notification) note {
	v := note{ID: n.ID, Severity: n.Severity, Title: n.Title, Message: n.Message, Detail: n.Detail,
		At: n.CreatedAt.Time}
	if !n.ResolvedAt.IsZero() {
		v.Over, v.At = words.T(ctx, "notifications.solved"), n.ResolvedAt.Time
		if n.Replaced {
			v.Over = words.T(ctx, "notifications.replaced")
		}
		return v
	}
	if n.Severity == string(notify.Error) || n.Severity == string(notify.Warning) {
		v.Shape = "needs_reconnect"
	}
	for _, c := range n.Choices {
		v.Actions = append(v.Actions, ui.Action{ID: c.Value + "-" + n.ID, Label: c.Label, Post: c.URL,
			Fields: []ui.Hidden{{Name: "write", Value: c.Value}}})
	}
	if n.Action != nil {
		v.Actions = append(v.Actions, ui.Action{Label: n.Action.Label, URL: n.Action.URL, Main: len(n.Choices) == 0})
	}
	if v.Dismissed = n.AcknowledgedAt.Time; v.Dismissed.IsZero() {
		v.Actions = append(v.Actions, ui.Action{ID: "seen-" + n.ID, Label: words.T(ctx, "notifications.dismiss"),
			Post: "/notifications/" + n.ID + "/ack"})
	}
	return v
}
