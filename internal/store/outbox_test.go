package store

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/store/db"
)

// The clock is set back by an hour. What is parked, and a summary for eight o'clock, stay.
//
// Promise: A clock that is set, or a machine that sleeps, moves no wait: nothing is sent too early, or much too late.
func TestWhatWaitsKeepsItsWait(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	now := time.Now()
	after := map[time.Duration]time.Duration{61 * time.Minute: time.Minute, 2 * time.Hour: time.Hour,
		-time.Minute: -time.Minute}
	want := map[int64]time.Duration{}
	add := func(kind string, wait time.Duration) int64 {
		id := enqueue(t, s, delivery.Draft{User: user, Connection: "lastfm", Kind: kind, Ref: fmt.Sprint(wait)})
		require.NoError(t, s.Exec(t.Context(), "UPDATE deliveries SET due_at = $1 WHERE id = $2",
			db.Millis(now.Add(wait)), id))
		return id
	}
	for wait, left := range after {
		want[add(delivery.Scrobble, wait)] = left
	}
	parked := add(delivery.Scrobble, 3*time.Hour)
	require.NoError(t, s.Exec(t.Context(), "UPDATE deliveries SET state = 'parked' WHERE id = $1", parked))
	want[parked] = 3 * time.Hour
	want[add(delivery.Notify, 5*time.Hour)] = 5 * time.Hour
	require.NoError(t, s.Earlier(t.Context(), time.Hour))
	for _, d := range deliveries(t, s, user) {
		require.InDelta(t, want[d.ID], d.Due.Sub(now), float64(time.Second))
	}
}

// What becomes due is found once.
func TestDueDeliveriesAreToldOfWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		began := time.Now()
		for i, after := range []time.Duration{3 * time.Second, 3 * time.Second, time.Hour} {
			enqueue(t, s, delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble,
				Ref: fmt.Sprint(i), Due: began.Add(after)})
		}
		require.Zero(t, number(t, s, "SELECT count(*) FROM river_job"), "nothing is due")
		look := func(after, until time.Duration) ([]delivery.Due, time.Duration) {
			all, next, err := s.Due(t.Context(), began.Add(after), began.Add(until))
			require.NoError(t, err)
			if next.IsZero() {
				return all, 0
			}
			return all, next.Sub(began)
		}
		to := delivery.Send{User: user, Connection: "lastfm"}
		all, next := look(-time.Second, 2*time.Second)
		require.Empty(t, all)
		require.Equal(t, 3*time.Second, next)
		all, next = look(2*time.Second, 3*time.Second)
		require.Equal(t, []delivery.Due{{Send: to, Count: 2, Gone: true}}, all)
		require.Equal(t, time.Hour, next)
		all, next = look(3*time.Second, 4*time.Second)
		require.Empty(t, all)
		require.Equal(t, time.Hour, next)
		all, next = look(4*time.Second, 2*time.Hour)
		require.Equal(t, []delivery.Due{{Send: to, Count: 1, Gone: true}}, all)
		require.Zero(t, next)
	})
}
