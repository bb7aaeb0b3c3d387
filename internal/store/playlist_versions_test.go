package store

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// Promise: What a playlist was like is kept each time that it changes, and found again to the letter; what is as it was
// takes no room.
func TestAPlaylistRemembersWhatItWasLike(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	p := library.Playlist{SourceID: "p", Name: "Rain"}
	save := func(all []library.Track) {
		t.Helper()
		require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", p, 0, all))
	}
	first, second := tracks(5), slices.Concat(tracks(6)[5:], tracks(3))
	save(first)
	save(first)
	all, err := s.Playlists(t.Context(), user)
	require.NoError(t, err)
	id := all[0].ID
	versions, err := s.Versions(t.Context(), user, id)
	require.NoError(t, err)
	require.Empty(t, versions, "nothing has changed")

	save(second)
	p.Name = "More rain"
	require.NoError(t, s.RenamePlaylist(t.Context(), id, p.Name))
	save(nil)
	require.NoError(t, s.SetGone(t.Context(), id))
	versions, err = s.Versions(t.Context(), user, id)
	require.NoError(t, err)
	require.Len(t, versions, 3)
	for i, want := range []struct {
		name              string
		tracks            []library.Track
		came, went, moved int
	}{{"More rain", second, 0, 4, 0}, {"Rain", second, 0, 0, 0}, {"Rain", first, 1, 2, 0}} {
		v, got, err := s.Version(t.Context(), user, id, 3-i)
		require.NoError(t, err)
		require.Equal(t, versions[i], v)
		require.Equal(t, want.tracks, got)
		require.Equal(t, []any{want.name, len(want.tracks), want.came, want.went, want.moved},
			[]any{v.Name, v.TrackCount, v.Came, v.Went, v.Moved})
		require.False(t, v.Since.IsZero() || v.Until.Before(v.Since))
	}
	for _, number := range []int{0, 4, -1} {
		_, _, err = s.Version(t.Context(), user, id, number)
		require.ErrorIs(t, err, library.ErrNotFound)
	}
	_, _, err = s.Version(t.Context(), user+1, id, 1)
	require.ErrorIs(t, err, library.ErrNotFound, "another person's")
	require.ErrorIs(t, s.PinVersion(t.Context(), user+1, id, 1, true), library.ErrNotFound)
}

// The oldest versions go when there are too many, and those that are pinned stay as they were.
func TestVersionsAreBounded(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	at := func(n int) []library.Track {
		return []library.Track{{Title: fmt.Sprint("Song ", n)}, {Title: "Always there"},
			{Title: fmt.Sprint("Song ", n-1)}}
	}
	rain := library.Playlist{SourceID: "p", Name: "Rain"}
	save := func(n int) { require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", rain, 0, at(n))) }
	save(1)
	all, err := s.Playlists(t.Context(), user)
	require.NoError(t, err)
	id := all[0].ID
	for n := range mostVersionsKept + 20 {
		save(n + 2)
		if n == 0 || n == 6 {
			require.NoError(t, s.PinVersion(t.Context(), user, id, n+1, true))
		}
	}
	versions, err := s.Versions(t.Context(), user, id)
	require.NoError(t, err)
	require.Len(t, versions, mostVersionsKept+2)
	for _, v := range versions {
		_, got, err := s.Version(t.Context(), user, id, v.Number)
		require.NoError(t, err)
		require.Equal(t, at(v.Number), got)
	}
	require.Equal(t, []int{21, 7, 1}, []int{versions[len(versions)-3].Number, versions[len(versions)-2].Number,
		versions[len(versions)-1].Number})
}

// mostVersionsKept is what store/playlists keeps.
const mostVersionsKept = 300

// A playlist of 500 songs that changes every day for 200 days takes less than 1 MB more.
func TestVersionsAreSmall(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	long := make([]library.Track, 800)
	for i := range long {
		long[i] = library.Track{Title: fmt.Sprintf("A song with a name of usual length %d", i),
			Artist: "Artist of a song", Album: "Album of a song", ISRC: fmt.Sprintf("ISA0125%05d", i),
			SourceID: fmt.Sprintf("4uLU6hMCjMI75M1A2tK%03d", i)}
	}
	for day := range 201 {
		list := slices.Concat(long[day:day+250], long[day+260:day+510])
		p := library.Playlist{SourceID: "p", Name: "Rain"}
		require.NoError(t, s.SavePlaylist(t.Context(), user, "spotify", p, 0, list))
	}
	all, err := s.Playlists(t.Context(), user)
	require.NoError(t, err)
	versions, err := s.Versions(t.Context(), user, all[0].ID)
	require.NoError(t, err)
	require.Len(t, versions, 200)
	bytes := 0
	for _, v := range versions {
		bytes += v.Bytes
	}
	require.Less(t, bytes, 1_000_000)
	t.Logf("%d KB", bytes/1000)
}
