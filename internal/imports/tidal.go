package imports

import (
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// tidal reads streaming.csv of TIDAL's copy of a person's data, whose times are whole minutes.
var tidal = format{
	what:     words.New("import.what.tidal"),
	expected: words.New("import.expected.tidal"),
	wants:    isTable("streaming"),
	is: func(head string) bool {
		return strings.Contains(firstLine(head), "track_title") && strings.Contains(firstLine(head), "entry_date")
	},
	read: func(m *meter, _ Answers, out yield) error {
		names := [][]string{{"artist_name"}, {"track_title"}, {"entry_date"}, {"time_zone"}}
		return tableRows(m, out, headed(names, 3, func(get func(int) string) row {
			in := Answers{TimeZone: get(3)}.zone() // UTC for what is none
			at, err := time.ParseInLocation("02/01/2006 15:04", get(2), in)
			if err != nil {
				if at, err = time.ParseInLocation("2006-01-02 15:04:05", get(2), in); err != nil {
					return row{bad: unreadTime(get(2), likeSeconds)}
				}
			}
			return play(library.Listen{Track: library.Track{Artist: get(0), Title: get(1)},
				SourceID: exportID(at, get(0), get(1)), PlayedAt: at})
		}))
	},
}
