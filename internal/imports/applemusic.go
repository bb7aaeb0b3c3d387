package imports

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// appleMusic reads "Apple Music Play Activity.csv" of Apple's copy of a person's data. It has an event for each play,
// and others.
var appleMusic = format{
	what:     words.New("import.what.applemusic"),
	expected: words.New("import.expected.applemusic"),
	wants:    isTable("apple music play activity"),
	is: func(head string) bool {
		line := firstLine(head)
		return strings.Contains(line, "Event Start Timestamp") && strings.Contains(line, "Play Duration Milliseconds")
	},
	read: func(m *meter, _ Answers, out yield) error {
		names := [][]string{{"event_start_timestamp"}, {"song_name", "content_name"}, {"play_duration_milliseconds"},
			{"artist_name"}, {"container_artist_name"}, {"album_name", "container_album_name"},
			{"media_duration_in_milliseconds"}, {"event_type"}}
		return tableRows(m, out, headed(names, 3, func(get func(int) string) row {
			heard, _ := strconv.ParseFloat(get(2), 64)
			if kind := get(7); kind != "" && kind != "PLAY_END" && kind != "PLAY" || get(1) == "" ||
				heard < float64(minPlayed.Milliseconds()) {
				return row{skip: true}
			}
			at, err := time.Parse(time.RFC3339, get(0))
			if err != nil {
				return row{bad: unreadTime(get(0), likeRFC)}
			}
			length, _ := strconv.ParseFloat(get(6), 64)
			t := library.Track{Title: get(1), Artist: cmp.Or(get(3), get(4)), Album: get(5),
				Duration: lengthOf(length / 1000)}
			return play(library.Listen{Track: t, SourceID: exportID(at, t.Artist, t.Title), PlayedAt: at})
		}))
	},
}
