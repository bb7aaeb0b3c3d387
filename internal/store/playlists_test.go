package store

import (
	"fmt"
	"testing"
	"time"

	"reprise/internal/library"

	"github.com/stretchr/testify/require"
)

func tracks(n int) []library.Track {
	all := make([]library.Track, n)
	for i := range all {
		all[i] = library.Track{Title: fmt.Sprint("Track ", i), Artist: "Artist", Album: "Album",
			Duration: time.Duration(i) * time.Second,
			ISRC:     "isrc", RecordingMBID: "mbid", SourceID: fmt.Sprint("id ", i)}
	}
	return all
}

func TestSavePlaylistReplacesAllTracks(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	p := library.Playlist{SourceID: "abc-_.=", Name: "Rain", Snapshot: "1", TrackCount: 999}
	require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", p, 4, tracks(430)))
	stored, err := s.ConnectionPlaylists(t.Context(), user, "spotify")
	require.NoError(t, err)
	p.TrackCount = 430
	want := library.StoredPlaylist{ID: stored[0].ID, Connection: "spotify", Playlist: p, Position: 4, Active: true,
		ShrunkTo: -1}
	require.Equal(t, []library.StoredPlaylist{want}, stored)
	got, songs, err := s.Playlist(t.Context(), user, want.ID)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, tracks(430), songs)

	require.NoError(t, s.SetShrunk(t.Context(), want.ID, 2))
	require.NoError(t, s.SetGone(t.Context(), want.ID))
	got, songs, err = s.Playlist(t.Context(), user, want.ID)
	require.NoError(t, err)
	require.Equal(t, 2, got.ShrunkTo)
	require.False(t, got.Active)
	require.Len(t, songs, 430, "the tracks stay")

	p.Name, p.Snapshot, p.TrackCount = "Rain again", "2", 2
	require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", p, 0, tracks(2)))
	got, songs, err = s.Playlist(t.Context(), user, want.ID)
	require.NoError(t, err)
	require.Equal(t, library.StoredPlaylist{ID: want.ID, Connection: "spotify", Playlist: p, Active: true,
		ShrunkTo: -1}, got)
	require.Equal(t, tracks(2), songs)

	require.NoError(t, s.SetGone(t.Context(), want.ID))
	require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", p, 0, tracks(2)))
	require.NoError(t, s.RenamePlaylist(t.Context(), want.ID, "Back"))
	got, _, err = s.Playlist(t.Context(), user, want.ID)
	require.NoError(t, err)
	require.True(t, got.Active)
	require.Equal(t, "Back", got.Name)

	_, _, err = s.Playlist(t.Context(), user+1, want.ID)
	require.ErrorIs(t, err, library.ErrNotFound, "another person's")
}

func TestHowPlaylistsBegin(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	for i, n := range []int{5, 0, 2} {
		require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify",
			library.Playlist{SourceID: fmt.Sprint("list ", i)}, i, tracks(n)))
	}
	all, err := s.Playlists(t.Context(), user)
	require.NoError(t, err)
	ids := []int64{all[0].ID, all[1].ID, all[2].ID}
	starts, err := s.PlaylistStarts(t.Context(), user, ids, 3)
	require.NoError(t, err)
	require.Equal(t, 10*time.Second, starts[ids[0]].Length, "of all its tracks")
	require.Len(t, starts[ids[0]].Tracks, 3)
	require.Equal(t, "Track 1", starts[ids[0]].Tracks[1].Title)
	require.Empty(t, starts[ids[1]])
	require.Len(t, starts[ids[2]].Tracks, 2)
	for user, ids := range map[int64][]int64{user + 1: ids, user: nil} {
		none, err := s.PlaylistStarts(t.Context(), user, ids, 3)
		require.NoError(t, err)
		require.Empty(t, none)
	}
}

func TestAFailedSaveKeepsAPlaylistsTracks(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	p := library.Playlist{SourceID: "p", Name: "Rain"}
	require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", p, 0, tracks(20)))
	refuse(t, s, "refuse", "BEFORE INSERT ON playlist_tracks", "NEW.position = 17")
	p.Name = "Snow"
	require.ErrorContains(t, s.SavePlaylist(t.Context(), user, "spotify", p, 0, tracks(30)), "refused")
	stored, err := s.Playlists(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, "Rain", stored[0].Name)
	_, songs, err := s.Playlist(t.Context(), user, stored[0].ID)
	require.NoError(t, err)
	require.Equal(t, tracks(20), songs)
}

func TestPlaylistsComeInTheOrderOfTheirProvider(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	for i, name := range []string{"c", "a", "b"} {
		require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", library.Playlist{SourceID: name, Name: name},
			i, nil))
	}
	require.NoError(t, s.SavePlaylist(t.Context(), user, "navidrome", library.Playlist{SourceID: "n", Name: "n"}, 9,
		nil))
	stored, err := s.Playlists(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, "n c a b", joined(stored))
	require.NoError(t, s.SetGone(t.Context(), stored[0].ID))
	stored, err = s.Playlists(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, "c a b n", joined(stored))
	require.NoError(t, s.MovePlaylists(t.Context(), map[int64]int{stored[0].ID: 5}))
	stored, err = s.ConnectionPlaylists(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, "a b c", joined(stored))
}

func joined(all []library.StoredPlaylist) (names string) {
	for i, p := range all {
		if i > 0 {
			names += " "
		}
		names += p.Name
	}
	return names
}
