package store

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
	"reprise/internal/words"
)

// oneOfEach enqueues a delivery to a connection in each state, and returns their ids.
func oneOfEach(t testing.TB, s *Store, user int64, conn library.ConnectionID) map[delivery.State]int64 {
	t.Helper()
	ids := map[delivery.State]int64{}
	for _, state := range delivery.States {
		ids[state] = enqueue(t, s, delivery.Draft{User: user, Connection: conn, Kind: delivery.Archive,
			Ref: string(state)})
		switch state {
		case delivery.Parked:
			require.NoError(t, s.Exec(t.Context(), "UPDATE deliveries SET state = 'parked' WHERE id = $1", ids[state]))
		case delivery.Scheduled:
		default:
			become(t, s, state, ids[state])
		}
	}
	return ids
}

func TestDeliveriesAreFilteredAndPaged(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	ids := oneOfEach(t, s, alice, "s3")
	oneOfEach(t, s, bob, "s3")
	scrobble := enqueue(t, s, delivery.Draft{User: alice, Connection: "lastfm", Kind: delivery.Scrobble})
	noteFailure(t, s, scrobble, delivery.Failure{Category: "auth"}, false)

	found := func(f delivery.Filter) (all []int64) {
		page, _, err := s.Deliveries(t.Context(), f, "", 100)
		require.NoError(t, err)
		counts, err := s.CountDeliveries(t.Context(), f)
		require.NoError(t, err)
		sum := 0
		for _, n := range counts {
			sum += n
		}
		require.Equal(t, len(page), sum, "%v", f)
		for _, d := range page {
			all = append(all, d.ID)
		}
		return all
	}
	for state, id := range ids {
		require.Equal(t, []int64{id}, found(delivery.Filter{User: alice, State: state, Connection: "s3"}), state)
		require.Equal(t, []int64{id}, found(delivery.Filter{User: alice, ID: id}), state)
		require.Empty(t, found(delivery.Filter{User: bob, ID: id}), "another person's")
	}
	require.Len(t, found(delivery.Filter{User: alice}), 7)
	require.Len(t, found(delivery.Filter{User: alice, Kind: delivery.Archive}), 6)
	require.Equal(t, []int64{scrobble}, found(delivery.Filter{User: alice, Connection: "lastfm"}))
	require.Equal(t, []int64{scrobble}, found(delivery.Filter{User: alice, Category: "auth"}))
	counts, err := s.CountDeliveries(t.Context(), delivery.Filter{User: alice})
	require.NoError(t, err)
	require.Equal(t, map[delivery.State]int{delivery.Scheduled: 2, delivery.Running: 1, delivery.Retrying: 1,
		delivery.Parked: 1, delivery.Dead: 1, delivery.Done: 1}, counts)
	n, err := s.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 7, n, "of all people, without parked ones")

	var paged []int64
	next, pages := "", 0
	for more := true; more; more = next != "" {
		var page []delivery.Delivery
		page, next, err = s.Deliveries(t.Context(), delivery.Filter{User: alice}, next, 3)
		require.NoError(t, err)
		for _, d := range page {
			paged = append(paged, d.ID)
		}
		pages++
	}
	require.Equal(t, found(delivery.Filter{User: alice}), paged, "the newest first")
	require.Equal(t, 3, pages)
	_, _, err = s.Deliveries(t.Context(), delivery.Filter{User: alice}, "x", 3)
	require.ErrorIs(t, err, library.ErrBadCursor)
}

func TestADeliveryHasAllItsFields(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setupWith(t, Options{Sending: outbox.Options{Attempts: 9}})
		now := time.Now().UTC()
		id := enqueue(t, s, delivery.Draft{User: user, Connection: "s3", Kind: delivery.Archive, Ref: "2026-11",
			Due: now.Add(time.Minute)})
		want := delivery.Delivery{ID: id, User: user, Connection: "s3", Kind: delivery.Archive, Ref: "2026-11",
			Items: 1, State: delivery.Scheduled, MaxAttempts: 9,
			Due: now.Add(time.Minute), CreatedAt: now}
		require.Equal(t, want, only(t, s, user))
		time.Sleep(1500 * time.Millisecond)
		why := delivery.Failure{Category: "item", Reason: words.Plain("reason"), Answer: "answer"}
		noteFailure(t, s, id, why, true)
		become(t, s, delivery.Dead, id)
		died := now.Add(1500 * time.Millisecond)
		want.State, want.Attempts, want.Failure, want.EndedAt, want.DeadSince = delivery.Dead, 1, why, died, died
		require.Equal(t, want, only(t, s, user))
	})
}

func TestRedriveTakesDeadAndRetrying(t *testing.T) {
	t.Parallel()
	s, alice := setupWith(t, Options{Sending: outbox.Options{Attempts: 9}})
	bob := addUser(t, s, "Bob", accounts.Member)
	ids := oneOfEach(t, s, alice, "s3")
	others := oneOfEach(t, s, bob, "s3")
	elsewhere := oneOfEach(t, s, alice, "other")
	for range 2 { // dry changes nothing
		n, err := s.Redrive(t.Context(), delivery.Filter{User: alice, Connection: "s3"}, true)
		require.NoError(t, err)
		require.Equal(t, 2, n)
	}
	n, err := s.Redrive(t.Context(), delivery.Filter{User: alice, Connection: "s3"}, false)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for state, id := range ids {
		want := string(state)
		if state == delivery.Dead || state == delivery.Retrying {
			want = "scheduled"
			require.Equal(t, []string{"scheduled", "0 of 9"}, standing(t, s, alice, id),
				"it has all its attempts")
		}
		require.Equal(t, want, standing(t, s, alice, id)[0])
		require.Equal(t, string(state), standing(t, s, bob, others[state])[0])
		require.Equal(t, string(state), standing(t, s, alice, elsewhere[state])[0])
	}
	for _, f := range []delivery.Filter{{User: alice, Provider: "s3"}, {User: bob, ID: ids[delivery.Dead]},
		{User: alice, ID: elsewhere[delivery.Parked]},
		{User: alice, ID: elsewhere[delivery.Running]}, {User: alice, ID: elsewhere[delivery.Done]}, {User: alice,
			Category: "auth"}} {
		for _, dry := range []bool{true, false} {
			n, err = s.Redrive(t.Context(), f, dry)
			require.NoError(t, err)
			require.Zero(t, n, "%v", f)
		}
	}
	n, err = s.Redrive(t.Context(), delivery.Filter{User: alice, ID: elsewhere[delivery.Dead]}, false)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestDiscardRemovesAllButRunning(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	each := oneOfEach(t, s, alice, "s3")
	for state, id := range each {
		require.ErrorIs(t, s.Discard(t.Context(), bob, id), library.ErrNotFound, "another person's")
		before := number(t, s, "SELECT count(*) FROM deliveries")
		err := s.Discard(t.Context(), alice, id)
		if state == delivery.Running {
			require.ErrorIs(t, err, library.ErrNotFound)
			require.Equal(t, before, number(t, s, "SELECT count(*) FROM deliveries"))
			continue
		}
		require.NoError(t, err, state)
		require.ErrorIs(t, s.Discard(t.Context(), alice, id), library.ErrNotFound)
		require.Equal(t, before-1, number(t, s, "SELECT count(*) FROM deliveries"))
	}
}

func TestDiscardedListensMayBeSentLater(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	forward(t, s, user, "lastfm", 1, 0)
	save(t, s, user, "spotify", track("A", 1), track("B", 2), track("C", 3))
	all := deliveries(t, s, user)
	become(t, s, delivery.Done, all[0].ID)
	become(t, s, delivery.Dead, all[1].ID)
	for _, d := range all {
		require.NoError(t, s.Discard(t.Context(), user, d.ID))
	}
	account, err := s.ForwardingCounts(t.Context(), user, "lastfm")
	require.NoError(t, err)
	require.Equal(t, delivery.ForwardingCounts{Sent: 1}, account, "sent listens stay marked as sent")
	n, err := s.CountUnforwarded(t.Context(), user, "lastfm", at(0))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "lastfm", Kind: delivery.Scrobble,
		Batch: 9, From: at(0), Since: at(0)}, true)
	require.NoError(t, err)
	require.Equal(t, []string{"lastfm scheduled: B, C"}, enqueued(t, s, user))
}

func TestDeadLettersAreTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setupWith(t, Options{Sending: outbox.Options{Attempts: 3}})
		connect(t, s, user, "lastfm")
		alone := enqueue(t, s, delivery.Draft{User: user, Connection: "navidrome", Kind: delivery.Scrobble})
		become(t, s, delivery.Dead, alone) // its connection does not exist
		var ids []int64
		for i := range 3 {
			ids = append(ids, enqueue(t, s, delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble,
				Ref: fmt.Sprint(i)}))
		}
		require.NoError(t, s.Exec(t.Context(), `UPDATE deliveries SET attempts = 3, state = 'dead', ended_at = $1
			WHERE id = $2`, db.Millis(time.Now()), ids[0]))
		become(t, s, delivery.Dead, ids[1])
		again := func(want int) {
			n, err := s.TryAgain(t.Context(), time.Now().Add(-24*time.Hour))
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		time.Sleep(12 * time.Hour)
		become(t, s, delivery.Dead, ids[2])
		time.Sleep(12*time.Hour - time.Second)
		again(0)
		time.Sleep(2 * time.Second)
		pause := func(paused bool) {
			require.NoError(t, s.SetPaused(t.Context(), user, "lastfm", paused))
		}
		pause(true)
		again(0)
		pause(false)
		again(2)
		again(0)
		require.Equal(t, []string{"retrying", "3 of 4"}, standing(t, s, user, ids[0]), "one more attempt")
		require.Equal(t, []string{"retrying", "1 of 3"}, standing(t, s, user, ids[1]))
		require.Equal(t, "dead", standing(t, s, user, ids[2])[0])
		require.Equal(t, "dead", standing(t, s, user, alone)[0])
		require.Equal(t, ids[:2], taken(t, s))
	})
}

func TestRetireRemovesOldDeliveries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		forward(t, s, user, "lastfm", 1, 0)
		save(t, s, user, "spotify", track("A", 1), track("B", 2), track("C", 3), track("D", 4))
		all := deliveries(t, s, user)
		die := func(i int) {
			noteFailure(t, s, all[i].ID,
				delivery.Failure{Category: "item", Reason: words.Plain("bad")}, true)
			become(t, s, delivery.Dead, all[i].ID)
		}
		become(t, s, delivery.Done, all[0].ID)
		die(1)
		time.Sleep(time.Hour)
		die(2)
		half := time.Now().Add(-30 * time.Minute)
		gone, err := s.Retire(t.Context(), half, time.Time{})
		require.NoError(t, err)
		require.Empty(t, gone)
		require.Equal(t, []string{"lastfm dead: B", "lastfm dead: C", "lastfm scheduled: D"}, enqueued(t, s, user),
			"done deliveries are removed")

		become(t, s, delivery.Dead, all[1].ID) // it was tried again and has just died again
		gone, err = s.Retire(t.Context(), half, half)
		require.NoError(t, err)
		require.Len(t, gone, 1)
		require.Equal(t, []any{all[1].ID, words.Plain("bad"), 1}, []any{gone[0].ID, gone[0].Reason, gone[0].Items},
			"returned for the log")
		require.Equal(t, []string{"lastfm dead: C", "lastfm scheduled: D"}, enqueued(t, s, user),
			"age is counted from the first death")
		require.Equal(t, 2, number(t, s, "SELECT count(*) FROM deliveries"))
		account, err := s.ForwardingCounts(t.Context(), user, "lastfm")
		require.NoError(t, err)
		account.Next = time.Time{}
		require.Equal(t, delivery.ForwardingCounts{Sent: 1, Refused: 1, Waiting: 1}, account,
			"sent listens stay marked as sent")

		become(t, s, delivery.Retrying, all[2].ID)
		gone, err = s.Retire(t.Context(), time.Now().Add(time.Hour), time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.Empty(t, gone, "live deliveries stay at any age")
	})
}

func TestRetireWorksInBatches(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	thousands(t, s, user, 1200, delivery.Done)
	for _, left := range []int{200, 0, 0} { // 1,000 at a time, so that other writers do not wait long
		_, err := s.Retire(t.Context(), time.Now().Add(time.Hour), time.Time{})
		require.NoError(t, err)
		require.Equal(t, left, number(t, s, "SELECT count(*) FROM deliveries"))
	}
}
