package store

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/outbox"
	"reprise/internal/words"
)

func titlesOf(plays []library.StoredListen) []string {
	all := []string{}
	for _, p := range plays {
		all = append(all, p.Title)
	}
	return all
}

func TestADeliveryDropsWhatItsProviderHas(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	forward(t, s, user, "lastfm", 10, 0)
	save(t, s, user, "spotify", track("C", 30), track("B", 20), track("A", 10))
	d := only(t, s, user)
	plays, err := s.ListensOf(t.Context(), d.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"A", "B", "C"}, titlesOf(plays))
	require.Equal(t, []library.ConnectionID{"spotify"}, connectionsOf(plays[0]))

	save(t, s, user, "lastfm", track("B", 20.1))
	save(t, s, user, "listenbrainz", track("C", 30.1))
	plays, err = s.ListensOf(t.Context(), d.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"A", "C"}, titlesOf(plays), "what another connection has does not count")
	require.Equal(t, 2, only(t, s, user).Items)
	account, err := s.ForwardingCounts(t.Context(), user, "lastfm")
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, []int{account.Waiting, account.There})

	save(t, s, user, "lastfm", track("A", 10.1), track("C", 30.1))
	plays, err = s.ListensOf(t.Context(), d.ID)
	require.NoError(t, err)
	require.Empty(t, plays)
	require.Zero(t, only(t, s, user).Items)
}

func TestABatchIsHalvedUntilTheBadOneIsFound(t *testing.T) {
	t.Parallel()
	s, user := setupWith(t, Options{Sending: outbox.Options{Attempts: 9}})
	forward(t, s, user, "lastfm", 10, 0)
	save(t, s, user, "spotify", track("D", 40), track("C", 30), track("B", 20), track("A", 10))
	first := only(t, s, user)
	from := delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble}
	plays, err := s.ListensOf(t.Context(), first.ID)
	require.NoError(t, err)
	become(t, s, delivery.Running, first.ID)
	for range 2 { // the process may die after it, and do it again
		require.NoError(t, s.Split(t.Context(), from, first.ID, [][]int64{{plays[2].ID, plays[3].ID}}, nil))
		require.Equal(t, []string{"lastfm running: A, B", "lastfm scheduled: C, D"}, enqueued(t, s, user))
	}
	second := deliveries(t, s, user)[1]
	require.Equal(t, []int{0, 9}, []int{second.Attempts, second.MaxAttempts})
	require.NoError(t, s.Split(t.Context(), from, second.ID, [][]int64{{plays[3].ID}}, nil))
	require.Equal(t, []string{"lastfm running: A, B", "lastfm scheduled: C", "lastfm scheduled: D"},
		enqueued(t, s, user))
}

func TestARefusedListenBecomesADeadLetter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setupWith(t, Options{Sending: outbox.Options{Attempts: 9}})
		forward(t, s, user, "lastfm", 10, 0)
		save(t, s, user, "spotify", track("D", 40), track("C", 30), track("B", 20), track("A", 10))
		first := only(t, s, user)
		plays, err := s.ListensOf(t.Context(), first.ID)
		require.NoError(t, err)
		why := delivery.Failure{Category: "item", Reason: words.Plain("The artist is missing."), Answer: "1: ignored"}
		from := delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble}
		require.NoError(t, s.Split(t.Context(), from, first.ID, [][]int64{{plays[3].ID}},
			[]delivery.Refused{{Listen: plays[1].ID, Failure: why}}))
		require.Equal(t, []string{"lastfm scheduled: A, C", "lastfm scheduled: D", "lastfm dead: B"},
			enqueued(t, s, user))
		now := time.Now().UTC()
		want := delivery.Delivery{ID: first.ID + 2, User: user, Connection: "lastfm", Kind: delivery.Scrobble,
			Items: 1,
			State: delivery.Dead, Attempts: 1, MaxAttempts: 9,
			Due: now, EndedAt: now, CreatedAt: now, Failure: why, DeadSince: now}
		require.Equal(t, want, deliveries(t, s, user)[2])

		refuse(t, s, "refuse", "BEFORE UPDATE OF dead_since ON deliveries", "")
		require.ErrorContains(t, s.Split(t.Context(), from, first.ID, nil,
			[]delivery.Refused{{Listen: plays[0].ID, Failure: why}}), "refused")
		require.Equal(t, []string{"lastfm scheduled: A, C", "lastfm scheduled: D", "lastfm dead: B"},
			enqueued(t, s, user), "all of it or nothing")
	})
}

func TestTheLatestFailureIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		id := enqueue(t, s, delivery.Draft{User: user, Connection: "s3", Kind: delivery.Archive, Ref: "2026-11"})
		kept := func() (delivery.Failure, time.Time) {
			d := only(t, s, user)
			return d.Failure, d.DeadSince
		}
		for _, f := range []delivery.Failure{{Category: "network", Reason: words.Plain("a"), Answer: "b"},
			{Category: "upstream"}} {
			noteFailure(t, s, id, f, false)
			got, dead := kept()
			require.Equal(t, f, got)
			require.Zero(t, dead)
		}
		died := time.Now().UTC()
		for range 3 {
			noteFailure(t, s, id, delivery.Failure{Category: "item"}, true)
			_, dead := kept()
			require.Equal(t, died, dead, "since it died for the first time")
			time.Sleep(time.Hour)
		}
		noteFailure(t, s, 999, delivery.Failure{}, true) // discarded meanwhile
	})
}

// taken lets River work what is due, and returns the ids in order.
func taken(t testing.TB, s *Store) (ids []int64) {
	t.Helper()
	var mu sync.Mutex
	stop := startQueue(t, s, func(id int64) delivery.State {
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, id)
		return delivery.Done
	})
	time.Sleep(10 * time.Second)
	stop()
	return ids
}

func TestParkingKeepsTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, alice := setup(t)
		bob := addUser(t, s, "Bob", accounts.Member)
		var ids []int64
		for i := range 5 {
			ids = append(ids, enqueue(t, s, delivery.Draft{User: alice, Connection: "lastfm", Kind: delivery.Scrobble,
				Ref: fmt.Sprint(i), History: i == 1}))
			time.Sleep(time.Second)
		}
		others := []int64{enqueue(t, s, delivery.Draft{User: bob, Connection: "lastfm", Kind: delivery.Scrobble}),
			enqueue(t, s, delivery.Draft{User: alice, Connection: "listenbrainz", Kind: delivery.Scrobble})}
		become(t, s, delivery.Retrying, ids[0])
		become(t, s, delivery.Running, ids[2])
		become(t, s, delivery.Dead, ids[3])
		for range 2 {
			require.NoError(t, s.Park(t.Context(), delivery.Send{User: alice, Connection: "lastfm"}))
			require.Equal(t, []string{"lastfm parked: ", "lastfm parked: ", "lastfm running: ", "lastfm dead: ",
				"lastfm parked: ", "listenbrainz scheduled: "}, statesOf(t, s, alice))
		}
		require.Equal(t, "scheduled", standing(t, s, bob, others[0])[0])
		connect(t, s, bob, "lastfm")
		connect(t, s, alice, "listenbrainz")
		waiting, err := s.Parked(t.Context())
		require.NoError(t, err)
		require.Empty(t, waiting, "without a connection nothing can be released")
		c := connect(t, s, alice, "lastfm")
		waiting, err = s.Parked(t.Context())
		require.NoError(t, err)
		require.Equal(t, []library.Connection{c}, waiting)

		become(t, s, delivery.Done, ids[2])
		require.ElementsMatch(t, others, taken(t, s), "what is parked stays, however long")
		time.Sleep(365 * 24 * time.Hour)
		require.NoError(t, s.Release(t.Context(), delivery.Send{User: alice, Connection: "lastfm"}))
		require.Equal(t, []string{"retrying", "1 of 1"}, standing(t, s, alice, ids[0]),
			"its attempts are as they were")
		require.Equal(t, "dead", standing(t, s, alice, ids[3])[0])
		require.Equal(t, []int64{ids[0], ids[4], ids[1]}, taken(t, s), "the oldest first, history last")
	})
}

// statesOf is like enqueued, for deliveries without listens.
func statesOf(t testing.TB, s *Store, user int64) (lines []string) {
	t.Helper()
	for _, d := range deliveries(t, s, user) {
		lines = append(lines, fmt.Sprintf("%s %s: %s", d.Connection, d.State,
			d.Ref)[:len(d.Connection)+len(d.State)+3])
	}
	return lines
}

func TestTheRunningOneParksItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		ids := []int64{enqueue(t, s, delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble,
			Ref: "1"}),
			enqueue(t, s, delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble, Ref: "2"})}
		stop := startQueue(t, s, func(id int64) delivery.State {
			assert.Equal(t, ids[0], id)
			assert.NoError(t, s.Park(t.Context(), delivery.Send{User: user, Connection: "lastfm"}))
			assert.Equal(t, "running", standing(t, s, user, id)[0], "nobody else touches what is running")
			return delivery.Parked
		})
		time.Sleep(time.Minute)
		stop()
		for _, id := range ids {
			require.Equal(t, []string{"parked", "0 of 1"}, standing(t, s, user, id), "no attempt is used up")
		}
		require.NoError(t, s.Release(t.Context(), delivery.Send{User: user, Connection: "lastfm"}))
		require.Equal(t, ids, taken(t, s))
	})
}

// postpone has what waits for a person's Last.fm wait until a time.
func postpone(t testing.TB, s *Store, user int64, until time.Time) {
	t.Helper()
	require.NoError(t, s.Write(context.Background(), func(tx *sql.Tx) error {
		return s.FinishIn(context.Background(), tx, delivery.Send{User: user, Connection: "lastfm"},
			delivery.Share{Until: until})
	}))
}

func TestPostponingKeepsTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		var ids []int64
		for i := range 6 {
			o := delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble, Ref: fmt.Sprint(i)}
			if i == 5 {
				o.Due = time.Now().Add(3 * time.Hour)
			}
			ids = append(ids, enqueue(t, s, o))
			time.Sleep(time.Second)
		}
		become(t, s, delivery.Running, ids[0])
		become(t, s, delivery.Dead, ids[2])
		until := time.Now().Add(time.Hour)
		postpone(t, s, user, until)
		postpone(t, s, user, until.Add(-time.Minute)) // a shorter wait shortens nothing
		for i, d := range deliveries(t, s, user) {
			want := []delivery.State{"running", "scheduled", "dead", "scheduled", "scheduled", "scheduled"}[i]
			require.Equal(t, want, d.State)
			if i < 5 && d.State == delivery.Scheduled {
				require.Equal(t, until.UTC(), d.Due)
			}
		}
		become(t, s, delivery.Done, ids[0])
		require.Empty(t, taken(t, s))
		time.Sleep(time.Hour + time.Second)
		require.Equal(t, []int64{ids[1], ids[3], ids[4]}, taken(t, s))

		parked := enqueue(t, s, delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble,
			Ref: "parked"})
		require.NoError(t, s.Park(t.Context(), delivery.Send{User: user, Connection: "lastfm"}))
		postpone(t, s, user, time.Now().Add(time.Hour))
		require.Equal(t, "parked", standing(t, s, user, parked)[0], "what is parked stays parked")
	})
}

func TestReviveLeavesBadItemsDead(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	var ids []int64
	for i, category := range []string{"item", "auth", "network", ""} {
		id := enqueue(t, s, delivery.Draft{User: user, Connection: "lastfm", Kind: delivery.Scrobble,
			Ref: fmt.Sprint(i)})
		noteFailure(t, s, id, delivery.Failure{Category: category}, true)
		become(t, s, delivery.Dead, id)
		ids = append(ids, id)
	}
	other := enqueue(t, s, delivery.Draft{User: user, Connection: "listenbrainz", Kind: delivery.Scrobble})
	become(t, s, delivery.Dead, other)
	require.NoError(t, s.Revive(t.Context(), delivery.Send{User: user, Connection: "lastfm"}))
	for i, want := range []string{"dead", "scheduled", "scheduled", "scheduled"} {
		require.Equal(t, want, standing(t, s, user, ids[i])[0])
	}
	require.Equal(t, "dead", standing(t, s, user, other)[0])
}

func TestWaitingCountsByProvider(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	owing := func() map[library.ConnectionID]delivery.Waiting {
		all, err := s.Waiting(t.Context(), user)
		require.NoError(t, err)
		return all
	}
	require.Empty(t, owing())
	forward(t, s, user, "lastfm", 2, 0)
	save(t, s, user, "spotify", track("A", 1), track("B", 2), track("C", 3))
	for _, ref := range []string{"1", "2"} {
		require.NoError(t, s.WantCopy(t.Context(), delivery.Draft{User: user, Connection: "navidrome",
			Kind: delivery.WritePlaylist, Ref: ref}, ""))
		require.NoError(t, s.WantCopy(t.Context(), delivery.Draft{User: user, Connection: "s3",
			Kind: delivery.Archive,
			Ref:  ref}, ""))
	}
	require.Equal(t, map[library.ConnectionID]delivery.Waiting{"lastfm": {Listens: 3}, "navidrome": {Playlists: 2},
		"s3": {Months: 2}}, owing())
	all := deliveries(t, s, user)
	become(t, s, delivery.Running, all[0].ID)
	require.NoError(t, s.Park(t.Context(), delivery.Send{User: user, Connection: "lastfm"}))
	require.NoError(t, s.Park(t.Context(), delivery.Send{User: user, Connection: "navidrome"}))
	become(t, s, delivery.Done, all[3].ID)
	become(t, s, delivery.Dead, all[5].ID)
	require.Equal(t, map[library.ConnectionID]delivery.Waiting{"lastfm": {Listens: 3, Parked: 1},
		"navidrome": {Playlists: 2, Parked: 2}}, owing())
	n, err := s.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
