package store

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/db"
	"reprise/internal/store/enrichment"
)

// by returns a play whose service lists the artists.
func by(minute float64, title, text string, artists ...string) library.Listen {
	l := heard(minute, text, "", title)
	for _, name := range artists {
		l.Artists = append(l.Artists, library.Credit{Name: name})
	}
	return l
}

// ArtistsOf returns the names of a track's artists, the first one first.
func artistsOf(t testing.TB, s *Store, title string) []string {
	t.Helper()
	names, err := db.List(t.Context(), s.Reader, func(r db.Scanner) (n string, err error) { return n, r.Scan(&n) },
		`SELECT a.artist FROM entities t JOIN track_artists c ON c.track_id = t.id JOIN entities a ON a.id = c.artist_id
		WHERE t.kind = 'track' AND t.title = $1 ORDER BY c.position`, title)
	require.NoError(t, err)
	return names
}

func TestAListOfArtistsBeatsTheirText(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "lastfm", heard(0, "Ike & Tina", "", "River"), heard(1, "Ike feat. Tina", "", "Mountain"))
	require.Equal(t, []string{"Ike & Tina"}, artistsOf(t, s, "River"))
	save(t, s, user, "spotify", by(100, "River", "Ike, Tina", "Ike", "Tina"),
		by(110, "Mountain", "Ike, Tina, Phil", "Ike", "Tina", "Phil"))
	require.Equal(t, []string{"Ike", "Tina"}, artistsOf(t, s, "River"))
	require.Equal(t, []string{"Ike", "Tina", "Phil"}, artistsOf(t, s, "Mountain"))
	save(t, s, user, "navidrome", heard(200, "Ike & Somebody", "", "River"))
	require.Equal(t, []string{"Ike", "Tina"}, artistsOf(t, s, "River"), "no text takes the place of a list")

	// A list is learned also for names that are known.
	save(t, s, user, "navidrome", heard(300, "Sam, Dave", "", "Soul"))
	require.Equal(t, []string{"Sam, Dave"}, artistsOf(t, s, "Soul"))
	for i := range 3 {
		save(t, s, user, "spotify", by(400+10*float64(i), "Soul", "Sam, Dave", "Sam", "Dave"))
		require.Equal(t, []string{"Sam", "Dave"}, artistsOf(t, s, "Soul"))
	}
	require.Equal(t, 4, playsOf(t, s, user, library.KindArtist, linksOf(t, s, "Dave", "", "").Artist))
	require.Equal(t, linksOf(t, s, "Sam", "", "").Artist, linksOf(t, s, "Sam, Dave", "", "Soul").Artist)
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM spellings WHERE title = 'Soul'"))
}

func TestANameThatStandsAloneIsMadeWhole(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "lastfm", heard(0, "60 ft. Dolls", "", "Stay"))
	require.Equal(t, []string{"60", "Dolls"}, artistsOf(t, s, "Stay"))
	save(t, s, user, "spotify", by(100, "Talk to Me", "60 Ft. Dolls", "60 Ft. Dolls"))
	require.Equal(t, []string{"60 Ft. Dolls"}, artistsOf(t, s, "Stay"))
	require.Equal(t, []string{"60 Ft. Dolls"}, artistsOf(t, s, "Talk to Me"))
	save(t, s, user, "lastfm", heard(200, "60 FT. DOLLS feat. Cerys", "", "Pony Ride"))
	require.Equal(t, []string{"60 Ft. Dolls", "Cerys"}, artistsOf(t, s, "Pony Ride"))
}

// An artist who is heard only in plays without a title has a page, and no track.
func TestPlaysWithoutATitleCountForTheirArtist(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "lastfm", heard(0, "Nobody", "", ""), heard(10, "Nobody", "Fog", ""),
		heard(20, "Somebody feat. Nobody", "", ""), heard(30, "Nobody feat. Somebody", "", ""))
	for artist, plays := range map[string]int{"Nobody": 4, "Somebody": 2} {
		l := linksOf(t, s, artist, "", "")
		require.Zero(t, l.Track)
		require.Equal(t, plays, playsOf(t, s, user, library.KindArtist, l.Artist), artist)
	}
	require.Zero(t, number(t, s, "SELECT count(*) FROM entities WHERE kind = 'track'"))
	_, err := s.Music(t.Context(), user, music.Untitled, 1)
	require.ErrorIs(t, err, library.ErrNotFound)
	lookedThrough(t, s)
	require.Len(t, tasks(t, s), 3, "two artists and an album")
}

const (
	oneMBID   = "b1a9c0e9-d987-4042-ae91-78d6a3267004"
	otherMBID = "b1a9c0e9-d987-4042-ae91-78d6a3267005"
)

// foundMBID answers what a source says about an entity.
func foundMBID(t testing.TB, s *Store, kind, mbid string, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		require.NoError(t, s.SaveOutcome(t.Context(), enrich.Outcome{Task: enrich.Task{ID: id, Source: "facts",
			Entity: library.Entity{Kind: kind}}, State: enrich.Done, Due: time.Now().Add(time.Hour),
			Facts: library.Facts{MBID: mbid}}))
	}
}

// Old links lead to what is kept.
func TestAnMBIDThatIsFoundJoinsWhatWasApart(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "lastfm", heard(0, "Ye", "Donda", "Moon"), heard(10, "Kanye West", "Donda (Deluxe)", "Moon!!"),
		heard(20, "Kanye West", "Donda (Deluxe)", "The Moon"), heard(30, "Björk", "Donda", "Moon"))
	lookedThrough(t, s)
	ye, west, moon := linksOf(t, s, "Ye", "Donda", "Moon"), linksOf(t, s, "Kanye West", "Donda (Deluxe)", "Moon!!"),
		linksOf(t, s, "Kanye West", "", "The Moon")
	foundMBID(t, s, library.KindArtist, oneMBID, west.Artist, ye.Artist)
	foundMBID(t, s, library.KindAlbum, oneMBID, ye.Album, west.Album)
	foundMBID(t, s, library.KindTrack, oneMBID, west.Track, moon.Track)
	foundMBID(t, s, library.KindTrack, otherMBID, ye.Track)
	foundMBID(t, s, library.KindTrack, oneMBID, ye.Track)
	for kind, want := range map[string]struct {
		kept  int64
		old   []int64
		plays int
	}{
		library.KindArtist: {ye.Artist, []int64{west.Artist}, 3},
		library.KindAlbum:  {ye.Album, []int64{west.Album}, 3},
		library.KindTrack:  {ye.Track, []int64{west.Track, moon.Track}, 3},
	} {
		for _, id := range append(want.old, want.kept) {
			m, err := s.Music(t.Context(), user, kind, id)
			require.NoError(t, err)
			require.Equal(t, want.kept, m.ID)
			require.Equal(t, want.plays, m.Plays, kind)
		}
		for _, other := range enrichment.MusicKinds {
			if other != kind {
				_, err := s.Music(t.Context(), user, other, want.old[0])
				require.ErrorIs(t, err, library.ErrNotFound)
			}
		}
	}
	require.Equal(t, ye, linksOf(t, s, "Kanye West", "Donda (Deluxe)", "Moon!!"))
	save(t, s, user, "lastfm", heard(40, "Kanye West", "", "Another"))
	require.Equal(t, 4, playsOf(t, s, user, library.KindArtist, west.Artist), "also of names that come later")
	require.Equal(t, []string{"Ye"}, artistsOf(t, s, "Another"))
}

func TestListedMBIDsJoinArtists(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	told := func(minute float64, title, name, mbid string) library.Listen {
		l := by(minute, title, name, name)
		l.Artists[0].MBID = mbid
		return l
	}
	save(t, s, user, "listenbrainz", told(0, "One", "Ye", oneMBID), told(10, "Two", "Nirvana", otherMBID))
	save(t, s, user, "listenbrainz", told(20, "Three", "Kanye West", oneMBID),
		told(30, "Four", "Nirvana", strings.Replace(otherMBID, "b", "c", 1)), // another band of that name
		told(40, "Five", "Ye", otherMBID))                                    // a mistake
	require.Equal(t, 3, playsOf(t, s, user, library.KindArtist, linksOf(t, s, "Kanye West", "", "").Artist))
	require.Equal(t, 2, playsOf(t, s, user, library.KindArtist, linksOf(t, s, "Nirvana", "", "").Artist))
	require.Equal(t, 2, number(t, s, "SELECT count(*) FROM entities WHERE kind = 'artist'"))
}
