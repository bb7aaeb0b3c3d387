package imports

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// seeds adds the examples of a provider's exports, and some of none.
func seeds(f *testing.F, provider string, more ...string) {
	f.Helper()
	files, err := filepath.Glob("testdata/exports/" + provider + "-*")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(text)
	}
	for _, text := range append(more, "", "[", "{", "[{}]", `{"a":[{}]}`, "\xff\xfe[\x00", "Bj\xf6rk,a,b,1", "\x00") {
		f.Add([]byte(text))
	}
}

// readAny reads any bytes as an export. It returns the number of rows, and whether they were read to the end.
func readAny(t *testing.T, provider string, text []byte) (n int, whole bool) {
	t.Helper()
	err := formats[provider].read(newMeter(bytes.NewReader(text), int64(len(text))), Answers{}, func(v row) bool {
		n++
		if !v.bad.IsZero() || v.skip {
			require.True(t, utf8.ValidString(v.bad.String()))
			return true
		}
		l := v.listen
		require.NotEmpty(t, l.Title)
		require.NotEmpty(t, l.Artist)
		require.NotEmpty(t, l.SourceID)
		require.LessOrEqual(t, len(l.SourceID), maxID)
		require.True(t, utf8.ValidString(l.Title+l.Artist+l.Album))
		require.NotContains(t, l.Title+l.Artist+l.Album, "\x00")
		again := l
		require.True(t, again.Clean(time.Now()))
		require.Equal(t, l, again, "it is within the bounds of all providers")
		return true
	})
	if err != nil {
		require.NotEmpty(t, inWords(err).String())
	}
	return n, err == nil
}

func FuzzSpotifyExport(f *testing.F) {
	seeds(f, "spotify", `[{"ts":"2024-03-05T18:04:30Z","ms_played":270000}]`, `[1,"a",null,[],{"a":{"b":[]}}]`,
		`[{"a":"\"]}"},{"b":"\\"}]`, "[\n\t{ \"a\" : 1 , \"b\" : [ ] } , { } \n]", `[{"a":1,}]`, `[{"a" 1}]`, `[1 2]`)
	f.Fuzz(func(t *testing.T, text []byte) {
		n, whole := readAny(t, "spotify", text)
		var all []json.RawMessage
		if len(text) < 1000 && bytes.HasPrefix(text, []byte("[")) && json.Unmarshal(text, &all) == nil &&
			utf8.Valid(text) {
			require.True(t, whole, "what is JSON is read to its end")
			require.Equal(t, len(all), n, "and each element is a row")
		}
	})
}

func FuzzLastFMExport(f *testing.F) {
	seeds(f, "lastfm", "a;b;c;d\n\"", `{"recenttracks":{"track":[{"date":{"uts":{}}}]}}`, `{"track":[{"track":[{}]}]}`,
		"artist,album,track,date\nA,B,C,2024-03-05 18:04\n\"A\"\"\",,C,1", `{"track":[{}],"track":[{}]}{"tracks":[{}]}`)
	f.Fuzz(func(t *testing.T, text []byte) { readAny(t, "lastfm", text) })
}

func FuzzListenBrainzExport(f *testing.F) {
	seeds(f, "listenbrainz", `{"payload":{"listens":[{"payload":null}]}}`, "{\n}\n{\"listened_at\":1}\n[",
		"{}{}\n1 2\n")
	f.Fuzz(func(t *testing.T, text []byte) { readAny(t, "listenbrainz", text) })
}

// FuzzArchive reads any bytes as a file, which may be an archive.
func FuzzArchive(f *testing.F) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range []string{
			"Streaming_History_Audio_1.json", "listens/2024/1.jsonl", "a.csv", "__MACOSX/a.csv",
		} {
			part, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
			require.NoError(f, err)
			_, err = part.Write([]byte(`[{"ts":"2024-03-05T18:04:30Z","ms_played":270000}]`))
			require.NoError(f, err)
		}
		require.NoError(f, w.Close())
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()-30])
	}
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, file []byte) {
		sent := sentFile{bytes.NewReader(file)}
		for _, format := range formats {
			seen, err := check(sent, "file", format, Answers{})
			if err != nil {
				require.NotEmpty(t, err.Error())
				continue
			}
			require.Positive(t, seen.total)
			require.GreaterOrEqual(t, seen.need(maxRows, 310), int64(0))
		}
	})
}

// FuzzOtherExports reads any bytes as an export of each of the other programs, with and without answers.
func FuzzOtherExports(f *testing.F) {
	seeds(f, "*", "#AUDIOSCROBBLER/1.1\n#TZ/UTC\na\tb\tc\t1\t60\tL\t1\n", "artist,title,time\na,b,2020-01-01 10:00\n")
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range order {
			if name != Reprise && name != "spotify" && name != "lastfm" && name != "listenbrainz" {
				readAny(t, string(name), text)
			}
		}
		_ = anyTable.read(newMeter(bytes.NewReader(text), int64(len(text))), Answers{TimeZone: "Europe/Berlin",
			Columns: &Columns{Title: 1, Time: 2, Length: 3}}, func(v row) bool { return true })
	})
}

// FuzzRecognise finds out what any bytes are, and reads them as that.
func FuzzRecognise(f *testing.F) {
	seeds(f, "*")
	f.Fuzz(func(t *testing.T, file []byte) {
		sent := sentFile{bytes.NewReader(file)}
		found, err := recognise(sent, "file.csv")
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.True(t, Reads(found.as.Provider()))
		require.LessOrEqual(t, len(found.sample), sampleRows)
		_, _ = check(sent, "file.csv", formats[found.as.Provider()], Answers{})
	})
}

// FuzzWorkbook reads any bytes as a sheet of a workbook, and as the texts that its cells share.
func FuzzWorkbook(f *testing.F) {
	f.Add([]byte(`<worksheet><row><c r="A1" t="s"><v>0</v></c><c r="AB1" t="inlineStr"><is><t>x</t></is></c></row>` +
		`</worksheet>`))
	f.Add([]byte(`<sst><si><t>a</t><rPh><t>b</t></rPh></si></sst>`))
	f.Add([]byte(`<row><c r="ZZZ9"><v>1</v><row>`))
	f.Fuzz(func(t *testing.T, part []byte) {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for name, text := range map[string]string{
			"xl/workbook.xml": `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/` +
				`relationships"><sheets><sheet name="a" r:id="1"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels": `<r><Relationship Id="1" Target="worksheets/1.xml"/></r>`,
			"xl/sharedStrings.xml":       string(part), "xl/worksheets/1.xml": string(part),
		} {
			file, err := w.Create(name)
			require.NoError(t, err)
			_, err = file.Write([]byte(text))
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		sent := sentFile{bytes.NewReader(b.Bytes())}
		_, err := check(sent, "file.xlsx", anyTable, Answers{Columns: &Columns{Title: 1, Time: 2}})
		if err != nil {
			require.NotEmpty(t, err.Error())
		}
	})
}

// sentFile is a File in memory.
type sentFile struct{ *bytes.Reader }

// Close implements File.
func (sentFile) Close() error { return nil }
