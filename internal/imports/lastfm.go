package imports

import (
	"bytes"
	"cmp"
	"encoding/json"
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
	what:     words.New("import.what.lastfm"),
	expected: words.New("import.expected.lastfm"),
	wants:    func(name string) bool { return ending(name, ".csv", ".json", ".jsonl") && !hidden(name) },
	is:       lastFMHead,
	read: func(m *meter, _ Answers, out yield) error {
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
	at, exact, ok := moment(when, time.UTC)
	if !ok {
		return row{bad: unreadTime(when, likeSeconds)}
	}
	id := strconv.FormatInt(at.Unix(), 10) + ":" + library.NameHash(artist, title)
	if !exact {
		id = library.FromExport + "minutes:" + id
		at = at.Add(30 * time.Second)
	}
	track := library.Track{Title: title, Artist: artist, Album: album}
	return play(library.Listen{Track: track, SourceID: id, PlayedAt: at})
}

// exactLayouts and minuteLayouts are the forms of times, to the second and to the minute.
var (
	exactLayouts = []string{
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "02 Jan 2006 15:04:05",
		"02 Jan 2006, 15:04:05",
		"02.01.2006 15:04:05", "2006/01/02 15:04:05",
	}
	minuteLayouts = []string{"02 Jan 2006 15:04", "02 Jan 2006, 15:04", "2006-01-02 15:04", "2006-01-02T15:04",
		"02.01.2006 15:04", "2006/01/02 15:04"}
)

// moment reads a time, which is in a zone if it names none. exact is false for one to the minute.
func moment(text string, in *time.Location) (at time.Time, exact, ok bool) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n > 100_000_000_000 { // milliseconds
			n /= 1000
		}
		return time.Unix(n, 0).UTC(), true, true
	}
	for _, layout := range exactLayouts {
		if at, err := time.ParseInLocation(layout, text, in); err == nil {
			return at, true, true
		}
	}
	for _, layout := range minuteLayouts {
		if at, err := time.ParseInLocation(layout, text, in); err == nil {
			return at, false, true
		}
	}
	return time.Time{}, false, false
}

// local reports whether a text is a time that names no zone.
func local(text string) bool {
	here, _, ok := moment(text, time.UTC)
	there, _, _ := moment(text, time.FixedZone("", 3600))
	return ok && !here.Equal(there)
}

// unnamed are the columns of a table without a heading.
var unnamed = Columns{Artist: 1, Album: 2, Title: 3, Time: 4}

func lastFMTable(m *meter, out yield) error {
	return tableRows(m, out, func(cells []string) (func([]string) row, bool, error) {
		if len(cells) < 3 {
			return nil, false, errKind
		}
		where, heading := unnamed, false
		if named := guess(cells); named != nil {
			where, heading = *named, true
		}
		escaped := strings.Join(cells, ",") == exports.LastFMHeading
		return func(cells []string) row {
			if escaped {
				for i := range cells {
					cells[i] = exports.Plain(cells[i])
				}
			}
			if max(where.Artist, where.Title, where.Time) > len(cells) {
				return row{bad: words.New("import.row.few_columns")}
			}
			raw := func(n int) string { // names are as they are, with their spaces
				if n == 0 || n > len(cells) {
					return ""
				}
				return strings.Clone(cells[n-1])
			}
			return scrobble(raw(where.Artist), raw(where.Title), raw(where.Album), cellOf(cells, where.Time-1))
		}, !heading, nil
	})
}

// lastFMHead reports whether a file begins like one of a program that exports from Last.fm.
func lastFMHead(head string) bool {
	if head[0] == '[' || head[0] == '{' {
		return strings.Contains(head, `"artist"`) && (strings.Contains(head, `"uts"`) ||
			strings.Contains(head, `"#text"`) || strings.Contains(head, `"date"`))
	}
	sample := sampleOf(head)
	if guess(sample[0]) != nil {
		line := strings.ToLower(firstLine(head))
		return strings.Contains(line, "uts") || strings.Contains(line, "date#")
	}
	_, err := time.Parse("02 Jan 2006 15:04", cellOf(sample[0], unnamed.Time-1))
	return err == nil && len(sample[0]) == 4
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
