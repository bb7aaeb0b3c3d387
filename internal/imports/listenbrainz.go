package imports

import (
	"cmp"
	"encoding/json"
	"path"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/words"
)

// listenBrainz reads the export of ListenBrainz' settings page, a ZIP file with files such as listens/2026/11.jsonl,
// and listens in the form of its API, as a JSON list or one per line.
var listenBrainz = format{
	what:     words.New("import.what.listenbrainz"),
	expected: words.New("import.expected.listenbrainz"),
	wants: func(name string) bool {
		base := strings.ToLower(path.Base(name))
		other := base == "user.json" || base == "feedback.jsonl" || base == "pinned_recording.jsonl"
		return ending(name, ".jsonl", ".json", ".listens") && !hidden(name) && !other
	},
	is: func(head string) bool {
		return strings.Contains(head, `"track_metadata"`) && strings.Contains(head, `"listened_at"`)
	},
	read: func(m *meter, _ Answers, out yield) error {
		c, err := m.begins()
		if err != nil || c != '[' && c != '{' {
			return cmp.Or(err, errKind)
		}
		sh := shape{pages: []string{"payload", "listens"}, lines: c == '{', bad: words.New("import.row.listen")}
		return jsonRows(m, sh, (*listenBrainzRow).row, out)
	},
}

// listenBrainzRow is a listen.
type listenBrainzRow struct {
	ListenedAt json.Number `json:"listened_at"` // seconds, sometimes with a fraction of zeros
	MSID       string      `json:"recording_msid"`
	Metadata   struct {
		Artist  string `json:"artist_name"`
		Title   string `json:"track_name"`
		Album   string `json:"release_name"`
		MSID    string `json:"recording_msid"`
		Mapping struct {
			RecordingMBID string `json:"recording_mbid"`
			Artists       []struct {
				Name string `json:"artist_credit_name"`
				MBID string `json:"artist_mbid"`
			} `json:"artists"`
		} `json:"mbid_mapping"`
		Info struct { // as the submitting program wrote it
			DurationMS any `json:"duration_ms"`
			Duration   any `json:"duration"` // seconds
			ISRC       any `json:"isrc"`
			MBID       any `json:"recording_mbid"`
			MSID       any `json:"recording_msid"`
			Player     any `json:"media_player"`
			Client     any `json:"submission_client"`
		} `json:"additional_info"`
	} `json:"track_metadata"`
}

func (r *listenBrainzRow) row() row {
	at, err := r.ListenedAt.Float64()
	if err != nil || at <= 0 {
		return row{bad: words.New("import.row.no_time")}
	}
	seconds := int64(at)
	m := &r.Metadata
	text := func(v any) string { s, _ := v.(string); return s }
	msid := cmp.Or(r.MSID, m.MSID, text(m.Info.MSID))
	length := amount(m.Info.DurationMS) * float64(time.Millisecond)
	if length <= 0 {
		length = amount(m.Info.Duration) * float64(time.Second)
	}
	if length < 0 || length > float64(24*time.Hour) {
		length = 0
	}
	id := strconv.FormatInt(seconds, 10) + ":" + msid // as the adapter builds it from the API
	if msid == "" {
		id = library.FromExport + "listens:" + id + library.NameHash(m.Artist, m.Title)
	}
	var artists []library.Credit
	for _, a := range m.Mapping.Artists {
		artists = append(artists, library.Credit{Name: a.Name, MBID: a.MBID})
	}
	return play(library.Listen{
		Track: library.Track{
			Title:         m.Title,
			Artist:        m.Artist,
			Artists:       library.Listed(m.Artist, artists),
			Album:         m.Album,
			Duration:      time.Duration(length).Truncate(time.Millisecond),
			ISRC:          text(m.Info.ISRC),
			RecordingMBID: cmp.Or(m.Mapping.RecordingMBID, text(m.Info.MBID)),
			SourceID:      msid,
		},
		SourceID: id,
		PlayedAt: time.Unix(seconds, 0),
		Player:   library.PlayedWith(text(m.Info.Player), text(m.Info.Client)),
	})
}

// amount returns a number that may be written as a string; 0 for anything else.
func amount(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case string:
		n, _ := strconv.ParseFloat(v, 64)
		return n
	}
	return 0
}
