package imports

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// exportID returns the SourceID of a play that its service gives none.
func exportID(at time.Time, artist, title string) string {
	return library.FromExport + "plays:" + strconv.FormatInt(at.Unix(), 10) + ":" + library.NameHash(artist, title)
}

// isTable returns a wants of tables whose names contain one of these words.
func isTable(parts ...string) func(string) bool {
	return func(name string) bool {
		base := strings.ToLower(path.Base(name))
		for _, part := range parts {
			if strings.Contains(base, part) && ending(name, ".csv") && !hidden(name) {
				return true
			}
		}
		return false
	}
}

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
				return row{bad: words.New("import.row.unread_time")}
			}
			length, _ := strconv.ParseFloat(get(6), 64)
			t := library.Track{Title: get(1), Artist: cmp.Or(get(3), get(4)), Album: get(5),
				Duration: lengthOf(length / 1000)}
			return play(library.Listen{Track: t, SourceID: exportID(at, t.Artist, t.Title), PlayedAt: at})
		}))
	},
}

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
					return row{bad: words.New("import.row.unread_time")}
				}
			}
			return play(library.Listen{Track: library.Track{Artist: get(0), Title: get(1)},
				SourceID: exportID(at, get(0), get(1)), PlayedAt: at})
		}))
	},
}

// deezer reads the listening history in the workbook of Deezer's copy of a person's data. Its times are UTC.
var deezer = format{
	what:     words.New("import.what.deezer"),
	expected: words.New("import.expected.deezer"),
	wants:    isTable("listeninghistory"),
	is: func(head string) bool {
		return strings.Contains(firstLine(head), "Song Title") && strings.Contains(firstLine(head), "Listening Time")
	},
	read: func(m *meter, _ Answers, out yield) error {
		names := [][]string{{"song_title"}, {"artist"}, {"listening_time"}, {"date"}, {"album_title"}, {"isrc"},
			{"platform_name"}}
		return tableRows(m, out, headed(names, 4, func(get func(int) string) row {
			if heard, _ := strconv.ParseFloat(get(2), 64); heard < minPlayed.Seconds() {
				return row{skip: true}
			}
			at, _, ok := workbookMoment(get(3))
			if !ok {
				return row{bad: words.New("import.row.unread_time")}
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

// rockbox reads the .scrobbler.log of Rockbox and other portable players, see https://www.audioscrobbler.net/wiki/
// Portable_Player_Logging. Most players know no time zone.
var rockbox = format{
	what:     words.New("import.what.rockbox"),
	expected: words.New("import.expected.rockbox"),
	wants:    func(name string) bool { return ending(name, ".log") && !strings.Contains(name, "__MACOSX/") },
	is:       func(head string) bool { return strings.HasPrefix(head, "#AUDIOSCROBBLER/") },
	asks: func(head string) Question {
		if strings.Contains(head, "#TZ/UTC") {
			return NoQuestion
		}
		return AskTimeZone
	},
	read: func(m *meter, a Answers, out yield) error {
		where, player := a.zone(), ""
		return linesOf(m, func(line string) bool {
			if rest, ok := strings.CutPrefix(line, "#TZ/"); ok && strings.TrimSpace(rest) == "UTC" {
				where = time.UTC
			}
			if rest, ok := strings.CutPrefix(line, "#CLIENT/"); ok {
				rest, _, _ = strings.Cut(rest, " $") // the revision
				player = library.Player(strings.TrimSpace(rest))
			}
			if line == "" || strings.HasPrefix(line, "#") {
				return true
			}
			cells := strings.Split(line, "\t")
			if len(cells) < 7 || len(cells) > maxFields {
				return out(row{bad: words.New("import.row.few_columns")})
			}
			if cells[5] == "S" { // skipped
				return out(row{skip: true})
			}
			n, err := strconv.ParseInt(cells[6], 10, 64)
			if err != nil || n <= 0 {
				return out(row{bad: words.New("import.row.unread_time")})
			}
			// The number is the player's own clock, taken for UTC.
			clock := time.Unix(n, 0).UTC()
			year, month, day := clock.Date()
			at := time.Date(year, month, day, clock.Hour(), clock.Minute(), clock.Second(), 0, where)
			seconds, _ := strconv.ParseFloat(cells[4], 64)
			t := library.Track{Artist: cells[0], Album: cells[1], Title: cells[2], Duration: lengthOf(seconds),
				RecordingMBID: cellOf(cells, 7)}
			return out(honest(play(library.Listen{Track: t, SourceID: exportID(clock, t.Artist, t.Title), PlayedAt: at,
				Player: player}), m, func() bool { return true }))
		})
	},
}

// lengthOf returns a track's length; zero for an impossible one.
func lengthOf(seconds float64) time.Duration {
	if seconds <= 0 || seconds > maxPlayed.Seconds() {
		return 0
	}
	return time.Duration(seconds * float64(time.Second)).Truncate(time.Millisecond)
}

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

// youTube reads watch-history.json of Google Takeout, which has YouTube and YouTube Music.
var youTube = format{
	what:     words.New("import.what.youtube"),
	expected: words.New("import.expected.youtube"),
	wants:    func(name string) bool { return isJSON(name) && !strings.Contains(path.Base(name), "search-history") },
	is: func(head string) bool {
		return strings.Contains(head, `"titleUrl"`) && strings.Contains(head, `"header"`)
	},
	asks: func(string) Question { return AskVideos },
	read: func(m *meter, a Answers, out yield) error {
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
		SourceID: fmt.Sprintf("%stakeout:%d:%s", library.FromExport, r.Time.UnixMilli(),
			cmp.Or(id, library.NameHash(artist, title)))})
}
