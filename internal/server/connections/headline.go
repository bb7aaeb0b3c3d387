package connections

import (
	"context"
	"slices"

	"reprise/internal/delivery"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
	"reprise/web/ui"
)

// headline says how all connections do.
type headline struct {
	State ui.Mark
	Lead  string
	URL   string // of the page that says more; empty for none
}

// except replaces "All good" where something could not be sent.
func (h headline) except(ctx context.Context, failed int) headline {
	if failed == 0 || h.State.Shape != string(syncer.Healthy) {
		return h
	}
	return headline{State: ui.Mark{Shape: string(delivery.Dead), Word: words.T(ctx, "frame.failed", "Count", failed)},
		URL: "/deliveries"}
}

// beside replaces "All good" above a card with a notice: one of them would be wrong.
func (h headline) beside(ctx context.Context, cards []CardView) headline {
	noticed := func(v CardView) bool { return len(v.Notices) > 0 }
	if h.State.Shape == string(syncer.Healthy) && slices.ContainsFunc(cards, noticed) {
		h.State.Word = words.T(ctx, "health.well")
	}
	return h
}

// headlineOf returns the headline for connections, to an administrator or a member.
func headlineOf(ctx context.Context, all []Connection, offline, admin bool) headline {
	var n Needs
	you := admin
	seen := map[string]bool{}
	// A service is counted once, by the connection that is worst off.
	for _, much := range []int{2, 1} {
		for _, v := range all {
			if attention(v) == much && !seen[v.Provider] {
				seen[v.Provider] = true
				n.Add(v.State, v.DisplayName)
			}
		}
	}
	for _, v := range all {
		you = you || syncer.Condition(v.State) == syncer.NeedsReconnect
	}
	say := func(shape syncer.Condition, word string) headline {
		return headline{State: ui.Mark{Shape: string(shape), Word: word}}
	}
	switch {
	case len(n.Person) > 0:
		return say(syncer.NeedsReconnect, n.Words(you).T(ctx))
	case offline:
		h := say(syncer.Waiting, words.T(ctx, "alert.offline.title"))
		h.Lead = words.T(ctx, "status.offline_lead")
		return h
	case len(n.Time) > 0:
		return say(syncer.Waiting, n.Words(you).T(ctx))
	}
	return say(syncer.Healthy, words.T(ctx, "status.all_good"))
}

// Needs are the names of the services with trouble: those that need a person, and those that need only time. Each page
// that counts them says so in the same words.
type Needs struct{ Person, Time []string }

// Add adds a service by its state, if that needs anything.
func (n *Needs) Add(state, name string) {
	switch attention(Connection{State: state}) {
	case 2:
		n.Person = append(n.Person, name)
	case 1:
		n.Time = append(n.Time, name)
	}
}

// Words says how many services need what. you is whether the reader is a person who can do something.
func (n Needs) Words(you bool) words.Text {
	if len(n.Person) == 0 {
		return words.New("status.waits", "Count", len(n.Time), "Name", n.Time[0])
	}
	said := words.New("status.needs_admin", "Count", len(n.Person), "Name", n.Person[0])
	if you {
		said = words.New("status.needs_you", "Count", len(n.Person), "Name", n.Person[0])
	}
	if len(n.Time) == 0 {
		return said
	}
	return words.New("status.needs_and_waits", "Needs", said, "Waits", words.New("status.wait", "Count", len(n.Time)))
}

// attention says how much a connection needs it: 2 for a person's, 1 for none, 0 when all is well.
func attention(v Connection) int {
	switch syncer.Condition(v.State) {
	case syncer.NeedsReconnect, syncer.NeedsAdmin:
		return 2
	case syncer.Waiting, syncer.Held:
		return 1
	}
	return 0
}
