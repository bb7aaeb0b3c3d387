package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/postgrestest"
)

// figures are what both engines are compared by.
type figures struct {
	first, second time.Duration // storing a history, and the same as another service tells it
	single        time.Duration // storing plays one by one
	artist        time.Duration // the numbers on the page of an artist
	search        time.Duration // each key of a name that somebody types
	bytes         float64       // of a listen, with all that belongs to it; 0 for unknown
}

// BenchmarkEngines compares Postgres, on the same machine and with the settings that it comes with, to SQLite in one
// run: the speed of storing as a share of SQLite's, and how many times as long pages and searches take.
func BenchmarkEngines(b *testing.B) {
	var lite, pg figures
	server := postgrestest.StartAsInstalled(b)
	for b.Loop() {
		lite = measure(b)
		server.Use(b)
		pg = measure(b)
	}
	share := func(lite, pg time.Duration) float64 { return lite.Seconds() / pg.Seconds() }
	b.ReportMetric(share(lite.first, pg.first), "first-of-sqlite")
	b.ReportMetric(share(lite.second, pg.second), "second-of-sqlite")
	b.ReportMetric(share(lite.single, pg.single), "single-of-sqlite")
	b.ReportMetric(share(pg.artist, lite.artist), "artist-times")
	b.ReportMetric(share(pg.search, lite.search), "search-times")
	b.ReportMetric(pg.bytes, "B/listen")
}

func measure(b *testing.B) (f figures) {
	b.Helper()
	all := history()
	s, user := setup(b)
	from := func(conn library.ConnectionID) time.Duration {
		return timed(b, all, func(_ int, page []library.Listen) error {
			_, err := s.SaveListens(b.Context(), library.Intake{User: user, Connection: conn, Listens: page,
				Position: "position"})
			return err
		})
	}
	f.first = from("spotify")
	require.NoError(b, s.BuildColumns(b.Context()))
	if postgrestest.On() {
		require.NoError(b, s.Exec(b.Context(), "ANALYZE")) // as it does by itself within a minute
		require.NoError(b, s.Reader.QueryRow(`SELECT sum(pg_total_relation_size(oid)) FROM pg_class
			WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`).Scan(&f.bytes))
		f.bytes /= benchRows
	}
	f.artist, f.search = pages(b, s, user, all[0].Artist)
	f.second = from("listenbrainz")

	s, user = setup(b)
	send := sender(b, s, user)
	f.single = singly(b, 1, 2000, func(i int) error { return send(all[i:][:1]) })
	return f
}

// pages measures the page of an artist, and a search for them key by key; each is asked for once before.
func pages(b *testing.B, s *Store, user int64, name string) (artist, search time.Duration) {
	b.Helper()
	links, err := s.Links(b.Context(), []library.Track{{Artist: name}})
	require.NoError(b, err)
	one := listening.Filter{Artist: uint32(links[0].Artist)}
	ask := listening.Question{Span: listening.Span{Name: listening.All}, Filter: one, Now: at(0), Bare: true}
	page := func() {
		columns, music := counted(b, s, user)
		require.Positive(b, listening.Count(columns, music, ask).Totals.Listens)
		found, _, err := s.FindListens(b.Context(), library.ListenFilter{User: user, ArtistID: one.Artist}, "", 50)
		require.NoError(b, err)
		require.NotEmpty(b, found)
	}
	keys := func() {
		for i := range name {
			_, err := s.Search(b.Context(), library.Search{User: user, Text: name[:i+1], Most: 7})
			require.NoError(b, err)
		}
	}
	took := func(do func()) time.Duration {
		do()
		began := time.Now()
		for range 5 {
			do()
		}
		return time.Since(began)
	}
	return took(page), took(keys)
}
