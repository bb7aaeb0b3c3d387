package imports

import (
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// deezer reads the listening history in the workbook of Deezer's copy of a person's data. Its times are UTC.
var deezer = format{
	what:     words.New("import.what.deezer"),
	expected: words.New("import.expected.deezer"),
	wants:    isTable("listeninghistory"),
	is: func(head string) bool {
		return strings.Contains(firstLine(head), "Song Title") && strings.Contains(firstLine(head), "Listening Time")
	},
	read: func(m *meter, _ Answers, out yield) error {
		names := [][]string{{"song_title"}, {"artist"}, {"listening_time"}, {"date"}, {"album_title"}, {"isrc"}}
		return tableRows(m, out, headed(names, 4, func(get func(int) string) row {
			if heard, _ := strconv.ParseFloat(get(2), 64); heard < minPlayed.Seconds() {
				return row{skip: true}
			}
			at, _, ok := workbookMoment(get(3))
			if !ok {
				return row{bad: unreadTime(get(3), likeSeconds)}
			}
			return play(library.Listen{Track: library.Track{Title: get(0), Artist: get(1), Album: get(4), ISRC: get(5)},
				SourceID: exportID(at, get(1), get(0)), PlayedAt: at})
		}))
	},
}

// workbookMoment reads a time in UTC, which a workbook may have as a number of days since 30 December 1899.
func workbookMoment(text string) (at time.Time, exact, ok bool) {
	if days, err := strconv.ParseFloat(text, 64); err == nil && days > 20_000 && days < 80_000 {
		begin := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
		return begin.Add(time.Duration(days*24*3600) * time.Second), true, true
	}
	return moment(text, time.UTC)
}
