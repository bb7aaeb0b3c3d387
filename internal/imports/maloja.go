package imports

import (
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// maloja reads Maloja's export. A play has the SourceID that the adapter gives it, as it is one in a second there.
var maloja = format{
	what:     words.New("import.what.maloja"),
	expected: words.New("import.expected.maloja"),
	wants:    isJSON,
	is: func(head string) bool {
		return strings.Contains(head, `"scrobbles"`) && strings.Contains(head, `"artists"`) &&
			(strings.Contains(head, `"maloja"`) || strings.Contains(head, `"origin"`))
	},
	read: func(m *meter, _ Answers, out yield) error {
		sh := shape{pages: []string{"scrobbles"}, bad: words.New("import.row.listen")}
		return jsonRows(m, sh, (*malojaRow).row, out)
	},
}

type malojaRow struct {
	Time  int64 `json:"time"`
	Track struct {
		Artists []string `json:"artists"`
		Title   string   `json:"title"`
		Album   *struct {
			Title string `json:"albumtitle"`
		} `json:"album"`
		Length float64 `json:"length"`
	} `json:"track"`
	Origin string `json:"origin"`
}

func (r *malojaRow) row() row {
	l := library.Listen{Track: library.Track{Title: r.Track.Title, Duration: lengthOf(r.Track.Length)},
		SourceID: strconv.FormatInt(r.Time, 10), PlayedAt: time.Unix(r.Time, 0)}
	if client, ok := strings.CutPrefix(r.Origin, "client:"); ok {
		l.Player = library.PlayedWith("", client)
	}
	l.Artist, l.Artists = library.Credited(r.Track.Artists)
	if r.Track.Album != nil {
		l.Album = r.Track.Album.Title
	}
	return play(l)
}
