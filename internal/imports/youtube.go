package imports

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// youTube reads watch-history.json and watch-history.html of Google Takeout, which have YouTube and YouTube Music.
var youTube = format{
	what:     words.New("import.what.youtube"),
	expected: words.New("import.expected.youtube"),
	wants: func(name string) bool {
		page := ending(name, ".html") && strings.Contains(strings.ToLower(name), "youtube")
		return (isJSON(name) || page) && !strings.Contains(path.Base(name), "search-history") && !hidden(name)
	},
	is: func(head string) bool {
		return takeoutPage(head) || strings.Contains(head, `"titleUrl"`) && strings.Contains(head, `"header"`)
	},
	asks: func(string) Question { return AskVideos },
	read: func(m *meter, a Answers, out yield) error {
		first, err := m.begins()
		if err != nil {
			return err
		}
		if first == '<' {
			return takeoutRows(m, a.zone(), a.Videos == AllVideos, out)
		}
		each := func(r *youTubeRow) row { return r.row(a.Videos == AllVideos) }
		return jsonRows(m, shape{bad: words.New("import.row.play")}, each, out)
	},
}

type youTubeRow struct {
	Header   string `json:"header"`
	Title    string `json:"title"`
	TitleURL string `json:"titleUrl"`
	Channels []struct {
		Name string `json:"name"`
	} `json:"subtitles"`
	Details []struct {
		Name string `json:"name"`
	} `json:"details"`
	Time time.Time `json:"time"`
}

// watched are what Google writes around a title, by language.
var watched = []struct{ before, after string }{{"Watched ", ""}, {"Vous avez regardé ", ""}, {"Has visto ", ""},
	{"Hai guardato ", ""}, {"Assistiu a ", ""}, {"", " angesehen"}, {"", " bekeken"}}

// topic ends the names of channels that YouTube makes of an artist's music.
const topic = " - Topic"

func (r *youTubeRow) row(all bool) row {
	if len(r.Channels) == 0 || len(r.Details) > 0 || r.Title == r.TitleURL { // gone, or an advertisement
		return row{skip: true}
	}
	artist, music := strings.CutSuffix(r.Channels[0].Name, topic)
	music = music || r.Header == "YouTube Music"
	if !music && !all {
		return row{skip: true}
	}
	title := r.Title
	for _, w := range watched {
		if rest, ok := strings.CutPrefix(title, w.before); ok && strings.HasSuffix(rest, w.after) {
			title = strings.TrimSuffix(rest, w.after)
			break
		}
	}
	if before, after, ok := strings.Cut(title, " - "); ok && !music {
		artist, title = before, after
	}
	id := ""
	if u, err := url.Parse(r.TitleURL); err == nil {
		id = u.Query().Get("v")
	}
	return play(library.Listen{Track: library.Track{Title: title, Artist: artist, SourceID: id}, PlayedAt: r.Time,
		SourceID: fmt.Sprintf("%s%d:%s", library.FromTakeout, r.Time.UnixMilli(),
			cmp.Or(id, library.NameHash(artist, title)))})
}
