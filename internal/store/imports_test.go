package store

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/store/outbox"
	"reprise/internal/words"
)

// exported returns a play from one minute to another as Spotify's export reports it.
func exported(kind, title string, from, to float64) library.Listen {
	return library.Listen{SourceID: fmt.Sprintf("%s%s:%d:%s", library.FromExport, kind, at(to).Unix(), title),
		PlayedAt: at(from),
		Track:    library.Track{Title: title, Artist: "Sigur Rós"}}
}

// apiPlay returns a play of three minutes as Spotify's API reports it, at its start or its end.
func apiPlay(title string, minute float64) library.Listen {
	return library.Listen{SourceID: fmt.Sprintf("%d:%s", at(minute).UnixMilli(), title), PlayedAt: at(minute),
		Track: library.Track{Title: title, Artist: "Sigur Rós", Duration: 3 * time.Minute}}
}

// newImport adds an open import for Spotify.
func newImport(t *testing.T, s *Store, user int64) imports.Import {
	t.Helper()
	v, err := s.AddImport(t.Context(), imports.Import{User: user, Connection: "spotify", Name: "a.zip", File: "f",
		State: imports.Waiting, CreatedAt: time.Now()}, 9)
	require.NoError(t, err)
	return v
}

func take(t *testing.T, s *Store, v imports.Import, plays ...library.Listen) imports.Import {
	t.Helper()
	v, err := s.SaveImported(t.Context(), v, plays)
	require.NoError(t, err)
	return v
}

// Repeats and other plays between them are reported by the API, at their starts or ends, and by the export. In any
// order of arrival, every play is stored once.
func TestExportAndAPIReportTheSamePlays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		shift       float64 // of the API's time, relative to the start
		importFirst bool
	}{{"starts, before", 0, false}, {"ends, before", 3, false}, {"starts, after", 0, true}, {"ends, after", 3.01,
		true}} {
		s, user := setup(t)
		var api, file []library.Listen
		for i := range 30 {
			title := []string{"A", "A", "A", "B", "C"}[i%5]
			from := float64(i)*3 + 0.05
			file = append(file, exported("extended", title, from, from+3))
			api = append(api, apiPlay(title, float64(i)*3+0.05+c.shift))
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(api), func(i, j int) { api[i], api[j] = api[j], api[i] })
		v := newImport(t, s, user)
		if c.importFirst {
			require.Equal(t, 30, take(t, s, v, file...).Added, c.name)
			require.Zero(t, save(t, s, user, "spotify", api[:11]...), c.name)
			require.Zero(t, save(t, s, user, "spotify", api[11:]...), c.name)
		} else {
			require.Equal(t, 30, save(t, s, user, "spotify", api...), c.name)
			v = take(t, s, v, file[:13]...)
			v = take(t, s, v, file[13:]...)
			require.Zero(t, v.Added, c.name)
			require.Equal(t, 30, v.Known, c.name)
		}
		require.Equal(t, 30, count(t, s, user), c.name)
		listens, _ := all(t, s, user, 50)
		for _, l := range listens {
			require.Len(t, l.Sources, 2, c.name)
		}

		again := newImport(t, s, user)
		again = take(t, s, again, file...)
		require.Zero(t, again.Added, "%s: a second time", c.name)
		require.Zero(t, save(t, s, user, "lastfm", listenedElsewhere(listens)...), c.name)
		short := newImport(t, s, user) // the older kind of export has times in minutes
		for i, l := range file {
			file[i].SourceID, file[i].PlayedAt = fmt.Sprint(library.FromExport, "short:",
				i), l.PlayedAt.Truncate(time.Minute).Add(30*time.Second)
		}
		require.Zero(t, take(t, s, short, file...).Added, c.name)
		require.Equal(t, 30, count(t, s, user), c.name)
	}
}

// listenedElsewhere returns the same plays as Last.fm reports them.
func listenedElsewhere(listens []library.StoredListen) (plays []library.Listen) {
	for i, l := range listens {
		plays = append(plays, library.Listen{SourceID: fmt.Sprint("scrobble-", i),
			PlayedAt: l.PlayedAt.Truncate(time.Second), Track: library.Track{Title: l.Title, Artist: l.Artist}})
	}
	return plays
}

func TestTwoRealPlaysOfAnExportStayTwo(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	v := take(t, s, newImport(t, s, user), exported("extended", "A", 0, 1), exported("extended", "A", 1, 2),
		exported("extended", "A", 2, 3))
	require.Equal(t, 3, v.Added)
	require.Zero(t, save(t, s, user, "spotify", apiPlay("A", 0), apiPlay("A", 1)))
	require.Equal(t, 1, save(t, s, user, "spotify", apiPlay("A", 90)), "another play")
}

// An import does not change the position of the stream, and old plays in it are not forwarded as new ones.
func TestAnImportLeavesReadingAndForwardingAlone(t *testing.T) {
	t.Parallel()
	s, user := setupWith(t, Options{Sending: outbox.Options{Attempts: 5}})
	require.NoError(t, s.SavePosition(t.Context(), user, "spotify", library.Listens, "here", words.Plain("a note")))
	_, err := s.StartForwarding(t.Context(), delivery.Rule{User: user, Connection: "lastfm", Kind: delivery.Scrobble,
		Batch: 50, From: at(100), Since: at(100)}, false)
	require.NoError(t, err)
	take(t, s, newImport(t, s, user), exported("extended", "Before", 0, 3), exported("extended", "After", 101, 104))
	owing, err := s.Waiting(t.Context(), user)
	require.NoError(t, err)
	require.Equal(t, 1, owing["lastfm"].Listens,
		"late plays from after the start of forwarding are forwarded")
	reading, err := s.Position(t.Context(), user, "spotify", library.Listens)
	require.NoError(t, err)
	require.Equal(t, "here", reading)

	save(t, s, user, "spotify", apiPlay("After", 101))
	save(t, s, user, "lastfm", listenedElsewhere([]library.StoredListen{{Listen: apiPlay("After", 101)}})[0])
	forwarded, err := s.ForwardedListens(t.Context(), user, "spotify", 10)
	require.NoError(t, err)
	require.Len(t, forwarded, 1, "a listen with two sources is listed once")
	account, err := s.ForwardingCounts(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, 1, account.There)
}

func TestAnEndedImportStoresNothing(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	v := newImport(t, s, user)
	before, err := s.CancelImport(t.Context(), user, v.ID)
	require.NoError(t, err)
	require.True(t, before.Open())
	_, err = s.SaveImported(t.Context(), v, []library.Listen{exported("extended", "A", 0, 3)})
	require.ErrorIs(t, err, library.ErrNotFound)
	require.Zero(t, count(t, s, user))
}

func TestAGapIsKeptAndFilledByAnImport(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	save(t, s, user, "spotify", apiPlay("Before", 0))
	gap := library.Gap{From: at(2), To: at(200), LostTo: at(100)}
	_, err := s.SaveListens(t.Context(), library.Intake{User: user, Connection: "spotify",
		Listens: []library.Listen{apiPlay("D", 100), apiPlay("E", 150)}, Gap: &gap})
	require.NoError(t, err)
	want := gap
	want.Recovered = 2
	got, err := s.Gaps(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, []library.Gap{want}, got)

	v := newImport(t, s, user)
	v = take(t, s, v, exported("extended", "Before", 0, 3), exported("extended", "D", 100, 103),
		exported("extended", "Long ago", -900, -897))
	got, err = s.Gaps(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Zero(t, got[0].FilledAt, "the import has no lost listens")
	file := []library.Listen{exported("extended", "A", 10, 13), exported("extended", "B", 20, 23),
		exported("extended", "C", 30, 33)}
	take(t, s, v, file...)
	take(t, s, newImport(t, s, user), file...)
	got, err = s.Gaps(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Equal(t, 3, got[0].Filled)
	require.WithinDuration(t, time.Now(), got[0].FilledAt, time.Minute)

	connect(t, s, user, "spotify")
	require.NoError(t, s.DeleteConnection(t.Context(), user, "spotify", false))
	got, err = s.Gaps(t.Context(), user, "spotify")
	require.NoError(t, err)
	require.Empty(t, got)
}
