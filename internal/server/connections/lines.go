package connections

import (
	"context"
	"strings"

	"reprise/internal/accounts"
	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// ConnectionLine is reading from a connection, or sending to it: its state, why, since when, what happens next, and
// who must act.
type ConnectionLine struct {
	State         string         `json:"state" enum:"ConnectionState"`
	Category      *string        `json:"category" enum:"Category"`
	Message       string         `json:"message" doc:"Why; empty when nothing is wrong."`
	Since         core.MaybeTime `json:"since"`
	NextAttemptAt core.MaybeTime `json:"next_attempt_at"`
	LastSuccessAt core.MaybeTime `json:"last_success_at"`
	Owner         *string        `json:"owner" enum:"you,administrator" doc:"Who must act."`
	// Began is what began, and when: "Sending has waited since …"
	Began string `json:"-"`
	// Liftable says that an administrator can end it: members may ask for that
	Liftable bool `json:"-"`
}

// owners are those who must act, in the API.
var owners = map[notify.Owner]string{notify.Person: "you", notify.Administrator: "administrator"}

// viewLine returns the view of a line; nil for none. stem is "reading" or "sending".
func viewLine(ctx context.Context, stem string, l *syncer.Line) *ConnectionLine {
	if l == nil {
		return nil
	}
	v := &ConnectionLine{State: string(l.Condition), LastSuccessAt: core.Moment(l.LastSuccessAt),
		Liftable: l.Liftable()}
	if l.State.Kind == backoff.Ready {
		return v
	}
	category := l.State.Category.String()
	v.Category, v.Message = &category, l.Words.Message.T(ctx)
	v.Since, v.NextAttemptAt = core.Moment(l.State.Since), core.Moment(l.State.Until)
	v.Owner = core.Text(owners[l.Words.Owner])
	v.Began = beganWords(stem, l).T(ctx)
	return v
}

// beganWords says what began with a trouble, and when.
func beganWords(stem string, l *syncer.Line) words.Text {
	switch l.State.Kind {
	case backoff.Waiting:
		return words.Each("alerts.since_", stem+"_waits", "Since", l.State.Since)
	case backoff.Held:
		return words.Each("alerts.since_", stem+"_held", "Since", l.State.Since)
	}
	what, last := stem, l.LastSuccessAt
	if stem == "reading" && l.State.Scope == resilience.ScopeStream { // the other streams are read
		what, last = l.Stream, l.StreamSuccess
	}
	if last.IsZero() {
		return words.Each("alerts.never_", what)
	}
	return words.Each("alerts.since_", what+"_stopped", "Since", last)
}

// liftable reports whether an administrator can end what keeps the connection waiting.
func liftable(s syncer.Status) bool { return s.Reading.Liftable() || s.Sending.Liftable() }

// withLift puts the way to end a wait before other actions, for administrators. Members ask for it.
func (h *Statuses) withLift(ctx context.Context, s syncer.Status, actions []ConnectionAction) []ConnectionAction {
	if !liftable(s) {
		return actions
	}
	u, err := h.store.UserByID(ctx, s.Connection.User)
	if err != nil || u.Role != accounts.Admin {
		return actions
	}
	line := s.Reading
	if !line.Liftable() {
		line = s.Sending
	}
	do := ConnectionAction{Action: "lift", Label: words.T(ctx, "alerts.lift"),
		URL: s.Provider.MendAt(line.State.Category, line.State.Scope)}
	if strings.HasPrefix(do.URL, "/setup/") {
		do.Label = words.T(ctx, "status.set_up", "Name", s.Provider.Called())
	}
	return append([]ConnectionAction{do}, actions...)
}
