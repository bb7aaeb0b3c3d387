package navidrome

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience"
)

// The parts of both APIs that are used. Servers differ in details, such as an object instead of a list or a string
// instead of a number. The types at the end of this file accept both.

type envelope struct {
	Response *response `json:"subsonic-response"`
}

type response struct {
	endpoint string

	Status       string `json:"status"`
	Type         string `json:"type"`
	OpenSubsonic bool   `json:"openSubsonic"`
	Error        *struct {
		Code    text `json:"code"`
		Message text `json:"message"`
	} `json:"error"`

	Extensions list[struct {
		Name string `json:"name"`
	}] `json:"openSubsonicExtensions"`
	TokenInfo *struct {
		Username string `json:"username"`
	} `json:"tokenInfo"`
	User *struct {
		Username text `json:"username"`
	} `json:"user"`
	Playlists *struct {
		Playlist list[playlist] `json:"playlist"`
	} `json:"playlists"`
	Playlist *struct {
		playlist
		Entry list[song] `json:"entry"`
	} `json:"playlist"`
	SearchResult3 *struct {
		Song  list[song]  `json:"song"`
		Album list[album] `json:"album"`
	} `json:"searchResult3"`
	AlbumList2 *struct {
		Album list[album] `json:"album"`
	} `json:"albumList2"`
	Album *struct {
		Song list[song] `json:"song"`
	} `json:"album"`
	Starred2 *struct {
		Song list[song] `json:"song"`
	} `json:"starred2"`
	NowPlaying *struct {
		Entry list[playing] `json:"entry"`
	} `json:"nowPlaying"`
}

// describe copies code and message of a failure to e.
func (r *response) describe(e *resilience.AnswerError) {
	e.Server = r.name()
	if r.Error == nil {
		return
	}
	if r.Error.Code != "" {
		e.Code = string(r.Error.Code)
	}
	e.Message = resilience.Excerpt(string(r.Error.Message))
}

// name returns what the server calls itself; empty if it doesn't say.
func (r *response) name() string {
	if strings.EqualFold(r.Type, "navidrome") {
		return "Navidrome"
	}
	return library.Name(r.Type)
}

// lacks returns the error for a successful answer without the requested part.
func (r *response) lacks(part string) error {
	return &resilience.ContractError{Endpoint: r.endpoint, What: "no " + part}
}

type playlist struct {
	ID        text   `json:"id"`
	Name      text   `json:"name"`
	SongCount number `json:"songCount"`
	Changed   text   `json:"changed"`

	Owner    text    `json:"owner"`
	Readonly bool    `json:"readonly"` // OpenSubsonic; a smart playlist of the user's own, for example
	Created  instant `json:"created"`
}

type album struct {
	ID     text    `json:"id"`
	Name   text    `json:"name"`
	Title  text    `json:"title"` // the name at some servers
	Played instant `json:"played"`
}

// song is a track in the Subsonic API.
type song struct {
	ID            text       `json:"id"`
	Title         text       `json:"title"`
	Artist        text       `json:"artist"`
	DisplayArtist text       `json:"displayArtist"`
	Artists       credits    `json:"artists"` // of OpenSubsonic
	Album         text       `json:"album"`
	Duration      number     `json:"duration"` // seconds
	ISRC          list[text] `json:"isrc"`
	MusicBrainzID text       `json:"musicBrainzId"`
	Played        instant    `json:"played"`
	PlayCount     number     `json:"playCount"`
	Starred       instant    `json:"starred"`
	Type          text       `json:"type"` // music, podcast, audiobook or video; some servers leave it out
	IsVideo       bool       `json:"isVideo"`
}

// music reports whether the server takes it for music, or does not say.
func (s *song) music() bool {
	return !s.IsVideo && (s.Type == "" || strings.EqualFold(string(s.Type), "music"))
}

func (s *song) track() library.Track {
	t := library.Track{
		Title: string(s.Title), Artist: string(s.Artist), Artists: s.Artists, Album: string(s.Album),
		Duration: s.Duration.seconds(), RecordingMBID: string(s.MusicBrainzID), SourceID: string(s.ID),
	}
	if s.DisplayArtist != "" {
		t.Artist = string(s.DisplayArtist)
	}
	if len(s.ISRC) > 0 {
		t.ISRC = string(s.ISRC[0])
	}
	return t
}

// ownSong is a track in Navidrome's own API.
type ownSong struct {
	ID            text    `json:"id"`
	Title         text    `json:"title"`
	Artist        text    `json:"artist"`
	Album         text    `json:"album"`
	Duration      number  `json:"duration"` // seconds
	RecordingMBID text    `json:"mbzRecordingID"`
	PlayDate      instant `json:"playDate"`
	PlayCount     number  `json:"playCount"`
	Participants  struct {
		Artist credits `json:"artist"`
	} `json:"participants"`
	Tags struct {
		ISRC list[text] `json:"isrc"`
	} `json:"tags"`
}

func (s *ownSong) track() library.Track {
	t := library.Track{
		Title: string(s.Title), Artist: string(s.Artist), Artists: s.Participants.Artist, Album: string(s.Album),
		Duration: s.Duration.seconds(), RecordingMBID: string(s.RecordingMBID), SourceID: string(s.ID),
	}
	if len(s.Tags.ISRC) > 0 {
		t.ISRC = string(s.Tags.ISRC[0])
	}
	return t
}

func (s ownSong) broken() bool { return s.ID == "" }

// scrobble is one play in Navidrome's own API.
type scrobble struct {
	MediaFileID    text    `json:"mediaFileId"`
	SubmissionTime instant `json:"submissionTime"`
}

func (s scrobble) broken() bool { return s.MediaFileID == "" || s.SubmissionTime.IsZero() }

// text is a string that may be sent as a number.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	if c := b[0]; c == '-' || c >= '0' && c <= '9' {
		*t = text(b)
		return nil
	}
	return json.Unmarshal(b, (*string)(t))
}

// number is a number that may be sent as a string; the empty string is 0. Any other text breaks the contract.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	if b[0] != '"' {
		return json.Unmarshal(b, (*float64)(n))
	}
	s := strings.Trim(string(b), `" `)
	if s == "" {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return &json.UnmarshalTypeError{Value: "text that is no number", Type: reflect.TypeFor[float64]()}
	}
	*n = number(f)
	return nil
}

func (n number) seconds() time.Duration {
	return time.Duration(float64(n) * float64(time.Second)).Round(time.Millisecond)
}

// list is an array that may be sent as its only element, or be missing.
type list[T any] []T

func (l *list[T]) UnmarshalJSON(b []byte) error {
	switch {
	case b[0] == '[':
		return json.Unmarshal(b, (*[]T)(l))
	case bytes.Equal(b, []byte("null")), bytes.Equal(b, []byte(`""`)):
		return nil
	}
	*l = make(list[T], 1)
	return json.Unmarshal(b, &(*l)[0])
}

// credits are the artists of a song, one by one. A list in another form is none: the song has them as a text, too.
type credits []library.Credit

func (c *credits) UnmarshalJSON(b []byte) error {
	var all list[struct {
		Name text `json:"name"`
	}]
	if json.Unmarshal(b, &all) != nil {
		return nil
	}
	for _, a := range all {
		if a.Name != "" {
			*c = append(*c, library.Credit{Name: string(a.Name)})
		}
	}
	return nil
}

// instant is a point in time with millisecond precision, in UTC: RFC 3339, the same without a zone (then it is UTC),
// or seconds or milliseconds since 1970. Times before 1971, null and the empty string decode as the zero time, which
// means never. Anything else breaks the contract: read as never, it would look like the end of what was played.
type instant struct{ time.Time }

var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05"}

func (i *instant) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `" `)
	if s == "" || s == "null" {
		return nil
	}
	at, err := parseInstant(s)
	if err != nil {
		return &json.UnmarshalTypeError{Value: "value that is no time", Type: reflect.TypeFor[time.Time]()}
	}
	if at.Year() > 1970 {
		i.Time = at.UTC().Truncate(time.Millisecond)
	}
	return nil
}

func parseInstant(s string) (at time.Time, err error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if f < 1e11 { // seconds; in milliseconds this is the year 1973
			f *= 1000
		}
		return time.UnixMilli(int64(math.Round(f))), nil
	}
	for _, layout := range layouts {
		if at, err = time.Parse(layout, s); err == nil {
			break
		}
	}
	return at, err
}
