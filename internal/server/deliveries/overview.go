package deliveries

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
)

// overviewView is the page of what is sent, in groups.
type overviewView struct {
	Waiting, Failed []groupLine
	Sent            []string    // a sentence for each service
	Empty           string      // a sentence, if there is nothing at all
	Next            []ui.Action // what to do then
}

// groupLine is a group of deliveries in one sentence, with its one way out.
type groupLine struct {
	Shape   string // of its state
	Says    string
	Why     string
	Actions []ui.Action
}

// overviewPage shows what waits, what could not be sent, and what was sent today.
func (h *pages) overviewPage(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	now := time.Now()
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	tallies, err := h.store.TallyDeliveries(ctx, user, today)
	if err != nil {
		return err
	}
	dead, err := h.store.DeadLetters(ctx, delivery.Filter{User: user})
	if err != nil {
		return err
	}
	names, err := h.names.For(ctx, user)
	if err != nil {
		return err
	}
	v := overviewOf(ctx, names, tallies, dead)
	return h.core.Show(c, 200, words.T(ctx, "deliveries.title"), overview(v))
}

// overviewOf puts deliveries into groups: by service and by whether they wait for the person, or by reason.
func overviewOf(
	ctx context.Context, names Names, tallies []delivery.Tally, dead []delivery.Group,
) (v overviewView) {
	var order []library.ConnectionID
	going, parked, sent := sums{}, sums{}, sums{}
	for _, t := range tallies {
		if len(order) == 0 || order[len(order)-1] != t.Connection {
			order = append(order, t.Connection)
		}
		switch t.State {
		case delivery.Done:
			sent.add(t)
		case delivery.Parked:
			parked.add(t)
		default:
			going.add(t)
		}
	}
	for _, id := range order {
		if w := parked[id]; w != nil {
			v.Waiting = append(v.Waiting, names.waitingForYou(ctx, id, w))
		}
	}
	for _, id := range order {
		if w := going[id]; w != nil {
			v.Waiting = append(v.Waiting, names.goingOut(ctx, id, w))
		}
		if w := sent[id]; w != nil {
			v.Sent = append(v.Sent, words.T(ctx, "deliveries.sent", "What", w.Counts(), "Name", names.connection(id)))
		}
	}
	for _, g := range dead {
		if g.Kind != delivery.Notify { // those are with their channels
			v.Failed = append(v.Failed, names.notSent(ctx, g))
		}
	}
	if len(v.Waiting)+len(v.Failed)+len(v.Sent) == 0 {
		v.Empty, v.Next = words.T(ctx, "deliveries.empty"), names.takers(ctx)
	}
	return v
}

// sums are what deliveries carry, by connection.
type sums map[library.ConnectionID]*delivery.Waiting

func (s sums) add(t delivery.Tally) {
	if s[t.Connection] == nil {
		s[t.Connection] = &delivery.Waiting{}
	}
	s[t.Connection].Add(t)
}

// many is how many things a sentence about w speaks of, for its verb.
func many(w *delivery.Waiting) int { return w.Listens + w.Playlists + w.Months + w.Deletions }

// waitingForYou is what goes out only when the person has acted.
func (n Names) waitingForYou(ctx context.Context, id library.ConnectionID, w *delivery.Waiting) groupLine {
	name := n.connection(id)
	l := groupLine{Shape: "needs_reconnect", Says: words.T(ctx, "deliveries.for_you", "Count", many(w),
		"What", w.Counts(), "Name", name)}
	st, connected := n.statuses[id]
	reconnect := ui.Action{Label: words.T(ctx, "deliveries.reconnect"), URL: "/connect/" + string(id), Main: true}
	look := ui.Action{Label: words.T(ctx, "deliveries.details"), URL: "/connections/" + string(id)}
	switch {
	case !connected:
		l.Why, l.Actions = words.T(ctx, "deliveries.not_connected", "Name", name), []ui.Action{reconnect}
	case st.Connection.Paused:
		l.Shape = "paused"
		l.Why, l.Actions = words.T(ctx, "deliveries.paused", "Name", name), []ui.Action{look}
	case st.Sending != nil && st.Sending.Condition == syncer.NeedsReconnect:
		l.Why, l.Actions = st.Sending.Words.Title.T(ctx)+".", []ui.Action{reconnect}
	case st.Sending != nil && st.Sending.State.Kind != backoff.Ready:
		l.Why, l.Actions = st.Sending.Words.Title.T(ctx)+".", []ui.Action{look}
	default:
		l.Shape, l.Says = "scheduled", words.T(ctx, "deliveries.soon", "Count", many(w), "What", w.Counts(),
			"Name", name)
	}
	return l
}

// goingOut is what goes out by itself.
func (n Names) goingOut(ctx context.Context, id library.ConnectionID, w *delivery.Waiting) groupLine {
	args := []any{"Count", many(w), "What", w.Counts(), "Name", n.connection(id)}
	l := groupLine{Shape: "running", Says: words.T(ctx, "deliveries.soon", args...)}
	s := n.statuses[id].Sending
	if s == nil || s.State.Kind == backoff.Ready {
		return l
	}
	l.Shape, l.Why = "waiting", s.Words.Title.T(ctx)+"."
	if s.State.Until.After(time.Now()) {
		l.Says = words.T(ctx, "deliveries.until", append(args, "Until", s.State.Until)...)
	}
	return l
}

// notSent is what could not be sent for one reason.
func (n Names) notSent(ctx context.Context, g delivery.Group) groupLine {
	f := filter{State: string(delivery.Dead), Connection: string(g.Connection), Reason: g.Reason.T(ctx)}
	l := groupLine{Shape: "dead", Why: f.Reason, Says: n.failed(g).T(ctx)}
	if f.Reason != "" {
		l.Actions = []ui.Action{
			{Label: words.T(ctx, "deliveries.again"), URL: f.address("/deliveries/redrive"), Main: true},
			{Label: words.T(ctx, "deliveries.discard"), URL: f.address("/deliveries/discard")},
			{Label: words.T(ctx, "deliveries.show"), URL: f.address("/deliveries")},
		}
	}
	return l
}

// takers offers to forward listens to each connection that takes them; to connect a service if there
// is none.
func (n Names) takers(ctx context.Context) (all []ui.Action) {
	defer func() {
		if len(all) == 0 {
			all = []ui.Action{{Label: words.T(ctx, "deliveries.connect"), URL: "/settings/services", Main: true}}
		}
	}()
	for _, p := range n.registry.All() {
		for id, st := range n.statuses {
			if id.Provider() == p.Name && p.Takes.Listens != "" {
				all = append(all, ui.Action{URL: "/connections/" + string(id) + "#forwarding",
					Label: words.T(ctx, "deliveries.forward", "Name", st.Connection.Label(p.Called().T(ctx)))})
			}
		}
	}
	return all
}
