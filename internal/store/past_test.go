package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/activity"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/notify"
)

func TestAPastIsAsTheServerWouldHaveLeftIt(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	ctx := t.Context()
	connect(t, s, alice, "spotify")
	connect(t, s, alice, "lastfm")
	played := library.Listen{Track: library.Track{Title: "Jóga", Artist: "Björk"}, SourceID: "1",
		PlayedAt: time.Now().Add(-26 * time.Hour)}
	_, err := s.SaveListens(ctx, library.Intake{User: alice, Connection: "spotify", Listens: []library.Listen{played}})
	require.NoError(t, err)
	heard, _, err := s.Listens(ctx, alice, "", 1)
	require.NoError(t, err)
	require.NoError(t, s.Note(ctx, activity.Entry{User: alice, Action: activity.Connected, Connection: "spotify"}))
	require.NoError(t, s.Age(ctx, 15*24*time.Hour))

	now := time.Now().Truncate(metrics.QuarterLength).UTC()
	ago := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	draft := func(ids ...int64) delivery.Draft {
		return delivery.Draft{User: alice, Connection: "lastfm", Kind: delivery.Scrobble, Listens: ids}
	}
	require.NoError(t, s.WritePast(ctx, Past{
		Runs: []library.Run{{User: alice, Connection: "spotify", Stream: library.Listens, Started: ago(26),
			Took: time.Second, Rows: 1, Result: "ok"}},
		Quarters: []metrics.Quarter{{Start: ago(30), Provider: "spotify", Endpoint: "GET /x",
			Tally: metrics.Tally{Attempts: 3, Failures: 1}}},
		Notifications: []notify.Notification{{User: alice, Connection: "spotify", Cause: "auth", Generation: 1,
			Severity: notify.Error, CreatedAt: ago(50), AcknowledgedAt: ago(40), ResolvedAt: ago(39)}},
		Activity: []activity.Entry{{At: ago(39), User: alice, ActorID: alice, Actor: "Alice",
			Action: activity.Reconnected, Connection: "spotify"}},
		Gaps:       []PastGap{{alice, "spotify", library.Gap{From: ago(30), To: ago(20)}}},
		Deliveries: []PastDelivery{{Draft: draft(heard[0].ID), Created: ago(25), Ended: ago(24)}},
	}))

	runs, _, err := s.Runs(ctx, alice, "spotify", ago(48), "", 10)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	quarters, err := s.Quarters(ctx, ago(48), ago(48), now)
	require.NoError(t, err)
	require.Len(t, quarters, 1)
	told, err := s.Notifications(ctx, alice, false)
	require.NoError(t, err)
	require.Equal(t, []any{ago(50), ago(39)}, []any{told[0].CreatedAt, told[0].ResolvedAt})
	log, _, err := s.Activity(ctx, activity.Filter{User: alice}, "", 10)
	require.NoError(t, err)
	require.Equal(t, activity.Reconnected, log[0].Action, "after what was set up before")
	require.WithinDuration(t, now.AddDate(0, 0, -15), log[1].At, time.Hour)
	gaps, err := s.Gaps(ctx, alice, "spotify")
	require.NoError(t, err)
	require.Equal(t, 1, gaps[0].Recovered, "counted, not claimed")
	sent, _, err := s.Deliveries(ctx, delivery.Filter{User: alice}, "", 10)
	require.NoError(t, err)
	require.Equal(t, []any{delivery.Done, ago(25), ago(24)}, []any{sent[0].State, sent[0].CreatedAt, sent[0].EndedAt})
}
