package store

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

func TestAllFieldsOfAConnectionAreStored(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	want := connection(alice, "spotify")
	want.Generation = 1
	given := want
	given.Paused = true // saving a verified connection resumes it
	got, err := s.SaveConnection(t.Context(), given)
	require.NoError(t, err)
	require.Equal(t, want, got)
	forever := connection(bob, "listenbrainz")
	forever.ExpiresAt, forever.App = db.Instant(0), "" // it does not expire
	forever, err = s.SaveConnection(t.Context(), forever)
	require.NoError(t, err)

	got, err = s.Connection(t.Context(), alice, "spotify")
	require.NoError(t, err)
	require.Equal(t, want, got)
	everybodys, err := s.Connections(t.Context())
	require.NoError(t, err)
	require.Equal(t, []library.Connection{want, forever}, everybodys)
	bobs, err := s.UserConnections(t.Context(), bob)
	require.NoError(t, err)
	require.Equal(t, []library.Connection{forever}, bobs)
	_, err = s.Connection(t.Context(), bob, "spotify")
	require.ErrorIs(t, err, library.ErrNotFound)
}

func TestGenerationsGrowAlsoAcrossADisconnect(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	require.EqualValues(t, 1, connect(t, s, user, "spotify").Generation)
	require.EqualValues(t, 2, connect(t, s, user, "spotify").Generation)
	require.NoError(t, s.DeleteConnection(t.Context(), user, "spotify", true))
	require.EqualValues(t, 3, connect(t, s, user, "spotify").Generation)
	require.EqualValues(t, 1, connect(t, s, user, "listenbrainz").Generation)
}

// renewed stores the credentials of a connection as a renewal does.
func renewed(ctx context.Context, s *Store, c library.Connection) error {
	claim := time.Now().Add(time.Minute).Truncate(time.Millisecond)
	taken, err := s.ClaimRenewal(ctx, c, claim)
	if err == nil && !taken.IsZero() {
		err = errors.New("somebody renews it")
	}
	if err != nil {
		return err
	}
	return s.SaveCredentials(ctx, c, claim)
}

func TestARenewalIsClaimedByOne(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	c := connect(t, s, user, "spotify")
	first := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	second := first.Add(time.Hour)
	taken, err := s.ClaimRenewal(t.Context(), c, first)
	require.NoError(t, err)
	require.True(t, taken.IsZero())
	for _, claim := range []time.Time{first, second} {
		taken, err := s.ClaimRenewal(t.Context(), c, claim)
		require.NoError(t, err)
		require.True(t, first.Equal(taken), "the first has it")
	}
	require.ErrorIs(t, s.SaveCredentials(t.Context(), c, second), library.ErrNotFound)
	require.NoError(t, s.SaveCredentials(t.Context(), c, first))
	require.ErrorIs(t, s.SaveCredentials(t.Context(), c, first), library.ErrNotFound, "that claim has ended")

	_, err = s.ClaimRenewal(t.Context(), c, first)
	require.NoError(t, err)
	require.NoError(t, s.EndRenewals(t.Context()))
	require.NoError(t, renewed(t.Context(), s, c), "the process that had claimed it was killed")
	_, err = s.ClaimRenewal(t.Context(), c, first)
	require.NoError(t, err)
	c = connect(t, s, user, "spotify")
	require.NoError(t, renewed(t.Context(), s, c), "a new consent ends the claim")
}

func TestTokensOfAnOldGenerationAreRefused(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	old := connect(t, s, user, "spotify")
	old.Credentials = library.Credentials{"token": "renewed"}
	require.NoError(t, renewed(t.Context(), s, old))
	got, err := s.Connection(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, old, got)

	now := connect(t, s, user, "spotify")
	require.ErrorIs(t, renewed(t.Context(), s, old), library.ErrNotFound)
	got, err = s.Connection(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, now, got)

	require.NoError(t, s.DeleteConnection(t.Context(), user, "spotify", false))
	require.ErrorIs(t, renewed(t.Context(), s, now), library.ErrNotFound)
	_, err = s.Connection(t.Context(), user, "spotify")
	require.ErrorIs(t, err, library.ErrNotFound)
}

func TestPausing(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	require.ErrorIs(t, s.SetPaused(t.Context(), user, "spotify", true), library.ErrNotFound)
	connect(t, s, user, "spotify")
	for _, paused := range []bool{true, true, false} {
		require.NoError(t, s.SetPaused(t.Context(), user, "spotify", paused))
		c, err := s.Connection(t.Context(), user, "spotify")
		require.NoError(t, err)
		require.Equal(t, paused, c.Paused)
	}
}

func TestReconnectingKeepsTheSameAccountsCursor(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	first := connect(t, s, user, "spotify")
	fail := func(generation int64) {
		require.NoError(
			t,
			s.SavePosition(t.Context(), user, "spotify", library.Listens, "position", words.Plain("note")),
		)
		for _, stream := range []string{"", library.Listens} {
			require.NoError(t, s.SaveFailure(t.Context(), user, "spotify", stream, words.Plain("advice"), "detail"))
			require.NoError(t, s.SaveStop(t.Context(),
				backoff.Stop{Key: backoff.Key{User: user, Connection: "spotify", Provider: "spotify",
					Stream: stream},
					Generation: generation, Category: resilience.Auth, Since: at(1)}))
		}
		stops, err := s.Stops(t.Context())
		require.NoError(t, err)
		require.Len(t, stops, 2)
	}
	fail(first.Generation)
	second := connect(t, s, user, "spotify")
	streams, err := s.Streams(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, []library.StreamRecord{{Connection: "spotify", Stream: library.Listens, Position: "position",
		Note: words.Plain("note")}}, streams)
	stops, err := s.Stops(t.Context())
	require.NoError(t, err)
	require.Empty(t, stops)

	fail(second.Generation)
	other := connection(user, "spotify")
	other.AccountID = "id-2"
	_, err = s.SaveConnection(t.Context(), other)
	require.NoError(t, err)
	streams, err = s.Streams(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, []library.StreamRecord{{Connection: "spotify", Stream: library.Listens}}, streams)
	stops, err = s.Stops(t.Context())
	require.NoError(t, err)
	require.Empty(t, stops)
}

func TestPendingConnections(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	_, err := s.Pending(t.Context(), user, "spotify")
	require.ErrorIs(t, err, library.ErrNotFound)
	connect(t, s, user, "spotify")
	for _, account := range []string{"id-2", "id-3"} { // the later one replaces the earlier one
		c := connection(user, "spotify")
		c.AccountID, c.Credentials = account, library.Credentials{"token": account}
		require.NoError(t, s.SavePending(t.Context(), c))
		got, err := s.Pending(t.Context(), user, "spotify")
		require.NoError(t, err)
		require.Equal(t, c, got)
	}
	current, err := s.Connection(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, "id-1", current.AccountID, "a pending connection changes nothing")
	require.NoError(t, s.DropPending(t.Context(), user, "spotify"))
	require.NoError(t, s.DropPending(t.Context(), user, "spotify"))
	_, err = s.Pending(t.Context(), user, "spotify")
	require.ErrorIs(t, err, library.ErrNotFound)

	require.NoError(t, s.SavePending(t.Context(), connection(user, "spotify")))
	connect(t, s, user, "spotify")
	_, err = s.Pending(t.Context(), user, "spotify")
	require.ErrorIs(t, err, library.ErrNotFound, "saving the connection removes it")
}

// household returns a database with two people who have listens, playlists and connections.
func household(t *testing.T) (s *Store, alice, bob int64) {
	t.Helper()
	s, alice = setup(t)
	bob = addUser(t, s, "Bob", accounts.Member)
	for _, user := range []int64{alice, bob} {
		for _, id := range []library.ConnectionID{"spotify", "listenbrainz"} {
			provider := string(id)
			c := connect(t, s, user, id)
			require.NoError(t, s.SaveStop(t.Context(),
				backoff.Stop{Key: backoff.Key{User: user, Connection: provider, Provider: provider},
					Generation: c.Generation, Category: resilience.Auth, Since: at(1)}))
			require.NoError(t, s.SaveHold(t.Context(),
				backoff.Hold{Key: backoff.Key{User: user, Connection: provider, Provider: provider, App: "app"},
					Category: resilience.RateLimit, Since: at(1), Until: at(1e6)}))
			require.NoError(t, s.SavePending(t.Context(), c))
			require.NoError(t, s.SaveState(t.Context(),
				oauth.State{ID: provider + string(rune('a'+user)), User: user, Connection: id}))
			require.NoError(t, s.SavePlaylist(t.Context(), user, id, library.Playlist{SourceID: "p"}, 0,
				make([]library.Track, 3)))
			plays := repeat(10, 60)
			if provider == "listenbrainz" {
				plays = repeat(15, 60)[5:] // half of Spotify's, and five of its own
			}
			for i := range plays {
				plays[i].Track.SourceID, plays[i].PlayCount = plays[i].Title, 1
			}
			save(t, s, user, id, plays...)
		}
		require.Equal(t, 15, count(t, s, user))
	}
	return s, alice, bob
}

func TestDisconnecting(t *testing.T) {
	t.Parallel()
	for _, data := range []bool{false, true} {
		s, alice, bob := household(t)
		require.NoError(t, s.SaveHold(t.Context(), backoff.Hold{Key: backoff.Key{Connection: "spotify",
			Provider: "spotify", App: "app"}, Category: resilience.RateLimit, Since: at(1), Until: at(1e6)}))
		require.NoError(t, s.DeleteConnection(t.Context(), alice, "spotify", data))
		require.ErrorIs(t, s.DeleteConnection(t.Context(), alice, "spotify", data), library.ErrNotFound)

		rows := func(user int64, conn library.ConnectionID, table string) int {
			return number(t, s, "SELECT count(*) FROM "+table+" WHERE user_id = $1 AND connection = $2", user, conn)
		}
		const sources = `(SELECT l.user_id, n.connection FROM listen_sources s JOIN listens l ON l.id = s.listen_id
			JOIN connection_numbers n ON n.number = s.connection) AS sources`
		for _, table := range []string{"connections", "streams", "holds", "pending_connections", "oauth_states"} {
			require.Zero(t, rows(alice, "spotify", table), table)
			for user, id := range map[int64]library.ConnectionID{alice: "listenbrainz", bob: "spotify"} {
				require.NotZero(t, rows(user, id, table), table)
			}
		}
		require.Equal(t, 1, number(t, s, "SELECT count(*) FROM holds WHERE user_id = 0"),
			"the wait of the whole app stays")
		want := struct{ listens, sources, counts, playlists, tracks int }{15, 10, 10, 1, 12}
		if data {
			want = struct{ listens, sources, counts, playlists, tracks int }{10, 0, 0, 0, 9}
		}
		require.Equal(t, want.listens, count(t, s, alice), "listens with two sources stay")
		require.Equal(t, want.sources, rows(alice, "spotify", sources))
		require.Equal(t, want.counts, rows(alice, "spotify", "play_counts"))
		require.Equal(t, want.playlists, rows(alice, "spotify", "playlists"))
		require.Equal(t, want.tracks, number(t, s, "SELECT count(*) FROM playlist_tracks"))
		require.Equal(t, 10, rows(alice, "listenbrainz", sources))
		require.Equal(t, 15, count(t, s, bob))
		require.Equal(t, 20, number(t, s, `SELECT count(*) FROM listen_sources s
			JOIN listens l ON l.id = s.listen_id WHERE l.user_id = $1`, bob))
		requireWhole(t, s, alice)

		connect(t, s, alice, "spotify") // the next run reads everything again
		added := save(t, s, alice, "spotify", repeat(10, 60)...)
		require.Equal(t, 15-want.listens, added)
		require.Equal(t, 15, count(t, s, alice))
	}
}
