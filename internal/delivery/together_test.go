package delivery_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/providers"
	"reprise/internal/resilience/backoff"
)

// Deliveries of a listen each that are due together go out with one call, and each has its own outcome.
func TestDueListensGoOutTogether(t *testing.T) {
	t.Parallel()
	held := &backoff.NotBeforeError{State: backoff.State{Kind: backoff.Waiting,
		Until: time.Now().Truncate(time.Second).Add(time.Hour)}}
	for name, c := range map[string]struct {
		outcome error // of the third of five
		whole   bool
		calls   [][]string
		state   delivery.State
	}{
		"all are taken": {nil, false, [][]string{{"A", "B", "C", "D"}, {"E"}}, delivery.Done},
		"one is bad":    {badItem, false, [][]string{{"A", "B", "C", "D"}, {"E"}}, delivery.Dead},
		"one bad one has the call refused": {badItem, true,
			[][]string{{"A", "B", "C", "D"}, {"A", "B"}, {"C", "D"}, {"C"}, {"D"}, {"E"}}, delivery.Dead},
		"one is not taken now": {trouble, false, [][]string{{"A", "B", "C", "D"}, {"E"}, {"C"}}, delivery.Done},
		"they have to wait":    {held, false, [][]string{{"A", "B", "C", "D"}}, delivery.Scheduled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newStage(t)
				g.whole = c.whole
				registry := providers.NewRegistry(&providers.Provider{Description: providers.Description{Name: "lastfm",
					Takes: providers.Takes{Listens: delivery.Scrobble, Batch: 4}}})
				g.d = delivery.New(delivery.Parts{Registry: registry, Guard: g, Store: g.s, Bus: &events.Bus{},
					Log: slog.New(slog.DiscardHandler)}, delivery.Options{})
				var ids []int64
				for _, title := range []string{"A", "B", "C", "D", "E"} {
					var outcome func(context.Context) error
					switch {
					case title != "C":
					case c.state == delivery.Dead || c.outcome == error(held):
						outcome = always(c.outcome)
					default:
						outcome = first(c.outcome)
					}
					ids = append(ids, g.enqueue(outcome, title))
				}
				g.run(20 * time.Second)
				require.Equal(t, c.calls, g.calls)
				g.requireState(c.state, ids[2])
				if c.state == delivery.Scheduled {
					require.Equal(t, held.State.Until.UTC(), g.get(ids[4]).Due, "the others wait, too")
					return
				}
				g.requireState(delivery.Done, ids[0], ids[1], ids[3], ids[4])
			})
		})
	}
}
