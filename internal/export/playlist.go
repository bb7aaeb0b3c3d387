package export

import (
	"bytes"
	"encoding/xml"
	"io"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
)

// ListForm is a file format for playlists.
type ListForm struct {
	Ending string // file name extension
	Type   string // media type
	begin  func([]byte, library.StoredPlaylist) []byte
	track  func([]byte, listed) []byte
	end    string
}

// listed is a track in a playlist.
type listed struct {
	library.Track
	n    int    // from 1
	page string // of a track at its service, with {id} for its id; empty for none
}

// The formats of playlists.
var (
	// JSPF is the format that ListenBrainz takes (https://www.xspf.org/jspf).
	JSPF = ListForm{Ending: ".jspf", Type: "application/jspf+json", begin: beginJSPF, track: trackJSPF, end: "\n]}}\n"}
	// XSPF is https://www.xspf.org/spec.
	XSPF = ListForm{Ending: ".xspf", Type: "application/xspf+xml", begin: beginXSPF, track: trackXSPF,
		end: "</trackList>\n</playlist>\n"}
	// M3U8 refers to files. Reprise knows none, so it writes web addresses where it has them, and otherwise the paths
	// that most collections use: artist, album, title.
	M3U8 = ListForm{Ending: ".m3u8", Type: "audio/x-mpegurl; charset=utf-8", begin: beginM3U8, track: trackM3U8}
	// Table is a CSV for spreadsheets.
	Table = ListForm{Ending: ".csv", Type: "text/csv; charset=utf-8", begin: beginTable, track: trackTable}
)

// ListForms are the formats that a person can choose from, in the order shown.
var ListForms = []ListForm{JSPF, XSPF, M3U8, Table}

// Write writes a playlist with its tracks to w, and returns how many tracks it has written. It stops at the first error
// of either. page is the address of a track at the playlist's service, with {id} for its id; empty if it has none.
func (f ListForm) Write(
	w io.Writer, p library.StoredPlaylist, page string, tracks iter.Seq2[library.Track, error],
) (n int, err error) {
	b := f.begin(nil, p)
	for t, err := range tracks {
		if err != nil {
			return n, err
		}
		n++
		b = f.track(b, listed{Track: t, n: n, page: page})
		if len(b) >= atOnce {
			if _, err := w.Write(b); err != nil {
				return n, err
			}
			b = b[:0]
		}
	}
	_, err = w.Write(append(b, f.end...))
	return n, err
}

// from describes where a playlist comes from, for its annotation; empty if that isn't to be said.
func from(p library.StoredPlaylist) string {
	if p.Connection == "" {
		return ""
	}
	return "From " + string(p.Connection)
}

const recordings = "https://musicbrainz.org/recording/"

func beginJSPF(b []byte, p library.StoredPlaylist) []byte {
	b = appendText(append(b, `{"playlist":{"title":`...), p.Name)
	b = appendText(append(b, `,"annotation":`...), from(p))
	return append(b, `,"track":[`...)
}

func trackJSPF(b []byte, t listed) []byte {
	if t.n > 1 {
		b = append(b, ',')
	}
	b = appendText(append(b, "\n"+`{"title":`...), t.Title)
	b = appendText(append(b, `,"creator":`...), t.Artist)
	if t.Album != "" {
		b = appendText(append(b, `,"album":`...), t.Album)
	}
	if ms := t.Duration.Milliseconds(); ms != 0 {
		b = strconv.AppendInt(append(b, `,"duration":`...), ms, 10)
	}
	if t.RecordingMBID != "" {
		b = appendText(append(b, `,"identifier":[`...), recordings+t.RecordingMBID)
		b = append(b, ']')
	}
	return append(b, '}')
}

func beginXSPF(b []byte, p library.StoredPlaylist) []byte {
	b = append(b, xml.Header+`<playlist version="1" xmlns="http://xspf.org/ns/0/">`+"\n"...)
	b = appendElement(b, "title", p.Name)
	b = appendElement(b, "annotation", from(p))
	return append(b, "\n<trackList>\n"...)
}

func trackXSPF(b []byte, t listed) []byte {
	b = append(b, "<track>"...)
	if t.RecordingMBID != "" {
		b = appendElement(b, "identifier", recordings+t.RecordingMBID)
	}
	b = appendElement(b, "title", t.Title)
	b = appendElement(b, "creator", t.Artist)
	if t.Album != "" {
		b = appendElement(b, "album", t.Album)
	}
	if ms := t.Duration.Milliseconds(); ms != 0 {
		b = appendElement(b, "duration", strconv.FormatInt(ms, 10))
	}
	return append(b, "</track>\n"...)
}

// appendElement appends an XML element with a text. Characters that XML does not allow become U+FFFD.
func appendElement(b []byte, name, text string) []byte {
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // a buffer can always be written
	b = append(append(append(b, '<'), name...), '>')
	b = append(b, escaped.Bytes()...)
	return append(append(append(b, "</"...), name...), '>')
}

func beginM3U8(b []byte, p library.StoredPlaylist) []byte {
	return append(append(append(b, "#EXTM3U\n#PLAYLIST:"...), line(p.Name)...), '\n')
}

func trackM3U8(b []byte, t listed) []byte {
	seconds := int64(-1) // unknown
	if t.Duration > 0 {
		seconds = int64(t.Duration.Round(time.Second) / time.Second)
	}
	b = strconv.AppendInt(append(b, "#EXTINF:"...), seconds, 10)
	b = append(append(append(b, ','), line(t.Artist+" - "+t.Title)...), '\n')
	return append(append(b, t.place()...), '\n')
}

// place returns the location of a track: its address at its service, or a file path.
func (t listed) place() string {
	if t.SourceID != "" && t.page != "" {
		return strings.ReplaceAll(t.page, "{id}", url.QueryEscape(t.SourceID))
	}
	parts := []string{segment(t.Artist)}
	if t.Album != "" {
		parts = append(parts, segment(t.Album))
	}
	return strings.Join(append(parts, segment(t.Title)+".mp3"), "/")
}

// FileName makes a name usable as a file name, without an extension. It returns "" if nothing of the name is left.
func FileName(name string) string {
	if name = segment(name); strings.Trim(name, "_") == "" {
		return ""
	}
	return name
}

// segment makes a name usable as a path segment on every system.
func segment(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`/\:*?"<>|#`, r) {
			return '_'
		}
		return r
	}, name)
	if name = strings.Trim(name, ". "); name == "" {
		return "_"
	}
	return name
}

// line puts a text on one line.
func line(s string) string { return strings.NewReplacer("\r", " ", "\n", " ").Replace(s) }

func beginTable(b []byte, _ library.StoredPlaylist) []byte {
	return append(b, "\ufeffposition,track,artist,album,duration_ms,isrc,recording_mbid,source_id\n"...)
}

func trackTable(b []byte, t listed) []byte {
	b = strconv.AppendInt(b, int64(t.n), 10)
	for _, name := range []string{t.Title, t.Artist, t.Album} {
		b = appendCell(append(b, ','), name)
	}
	b = append(b, ',')
	if ms := t.Duration.Milliseconds(); ms != 0 {
		b = strconv.AppendInt(b, ms, 10)
	}
	for _, id := range []string{t.ISRC, t.RecordingMBID, t.SourceID} {
		b = appendCell(append(b, ','), id)
	}
	return append(b, '\n')
}
