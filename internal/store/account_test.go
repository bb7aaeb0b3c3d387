package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// connectTo stores a connection to an account.
func connectTo(t testing.TB, s *Store, user int64, conn library.ConnectionID, account string) {
	t.Helper()
	c := connection(user, conn)
	c.AccountID = account
	_, err := s.SaveConnection(t.Context(), c)
	require.NoError(t, err)
}

func TestOneAccountGetsNothingOfItsOwn(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connectTo(t, s, user, "lastfm", "ada")
	connectTo(t, s, user, "lastfm-2", "ada")
	connectTo(t, s, user, "lastfm-3", "bob")
	connectTo(t, s, user, "listenbrainz", "ada")
	forward(t, s, user, "lastfm-2", 10, 0)
	save(t, s, user, "lastfm", track("A", 10))
	require.Empty(t, enqueued(t, s, user), "the same account")
	save(t, s, user, "lastfm-3", track("B", 20))
	save(t, s, user, "listenbrainz", track("C", 30))
	require.Equal(t, []string{"lastfm-2 scheduled: B", "lastfm-2 scheduled: C"}, enqueued(t, s, user),
		"another account at the provider, and an account of the same name elsewhere")
}

func TestOneAccountIsSentToOnce(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connectTo(t, s, user, "lastfm", "ada")
	connectTo(t, s, user, "lastfm-2", "ada")
	forward(t, s, user, "lastfm", 10, 0)
	forward(t, s, user, "lastfm-2", 10, 0)
	save(t, s, user, "spotify", track("A", 10))
	require.Equal(t, []string{"lastfm scheduled: A"}, enqueued(t, s, user))
	n, err := s.CountUnforwarded(t.Context(), user, "lastfm-2", at(0))
	require.NoError(t, err)
	require.Zero(t, n, "it goes there by the other connection")
}

func TestEarlierListensStayInTheirAccount(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connectTo(t, s, user, "lastfm", "ada")
	connectTo(t, s, user, "lastfm-2", "ada")
	save(t, s, user, "lastfm", track("A", 10))
	save(t, s, user, "spotify", track("B", 20))
	n, err := s.CountUnforwarded(t.Context(), user, "lastfm-2", at(0))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "lastfm-2",
		Kind: delivery.Scrobble, Batch: 10, From: at(0), Since: at(0)}, true)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"lastfm-2 scheduled: B"}, enqueued(t, s, user))
}

func TestADeliveryDropsWhatItsAccountHas(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connectTo(t, s, user, "lastfm", "ada")
	connectTo(t, s, user, "lastfm-2", "ada")
	connectTo(t, s, user, "lastfm-3", "bob")
	forward(t, s, user, "lastfm-2", 10, 0)
	save(t, s, user, "spotify", track("A", 10), track("B", 20), track("C", 30))
	save(t, s, user, "lastfm", track("A", 10.1))
	save(t, s, user, "lastfm-3", track("C", 30.1))
	plays, err := s.ListensOf(t.Context(), only(t, s, user).ID)
	require.NoError(t, err)
	require.Equal(t, []string{"B", "C"}, titlesOf(plays))
	counts, err := s.ForwardingCounts(t.Context(), user, "lastfm-2")
	require.NoError(t, err)
	require.Equal(t, []int{2, 1}, []int{counts.Waiting, counts.There})
	listens, err := s.ForwardedListens(t.Context(), user, "lastfm-2", 10)
	require.NoError(t, err)
	require.Len(t, listens, 3)
	require.EqualValues(t, "there", listens[2].Outcome)
	require.False(t, listens[2].ThereSince.IsZero())
}

func TestAnEchoReadTwiceIsOneListen(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	connectTo(t, s, user, "lastfm", "ada")
	connectTo(t, s, user, "lastfm-2", "ada")
	forward(t, s, user, "lastfm", 10, 0)
	save(t, s, user, "spotify", track("A", 10))
	become(t, s, delivery.Done, only(t, s, user).ID)
	for _, conn := range []library.ConnectionID{"lastfm", "lastfm-2"} {
		require.Zero(t, save(t, s, user, conn, track("What Last.fm calls it", 10)))
	}
	require.Equal(t, 1, count(t, s, user))
}
