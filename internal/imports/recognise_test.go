package imports_test

import (
	"archive/zip"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/imports"
	"reprise/internal/library"
)

// look sends a file without saying what it is, and returns what Reprise has found in it.
func (b *bench) look(name string, file []byte, zone string) imports.Import {
	b.t.Helper()
	v, err := b.Receive(b.t.Context(), b.user, imports.Sent{Name: name, Body: bytes.NewReader(file), Preview: true,
		Zone: zone})
	require.NoError(b.t, err, name)
	return b.settle(v.ID)
}

// settle runs the runner until it has nothing to do, and returns an import.
func (b *bench) settle(id int64) (v imports.Import) {
	b.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = b.Run(ctx) })
	defer running.Wait()
	defer stop()
	require.Eventually(b.t, func() bool {
		all, err := b.db.Imports(b.t.Context(), b.user)
		require.NoError(b.t, err)
		for _, w := range all {
			if w.ID == id {
				v = w
			}
		}
		return v.State != imports.Waiting && v.State != imports.Running
	}, time.Minute, 10*time.Millisecond)
	return v
}

func TestAnyFileIsRecognisedByItsContent(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/exports/*.golden")
	require.NoError(t, err)
	for _, golden := range files {
		file := strings.TrimSuffix(golden, ".golden")
		base := filepath.Base(file)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		want, _, _ := strings.Cut(base, "-")
		if want == "deezer" {
			base = "10_listeningHistory.csv"
		}
		archive := zipped(t, "README.txt", "hello", nameIn(base), string(text))
		for name, sent := range map[string][]byte{base: text, "a.zip": archive} {
			b := setup(t)
			v, err := b.Receive(t.Context(), b.user, imports.Sent{Name: name, Body: bytes.NewReader(sent),
				Preview: true})
			require.NoError(t, err, "%s in %s", base, name)
			require.Equal(t, library.ConnectionID(want), v.Connection, "%s in %s", base, name)
		}
	}
}

// nameIn returns a name that a file may have in an archive.
func nameIn(base string) string {
	switch {
	case strings.HasPrefix(base, "spotify-"):
		return "My Data/Streaming_History_Audio_2026.json"
	case strings.HasPrefix(base, "applemusic-"):
		return "Apple_Media_Services/Apple Music Activity/Apple Music Play Activity.csv"
	case strings.HasPrefix(base, "reprise-"):
		return strings.TrimPrefix(base, "reprise-")
	}
	return "Data/" + base
}

func TestAPreviewStoresNothingAndSaysWhatIsNew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file := export(t, 2500)
	v := b.look("my_spotify_data.zip", file, "")
	require.Equal(t, imports.Ready, v.State)
	require.Equal(t, library.ConnectionID("spotify"), v.Connection)
	require.Equal(t, 2500, v.Added)
	require.True(t, v.First.Before(v.Last))
	require.Zero(t, b.count())
	require.Len(t, b.files(), 1)

	_, err := b.Start(t.Context(), b.user, v.ID)
	require.NoError(t, err)
	v = b.settle(v.ID)
	require.Equal(t, imports.Done, v.State)
	require.Equal(t, 2500, v.Added)
	require.Equal(t, 2500, b.count())
	require.Empty(t, b.files())
	_, err = b.Start(t.Context(), b.user, v.ID)
	var refused *imports.RefusedError
	require.ErrorAs(t, err, &refused, "it cannot begin twice")

	v = b.look("again.zip", file, "")
	require.Equal(t, []int{0, 2500}, []int{v.Added, v.Known})
	_, err = b.Start(t.Context(), b.user+1, v.ID)
	require.ErrorIs(t, err, library.ErrNotFound, "it is somebody else's")
	require.NoError(t, b.Cancel(t.Context(), b.user, v.ID))
	require.Empty(t, b.files())
}

func TestATableIsReadAsItsPersonSays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	table := "What;When;Long\nBjörk - Jóga;2026-04-30 21:05:11;305\nBjörk - Hunter;2026-04-30 21:11:00;\n"
	v := b.look("mine.csv", []byte(table), "Europe/Berlin")
	require.Equal(t, []any{imports.Ready, imports.AskColumns, library.File},
		[]any{v.State, v.Question, v.Connection})
	require.Equal(t, []string{"What", "When", "Long"}, v.Sample[0])
	require.Equal(t, &imports.Columns{Title: 1, Time: 2}, v.Sample.Guess())
	var refused *imports.RefusedError
	_, err := b.Start(t.Context(), b.user, v.ID)
	require.ErrorAs(t, err, &refused)
	require.Contains(t, refused.Error(), "Answer the question")
	for _, wrong := range []imports.Answers{{Columns: &imports.Columns{Title: 1}}, {TimeZone: "Mars/Olympus"},
		{Columns: &imports.Columns{Title: 1, Time: 501}}, {Videos: "some"}} {
		_, err = b.Explain(t.Context(), b.user, v.ID, wrong)
		require.ErrorAs(t, err, &refused)
	}
	_, err = b.Explain(t.Context(), b.user, v.ID, imports.Answers{TimeZone: "Europe/Berlin",
		Columns: &imports.Columns{Title: 1, Time: 2, Length: 3}})
	require.NoError(t, err)
	v = b.settle(v.ID)
	require.Equal(t, []int{2, 0, 0}, []int{v.Added, v.Known, v.Bad})
	require.Equal(t, "2026-04-30T19:05:11Z", v.First.UTC().Format(time.RFC3339), "a time in Berlin")
	require.Zero(t, b.count())
	_, err = b.Start(t.Context(), b.user, v.ID)
	require.NoError(t, err)
	b.settle(v.ID)
	require.Equal(t, 2, b.count())
}

// If no date in a table shows whether 3/4 is in April or in March, the table is read only after its person has said so.
// If one shows it, there is no question.
func TestDatesWithSlashesAreAskedAbout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const table = "Artist,Track,Date\nBjörk,Jóga,3/4/2026 21:05:11\nBjörk,Hunter,\"3/4/26, 9:11 PM\"\n"
	v := b.look("mine.csv", []byte(table), "Europe/Berlin")
	require.Equal(t, []any{imports.Ready, imports.AskDays, false}, []any{v.State, v.Question, v.Looked()})
	require.True(t, v.Sample.Slashed())
	for days, want := range map[string][]string{imports.DayFirst: {"2026-04-03T19:05:11Z", "2026-04-03T19:11:30Z"},
		imports.MonthFirst: {"2026-03-04T20:05:11Z", "2026-03-04T20:11:30Z"}} {
		_, err := b.Explain(t.Context(), b.user, v.ID, imports.Answers{TimeZone: "Europe/Berlin", Days: days})
		require.NoError(t, err)
		v = b.settle(v.ID)
		require.Equal(t, []int{2, 0}, []int{v.Added, v.Bad})
		require.Equal(t, want, []string{v.First.UTC().Format(time.RFC3339), v.Last.UTC().Format(time.RFC3339)})
	}
	_, err := b.Explain(t.Context(), b.user, v.ID, imports.Answers{Days: "year_first"})
	var refused *imports.RefusedError
	require.ErrorAs(t, err, &refused)

	v = b.look("shown.csv", []byte(table+"Björk,Bachelorette,31/2/2026 21:20:00\n"), "UTC")
	require.Equal(t, []any{imports.AskTimeZone, imports.DayFirst, 2, 1},
		[]any{v.Question, v.Answers.Days, v.Added, v.Bad}, "there is no 31 February")
	v = b.look("unnamed.csv", []byte("What,When\nBjörk - Jóga,4/13/2026 9:05 AM\n"), "UTC")
	require.Equal(t, imports.AskColumns, v.Question)
	require.Equal(t, &imports.Columns{Title: 1, Time: 2}, v.Sample.Guess())
	_, err = b.Explain(t.Context(), b.user, v.ID, imports.Answers{Columns: v.Sample.Guess()})
	require.NoError(t, err)
	v = b.settle(v.ID)
	require.Equal(t, "2026-04-13T09:05:30Z", v.First.UTC().Format(time.RFC3339))
}

// Apple packs the archive with the plays into another one.
func TestAnArchiveInAnArchiveIsOpened(t *testing.T) {
	t.Parallel()
	plays, err := os.ReadFile("testdata/exports/applemusic-activity.csv")
	require.NoError(t, err)
	packed := func(method uint16, files ...string) []byte { // by turns a name and what it has
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for pair := range slices.Chunk(files, 2) {
			f, err := w.CreateHeader(&zip.FileHeader{Name: pair[0], Method: method})
			require.NoError(t, err)
			_, err = f.Write([]byte(pair[1]))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		return out.Bytes()
	}
	inner := packed(zip.Deflate, "Apple_Media_Services/Apple Music Activity/Apple Music Play Activity.csv",
		string(plays))
	b := setup(t)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		v := b.look("Part 1 of 2.zip", packed(method, "readme.txt", "none", "damaged.zip", "PK\x03\x04", "other.zip",
			string(packed(zip.Store, "letter.txt", "none")), "Apple_Media_Services.zip", string(inner)), "UTC")
		require.Equal(t, library.ConnectionID("applemusic"), v.Connection)
		require.Equal(t, "Apple_Media_Services.zip", v.Name)
		require.Positive(t, v.Added)
		require.Len(t, b.files(), 1, "the outer one is gone")
		require.NoError(t, b.Cancel(t.Context(), b.user, v.ID))
	}
	deep := packed(zip.Store, "outer.zip", string(packed(zip.Store, "Apple_Media_Services.zip", string(inner))))
	_, err = b.Receive(t.Context(), b.user, imports.Sent{Name: "deep.zip", Body: bytes.NewReader(deep)})
	var refused *imports.RefusedError
	require.ErrorAs(t, err, &refused, "not deeper")
	require.NotEmpty(t, refused.Error())
	require.Empty(t, b.files())
}

// TestAPlayerWithoutAZoneIsAskedAbout reads the log of a player that knows the time on its clock only.
func TestAPlayerWithoutAZoneIsAskedAbout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file, err := os.ReadFile("testdata/exports/rockbox-scrobbler.log")
	require.NoError(t, err)
	v, err := b.Receive(t.Context(), b.user, imports.Sent{Name: ".scrobbler.log", Body: bytes.NewReader(file),
		Zone: "America/New_York"})
	require.NoError(t, err)
	require.True(t, v.Preview, "although nobody asked for one")
	v = b.settle(v.ID)
	require.Equal(t, []any{imports.Ready, imports.AskTimeZone}, []any{v.State, v.Question})
	require.Equal(t, "2026-05-01T01:05:11Z", v.First.UTC().Format(time.RFC3339), "9 in the evening in New York")

	v, err = b.Receive(t.Context(), b.user, imports.Sent{Name: ".scrobbler.log", Body: bytes.NewReader(file),
		Answers: imports.Answers{TimeZone: "UTC"}})
	require.NoError(t, err)
	require.False(t, v.Preview, "the question is answered")
}

func TestVideosAreMusicIfTheirPersonSaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	file, err := os.ReadFile("testdata/exports/youtube-history.json")
	require.NoError(t, err)
	v := b.look("watch-history.json", file, "")
	require.Equal(t, []any{imports.AskVideos, 2, 3}, []any{v.Question, v.Added, v.Skipped})
	_, err = b.Explain(t.Context(), b.user, v.ID, imports.Answers{Videos: imports.AllVideos})
	require.NoError(t, err)
	v = b.settle(v.ID)
	require.Equal(t, []int{3, 2}, []int{v.Added, v.Skipped})
}

func TestAFileThatNobodyKnows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, c := range map[string]struct{ file, why string }{
		"watch-history.html": {"<html><body>YouTube</body></html>", "choose JSON as its format"},
		"picture.jpg":        {"\xff\xd8\xff\xe0 not music", "doesn't know this kind of file"},
		"empty.json":         {"", "doesn't know this kind of file"},
		"a.json":             {`{"name": "Björk"}`, "doesn't know this kind of file"},
		"plain.txt":          {"Dear diary", "doesn't know this kind of file"},
	} {
		_, err := b.Receive(t.Context(), b.user, imports.Sent{Name: name, Body: strings.NewReader(c.file)})
		var refused *imports.RefusedError
		require.ErrorAs(t, err, &refused, name)
		require.Contains(t, refused.Error(), c.why, name)
		require.Empty(t, b.files())
	}
	none := zipped(t, "a.mp3", "x")
	_, err := b.Receive(t.Context(), b.user, imports.Sent{Name: "a.zip", Body: bytes.NewReader(none)})
	require.ErrorContains(t, err, "doesn't know this kind of file")
}

// workbookOf returns a workbook with a sheet, as Deezer sends it.
func workbookOf(t *testing.T, sheet, rows string, texts ...string) []byte {
	t.Helper()
	shared := "<si><t>" + strings.Join(texts, "</t></si><si><t>") + "</t></si>"
	const (
		main  = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
		links = `xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	)
	return zipped(t,
		"xl/workbook.xml", `<workbook `+main+` `+links+`><sheets><sheet name="01_account" sheetId="1" r:id="rId1"/>`+
			`<sheet name="`+sheet+`" sheetId="2" r:id="rId2"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships>`+
			`<Relationship Id="rId1" Target="worksheets/sheet1.xml"/>`+
			`<Relationship Id="rId2" Target="/xl/worksheets/sheet2.xml"/></Relationships>`,
		"xl/sharedStrings.xml", `<sst `+main+`>`+shared+`</sst>`,
		"xl/worksheets/sheet1.xml", `<worksheet `+main+`><sheetData/></worksheet>`,
		"xl/worksheets/sheet2.xml", `<worksheet `+main+`><sheetData>`+rows+`</sheetData></worksheet>`)
}

func TestAWorkbookIsReadLikeATable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rows := `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="s"><v>2</v></c>` +
		`<c r="D1" t="s"><v>3</v></c><c r="E1" t="s"><v>4</v></c></row>` +
		`<row r="2"><c r="A2" t="s"><v>5</v></c><c r="B2" t="inlineStr"><is><t>Bj&#246;rk</t></is></c>` +
		`<c r="D2"><v>305</v></c><c r="E2"><v>46142.5</v></c></row>`
	book := workbookOf(t, "10_listeningHistory", rows, "Song Title", "Artist", "Album Title", "Listening Time", "Date",
		"J\u00f3ga")
	v := b.look("deezer-data_1.xlsx", book, "")
	require.Equal(t, library.ConnectionID("deezer"), v.Connection)
	require.Equal(t, []any{1, 0, "2026-04-30T12:00:00Z"}, []any{v.Added, v.Bad, v.First.UTC().Format(time.RFC3339)})
	_, err := b.Start(t.Context(), b.user, v.ID)
	require.NoError(t, err)
	b.settle(v.ID)
	require.Equal(t, 1, b.count())
}

func TestAWorkbookThatIsABomb(t *testing.T) {
	t.Parallel()
	b := setup(t)
	heading := `<row r="1"><c t="inlineStr"><is><t>artist</t></is></c><c t="inlineStr"><is><t>title</t></is></c>` +
		`<c t="inlineStr"><is><t>time</t></is></c></row>`
	for name, rows := range map[string]string{
		"a row without an end":  heading + `<row r="2">` + strings.Repeat("<c/>", 5<<20),
		"a text without an end": heading + `<row r="2"><c t="inlineStr"><is><t>` + strings.Repeat("x", 20<<20),
		"a far column":          heading + `<row r="2"><c r="ZZZZZZZZZZ2"><v>1</v></c></row>`,
		"no XML":                heading + `<row <<<`,
	} {
		v, err := b.Receive(t.Context(), b.user, imports.Sent{Name: "a.xlsx", Preview: true,
			Body: bytes.NewReader(workbookOf(t, "plays", rows))})
		if err == nil {
			v = b.settle(v.ID)
			require.Zero(t, v.Added, name)
			require.NoError(t, b.Cancel(t.Context(), b.user, v.ID))
		}
	}
}
