package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/enrich"
	"reprise/internal/library"
)

// heard returns a play with these names.
func heard(minute float64, artist, album, title string) library.Listen {
	return library.Listen{SourceID: fmt.Sprint(minute, title), PlayedAt: at(minute),
		Track: library.Track{Artist: artist, Album: album, Title: title}}
}

// lookedThrough fills the queue of a source for all kinds.
func lookedThrough(t testing.TB, s *Store) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = s.Enqueue(t.Context(), "facts", []string{library.KindArtist, library.KindAlbum,
			library.KindTrack}, "")
		require.NoError(t, err)
	}
}

// tasks completes every due task and returns them in order.
func tasks(t testing.TB, s *Store) (all []enrich.Task) {
	t.Helper()
	for {
		task, err := s.NextTask(t.Context(), "facts")
		if err != nil {
			require.ErrorIs(t, err, library.ErrNotFound)
			return all
		}
		all = append(all, task)
		require.NoError(t, s.SaveOutcome(t.Context(), enrich.Outcome{Task: task, State: enrich.Done,
			Due: time.Now().Add(time.Hour)}))
	}
}

func TestEntitiesAreMatchedLikeListens(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify",
		heard(0, "Sigur Rós", "Takk...", "Glósóli"),
		heard(10, "sigur ros", "TAKK", "Glosoli - 2015 Remaster"), // another spelling of the same track
		heard(20, "Simon & Garfunkel", "Bookends", "America"),
		heard(30, "Simon", "", "Another"),                 // another artist
		heard(40, "Massive Attack feat. Tricky", "", "K"), // with a guest
		heard(50, "!!!", "", "???"),                       // symbols only
		heard(60, "", "No artist", "Untitled"),
		heard(70, "Nobody", "", ""))
	lookedThrough(t, s)
	var names []string
	for _, task := range tasks(t, s) {
		names = append(names, fmt.Sprintf("%s %s/%s", task.Kind, task.Artist, task.Title))
	}
	require.Equal(t, []string{"artist Sigur Rós/", "album Sigur Rós/Takk...", "track Sigur Rós/Glósóli",
		"artist Simon & Garfunkel/", "album Simon & Garfunkel/Bookends",
		"track Simon & Garfunkel/America", "artist Simon/", "track Simon/Another", "artist Massive Attack/",
		"artist Tricky/", "track Massive Attack/K", "artist !!!/", "track !!!/???", "artist Nobody/"}, names)
}

func TestMusicIsKeptOnceForAllListens(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	all := make([]library.Listen, 4007)
	for i := range all {
		all[i] = heard(float64(i)*10, fmt.Sprint("Artist ", i%50), fmt.Sprint("Album ", i%200),
			fmt.Sprint("Track ", i%1000))
	}
	for page := range slices.Chunk(all, 1000) {
		save(t, s, user, "spotify", page...)
	}
	require.Equal(t, 50+200+1000, number(t, s, "SELECT count(*) FROM entities"))
	require.Equal(t, 1250, number(t, s, "SELECT max(id) FROM entities"))
	require.Equal(t, 1000, number(t, s, "SELECT count(*) FROM spellings"))
	lookedThrough(t, s)
	require.Equal(t, 1250, number(t, s, "SELECT count(*) FROM enrichment WHERE due_at > 0"))
	lookedThrough(t, s)
	require.Equal(t, 1250, number(t, s, "SELECT count(*) FROM enrichment"))

	// An imported listen is older but has a higher ID.
	save(t, s, user, "lastfm", heard(-1000, "Artist 7", "", "Long ago"))
	lookedThrough(t, s)
	require.Equal(t, 1251, number(t, s, "SELECT count(*) FROM enrichment"))
}

func TestALaterListenCompletesAnEntity(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify", heard(0, "A", "", "T"))
	lookedThrough(t, s)
	better := heard(10, "A", "Album", "T")
	better.ISRC, better.RecordingMBID, better.Duration = "IS1230500001", "mbid", 3*time.Minute
	worse := heard(20, "A", "Best of", "T")
	worse.ISRC = "IS1230500002"
	save(t, s, user, "spotify", better, worse)
	lookedThrough(t, s)
	all := tasks(t, s)
	require.Equal(t, library.Entity{Kind: library.KindTrack, Artist: "A", Title: "T", Album: "Album",
		Duration: 3 * time.Minute, ISRC: "IS1230500001", MBID: "mbid"}, all[1].Entity)
}

func TestMusicIsOnlyForThoseWhoHeardIt(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	save(t, s, user, "spotify", heard(0, "Sigur Rós", "Takk...", "Glósóli"),
		heard(10, "SIGUR RÓS", "Takk…", "Hoppípolla"), heard(20, "Sigur Rós", "( )", "Glósóli"))
	save(t, s, bob, "spotify", heard(30, "Nobody", "Alone", "Fog"))
	lookedThrough(t, s)
	links, err := s.Links(t.Context(), []library.Track{{Artist: "Sigur Rós", Album: "TAKK...", Title: "Glósóli"},
		{Artist: "Nobody", Album: "Alone", Title: "Fog"}, {}})
	require.NoError(t, err)
	for kind, want := range map[string]struct {
		id, foreign int64
		plays       int
		last        time.Time
	}{
		library.KindArtist: {links[0].Artist, links[1].Artist, 3, at(20)},
		library.KindAlbum:  {links[0].Album, links[1].Album, 2, at(10)},
		library.KindTrack:  {links[0].Track, links[1].Track, 2, at(20)},
	} {
		m, err := s.Music(t.Context(), user, kind, want.id)
		require.NoError(t, err)
		require.Equal(t, want.plays, m.Plays, kind)
		require.Equal(t, want.last, m.LastHeard, kind)
		require.Len(t, m.Told, 1)
		for _, id := range []int64{want.foreign, 999} {
			_, err = s.Music(t.Context(), user, kind, id)
			require.ErrorIs(t, err, library.ErrNotFound, "only another person has heard it")
		}
		_, err = s.Music(t.Context(), user, "playlist", want.id)
		require.ErrorIs(t, err, library.ErrNotFound)
	}
	require.Equal(t, enrich.Links{}, links[2])
}

func TestANewMBIDMakesDependentTasksDue(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify", heard(0, "A", "", "T"))
	// Only artists, so that the task taken is always A's, even if several are due in the same millisecond.
	_, err := s.Enqueue(t.Context(), "facts", []string{library.KindArtist}, "")
	require.NoError(t, err)
	_, err = s.Enqueue(t.Context(), "art", []string{library.KindArtist}, "facts")
	require.NoError(t, err)
	_, err = s.NextTask(t.Context(), "art")
	require.ErrorIs(t, err, library.ErrNotFound, "it waits for an id")

	learn := func(source, mbid string) {
		t.Helper()
		task, err := s.NextTask(t.Context(), source)
		require.NoError(t, err)
		o := enrich.Outcome{Task: task, State: enrich.Done, Due: time.Now(),
			Facts: library.Facts{MBID: mbid, Tags: []string{"a b", "c"}}}
		if source == "facts" {
			o.Then = []string{"art"}
		} else {
			o.Due = o.Due.Add(time.Hour)
		}
		require.NoError(t, s.SaveOutcome(t.Context(), o))
	}
	learn("facts", "one")
	learn("art", "one")
	learn("facts", "one")
	_, err = s.NextTask(t.Context(), "art")
	require.ErrorIs(t, err, library.ErrNotFound, "the MBID has not changed")
	learn("facts", "two")
	task, err := s.NextTask(t.Context(), "art")
	require.NoError(t, err)
	require.Equal(t, "two", task.MBID)
	m, err := s.Music(t.Context(), user, library.KindArtist, task.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"a b", "c"}, m.Told[1].Tags)
	require.Equal(t, "two", m.MBID)
}

// linksOf returns the ids of what a track's names mean.
func linksOf(t testing.TB, s *Store, artist, album, title string) enrich.Links {
	t.Helper()
	links, err := s.Links(t.Context(), []library.Track{{Artist: artist, Album: album, Title: title}})
	require.NoError(t, err)
	return links[0]
}

// playsOf returns how often a person has heard an entity.
func playsOf(t testing.TB, s *Store, user int64, kind string, id int64) int {
	t.Helper()
	m, err := s.Music(t.Context(), user, kind, id)
	require.NoError(t, err)
	return m.Plays
}

func TestALaterMBIDJoinsWhatWasApart(t *testing.T) {
	t.Parallel()
	const mbid, isrc = "b1a9c0e9-d987-4042-ae91-78d6a3267004", "GBAYE0000019"
	for name, know := range map[string]func(*library.Listen){
		"mbid": func(l *library.Listen) { l.RecordingMBID = mbid },
		"isrc": func(l *library.Listen) { l.ISRC = isrc },
	} {
		for _, atOnce := range []bool{false, true} {
			s, user := setup(t)
			plain := []library.Listen{heard(0, "Sigur Rós", "", "Glósóli"),
				heard(20, "Sigur Rós", "", "The Shining Sun"), heard(40, "Sigur Rós", "", "Glósóli")}
			told := []library.Listen{heard(60, "Sigur Rós", "", "Glósóli"),
				heard(80, "Sigur Rós", "", "The Shining Sun"), heard(100, "Sigur Rós", "", "Glosoli (Sun)")}
			for i := range told {
				know(&told[i])
			}
			if atOnce {
				save(t, s, user, "spotify", append(plain, told...)...)
			} else {
				save(t, s, user, "spotify", plain...)
				lookedThrough(t, s)
				one, other := linksOf(t, s, "Sigur Rós", "", "Glósóli").Track,
					linksOf(t, s, "Sigur Rós", "", "The Shining Sun").Track
				require.NotEqual(t, one, other)
				for _, l := range told {
					save(t, s, user, "spotify", l)
				}
			}
			track := linksOf(t, s, "Sigur Rós", "", "Glósóli").Track
			require.Equal(t, 6, playsOf(t, s, user, library.KindTrack, track), name)
			for _, title := range []string{"The Shining Sun", "Glosoli (Sun)"} {
				require.Equal(t, track, linksOf(t, s, "Sigur Rós", "", title).Track, name)
			}
			require.Equal(t, 1, number(t, s, "SELECT count(*) FROM entities WHERE kind = 'track'"))
			page, _, err := s.Listens(t.Context(), user, "", 10)
			require.NoError(t, err)
			require.Equal(t, "Glosoli (Sun)", page[0].Title, "names stay as they were told")
			require.Equal(t, "The Shining Sun", page[4].Title)
			save(t, s, user, "spotify", heard(120, "Sigur Rós", "", "the shining sun"))
			require.Equal(t, 7, playsOf(t, s, user, library.KindTrack, track), "also of names that come later")
		}
	}
}

func TestOtherRecordingsStayApart(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	one, other := heard(0, "A", "", "Song"), heard(10, "A", "", "Song (Live)")
	one.ISRC, other.ISRC = "GBAYE0000019", "GBAYE0000019" // a mistake of the label
	one.RecordingMBID = "b1a9c0e9-d987-4042-ae91-78d6a3267004"
	other.RecordingMBID = "b1a9c0e9-d987-4042-ae91-78d6a3267005"
	third, fourth := heard(20, "A", "", "Third"), heard(30, "A", "", "Fourth")
	third.ISRC, fourth.ISRC = "unknown", "unknown"
	save(t, s, user, "spotify", one, other, third, fourth)
	require.Equal(t, 4, number(t, s, "SELECT count(*) FROM entities WHERE kind = 'track'"))
}

func TestATrackHasAllItsArtists(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify",
		heard(0, "Massive Attack feat. Tricky", "Protection", "Karmacoma"),
		heard(10, "Massive Attack (ft. Tricky)", "", "Eurochild"),
		heard(20, "Tricky", "", "Aftermath"),
		heard(30, "Massive Attack; Tricky; Portishead", "", "Together"),
		heard(40, "The Feathers", "", "Little Feathers"),
		heard(50, "Various Artists", "Hits", "Something"))
	for artist, plays := range map[string]int{"Massive Attack": 3, "Tricky": 4, "Portishead": 1, "The Feathers": 1} {
		id := linksOf(t, s, artist, "", "").Artist
		require.Equal(t, plays, playsOf(t, s, user, library.KindArtist, id), artist)
	}
	require.Equal(t, 4, number(t, s, "SELECT count(*) FROM entities WHERE kind = 'artist'"))
	various := linksOf(t, s, "Various Artists", "Hits", "Something")
	require.Zero(t, various.Artist, "nobody in particular is no artist")
	require.Equal(t, 1, playsOf(t, s, user, library.KindAlbum, various.Album))
}
