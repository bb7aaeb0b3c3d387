package connections

import (
	"context"

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

// headlineOf returns the headline for connections, to an administrator or a member.
func headlineOf(ctx context.Context, all []View, offline, admin bool) headline {
	var need, wait []View
	you := admin
	for _, v := range all {
		switch attention(v) {
		case 2:
			need = append(need, v)
		case 1:
			wait = append(wait, v)
		}
		you = you || syncer.Condition(v.State) == syncer.NeedsReconnect
	}
	say := func(shape syncer.Condition, word string) headline {
		return headline{State: ui.Mark{Shape: string(shape), Word: word}}
	}
	switch {
	case len(need) > 0 && you:
		return say(syncer.NeedsReconnect,
			words.T(ctx, "status.needs_you", "Count", len(need), "Name", need[0].DisplayName))
	case len(need) > 0:
		return say(syncer.NeedsReconnect,
			words.T(ctx, "status.needs_admin", "Count", len(need), "Name", need[0].DisplayName))
	case offline:
		h := say(syncer.Waiting, words.T(ctx, "status.offline"))
		h.Lead = words.T(ctx, "status.offline_lead")
		return h
	case len(wait) > 0:
		return say(syncer.Waiting, words.T(ctx, "status.waits", "Count", len(wait), "Name", wait[0].DisplayName))
	}
	return say(syncer.Healthy, words.T(ctx, "status.all_good"))
}

// attention says how much a connection needs it: 2 for a person's, 1 for none, 0 when all is well.
func attention(v View) int {
	switch syncer.Condition(v.State) {
	case syncer.NeedsReconnect, syncer.NeedsAdmin:
		return 2
	case syncer.Waiting, syncer.Held:
		return 1
	}
	return 0
}
