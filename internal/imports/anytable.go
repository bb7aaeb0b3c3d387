package imports

import (
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// anyTable reads any table whose columns have common names, or whose person has said what they hold.
var anyTable = format{
	what:     words.New("import.what.file"),
	expected: words.New("import.expected.file"),
	wants:    func(name string) bool { return ending(name, ".csv", ".tsv", ".txt") && !hidden(name) },
	is: func(head string) bool {
		return !strings.ContainsRune("{[<#", rune(head[0])) && strings.ContainsAny(firstLine(head), ",;\t")
	},
	asks: func(head string) Question {
		sample := sampleOf(head)
		c := guess(sample[0])
		switch {
		case c == nil:
			return AskColumns
		case sample.Slashed() && daysOf(head) == "":
			return AskDays
		case sample.Slashed():
			return AskTimeZone
		case len(sample) > 1 && local(cellOf(sample[1], c.Time-1)):
			return AskTimeZone
		}
		return NoQuestion
	},
	read: func(m *meter, a Answers, out yield) error {
		when := a.clock()
		return tableRows(m, out, func(cells []string) (func([]string) row, bool, error) {
			c, heading := guess(cells), true
			if c == nil && a.Columns == nil {
				return nil, false, errKind
			}
			if a.Columns != nil {
				c = a.Columns
				_, _, ok := when.moment(cellOf(cells, c.Time-1))
				heading = !ok
			}
			return func(cells []string) row { return c.row(cells, when) }, !heading, nil
		})
	},
}

// Guess returns the columns of a table as far as they can be seen by their names, or by what the second row has in
// them: the first time, and the first text for the title.
func (s Sample) Guess() *Columns {
	c := named(s[0])
	for i, cell := range s[min(1, len(s)-1)] {
		_, err := strconv.ParseFloat(cell, 64)
		_, _, isTime := moment(cell, time.UTC)
		isTime = isTime || slashed.MatchString(cell)
		switch {
		case isTime && c.Time == 0:
			c.Time = i + 1
		case !isTime && err != nil && c.Title == 0 && c.Artist != i+1 && c.Album != i+1:
			c.Title = i + 1
		}
	}
	return &c
}

// guess returns the columns of a table with this heading; nil if one is not known by its name.
func guess(heading []string) *Columns {
	if c := named(heading); c.Artist > 0 && c.Title > 0 && c.Time > 0 {
		return &c
	}
	return nil
}

func named(heading []string) Columns {
	return Columns{
		Artist: 1 + column(heading, "artist", "artist_name", "artists", "artist(s)", "interpret", "künstler"),
		Title:  1 + column(heading, "track", "title", "track_name", "name", "song", "song_name", "titel"),
		Album:  1 + column(heading, "album", "album_name", "release"),
		Time: 1 + column(heading, "uts", "timestamp", "played_at", "listened_at", "date_uts", "date", "utc_time",
			"time", "datum", "zeit"),
		Length: 1 + column(heading, "duration", "length", "seconds", "länge", "dauer"),
	}
}

func (c *Columns) row(cells []string, when clock) row {
	if max(c.Artist, c.Title, c.Time) > len(cells) {
		return row{bad: words.New("import.row.few_columns")}
	}
	at, exact, ok := when.moment(cellOf(cells, c.Time-1))
	if !ok {
		return row{bad: unreadTime(cellOf(cells, c.Time-1), likeSeconds)}
	}
	if !exact {
		at = at.Add(30 * time.Second)
	}
	t := library.Track{Artist: cellOf(cells, c.Artist-1), Title: cellOf(cells, c.Title-1),
		Album: cellOf(cells, c.Album-1), Duration: clockLength(cellOf(cells, c.Length-1))}
	if c.Artist == 0 {
		for _, dash := range []string{" - ", " – ", " — "} {
			if artist, title, ok := strings.Cut(t.Title, dash); ok {
				t.Artist, t.Title = artist, title
				break
			}
		}
	}
	return play(library.Listen{Track: t, SourceID: exportID(at, t.Artist, t.Title), PlayedAt: at})
}

// clockLength reads a length in seconds, or as minutes:seconds or hours:minutes:seconds; zero for anything else.
func clockLength(text string) time.Duration {
	total := 0.0
	for part := range strings.SplitSeq(text, ":") {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil || n < 0 {
			return 0
		}
		total = total*60 + n
	}
	return lengthOf(total)
}

// The size of a sample. A cell has some 60 letters.
const (
	sampleRows  = 6
	sampleCells = 30
	sampleCell  = 60
)

// sampleOf returns the first rows of a table that begins with head; one empty row for none.
func sampleOf(head string) Sample { return firstRows(head, sampleRows) }

func firstRows(head string, most int) Sample {
	in := csv.NewReader(strings.NewReader(head))
	in.LazyQuotes, in.FieldsPerRecord, in.Comma = true, -1, separatorOf([]byte(head))
	var s Sample
	for len(s) < most {
		cells, err := in.Read()
		if err != nil {
			break
		}
		cells = cells[:min(len(cells), sampleCells)]
		for i, c := range cells {
			cells[i] = clipped(strings.Trim(c, "\ufeff"))
		}
		s = append(s, cells)
	}
	if s == nil {
		s = Sample{{}}
	}
	return s
}
