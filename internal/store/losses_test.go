package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// What Reprise has written at a service itself is no loss; what goes after that is.
func TestWhatRepriseWritesItselfIsNoLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		save := func(source string, n int) {
			t.Helper()
			time.Sleep(time.Minute)
			require.NoError(t, s.SavePlaylist(t.Context(), user, "navidrome",
				library.Playlist{SourceID: source, Name: source}, 0, tracks(n)))
		}
		losses := func() []library.PlaylistLoss {
			t.Helper()
			all, err := s.Losses(t.Context(), user, "navidrome")
			require.NoError(t, err)
			return all
		}
		written := func(ref, to string) {
			t.Helper()
			time.Sleep(time.Minute)
			d := delivery.Draft{User: user, Connection: "navidrome", Kind: delivery.WritePlaylist, Ref: ref}
			require.NoError(t, s.WantCopy(t.Context(), d, ""))
			id := only(t, s, user).ID
			become(t, s, delivery.Running, id)
			c, err := s.Copy(t.Context(), user, "navidrome", delivery.WritePlaylist, ref)
			require.NoError(t, err)
			c.RemoteID = to
			require.NoError(t, s.SaveRemote(t.Context(), c))
			_, err = s.EndCopy(t.Context(), id, c, true)
			require.NoError(t, err)
		}
		save("list", 100)
		all, err := s.Playlists(t.Context(), user)
		require.NoError(t, err)
		id := all[0].ID
		written(delivery.RefOf(id, 1), "list") // an earlier version, with fewer tracks
		save("list", 80)
		require.Empty(t, losses())
		save("list", 60)
		lost := losses()
		require.Len(t, lost, 1)
		require.Equal(t, library.PlaylistLoss{Loss: library.Loss{Songs: 20}, Playlist: id, Name: "list", Version: 2,
			At: time.Now().UTC(), Active: true}, lost[0])
		save("list", 80)
		require.True(t, losses()[0].Over(time.Now()), "as many came again")
		require.NoError(t, s.SetGone(t.Context(), id))
		require.False(t, losses()[0].Active)
	})
}
