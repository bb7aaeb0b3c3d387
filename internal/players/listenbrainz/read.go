package listenbrainz

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"reprise/internal/bounded"
	"reprise/internal/library"
	"reprise/internal/players"
)

// Submission is what a program has submitted.
type Submission struct {
	Plays []players.Play // at least one
	Now   bool           // it is playing now
}

type submission struct {
	Type    string            `json:"listen_type"`
	Payload []json.RawMessage `json:"payload"`
}

type listen struct {
	ListenedAt number `json:"listened_at"`
	Metadata   struct {
		Title  text `json:"track_name"`
		Artist text `json:"artist_name"`
		Album  text `json:"release_name"`
		Info   struct {
			DurationMS    number `json:"duration_ms"`
			Duration      number `json:"duration"`
			RecordingMBID text   `json:"recording_mbid"`
			ISRC          text   `json:"isrc"`
			Player        text   `json:"media_player"`
			Client        text   `json:"submission_client"`
			Account       text   `json:"reprise_account"` // ours; see library.ForwardingAccount
			Artists       names  `json:"artist_names"`
			ArtistMBIDs   names  `json:"artist_mbids"`
		} `json:"additional_info"`
	} `json:"track_metadata"`
}

// text is a string; null and anything else count as none, since nothing is lost without it.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(strings.TrimSpace(s))
	}
	return nil
}

// number is a number, also one that is written as a string; 0 for anything else.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `" `), 64)
	if err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
		*n = number(f)
	}
	return nil
}

// names is a list of strings; anything else counts as none.
type names []string

func (n *names) UnmarshalJSON(b []byte) error {
	var all []string
	if json.Unmarshal(b, &all) == nil {
		*n = all
	}
	return nil
}

func unread(detail string) error { return &players.Refused{Why: players.Unread, Detail: detail} }

// Read reads the body of a submission. One listen that can never be a play refuses them all, as at ListenBrainz.
func Read(body []byte, now time.Time) (s Submission, err error) {
	if err := bounded.JSON(body, bodies); err != nil {
		return s, &players.Refused{Why: players.TooLarge, Detail: err.Error()}
	}
	if bytes.Contains(body, []byte(`\u0000`)) {
		return s, unread("It has a NUL character.")
	}
	var in submission
	if err := json.Unmarshal(body, &in); err != nil {
		return s, unread("It is not the JSON of a submission.")
	}
	if in.Type == "" { // Koito takes it so, too
		in.Type = "single"
	}
	s.Now = in.Type == "playing_now"
	switch {
	case !s.Now && in.Type != "single" && in.Type != "import":
		return s, unread("listen_type is none of single, playing_now and import.")
	case len(in.Payload) == 0:
		return s, unread("The payload is empty.")
	case in.Type != "import" && len(in.Payload) > 1:
		return s, unread("The payload of " + in.Type + " has more than one listen.")
	case len(in.Payload) > mostListens:
		return s, &players.Refused{Why: players.TooLarge, Detail: "There are more than 1000 listens."}
	case len(body) > bytesEach*len(in.Payload):
		return s, &players.Refused{Why: players.TooLarge, Detail: "A listen has more than 10240 bytes."}
	}
	for _, raw := range in.Payload {
		var l listen
		if err := json.Unmarshal(raw, &l); err != nil {
			return s, unread("A listen of the payload is not an object with track_metadata.")
		}
		play := l.play()
		if s.Now {
			play.At = now
		}
		if err := play.Check(now); err != nil {
			return s, err
		}
		s.Plays = append(s.Plays, play)
	}
	return s, nil
}

// milliseconds is what a time in seconds never reaches: some programs send milliseconds.
const milliseconds = 1e11

// longest is the longest track that ListenBrainz takes.
const longest = 24 * 24 * time.Hour

// length returns how long a track is. supysonic writes seconds where milliseconds belong: no track is under a second.
func (l *listen) length() time.Duration {
	i := &l.Metadata.Info
	length := time.Duration(float64(i.DurationMS) * float64(time.Millisecond))
	if i.DurationMS > 0 && length < time.Second {
		length *= 1000
	}
	if length <= 0 {
		length = time.Duration(float64(i.Duration) * float64(time.Second)).Truncate(time.Millisecond)
	}
	if length < 0 || length > longest {
		return 0
	}
	return length
}

func (l *listen) play() players.Play {
	m := &l.Metadata
	t := library.Track{Title: string(m.Title), Artist: string(m.Artist), Album: string(m.Album), Duration: l.length(),
		ISRC: string(m.Info.ISRC), RecordingMBID: string(m.Info.RecordingMBID)}
	var found []library.Credit
	for i, name := range m.Info.Artists {
		c := library.Credit{Name: name}
		if len(m.Info.ArtistMBIDs) == len(m.Info.Artists) {
			c.MBID = m.Info.ArtistMBIDs[i]
		}
		found = append(found, c)
	}
	t.Artists = library.Listed(t.Artist, found)
	at := time.Time{}
	if l.ListenedAt > milliseconds {
		l.ListenedAt /= 1000
	}
	if l.ListenedAt > 0 && l.ListenedAt < math.MaxInt32*10 {
		at = time.Unix(int64(l.ListenedAt), 0).UTC()
	}
	return players.Play{Track: t, At: at, Player: players.PlayerName(string(m.Info.Player), string(m.Info.Client)),
		Origin: players.Origin{Program: string(m.Info.Client), Account: string(m.Info.Account)}}
}
