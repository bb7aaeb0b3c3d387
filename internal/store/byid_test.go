package store

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
)

// Promise: A song that came from Spotify or YouTube is found by the id that they have for it, whether a connection, an
// export or a playlist told it; only by those whose song it is.
func TestSongsAreFoundByTheIDsOfServices(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	const read, exported, video, listed = "4uLU6hMCjMI75M1A2tKUQC", "0V5IK1SxflqrBsb70BCnv0", "dQw4w9_gX-Q",
		"6yRmTBm8dneP6P06MQkioo"
	heard := func(conn library.ConnectionID, source, title string, minute float64) {
		save(t, s, user, conn, library.Listen{SourceID: source, PlayedAt: at(minute),
			Track: library.Track{Title: title, Artist: "Björk"}})
	}
	heard("spotify", "1795197851:"+read, "Jóga", 0)
	heard("spotify", library.FromExport+"extended:1795197911:"+exported, "Hunter", 10)
	heard("youtube", library.FromExport+"takeout:1795197971042:"+video, "Bachelorette", 20)
	require.NoError(t, s.SavePlaylist(t.Context(), user, "youtube", library.Playlist{SourceID: "p", Name: "Later"}, 0,
		[]library.Track{{Title: "Army of Me", Artist: "Björk", SourceID: listed}}))

	for id, want := range map[string]string{read: "Jóga", exported: "Hunter", video: "Bachelorette",
		listed: "Army of Me"} {
		found, in, err := s.TrackByID(t.Context(), user, id)
		require.NoError(t, err, want)
		require.Equal(t, want, found.Title)
		require.Equal(t, "Björk", found.Artist)
		require.Equal(t, id == listed, in.Name == "Later", want)
		_, _, err = s.TrackByID(t.Context(), bob, id)
		require.ErrorIs(t, err, library.ErrNotFound, want)
	}
	for _, id := range []string{"4uLU6hMCjMI75M1A2tKUQc", "", "%", "dQw4w9%gX-Q"} {
		_, _, err := s.TrackByID(t.Context(), user, id)
		require.ErrorIs(t, err, library.ErrNotFound, id)
	}
}

func TestMusicIsFoundByItsMBID(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	const recording = "b1a9c0e9-d987-4042-ae91-78d6a3267d69"
	save(t, s, user, "listenbrainz", library.Listen{SourceID: "a", PlayedAt: at(0),
		Track: library.Track{Title: "Jóga", Artist: "Björk", RecordingMBID: recording}})
	id, err := s.EntityByMBID(t.Context(), library.KindTrack, recording)
	require.NoError(t, err)
	m, err := s.Music(t.Context(), user, library.KindTrack, id)
	require.NoError(t, err)
	require.Equal(t, "Jóga", m.Title)
	for kind, mbid := range map[string]string{library.KindArtist: recording, library.KindTrack: ""} {
		_, err = s.EntityByMBID(t.Context(), kind, mbid)
		require.ErrorIs(t, err, library.ErrNotFound, kind)
	}
}
