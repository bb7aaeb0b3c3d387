package imports

import (
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// koito reads Koito's export.
var koito = format{
	what:     words.New("import.what.koito"),
	expected: words.New("import.expected.koito"),
	wants:    isJSON,
	is: func(head string) bool {
		return strings.Contains(head, `"listens"`) && strings.Contains(head, `"aliases"`)
	},
	read: func(m *meter, _ Answers, out yield) error {
		return jsonRows(m, shape{pages: []string{"listens"}, bad: words.New("import.row.listen")}, (*koitoRow).row, out)
	},
}

// aliases are the names that Koito knows for something.
type aliases []struct {
	Alias   string `json:"alias"`
	Primary bool   `json:"is_primary"`
}

func (a aliases) name() (name string) {
	for _, v := range a {
		if v.Primary || name == "" {
			name = v.Alias
		}
		if v.Primary {
			break
		}
	}
	return name
}

type koitoRow struct {
	At    time.Time `json:"listened_at"`
	Track struct {
		MBID     string  `json:"mbid"`
		Duration float64 `json:"duration"` // seconds
		Aliases  aliases `json:"aliases"`
	} `json:"track"`
	Album struct {
		Aliases aliases `json:"aliases"`
	} `json:"album"`
	Artists []struct {
		MBID    string  `json:"mbid"`
		Aliases aliases `json:"aliases"`
	} `json:"artists"`
	Client string `json:"client"`
}

func (r *koitoRow) row() row {
	names := make([]string, len(r.Artists))
	for i, a := range r.Artists {
		names[i] = a.Aliases.name()
	}
	l := library.Listen{Track: library.Track{Title: r.Track.Aliases.name(), Album: r.Album.Aliases.name(),
		Duration: lengthOf(r.Track.Duration), RecordingMBID: r.Track.MBID},
		PlayedAt: r.At, Player: library.PlayedWith("", r.Client)}
	l.Artist, l.Artists = library.Credited(names)
	for i := range l.Artists {
		for _, a := range r.Artists {
			if a.Aliases.name() == l.Artists[i].Name {
				l.Artists[i].MBID = a.MBID
			}
		}
	}
	l.SourceID = exportID(l.PlayedAt, l.Artist, l.Title)
	return play(l)
}
