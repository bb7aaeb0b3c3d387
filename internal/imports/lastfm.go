package imports

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	exports "reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/words"
)

// lastFM reads the files of programs that export from Last.fm, which offers none itself: a table with a row per
// scrobble, or the pages of its API in JSON.
var lastFM = format{
	expected: words.New("import.expected.lastfm"),
	wants:    func(name string) bool { return ending(name, ".csv", ".json", ".jsonl") && !hidden(name) },
	read: func(m *meter, out yield) error {
		c, err := m.begins()
		switch {
		case err != nil || c == 0:
			return cmp.Or(err, errKind)
		case c == '[' || c == '{':
			return jsonRows(m, lastFMShape, (*lastFMRow).row, out)
		}
		return lastFMTable(m, out)
	},
}

// scrobble returns the row of a play. With a time to the second, its SourceID is the one that the adapter builds from
// the API.
func scrobble(artist, title, album, when string) row {
	if when == "" && title != "" && artist != "" { // playing while the file was made
		return row{skip: true}
	}
	at, exact := instant(when)
	if at.IsZero() {
		return row{bad: words.New("import.row.unread_time")}
	}
	id := strconv.FormatInt(at.Unix(), 10) + ":" + library.NameHash(artist, title)
	if !exact {
		id = library.FromExport + "minutes:" + id
		at = at.Add(30 * time.Second)
	}
	track := library.Track{Title: title, Artist: artist, Album: album}
	return play(library.Listen{Track: track, SourceID: id, PlayedAt: at})
}

// exactLayouts and minuteLayouts are the forms of times in UTC, to the second and to the minute.
var (
	exactLayouts = []string{
		time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "02 Jan 2006 15:04:05", "02 Jan 2006, 15:04:05",
	}
	minuteLayouts = []string{"02 Jan 2006 15:04", "02 Jan 2006, 15:04", "2006-01-02 15:04"}
)

// instant reads a time, and reports whether it is exact to the second. It returns zero for what is no time.
func instant(text string) (at time.Time, exact bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n > 100_000_000_000 { // milliseconds
			n /= 1000
		}
		return time.Unix(n, 0).UTC(), true
	}
	for _, layout := range exactLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	for _, layout := range minuteLayouts {
		if at, err := time.Parse(layout, text); err == nil {
			return at, false
		}
	}
	return time.Time{}, false
}

// columns holds the indexes of a table's columns; -1 for a missing one.
type columns struct{ artist, album, title, when int }

// maxFields is how many columns a table may have.
const maxFields = 500

// unnamed is the order of columns in a table without a heading.
var unnamed = columns{0, 1, 2, 3}

// heading reads the names of the columns. It returns false if the row has none.
func heading(names []string) (columns, bool) {
	at := func(wanted ...string) int {
		for _, w := range wanted {
			for i, n := range names {
				n, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(n)), "#") // "Date#alice"
				if strings.ReplaceAll(n, " ", "_") == w {
					return i
				}
			}
		}
		return -1
	}
	c := columns{
		artist: at("artist", "artist_name"),
		album:  at("album", "album_name"),
		title:  at("track", "title", "track_name", "name", "song"),
		when:   at("uts", "timestamp", "date_uts", "date", "utc_time", "time", "played_at"),
	}
	return c, c.artist >= 0 && c.title >= 0 && c.when >= 0
}

func (c columns) row(fields []string) row {
	switch {
	case max(c.artist, c.title, c.when) >= len(fields):
		return row{bad: words.New("import.row.few_columns")}
	case len(fields) > maxFields:
		return row{bad: words.New("import.row.many_columns")}
	}
	album := ""
	if c.album >= 0 && c.album < len(fields) {
		album = fields[c.album]
	}
	artist, title := strings.Clone(fields[c.artist]), strings.Clone(fields[c.title])
	return scrobble(artist, title, strings.Clone(album), strings.TrimSpace(fields[c.when]))
}

func lastFMTable(m *meter, out yield) error {
	in := csv.NewReader(m)
	in.ReuseRecord, in.LazyQuotes, in.FieldsPerRecord = true, true, -1
	if head, _ := m.r.Peek(1000); bytes.Count(head, []byte(";")) > bytes.Count(head, []byte(",")) {
		in.Comma = ';'
	}
	where, escaped := unnamed, false
	for first := true; ; first = false {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if _, shape := errors.AsType[*csv.ParseError](err); err != nil && !shape {
			return err
		}
		m.took()
		switch {
		case err != nil:
			if !out(row{bad: words.New("import.row.quotes")}) {
				return errStop
			}
			continue
		case first && len(fields) < 3:
			return errKind
		case first:
			if named, ok := heading(fields); ok {
				where, escaped = named, strings.Join(fields, ",") == exports.LastFMHeading
				continue
			}
		case escaped:
			for i := range fields {
				fields[i] = exports.Plain(fields[i])
			}
		}
		if !out(honest(where.row(fields), m, func() bool { return true })) {
			return errStop
		}
	}
}

// loose is a string, a number, or an object that has it as "#text", "name" or "uts".
type loose string

// UnmarshalJSON implements json.Unmarshaler.
func (t *loose) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var v struct {
			Text string `json:"#text"`
			Name string `json:"name"`
			UTS  loose  `json:"uts"`
		}
		err := json.Unmarshal(b, &v)
		*t = loose(v.Text)
		if v.Name != "" {
			*t = loose(v.Name)
		}
		if v.UTS != "" {
			*t = v.UTS
		}
		return err
	}
	*t = loose(bytes.Trim(b, `"`)) // a number
	if bytes.HasPrefix(b, []byte(`"`)) {
		return json.Unmarshal(b, (*string)(t))
	}
	if bytes.Equal(b, []byte("null")) {
		*t = ""
	}
	return nil
}

// lastFMShape has the names of lists of plays: in the API's pages and in what programs make of them.
var lastFMShape = shape{
	pages: []string{"recenttracks", "track", "scrobbles", "tracks"},
	bad:   words.New("import.row.play"),
}

// lastFMRow is a play.
type lastFMRow struct {
	Track  loose `json:"track"`
	Name   loose `json:"name"`
	Artist loose `json:"artist"`
	Album  loose `json:"album"`
	Date   loose `json:"date"`
}

func (r *lastFMRow) row() row {
	return scrobble(string(r.Artist), string(cmp.Or(r.Name, r.Track)), string(r.Album), string(r.Date))
}
