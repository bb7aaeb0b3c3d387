package imports

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// spotify reads the "extended streaming history" and the shorter "streaming history" of the account data. For their
// columns see https://support.spotify.com/article/understanding-my-data/.
var spotify = format{
	what:     words.New("import.what.spotify"),
	expected: words.New("import.expected.spotify"),
	wants: func(name string) bool {
		base := strings.ToLower(path.Base(name))
		begins := func(prefix string) bool { return strings.HasPrefix(base, prefix) }
		history := begins("streaming_history_") || begins("streaminghistory") || begins("endsong")
		return ending(name, ".json") && !hidden(name) && history
	},
	is: func(head string) bool {
		return strings.Contains(head, `"ms_played"`) || strings.Contains(head, `"msPlayed"`)
	},
	read: func(m *meter, _ Answers, out yield) error {
		if c, err := m.begins(); err != nil || c != '[' {
			return cmp.Or(err, errKind)
		}
		return jsonRows(m, shape{bad: words.New("import.row.play")}, (*spotifyRow).row, out)
	},
}

// spotifyRow is a row of either history.
type spotifyRow struct {
	EndedAt   string `json:"ts"`
	MS        int64  `json:"ms_played"`
	Track     string `json:"master_metadata_track_name"`
	Artist    string `json:"master_metadata_album_artist_name"`
	Album     string `json:"master_metadata_album_album_name"`
	URI       string `json:"spotify_track_uri"`
	ReasonEnd string `json:"reason_end"`
	Platform  string `json:"platform"`
	Episode   string `json:"spotify_episode_uri"`
	Chapter   string `json:"audiobook_chapter_uri"`

	EndTime     string `json:"endTime"`
	ArtistName  string `json:"artistName"`
	TrackName   string `json:"trackName"`
	PodcastName string `json:"podcastName"`
	MSPlayed    int64  `json:"msPlayed"`
}

func (r *spotifyRow) row() row {
	switch {
	case r.EndedAt != "":
		return r.extended()
	case r.EndTime != "":
		return r.short()
	}
	return row{bad: words.New("import.row.no_time")}
}

// extended reads a row of the extended history. Its time is the end of the play, that of a listen is the start.
func (r *spotifyRow) extended() row {
	end, err := time.Parse(time.RFC3339, r.EndedAt)
	if err != nil {
		return row{bad: unreadTime(r.EndedAt, likeRFC)}
	}
	heard := time.Duration(r.MS) * time.Millisecond
	if spoken := r.URI == "" && r.Episode+r.Chapter != ""; spoken || r.Track == "" || heard < minPlayed {
		return row{skip: true}
	}
	id, _ := strings.CutPrefix(r.URI, "spotify:track:")
	if id == "" {
		id = library.NameHash(r.Artist, r.Track)
	}
	l := library.Listen{
		Track:    library.Track{Title: r.Track, Artist: r.Artist, Album: r.Album, SourceID: id},
		SourceID: fmt.Sprintf("%sextended:%d:%s", library.FromExport, end.Unix(), id),
		PlayedAt: end.Add(-heard),
		Player:   spotifyPlayer(r.Platform),
	}
	if r.ReasonEnd == "trackdone" { // played to its end, so that heard is its length
		l.Duration = heard
	}
	return play(l)
}

// platforms are the beginnings of Spotify's platforms in lower case, such as "Android OS 9 API 28 (HUAWEI, VOG-L29)",
// with their names. Older files write them in another way than later ones.
var platforms = []struct{ begins, name string }{
	{"android", "Android"}, {"ios", "iOS"}, {"os x", "macOS"}, {"osx", "macOS"}, {"macos", "macOS"},
	{"windows", "Windows"}, {"linux", "Linux"}, {"web_player", "web"}, {"webplayer", "web"}, {"not_applicable", ""},
	{"unknown", ""},
}

// spotifyPlayer returns the player of a play: Spotify with the platform, without its version and the device's model.
func spotifyPlayer(platform string) string {
	name := platform
	if i := strings.IndexAny(name, "([;"); i >= 0 {
		name = name[:i]
	}
	name = strings.TrimSpace(name)
	for _, p := range platforms {
		if strings.HasPrefix(strings.ToLower(name), p.begins) {
			name = p.name
			break
		}
	}
	if name == "" {
		return ""
	}
	return "Spotify (" + library.Player(name) + ")"
}

// short reads a row of the short history. Its time is the minute in which the play ended, in UTC.
func (r *spotifyRow) short() row {
	end, err := time.Parse("2006-01-02 15:04", r.EndTime)
	if err != nil {
		return row{bad: unreadTime(r.EndTime, likeMinutes)}
	}
	heard := time.Duration(r.MSPlayed) * time.Millisecond
	if r.PodcastName != "" || r.TrackName == "" || heard < minPlayed {
		return row{skip: true}
	}
	began := end.Add(30*time.Second - heard) // from the middle of that minute
	id := library.NameHash(r.ArtistName, r.TrackName)
	return play(library.Listen{
		Track:    library.Track{Title: r.TrackName, Artist: r.ArtistName},
		SourceID: fmt.Sprintf("%sshort:%d:%s", library.FromExport, began.Unix(), id),
		PlayedAt: began,
	})
}
