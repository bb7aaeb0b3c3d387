package imports_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	exports "reprise/internal/export"
	"reprise/internal/imports"
	"reprise/internal/library"
)

// heard stores plays as connections report them: from several services, some of them the same play, with facts,
// difficult names, repeats and guessed times.
func (b *bench) heard(n int) {
	b.t.Helper()
	begin := time.Date(2024, 3, 5, 18, 0, 0, 250e6, time.UTC)
	names := []string{"Hoppípolla", `=1+1 "x", y`, "-Minus", "\u202eRTL", "'quoted", "<b>&amp;</b>", "音楽",
		"A & B feat. C"}
	for _, from := range []struct {
		conn  library.ConnectionID
		every int
		later time.Duration
	}{{"spotify", 1, 200 * time.Second}, {"lastfm", 2, 0}, {"navidrome-2", 3, 1012 * time.Millisecond}} {
		var page []library.Listen
		for i := 0; i < n; i += from.every {
			name := names[i%len(names)]
			l := library.Listen{SourceID: fmt.Sprintf("%d:%s&=%%", 1_700_000_000+i, name),
				PlayedAt: begin.Add(time.Duration(i)*77*time.Second + from.later), Approximate: i%11 == 0,
				Track: library.Track{Title: name, Artist: "The " + name,
					Duration: time.Duration(i%5) * 50 * time.Second}}
			if i%3 == 0 {
				l.Album, l.ISRC = "Album "+name, fmt.Sprintf("GBAYE%07d", i%40)
			}
			if i%4 == 0 {
				l.RecordingMBID = fmt.Sprintf("%08d-0000-4000-8000-000000000000", i%40)
			}
			if i%5 == 0 {
				l.Player = "Player of " + name
			}
			require.True(b.t, l.Clean(time.Now())) // as every service's are
			page = append(page, l)
		}
		for part := range slices.Chunk(page, 50) {
			_, err := b.db.SaveListens(b.t.Context(), library.Intake{User: b.user, Connection: from.conn,
				Listens: part})
			require.NoError(b.t, err)
		}
	}
}

// dump exports all listens in a format.
func (b *bench) dump(f exports.Form) []byte {
	b.t.Helper()
	var out bytes.Buffer
	_, err := f.Write(&out, exports.Pages(func(next string) ([]library.StoredListen, string, error) {
		return b.db.FindListens(b.t.Context(), library.ListenFilter{User: b.user}, next, 100)
	}))
	require.NoError(b.t, err)
	return out.Bytes()
}

// lines returns the sorted listens of a dump, without their ids.
func lines(dump []byte) (all []string) {
	for line := range strings.Lines(string(dump)) {
		if _, rest, numbered := strings.Cut(line, `,"track"`); numbered {
			line = rest
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// same fails at the first line in which two dumps differ.
func same(t *testing.T, want, got []byte, why string) {
	t.Helper()
	a, b := lines(want), lines(got)
	require.Len(t, b, len(a), why)
	for i := range a {
		require.Equal(t, a[i], b[i], why)
	}
}

// bring imports a file exported by Reprise.
func (b *bench) bring(name string, file []byte) imports.Import {
	b.t.Helper()
	_, err := b.Receive(b.t.Context(), b.user, sent(imports.Reprise, name, bytes.NewReader(file)))
	require.NoError(b.t, err)
	return b.finish(b.Runner)
}

func TestAnExportComesBackAsItWas(t *testing.T) {
	t.Parallel()
	old := setup(t)
	old.heard(600)
	dump := old.dump(exports.JSONLines)
	require.Contains(t, string(dump), `"later_ms":`)
	require.Contains(t, string(dump), `"approximate":true`)
	require.Contains(t, string(dump), `"connection":"navidrome-2"`)
	kept := old.count()

	fresh := setup(t)
	v := fresh.bring("listens.jsonl", dump)
	require.Equal(t, []int{kept, 0, 0, 0}, []int{v.Added, v.Known, v.Skipped, v.Bad}, v.Problems)
	same(t, dump, fresh.dump(exports.JSONLines), "as it was")
	v = fresh.bring("again.jsonl", dump)
	require.Equal(t, []int{0, kept}, []int{v.Added, v.Known})
	same(t, dump, fresh.dump(exports.JSONLines), "the same again changes nothing")
	v = old.bring("listens.jsonl", dump)
	require.Equal(t, []int{0, kept}, []int{v.Added, v.Known}, "nor where it came from")
	same(t, dump, old.dump(exports.JSONLines), "as it was")

	// The services report the same plays again.
	fresh.heard(600)
	require.Equal(t, kept, fresh.count())
	same(t, dump, fresh.dump(exports.JSONLines), "as it was")
}

// A CSV has everything except how much later a source's time is, and its player.
func TestATableComesBackAsItWas(t *testing.T) {
	t.Parallel()
	old := setup(t)
	old.heard(200)
	table := old.dump(exports.CSV)
	fresh := setup(t)
	v := fresh.bring("listens.csv", table)
	require.Equal(t, []int{old.count(), 0, 0, 0}, []int{v.Added, v.Known, v.Skipped, v.Bad}, v.Problems)
	same(t, table, fresh.dump(exports.CSV), "as it was")
}

func TestAnArchiveComesBackAsItWas(t *testing.T) {
	t.Parallel()
	old := setup(t)
	old.heard(100)
	dump := old.dump(exports.JSONLines)
	fresh := setup(t)
	v := fresh.bring("reprise.zip", zipped(t, "README.txt", "read me", "listens.jsonl", string(dump),
		"playlists/0001.jspf", "{}", "skipped.csv", "a,b\n", "corrections.jsonl", `{"kind":"delete"}`,
		"statistics/artists.csv", "artist,listens\n", "manifest.json", "{}"))
	require.Equal(t, []int{old.count(), 0, 0}, []int{v.Added, v.Known, v.Bad}, v.Problems)
	same(t, dump, fresh.dump(exports.JSONLines), "as it was")
}

// Listens that a person's services reported before the import are not stored twice, even if the connections have other
// names now.
func TestAnExportJoinsWhatIsThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, joins)
}

func joins(t *testing.T) {
	b := setup(t)
	at := time.Date(1999, 3, 5, 18, 0, 0, 0, time.UTC)
	old := library.Listen{Track: library.Track{Title: "Hoppípolla", Artist: "Sigur Rós"}, SourceID: "1", PlayedAt: at}
	_, err := b.db.SaveListens(t.Context(), library.Intake{User: b.user, Connection: "lastfm",
		Listens: []library.Listen{old}})
	require.NoError(t, err)
	time.Sleep(time.Second) // sources are stored with a resolution of one second
	record := func(at time.Time, conn, id string) string {
		return fmt.Sprintf(`{"track":"Hoppipolla","artist":"Sigur Rós","played_at":%q,"sources":[{"connection":%q,`+
			`"source_id":%q}]}`+"\n", library.Stamp(at), conn, id)
	}
	v := b.bring("listens.jsonl", []byte(record(at.Add(10*time.Second), "spotify", "a")+
		record(at.Add(20*time.Second), "spotify", "b")+record(at.Add(30*time.Second), "navidrome", "c")+
		record(at.Add(30*time.Second), "navidrome", "c")))
	require.Equal(t, []int{2, 2, 0}, []int{v.Added, v.Known, v.Bad}, v.Problems)
	page, _, err := b.db.Listens(t.Context(), b.user, "", 10)
	require.NoError(t, err)
	require.Len(t, page, 3, "plays that were apart in the export stay apart")
	require.Equal(t, []library.Source{{Connection: "lastfm", SourceID: "1"},
		{Connection: "spotify", SourceID: "a", Later: 10 * time.Second}}, page[2].Sources)
}

func TestOtherFormsCanBeImported(t *testing.T) {
	t.Parallel()
	old := setup(t)
	old.heard(60)
	for conn, f := range map[library.ConnectionID]exports.Form{"lastfm": exports.LastFM,
		"listenbrainz": exports.ListenBrainz} {
		fresh := setup(t)
		_, err := fresh.Receive(t.Context(), fresh.user, sent(conn, f.Name, bytes.NewReader(old.dump(f))))
		require.NoError(t, err)
		v := fresh.finish(fresh.Runner)
		require.Equal(t, []int{old.count(), 0}, []int{v.Added, v.Bad}, v.Problems)
		titles := func(b *bench) (all []string) {
			page, _, err := b.db.Listens(t.Context(), b.user, "", 1000)
			require.NoError(t, err)
			for _, l := range page {
				all = append(all, l.Title+"/"+l.Artist)
			}
			slices.Sort(all)
			return all
		}
		require.Equal(t, titles(old), titles(fresh), f.Name)
	}
}

// A file cannot fill the database with names of connections.
func TestAnExportNamesFewConnections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var file strings.Builder
	for i := range 150 {
		fmt.Fprintf(&file, `{"track":"T","artist":"A","played_at":"2024-03-05T18:%02d:%02d.000Z","sources":`+
			`[{"connection":"radio%d","source_id":"1"}]}`+"\n", i/60, i%60, i)
	}
	v := b.bring("listens.jsonl", []byte(file.String()))
	require.Equal(t, []int{100, 50}, []int{v.Added, v.Bad})
}
