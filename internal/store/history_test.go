package store

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

func quarter(start time.Time, endpoint string, attempts, failures int) metrics.Quarter {
	return metrics.Quarter{Start: start, Provider: "spotify", Endpoint: endpoint,
		Tally: metrics.Tally{Attempts: attempts, Failures: failures, Refused: 1,
			Took: time.Duration(attempts) * time.Second, Open: time.Minute}}
}

// Two rows of one quarter, as after a restart within it, are added up. Quarters before from are summed by endpoint.
func TestQuartersAddUp(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	for range 2 {
		require.NoError(t, s.AddQuarters(t.Context(), []metrics.Quarter{quarter(at(0), "GET /a", 3, 1),
			quarter(at(15), "GET /a", 1, 0), quarter(at(15), "GET /b", 5, 5)}))
	}
	require.NoError(t, s.AddQuarters(t.Context(), nil))
	all, err := s.Quarters(t.Context(), at(0), at(0), at(30))
	require.NoError(t, err)
	require.Len(t, all, 3)
	want := quarter(at(0), "GET /a", 6, 2)
	want.Refused, want.Open = 2, 2*time.Minute
	require.Equal(t, want, all[0])
	require.Equal(t, "GET /b", all[2].Endpoint)

	all, err = s.Quarters(t.Context(), at(0), at(15), at(15))
	require.NoError(t, err)
	require.Equal(t, []metrics.Quarter{want}, all,
		"the sum of the earlier quarters, without the one that begins at the end")
	require.NoError(t, s.AddQuarters(t.Context(), []metrics.Quarter{quarter(at(45), "GET /a", 1, 1)}))
	all, err = s.Quarters(t.Context(), at(0), at(30), at(60))
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, [3]int{8, 10, 1}, [3]int{all[0].Attempts, all[1].Attempts, all[2].Attempts})
	require.Equal(t, at(0), all[0].Start)
}

// fill stores all quarters of the last days for so many endpoints.
func fill(t testing.TB, s *Store, days, endpoints int) {
	t.Helper()
	end := time.Now().Truncate(metrics.QuarterLength)
	for day := range days {
		var all []metrics.Quarter
		for n := range 24 * int(time.Hour/metrics.QuarterLength) {
			for e := range endpoints {
				start := end.Add(-time.Duration(day*24)*time.Hour - time.Duration(n)*metrics.QuarterLength)
				all = append(all, quarter(start, fmt.Sprintf("GET /endpoint/%d", e), 3, 1))
			}
		}
		require.NoError(t, s.AddQuarters(t.Context(), all))
	}
}

// There is at most one row per endpoint and quarter of an hour, for 14 days.
func TestTheRollUpTakesBoundedSpace(t *testing.T) {
	t.Parallel()
	s, _ := setup(t)
	const endpoints = 5
	fill(t, s, 16, endpoints)
	require.NoError(t, s.Tidy(t.Context()))
	const most = endpoints * 96 * 14
	n := number(t, s, "SELECT count(*) FROM quarters")
	require.LessOrEqual(t, n, most)
	require.Greater(t, n, most-2*endpoints, "and 14 days stay")
}

// BenchmarkQuarters reads the data of the health page from the largest possible roll-up.
func BenchmarkQuarters(b *testing.B) {
	s, _ := setup(b)
	const endpoints = 100 // more than Reprise calls
	fill(b, s, 14, endpoints)
	now := time.Now()
	for b.Loop() {
		all, err := s.Quarters(b.Context(), now.Add(-metrics.KeepQuarters), now.Add(-24*time.Hour), now)
		require.NoError(b, err)
		require.GreaterOrEqual(b, len(all), endpoints*96)
	}
}

func run(user int64, stream string, minute float64, result string, rows int) library.Run {
	r := library.Run{User: user, Connection: "spotify", Stream: stream, Started: at(minute),
		Took: 1234 * time.Millisecond, Rows: rows, Result: result}
	if result != "ok" {
		r.Category, r.Words, r.Detail = resilience.Upstream.String(), words.Plain("Spotify has trouble"), "HTTP 503"
	}
	return r
}

func TestRunsArePagedAndAddedUp(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	other := addUser(t, s, "Bob", "member")
	for _, r := range []library.Run{run(user, "listens", -60, "ok", 9), run(user, "listens", 0, "ok", 3),
		run(user, "playlists", 0, "ok", 0), run(user, "listens", 5, "retriable", 2),
		run(user, "listens", 20, "fatal", 0), run(other, "listens", 6, "ok", 1)} {
		require.NoError(t, s.SaveRun(t.Context(), r))
	}
	require.NoError(t, s.SaveRun(t.Context(), run(user, "listens", 20, "ok", 0)), "the same run is not stored twice")
	var seen []library.Run
	for before := ""; ; {
		page, next, err := s.Runs(t.Context(), user, "spotify", at(0), before, 1)
		require.NoError(t, err)
		require.Len(t, page, 1)
		seen = append(seen, page...)
		if before = next; before == "" {
			break
		}
	}
	require.Equal(t, []library.Run{run(user, "listens", 20, "fatal", 0), run(user, "listens", 5, "retriable", 2),
		run(user, "playlists", 0, "ok", 0), run(user, "listens", 0, "ok", 3)}, seen)
	for _, bad := range []string{"?", "bm9uZQ"} {
		_, _, err := s.Runs(t.Context(), user, "spotify", at(0), bad, 1)
		require.ErrorIs(t, err, library.ErrBadCursor)
	}

	all, err := s.RunQuarters(t.Context(), user, "spotify", at(0))
	require.NoError(t, err)
	require.Equal(t, []library.RunQuarter{{Stream: "listens", Start: at(0), Runs: 2, Rows: 5, Full: 2, Retriable: 1},
		{Stream: "listens", Start: at(15), Runs: 1, Fatal: 1},
		{Stream: "playlists", Start: at(0), Runs: 1}}, all)
}

func TestOldRunsAndThoseOfNoConnectionAreDeleted(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connect(t, s, user, "spotify")
	for _, age := range []time.Duration{time.Hour, 25 * time.Hour, 49 * time.Hour} {
		require.NoError(t, s.SaveRun(t.Context(), library.Run{User: user, Connection: "spotify", Stream: "listens",
			Started: time.Now().Add(-age), Result: "ok"}))
	}
	require.NoError(t, s.Tidy(t.Context()))
	require.Equal(t, 2, number(t, s, "SELECT count(*) FROM runs"))
	require.NoError(t, s.DeleteConnection(t.Context(), user, "spotify", false))
	require.Zero(t, number(t, s, "SELECT count(*) FROM runs"))
}

func TestWaitingDeliveriesAreCountedWithTheirAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		counts, oldest, err := s.DeliveryCounts(t.Context())
		require.NoError(t, err)
		require.Zero(t, oldest)
		require.Zero(t, counts["scheduled"])

		began := time.Now()
		var ids []int64
		for i := range 6 {
			ids = append(ids, enqueue(t, s, delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble,
				Ref: fmt.Sprint(i)}))
			time.Sleep(time.Minute)
		}
		become(t, s, delivery.Dead, ids[0])
		become(t, s, delivery.Done, ids[1])
		become(t, s, delivery.Retrying, ids[3])
		counts, oldest, err = s.DeliveryCounts(t.Context())
		require.NoError(t, err)
		require.Equal(t, map[delivery.State]int{"dead": 1, "done": 1, "retrying": 1, "scheduled": 3}, counts)
		require.True(t, began.Add(2*time.Minute).Equal(oldest), oldest)

		become(t, s, delivery.Running, ids[2])
		_, oldest, err = s.DeliveryCounts(t.Context())
		require.NoError(t, err)
		require.True(t, began.Add(2*time.Minute).Equal(oldest), oldest)
		require.NoError(t, s.Park(t.Context(), delivery.Send{User: user, Connection: "lastfm"}))
		become(t, s, delivery.Done, ids[2])
		counts, oldest, err = s.DeliveryCounts(t.Context())
		require.NoError(t, err)
		require.Equal(t, 3, counts["parked"])
		require.Zero(t, oldest, "parked deliveries do not count")
	})
}
