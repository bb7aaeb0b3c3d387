package store

import (
	"database/sql"
	"fmt"
	"slices"
	"testing"
	"time"

	"reprise/internal/library"

	"github.com/stretchr/testify/require"
)

const (
	benchRows = 100_000
	benchPage = 1_000
)

// history returns 100,000 plays, the newest first, three and a half minutes apart. Some tracks are more frequent.
func history() []library.Listen {
	all := make([]library.Listen, benchRows)
	for i := range all {
		n := i * i % 7919
		all[i] = library.Listen{SourceID: fmt.Sprintf("%d-%d", 1_700_000_000-i*210, n),
			PlayedAt: at(-3.5 * float64(i)),
			Track: library.Track{Title: fmt.Sprintf("The Title of Track %d (feat. Somebody)", n),
				Artist: fmt.Sprintf("Artist %d, Somebody", n%500),
				Album:  fmt.Sprintf("The Album %d", n%900), Duration: 200 * time.Second,
				ISRC:          fmt.Sprintf("GBAYE%07d", n),
				RecordingMBID: fmt.Sprintf("%08d-0000-4000-8000-000000000000", n)}}
	}
	return all
}

// BenchmarkSaveListens stores 100,000 new listens in pages of 1,000.
func BenchmarkSaveListens(b *testing.B) {
	all := history()
	for b.Loop() {
		b.StopTimer()
		s, user := setup(b)
		b.StartTimer()
		for page := range slices.Chunk(all, benchPage) {
			_, err := s.SaveListens(b.Context(), library.Intake{User: user, Connection: "spotify", Listens: page,
				Position: "position"})
			require.NoError(b, err)
		}
		b.StopTimer()
		require.Equal(b, benchRows, count(b, s, user))
		b.StartTimer()
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkSaveListensSecondSource stores the same history as reported by another service, so that every play has a
// counterpart.
func BenchmarkSaveListensSecondSource(b *testing.B) {
	all := history()
	for b.Loop() {
		b.StopTimer()
		s, user := setup(b)
		for page := range slices.Chunk(all, benchPage) {
			save(b, s, user, "spotify", page...)
		}
		b.StartTimer()
		for page := range slices.Chunk(all, benchPage) {
			_, err := s.SaveListens(b.Context(), library.Intake{User: user, Connection: "listenbrainz", Listens: page,
				Position: "position"})
			require.NoError(b, err)
		}
		b.StopTimer()
		require.Equal(b, benchRows, count(b, s, user))
		b.StartTimer()
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkBareInserts is the baseline of BenchmarkSaveListens: it inserts the same rows into the same two tables, in
// batches and transactions of the same size.
func BenchmarkBareInserts(b *testing.B) {
	all := history()
	for b.Loop() {
		b.StopTimer()
		s, user := setup(b)
		b.StartTimer()
		for n := range benchRows / benchPage {
			err := s.write(b.Context(), func(tx *sql.Tx) error {
				return bareInserts(b, tx, user, int64(n*benchPage), all[n*benchPage:][:benchPage])
			})
			require.NoError(b, err)
		}
		b.StopTimer()
		require.Equal(b, benchRows, count(b, s, user))
		b.StartTimer()
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func bareInserts(b *testing.B, tx *sql.Tx, user, id int64, page []library.Listen) error {
	listens, sources := make([]any, 0, len(page)*5), make([]any, 0, len(page)*6)
	for i, l := range page {
		id := id + int64(i) + 1
		listens = append(listens, id, user, l.PlayedAt.UnixMilli(), 0, int64(i))
		sources = append(sources, id, sourceKey(user, "spotify", l.SourceID), 1, l.SourceID, l.PlayedAt.UnixMilli(),
			l.PlayedAt.UnixMilli())
	}
	err := insertRows(b.Context(), tx, "INSERT INTO listens (id, user_id, played_at, approximate, spelling_id)", 5,
		listens, "")
	if err != nil {
		return err
	}
	return insertRows(b.Context(), tx, `INSERT INTO listen_sources
		(listen_id, source_key, connection, source_id, played_at, stored_at)`, 6, sources, "")
}
