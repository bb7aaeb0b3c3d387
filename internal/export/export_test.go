package export

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// hostile are names as strangers may write them.
var hostile = []string{"", "Hoppípolla", `Say "Hi", you\they`, "line one\nline two\r\n", "\ttab", "\u202eRTL\u202c",
	"\u2028sep\u2029", "=HYPERLINK(\"http://x\")", "+1", "-1", "@cmd", "'=already", "''@twice", "'plain", " led",
	"<script>alert(1)</script> & co", "]]>", "\x00nul\x7f", "broken \xff\xfe", "emoji 🎵", "a,b;c"}

func listen(n int, name string) library.StoredListen {
	return library.StoredListen{ID: int64(n), Listen: library.Listen{
		Track: library.Track{Title: name, Artist: "A " + name, Album: name, ISRC: name, RecordingMBID: name,
			Duration: time.Duration(n) * 1500 * time.Millisecond},
		PlayedAt:    time.Date(2026, 11, 20, 18, 0, n, 123e6, time.UTC),
		Approximate: n%2 == 0,
	}, Sources: []library.Source{{Connection: "spotify-2", SourceID: name, Later: time.Duration(n) * time.Second,
		Player: name},
		{Connection: "lastfm", SourceID: "x&y=" + name}}}
}

func all() (listens []library.StoredListen) {
	for i, name := range hostile {
		listens = append(listens, listen(i, name))
	}
	return append(listens, library.StoredListen{})
}

func each[T any](of []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range of {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func written(t *testing.T, f Form, listens []library.StoredListen) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := f.Write(&b, each(listens))
	require.NoError(t, err)
	require.Equal(t, len(listens), n)
	return b.Bytes()
}

// The hand-written encoder writes the same as encoding/json.
func TestLinesAreRecords(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	lines := json.NewEncoder(&want)
	lines.SetEscapeHTML(false)
	ruled := listen(1, "Ruled & <b>")
	ruled.Ruled = &library.Ruled{Was: ruled.Track, Renamed: []library.RuleName{{ID: 3, Name: "A"}},
		Withheld: []library.Withheld{{To: "lastfm", By: library.RuleName{ID: 4}}, {}},
		Ignored:  library.RuleName{ID: 5, Name: "\u2028"}}
	listens := append(all(), ruled)
	for _, l := range listens {
		require.NoError(t, lines.Encode(l.Record()))
	}
	require.Equal(t, want.String(), string(written(t, JSONLines, listens)))
}

func FuzzTextIsJSON(f *testing.F) {
	for _, name := range hostile {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		require.NoError(t, e.Encode(s))
		require.Equal(t, want.String(), string(appendText(nil, s))+"\n")
	})
}

func FuzzCellsAreSafeAndExact(f *testing.F) {
	for _, name := range hostile {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, s string) {
		require.Equal(t, s, Plain(Safe(s)))
		if safe := Safe(s); safe != "" {
			require.NotContains(t, risky, safe[:1])
		}
	})
}

// table parses a CSV file.
func table(t *testing.T, b []byte) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(b, []byte("\ufeff")))).ReadAll()
	require.NoError(t, err)
	return rows
}

func TestTablesHoldHostileNames(t *testing.T) {
	t.Parallel()
	lines := strings.NewReplacer("\r\n", "\n") // as encoding/csv reads them
	rows := table(t, written(t, CSV, all()))
	require.Equal(t, strings.Split(Heading, ","), rows[0])
	scrobbles := table(t, written(t, LastFM, all()))
	require.Equal(t, strings.Split(LastFMHeading, ","), scrobbles[0])
	for i, name := range hostile {
		require.Equal(t, lines.Replace(name), Plain(rows[i+1][1]))
		require.Equal(t, lines.Replace("A "+name), Plain(rows[i+1][2]))
		require.Equal(t, lines.Replace(name), Plain(scrobbles[i+1][6]))
		for _, cell := range slices.Concat(rows[i+1], scrobbles[i+1]) {
			require.False(t, cell != "" && strings.Contains(risky, cell[:1]), cell)
		}
	}
}

func TestOtherProgramsCanReadTheirForms(t *testing.T) {
	t.Parallel()
	var maloja struct {
		Scrobbles []struct {
			Time  int64
			Track struct {
				Artists []string
				Title   string
				Album   *struct{ Albumtitle string }
				Length  *int
			}
			Duration *int
		}
	}
	require.NoError(t, json.Unmarshal(written(t, Maloja, all()), &maloja))
	require.Len(t, maloja.Scrobbles, len(hostile)+1)
	one := maloja.Scrobbles[2]
	require.Equal(t, int64(1795197602), one.Time)
	require.Equal(t, []string{"A " + hostile[2]}, one.Track.Artists)
	require.Equal(t, hostile[2], one.Track.Album.Albumtitle)
	require.Equal(t, 3, *one.Track.Length)
	require.NoError(t, json.Unmarshal(written(t, Maloja, nil), &maloja), "an empty library")

	var players []string
	for line := range bytes.Lines(written(t, ListenBrainz, all())) {
		var v struct {
			At int64 `json:"listened_at"`
			M  struct {
				Artist string `json:"artist_name"`
				Info   struct {
					Client string `json:"submission_client"`
					Player string `json:"media_player"`
				} `json:"additional_info"`
			} `json:"track_metadata"`
		}
		require.NoError(t, json.Unmarshal(line, &v))
		require.Equal(t, "Reprise", v.M.Info.Client)
		players = append(players, v.M.Info.Player)
	}
	require.Equal(t, []string{"", "Hoppípolla", `Say "Hi", you\they`}, players[:3])
}

func TestMonthsBecomeFiles(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	first, second := listen(1, "New"), listen(2, "Old")
	second.PlayedAt = second.PlayedAt.AddDate(0, -1, 0)
	require.NoError(t, ListenBrainz.Months(z, each([]library.StoredListen{first, second})))
	require.NoError(t, z.Close())
	read, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(t, err)
	require.Len(t, read.File, 2)
	require.Equal(t, "listens/2026/11.jsonl", read.File[0].Name)
	require.Equal(t, "listens/2026/10.jsonl", read.File[1].Name)
	f, err := read.File[1].Open()
	require.NoError(t, err)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	require.Contains(t, string(text), `"track_name":"Old"`)
	require.NotContains(t, string(text), "New")
}

func TestPlaylistsHoldHostileNames(t *testing.T) {
	t.Parallel()
	p := library.StoredPlaylist{Connection: "navidrome", Playlist: library.Playlist{Name: "Mine\n#EXTM3U </title>"}}
	var tracks []library.Track
	for i, name := range hostile {
		l := listen(i, name)
		tracks = append(tracks, l.Track)
	}
	write := func(f ListForm) string {
		var b bytes.Buffer
		n, err := f.Write(&b, p, "", each(tracks))
		require.NoError(t, err)
		require.Equal(t, len(tracks), n)
		return b.String()
	}
	var jspf struct {
		Playlist struct {
			Title string
			Track []struct{ Title, Creator string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(write(JSPF)), &jspf))
	require.Equal(t, p.Name, jspf.Playlist.Title)
	require.Len(t, jspf.Playlist.Track, len(hostile))
	require.Equal(t, hostile[3], jspf.Playlist.Track[3].Title)

	var xspf struct {
		Title  string `xml:"title"`
		Tracks []struct {
			Title string `xml:"title"`
		} `xml:"trackList>track"`
	}
	require.NoError(t, xml.Unmarshal([]byte(write(XSPF)), &xspf))
	require.Equal(t, p.Name, xspf.Title)
	require.Len(t, xspf.Tracks, len(hostile))
	require.Equal(t, hostile[15], xspf.Tracks[15].Title)

	lines := strings.Split(strings.TrimSuffix(write(M3U8), "\n"), "\n")
	require.Len(t, lines, 2+2*len(hostile), "no name makes a line of its own")
	require.Equal(t, []string{"#EXTM3U", "#PLAYLIST:Mine #EXTM3U </title>"}, lines[:2])
	for i := 2; i < len(lines); i += 2 {
		require.True(t, strings.HasPrefix(lines[i], "#EXTINF:"))
		require.NotContains(t, lines[i+1], "..")
		require.False(t, strings.HasPrefix(lines[i+1], "#") || strings.HasPrefix(lines[i+1], "/"), lines[i+1])
	}

	rows := table(t, []byte(write(Table)))
	require.Len(t, rows, 1+len(hostile))
	require.Equal(t, "'"+hostile[7], rows[8][1])
}

func TestPlaylistsLeadToTheirService(t *testing.T) {
	t.Parallel()
	tracks := []library.Track{{Title: "Jóga", Artist: "Björk", SourceID: "a b"}, {Title: "Hunter", Artist: "Björk"}}
	var b bytes.Buffer
	_, err := M3U8.Write(&b, library.StoredPlaylist{}, "https://music.example.org/track/{id}", each(tracks))
	require.NoError(t, err)
	require.Contains(t, b.String(), "\nhttps://music.example.org/track/a+b\n")
	require.Contains(t, b.String(), "\nBjörk/Hunter.mp3\n", "a track without an id there is a file")
}

func TestAnErrorEndsAFile(t *testing.T) {
	t.Parallel()
	gone := errors.New("the disk is gone")
	n, err := JSONLines.Write(io.Discard, func(yield func(library.StoredListen, error) bool) {
		_ = yield(listen(1, "A"), nil) && yield(library.StoredListen{}, gone)
	})
	require.ErrorIs(t, err, gone)
	require.Equal(t, 1, n)

	endless := func(yield func(library.StoredListen, error) bool) {
		for yield(listen(1, "A"), nil) {
		}
	}
	_, err = CSV.Write(writer(func([]byte) (int, error) { return 0, io.ErrClosedPipe }), endless)
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestSizeIsAboutRight(t *testing.T) {
	t.Parallel()
	var some []library.StoredListen
	for i := range 100 {
		some = append(some, listen(i, "A Name of Some Length"))
	}
	for _, f := range Forms {
		size := len(written(t, f, some))
		require.InDelta(t, size, f.Size(len(some), some), float64(size)/50, f.Name)
		require.Less(t, f.Size(0, nil), int64(200), "an empty library")
	}
}
