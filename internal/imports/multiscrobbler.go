package imports

import (
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// multiScrobbler reads plays as multi-scrobbler writes them.
var multiScrobbler = format{
	what:     words.New("import.what.multiscrobbler"),
	expected: words.New("import.expected.multiscrobbler"),
	wants:    isJSON,
	is:       func(head string) bool { return strings.Contains(head, `"playDate"`) },
	read: func(m *meter, _ Answers, out yield) error {
		c, err := m.begins()
		if err != nil {
			return err
		}
		sh := shape{pages: []string{"plays"}, lines: c == '{', bad: words.New("import.row.play")}
		return jsonRows(m, sh, (*multiScrobblerRow).row, out)
	},
}

type multiScrobblerPlay struct {
	Data struct {
		Track    string    `json:"track"`
		Artists  []string  `json:"artists"`
		Album    string    `json:"album"`
		Duration float64   `json:"duration"` // seconds
		PlayDate time.Time `json:"playDate"`
		ISRC     string    `json:"isrc"`
	} `json:"data"`
	Meta struct {
		Player string `json:"mediaPlayerName"`
	} `json:"meta"`
}

type multiScrobblerRow struct {
	multiScrobblerPlay
	Play *multiScrobblerPlay `json:"play"` // of a scrobble that waits
}

func (r *multiScrobblerRow) row() row {
	p := &r.multiScrobblerPlay
	if r.Play != nil {
		p = r.Play
	}
	l := library.Listen{Track: library.Track{Title: p.Data.Track, Album: p.Data.Album, ISRC: p.Data.ISRC,
		Duration: lengthOf(p.Data.Duration)}, PlayedAt: p.Data.PlayDate, Player: library.PlayedWith(p.Meta.Player, "")}
	l.Artist, l.Artists = library.Credited(p.Data.Artists)
	l.SourceID = exportID(l.PlayedAt, l.Artist, l.Title)
	return play(l)
}
