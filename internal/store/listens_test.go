package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/store/intake"
	"reprise/internal/words"
)

// listen returns a play of one track of three minutes.
func listen(minute float64) library.Listen {
	return library.Listen{SourceID: fmt.Sprint("play-", minute), PlayedAt: at(minute),
		Track: library.Track{Title: "Svefn-g-englar", Artist: "Sigur Rós", Album: "Ágætis byrjun",
			Duration: 3 * time.Minute}}
}

// repeat returns n plays of different tracks, so many minutes apart, the newest first.
func repeat(n int, apart float64) []library.Listen {
	all := make([]library.Listen, n)
	for i := range all {
		all[i] = listen(-apart * float64(i))
		all[i].Title = fmt.Sprint("Track ", i)
	}
	return all
}

func save(t testing.TB, s *Store, user int64, conn library.ConnectionID, plays ...library.Listen) int {
	t.Helper()
	added, err := s.SaveListens(context.Background(), library.Intake{User: user, Connection: conn, Listens: plays})
	require.NoError(t, err)
	return added
}

func count(t testing.TB, s *Store, user int64) int {
	t.Helper()
	n, err := s.CountListens(context.Background(), user)
	require.NoError(t, err)
	return n
}

func all(t testing.TB, s *Store, user int64, limit int) (listens []library.StoredListen, pages int) {
	t.Helper()
	for next := ""; ; {
		page, after, err := s.Listens(context.Background(), user, next, limit)
		require.NoError(t, err)
		listens, pages = append(listens, page...), pages+1
		if next = after; next == "" {
			return listens, pages
		}
	}
}

func TestAPlayReportedTwiceIsStoredOnce(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	bob := addUser(t, s, "Bob", "member")
	require.Equal(t, 1, save(t, s, user, "spotify", listen(1), listen(1)), "twice in one page")
	require.Equal(t, 0, save(t, s, user, "spotify", listen(1)), "again in a later page")
	require.Equal(t, 1, save(t, s, user, "spotify", listen(1), listen(2)))
	require.Equal(t, 0, save(t, s, user, "spotify"), "an empty page")
	require.Equal(t, 2, count(t, s, user))
	require.Equal(t, 1, save(t, s, bob, "spotify", listen(1)), "another person's")
	require.Equal(t, 1, count(t, s, bob))
	require.Equal(t, 2, count(t, s, user))
}

func TestALongHistoryIsReadOverPages(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	plays := repeat(600, 3.5)
	for i := range 3 { // the pages overlap, as after a new play
		page := plays[i*200 : min((i+1)*200+7, 600)]
		added, err := s.SaveListens(t.Context(), library.Intake{User: user, Connection: "spotify", Listens: page,
			Position: fmt.Sprint("page ", i), Note: words.Plain("a note")})
		require.NoError(t, err)
		require.Equal(t, []int{207, 200, 193}[i], added)
	}
	require.Equal(t, 600, count(t, s, user))
	reading, err := s.Position(t.Context(), user, "spotify", library.Listens)
	require.NoError(t, err)
	require.Equal(t, "page 2", reading)
	streams, err := s.Streams(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, []library.StreamRecord{{Connection: "spotify", Stream: library.Listens, Position: "page 2",
		Note: words.Plain("a note")}}, streams)
	got, _ := all(t, s, user, 1000)
	require.Len(t, got, 600)
	for i, l := range got {
		require.Equal(t, plays[i], withSource(l.Listen, plays[i].SourceID))
		require.Equal(t, []library.Source{{Connection: "spotify", SourceID: plays[i].SourceID}}, l.Sources)
	}
}

func TestAPageIsStoredAtomically(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"listens", "listen_sources", "play_counts", "streams"} {
		s, user := setup(t)
		first := library.Intake{User: user, Connection: "spotify", Listens: repeat(3, -60), Position: "before",
			Note: words.Plain("before")}
		_, err := s.SaveListens(t.Context(), first)
		require.NoError(t, err)
		for _, event := range []string{"INSERT", "UPDATE"} {
			refuse(t, s, "refuse_"+event, "BEFORE "+event+" ON "+table,
				map[string]string{"spellings": "NEW.title = 'Track 40'",
					"listens":        fmt.Sprint("NEW.played_at = ", at(-200).UnixMilli()),
					"listen_sources": fmt.Sprint("NEW.source_key = ", intake.SourceKey(user, "spotify", "play--200")),
					"play_counts":    "NEW.track_id = 'track 40'", "streams": "NEW.reading = 'after'"}[table])
		}
		page := repeat(50, 5)
		for i := range page {
			page[i].Track.SourceID, page[i].PlayCount = fmt.Sprint("track ", i), 1
		}
		intake := library.Intake{
			User:       user,
			Connection: "spotify",
			Listens:    page,
			Position:   "after",
			Note:       words.Plain("after"),
		}
		added, err := s.SaveListens(t.Context(), intake)
		require.ErrorContains(t, err, "refused", table)
		require.Zero(t, added, table)
		require.Equal(t, 3, count(t, s, user), table)
		require.Equal(t, 3, number(t, s, "SELECT count(*) FROM listen_sources"), table)
		require.Zero(t, number(t, s, "SELECT count(*) FROM play_counts"), table)
		reading, err := s.Position(t.Context(), user, "spotify", library.Listens)
		require.NoError(t, err)
		require.Equal(t, "before", reading, table)

		allow(t, s, "refuse_INSERT", table)
		allow(t, s, "refuse_UPDATE", table)
		added, err = s.SaveListens(t.Context(), intake)
		require.NoError(t, err)
		require.Equal(t, 50, added, "the same page, after the fault is gone")
	}
}

func TestTheSecondSourceFillsInWhatIsMissing(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	bare := listen(10)
	bare.Duration = 0
	save(t, s, user, "listenbrainz", bare)
	rich := listen(10.5)
	rich.ISRC, rich.Duration, rich.Title = "ISAAA9900001", 3*time.Minute, "Svefn-g-englar (feat. Nobody)"
	require.Zero(t, save(t, s, user, "spotify", rich))
	third := listen(10.2)
	third.ISRC, third.RecordingMBID, third.Duration = "another", "0b8e8a3a-1f0e-4d3c-8a57-3f3b1f8f5d5e", time.Minute
	require.Zero(t, save(t, s, user, "navidrome", third))

	got, _ := all(t, s, user, 10)
	require.Len(t, got, 1)
	want := library.StoredListen{ID: got[0].ID, Listen: withSource(bare, ""), Sources: []library.Source{
		{Connection: "listenbrainz", SourceID: bare.SourceID},
		{Connection: "navidrome", SourceID: third.SourceID, Later: third.PlayedAt.Sub(bare.PlayedAt)},
		{Connection: "spotify", SourceID: rich.SourceID, Later: rich.PlayedAt.Sub(bare.PlayedAt)}}}
	want.ISRC, want.Duration, want.RecordingMBID = "ISAAA9900001", 3*time.Minute,
		"0b8e8a3a-1f0e-4d3c-8a57-3f3b1f8f5d5e"
	require.Equal(t, want, got[0])
}

func TestGuessedPlaysAreNotMerged(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	guess := listen(10)
	guess.Approximate = true
	require.Equal(t, 1, save(t, s, user, "spotify", listen(10)))
	require.Equal(t, 1, save(t, s, user, "navidrome", guess))
	require.Equal(t, 1, save(t, s, user, "listenbrainz", listen(11.5), listen(20)), "one of them is a known play")
	got, _ := all(t, s, user, 10)
	require.Len(t, got, 3)
	approximate := 0
	for _, l := range got {
		if l.Approximate {
			approximate++
			require.Equal(t, []library.ConnectionID{"navidrome"}, connectionsOf(l))
		}
	}
	require.Equal(t, 1, approximate)
}

func TestVeryLongNamesAreCut(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	endless := func() string {
		var b strings.Builder
		for range 5000 { // random, so that it cannot be compressed
			b.WriteRune('一' + rand.N('龥'-'一'))
		}
		return b.String()
	}
	l := listen(5)
	l.Title, l.Artist, l.Album = endless(), endless(), endless()
	save(t, s, user, "spotify", l, listen(9))
	page, _, err := s.Listens(t.Context(), user, "", 10)
	require.NoError(t, err)
	require.Len(t, page, 2)
	require.Equal(t, l.Title, page[1].Title)
	require.True(t, strings.HasPrefix(l.Artist, page[1].Artist))
	links, err := s.Links(t.Context(), []library.Track{page[1].Track})
	require.NoError(t, err)
	m, err := s.Music(t.Context(), user, library.KindTrack, links[0].Track)
	require.NoError(t, err)
	require.Equal(t, 1, m.Plays)
}

func TestPagingOrdersListensOfOneInstant(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	var plays []library.Listen
	for i, l := range repeat(47, 0) {
		l.SourceID, l.PlayedAt = fmt.Sprint(i), at(float64(i/9)) // nine at each instant
		plays = append(plays, l)
	}
	save(t, s, user, "spotify", plays...)
	save(t, s, addUser(t, s, "Bob", "member"), "spotify", repeat(5, 1)...)
	for _, limit := range []int{1, 4, 9, 46, 47, 48, 1000} {
		got, pages := all(t, s, user, limit)
		require.Len(t, got, 47)
		require.Equal(t, (47+limit-1)/limit, pages)
		seen := map[string]bool{}
		for i, l := range got {
			require.False(t, seen[l.Title], "%s twice", l.Title)
			seen[l.Title] = true
			if i > 0 {
				require.False(t, l.PlayedAt.After(got[i-1].PlayedAt))
			}
		}
	}
	empty, next, err := s.Listens(t.Context(), 999, "", 10)
	require.NoError(t, err)
	require.Empty(t, empty)
	require.Empty(t, next)
}

func TestListensRefusesABadCursor(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify", repeat(3, 5)...)
	for _, cursor := range []string{"!", "Zm9v", "MTIz", "MTIzLg", "LjEyMw", "MS4yLjM", "MTIzLmFiYw",
		"OTk5OTk5OTk5OTk5OTk5OTk5OTk5LjE", " "} {
		_, _, err := s.Listens(t.Context(), user, cursor, 10)
		require.ErrorIs(t, err, library.ErrBadCursor, cursor)
	}
}

func TestPlayCountsKeepTheLatestNumber(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	play := func(track string, plays int, minute float64) library.Listen {
		l := listen(minute)
		l.Track.SourceID, l.PlayCount, l.Title = track, plays, track
		return l
	}
	save(t, s, user, "navidrome", play("a", 3, 30), play("b", 1, 20), listen(10))
	guess := play("a", 6, 35) // an approximate play, after the exact ones of its page
	guess.SourceID, guess.Approximate = "a#4", true
	save(t, s, user, "navidrome", play("a", 5, 40), guess)
	tracks := []string{"a", "b", "c"}
	for i := range 1200 { // more than one query
		tracks = append(tracks, fmt.Sprint("t", i))
	}
	got, err := s.PlayCounts(t.Context(), user, "navidrome", tracks)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, 5, got["a"].Plays)
	require.Equal(t, at(40), got["a"].PlayedAt)
	require.Equal(t, 1, got["b"].Plays)
	other, err := s.PlayCounts(t.Context(), user, "spotify", tracks)
	require.NoError(t, err)
	require.Empty(t, other)
}

func TestManyServicesWriteAtOnce(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	errs := make(chan error, 8)
	for n := range 8 {
		go func() {
			var err error
			for page := range 3 {
				plays := repeat(50, 5)
				for i := range plays {
					plays[i].PlayedAt = at(float64(-1000*page) - 5*float64(i))
					plays[i].SourceID = fmt.Sprint(page, "/", i)
				}
				if _, saveErr := s.SaveListens(context.Background(),
					library.Intake{User: user, Connection: library.ConnectionID(fmt.Sprint("service", n)),
						Listens: plays}); saveErr != nil {
					err = saveErr
				}
			}
			errs <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, 150, count(t, s, user))
	require.Equal(t, 1200, number(t, s, "SELECT count(*) FROM listen_sources"))
	requireWhole(t, s, user)
}

// withSource returns l with another SourceID.
func withSource(l library.Listen, id string) library.Listen {
	l.SourceID = id
	return l
}

// What was read with credentials that have been replaced since may be of another account.
func TestNothingOfReplacedCredentialsIsStored(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	for _, plays := range [][]library.Listen{nil, {listen(10)}} {
		_, err := s.SaveListens(t.Context(), library.Intake{User: user, Connection: "spotify", Generation: 77,
			Listens: plays, Position: "5"})
		require.ErrorIs(t, err, library.ErrReplaced)
	}
	position, err := s.Position(t.Context(), user, "spotify", library.Listens)
	require.NoError(t, err)
	require.Empty(t, position)
	n, err := s.CountListens(t.Context(), user)
	require.NoError(t, err)
	require.Zero(t, n)
}
