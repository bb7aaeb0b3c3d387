package store

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/postgrestest"
	"reprise/internal/store/db"
	"reprise/internal/store/intake"
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
			err := s.Write(b.Context(), func(tx *sql.Tx) error {
				return bareInserts(b, tx, user, int64(n*benchPage), all[n*benchPage:][:benchPage])
			})
			require.NoError(b, err)
		}
		b.StopTimer()
		var stored int // without a join: these listens have no spelling
		require.NoError(b, s.Writer.QueryRow("SELECT count(*) FROM listens").Scan(&stored))
		require.Equal(b, benchRows, stored)
		b.StartTimer()
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func bareInserts(b *testing.B, tx *sql.Tx, user, id int64, page []library.Listen) error {
	listens, sources := make([]any, 0, len(page)*5), make([]any, 0, len(page)*6)
	for i, l := range page {
		id := id + int64(i) + 1
		listens = append(listens, id, user, l.PlayedAt.UnixMilli(), 0, int64(i))
		sources = append(sources, id, 1, intake.SourceKey(user, "spotify", l.SourceID), int64(i), 0, l.PlayedAt.Unix())
	}
	err := db.InsertRows(b.Context(), tx, "INSERT INTO listens (id, user_id, played_at, approximate, spelling_id)", 5,
		listens, "")
	if err != nil {
		return err
	}
	return db.InsertRows(b.Context(), tx, `INSERT INTO listen_sources
		(listen_id, connection, source_key, name_id, later, stored_at)`, 6, sources, "")
}

// BenchmarkStoring compares storing with what the engine needs at least, in one run: bare inserts into the same tables,
// and into a single table with one index. Each metric is a share of their speed.
func BenchmarkStoring(b *testing.B) {
	all := history()
	var bare, table, first, second, again time.Duration
	for b.Loop() {
		s, user := setup(b)
		bare += timed(b, all, func(n int, page []library.Listen) error {
			return s.Write(b.Context(), func(tx *sql.Tx) error { return bareInserts(b, tx, user, int64(n), page) })
		})
		_, err := s.Writer.Exec(`CREATE TABLE bare (id BIGINT PRIMARY KEY, user_id BIGINT, played_at BIGINT, title TEXT,
			artist TEXT, album TEXT, source TEXT)`)
		require.NoError(b, err)
		_, err = s.Writer.Exec("CREATE INDEX bare_newest ON bare (user_id, played_at)")
		require.NoError(b, err)
		table += timed(b, all, func(n int, page []library.Listen) error {
			return s.Write(b.Context(), func(tx *sql.Tx) error { return bareTable(b, tx, user, int64(n), page) })
		})
		s, user = setup(b)
		from := func(conn library.ConnectionID) time.Duration {
			return timed(b, all, func(_ int, page []library.Listen) error {
				_, err := s.SaveListens(b.Context(), library.Intake{User: user, Connection: conn, Listens: page,
					Position: "position"})
				return err
			})
		}
		first += from("spotify")
		second += from("listenbrainz")
		again += from("listenbrainz")
		require.Equal(b, benchRows, count(b, s, user))
	}
	share := func(of, d time.Duration) float64 { return of.Seconds() / d.Seconds() }
	b.ReportMetric(share(bare, first), "of-bare")
	b.ReportMetric(share(table, first), "of-one-table")
	b.ReportMetric(share(table, second), "second-of-one-table")
	b.ReportMetric(share(table, again), "again-of-one-table")
}

// timed stores all plays in pages, and returns how long that takes.
func timed(b *testing.B, all []library.Listen, store func(n int, page []library.Listen) error) time.Duration {
	b.Helper()
	began := time.Now()
	for n := 0; n < len(all); n += benchPage {
		require.NoError(b, store(n, all[n:][:benchPage]))
	}
	return time.Since(began)
}

func bareTable(b *testing.B, tx *sql.Tx, user, id int64, page []library.Listen) error {
	rows := make([]any, 0, len(page)*7)
	for i, l := range page {
		rows = append(rows, id+int64(i)+1, user, l.PlayedAt.UnixMilli(), l.Title, l.Artist, l.Album, l.SourceID)
	}
	const bare = "INSERT INTO bare (id, user_id, played_at, title, artist, album, source)"
	return db.InsertRows(b.Context(), tx, bare, 7, rows, "")
}

// BenchmarkLargeLibrary stores 500,000 plays of 30,000 tracks and reports what each takes: in the tables of listens and
// their indices, in the whole file, and of all that was written to the disk meanwhile.
func BenchmarkLargeLibrary(b *testing.B) {
	if postgrestest.On() {
		b.Skip("Postgres keeps its files itself")
	}
	for _, order := range []string{"oldest first", "newest first"} {
		b.Run(order, func(b *testing.B) { largeLibrary(b, order == "newest first") })
	}
}

// largePlay returns play number i of a large library, in which some songs are more frequent than others.
func largePlay(i int) library.Listen {
	u := int(uint32(i)*2_654_435_761>>8) % 30_000
	n := (u + u*u/30_000) / 2
	return library.Listen{SourceID: fmt.Sprintf("%d-%d", 1_400_000_000+i*210, n),
		PlayedAt: time.UnixMilli(1_400_000_000_000 + int64(i)*210_000).UTC(),
		Track: library.Track{Title: fmt.Sprintf("The Title of Track %d", n), Artist: fmt.Sprintf("Artist %d", n%2000),
			Album: fmt.Sprintf("The Album %d", n%4000), Duration: 200 * time.Second,
			ISRC: fmt.Sprintf("GBAYE%07d", n)}}
}

func largeLibrary(b *testing.B, newest bool) {
	const plays = 500_000
	for b.Loop() {
		b.StopTimer()
		s, user := setup(b)
		page := make([]library.Listen, benchPage)
		before := written(b)
		b.StartTimer()
		for n := 0; n < plays; n += benchPage {
			for i := range page {
				page[i] = largePlay(n + i)
				if newest {
					page[i] = largePlay(plays - 1 - n - i)
				}
			}
			_, err := s.SaveListens(b.Context(), library.Intake{User: user, Connection: "spotify", Listens: page,
				Position: "position"})
			require.NoError(b, err)
		}
		b.StopTimer()
		require.Equal(b, plays, count(b, s, user))
		_, err := s.Writer.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
		require.NoError(b, err)
		b.ReportMetric(float64(written(b)-before)/plays, "written-B/listen")
		for name, tables := range map[string]string{
			"B/listen":      "tbl_name IN ('listens', 'listen_sources', 'source_names')",
			"file-B/listen": "1 = 1",
		} {
			size := number(b, s, "SELECT sum(pgsize) FROM dbstat WHERE name IN (SELECT name FROM sqlite_master WHERE "+
				tables+")")
			b.ReportMetric(float64(size)/plays, name)
		}
		b.StartTimer()
	}
	b.ReportMetric(plays*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// written returns how many bytes this process has written to files.
func written(b *testing.B) (n int) {
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		b.Skip("only Linux tells how much was written")
	}
	_, err = fmt.Sscanf(string(text[bytes.Index(text, []byte("wchar:")):]), "wchar: %d", &n)
	require.NoError(b, err)
	return n
}
