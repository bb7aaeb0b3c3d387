package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/match"
)

// twoForwarders returns a database with two people who forward listens from Spotify to Last.fm, and have copies there.
func twoForwarders(t testing.TB) (s *Store, alice, bob int64) {
	t.Helper()
	s, alice = setup(t)
	bob = addUser(t, s, "Bob", accounts.Member)
	for _, user := range []int64{alice, bob} {
		connect(t, s, user, "spotify")
		connect(t, s, user, "lastfm")
		forward(t, s, user, "lastfm", 2, 0)
		save(t, s, user, "spotify", track("A", 1), track("B", 2), track("C", 3))
		require.NoError(t, s.WantCopy(t.Context(), delivery.Draft{User: user, Connection: "lastfm",
			Kind: delivery.WritePlaylist, Ref: "7"}, ""))
		require.NoError(t, s.SaveMatches(t.Context(), user, "lastfm",
			map[string]match.Result{"a": {How: match.ByISRC}}))
	}
	return s, alice, bob
}

func rowsOf(t testing.TB, s *Store, user int64, table string) int {
	t.Helper()
	return number(t, s, "SELECT count(*) FROM "+table+" WHERE user_id = $1 AND connection = 'lastfm'", user)
}

func TestDeliveriesWaitForAReconnect(t *testing.T) {
	t.Parallel()
	s, alice, bob := twoForwarders(t)
	become(t, s, delivery.Done, deliveries(t, s, alice)[0].ID)
	require.NoError(t, s.DeleteConnection(t.Context(), alice, "lastfm", false))
	require.Equal(t, []string{"lastfm done: A, B", "lastfm parked: C"}, enqueued(t, s, alice),
		"the delivery of the playlist is removed")
	require.Equal(t, []string{"lastfm scheduled: A, B", "lastfm scheduled: C", "lastfm scheduled: 7"},
		enqueued(t, s, bob))
	for _, table := range []string{"forwarding", "copies", "track_matches"} {
		require.Zero(t, rowsOf(t, s, alice, table), table)
		require.Equal(t, 1, rowsOf(t, s, bob, table), table)
	}
	save(t, s, alice, "spotify", track("D", 4))
	require.Len(t, enqueued(t, s, alice), 2, "nothing more is enqueued")

	c := connect(t, s, alice, "lastfm")
	waiting, err := s.Parked(t.Context())
	require.NoError(t, err)
	require.Equal(t, []library.Connection{c}, waiting)
	require.NoError(t, s.Release(t.Context(), delivery.Send{User: alice, Connection: "lastfm"}))
	require.Equal(t, []string{"lastfm done: A, B", "lastfm scheduled: C"}, enqueued(t, s, alice))
}

func TestRemovingDataRemovesItsDeliveries(t *testing.T) {
	t.Parallel()
	s, alice, bob := twoForwarders(t)
	all := deliveries(t, s, alice)
	become(t, s, delivery.Done, all[0].ID)
	become(t, s, delivery.Dead, all[1].ID)
	require.NoError(t, s.DeleteConnection(t.Context(), alice, "lastfm", true))
	require.Empty(t, enqueued(t, s, alice))
	for _, table := range []string{"forwarding", "copies", "track_matches", "forwards", "deliveries"} {
		require.Zero(t, rowsOf(t, s, alice, table), table)
		require.NotZero(t, rowsOf(t, s, bob, table), table)
	}
	require.Equal(t, 3, number(t, s, "SELECT count(*) FROM deliveries"), "Bob's")
	require.Equal(t, 3, count(t, s, alice), "the listens come from Spotify")

	connect(t, s, alice, "lastfm") // forwarding starts again
	n, err := s.StartForwarding(t.Context(), delivery.Rule{User: alice, Connection: "lastfm", Kind: delivery.Scrobble,
		Batch: 2, Since: at(0)}, true)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []string{"lastfm scheduled: A, B", "lastfm scheduled: C"}, enqueued(t, s, alice))
}

// A running delivery stays until it ends when its connection is removed with the data.
func TestARunningDeliveryOutlivesItsData(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, alice, _ := twoForwarders(t)
		ids := deliveries(t, s, alice)
		stop := startQueue(t, s, func(id int64) delivery.State {
			if id == ids[0].ID {
				assert.NoError(t, s.DeleteConnection(t.Context(), alice, "lastfm", true))
				return delivery.Parked // as after a fatal failure
			}
			return delivery.Done
		})
		time.Sleep(10 * time.Second)
		stop()
		require.Equal(t, []string{"lastfm parked: "}, enqueued(t, s, alice))
		connect(t, s, alice, "lastfm")
		require.NoError(t, s.Release(t.Context(), delivery.Send{User: alice, Connection: "lastfm"}))
		require.Equal(t, ids[0].ID, taken(t, s)[0])
		plays, err := s.ListensOf(t.Context(), ids[0].ID)
		require.NoError(t, err)
		require.Empty(t, plays, "its listens are gone")
		n, err := s.Backlog(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	})
}

func TestDeletedListensAreNotDelivered(t *testing.T) {
	t.Parallel()
	s, alice, bob := twoForwarders(t)
	save(t, s, alice, "listenbrainz", track("B", 2.1)) // reported by another connection too, so it stays
	all := deliveries(t, s, alice)
	become(t, s, delivery.Done, all[1].ID)
	require.NoError(t, s.DeleteConnection(t.Context(), alice, "spotify", true))
	require.Equal(t, []string{"lastfm scheduled: B", "lastfm done: ", "lastfm scheduled: 7"}, enqueued(t, s, alice))
	require.Equal(t, 1, deliveries(t, s, alice)[1].Items, "the sent delivery keeps its count")
	owing, err := s.Waiting(t.Context(), alice)
	require.NoError(t, err)
	require.Equal(t, delivery.Waiting{Listens: 1, Playlists: 1}, owing["lastfm"])
	plays, err := s.ListensOf(t.Context(), all[0].ID)
	require.NoError(t, err)
	require.Equal(t, []string{"B"}, titlesOf(plays))
	require.Equal(t, []string{"lastfm scheduled: A, B", "lastfm scheduled: C", "lastfm scheduled: 7"},
		enqueued(t, s, bob))
}

func TestDeletedListensLeaveTheArchiveToo(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connect(t, s, user, "spotify")
	connect(t, s, user, "s3")
	save(t, s, user, "spotify", track("A", 1))
	_, err := s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "s3", Kind: delivery.Archive,
		Batch: 1}, true)
	require.NoError(t, err)
	before := copiesOf(t, s, user)
	require.NoError(t, s.DeleteConnection(t.Context(), user, "spotify", true))
	after := copiesOf(t, s, user)
	require.Len(t, before, 1)
	require.Equal(t, before[0].Wanted+1, after[0].Wanted)
}

func copiesOf(t testing.TB, s *Store, user int64) []delivery.Copy {
	t.Helper()
	all, err := s.Copies(t.Context(), user, delivery.Archive)
	require.NoError(t, err)
	return all
}
