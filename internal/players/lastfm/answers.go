package lastfm

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/players"
)

// answerer is an answer in both of the API's forms.
type answerer interface {
	xml() any  // what is within <lfm>
	json() any // the whole
}

// send sends an answer, or a problem, in the form that the client wants.
func (c call) send(w http.ResponseWriter, status int, what any) {
	answer := what.(answerer)
	if c.json() {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer.json())
		return
	}
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(status)
	word := "ok"
	if status != http.StatusOK {
		word = "failed"
	}
	_, _ = w.Write([]byte(xml.Header))
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"lfm"`
		Status  string   `xml:"status,attr"`
		Body    any
	}{Status: word, Body: answer.xml()})
}

func (p *problem) xml() any {
	return struct {
		XMLName xml.Name `xml:"error"`
		Code    int      `xml:"code,attr"`
		Text    string   `xml:",chardata"`
	}{Code: p.code, Text: p.text}
}

func (p *problem) json() any { return map[string]any{"error": p.code, "message": p.text} }

type session struct {
	XMLName    xml.Name `xml:"session" json:"-"`
	Name       string   `xml:"name" json:"name"`
	Key        string   `xml:"key" json:"key"`
	Subscriber int      `xml:"subscriber" json:"subscriber"`
}

func (s session) xml() any  { return s }
func (s session) json() any { return map[string]any{"session": s} }

// token is what a person is to allow.
type token struct {
	XMLName xml.Name `xml:"token"`
	Text    string   `xml:",chardata"`
}

func (t token) xml() any  { return t }
func (t token) json() any { return map[string]string{"token": t.Text} }

// name is a name, which Last.fm might have corrected.
type name struct {
	Corrected string `xml:"corrected,attr" json:"corrected"`
	Text      string `xml:",chardata" json:"#text"`
}

type names struct {
	Track       name `xml:"track" json:"track"`
	Artist      name `xml:"artist" json:"artist"`
	Album       name `xml:"album" json:"album"`
	AlbumArtist name `xml:"albumArtist" json:"albumArtist"`
}

func namesOf(p players.Play) names {
	return names{name{"0", p.Title}, name{"0", p.Artist}, name{"0", p.Album}, name{"0", ""}}
}

// ignored says why a play was not taken; code 0 for one that was.
type ignored struct {
	Code string `xml:"code,attr" json:"code"`
	Text string `xml:",chardata" json:"#text"`
}

// taken is said of what was not ignored.
var taken = ignored{Code: "0"}

type scrobble struct {
	names
	Timestamp string  `xml:"timestamp" json:"timestamp"`
	Ignored   ignored `xml:"ignoredMessage" json:"ignoredMessage"`
}

type scrobbles struct {
	XMLName  xml.Name   `xml:"scrobbles" json:"-"`
	Accepted int        `xml:"accepted,attr" json:"-"`
	Ignored  int        `xml:"ignored,attr" json:"-"`
	Each     []scrobble `xml:"scrobble" json:"-"`
}

func (s scrobbles) xml() any { return s }

// json has an object for one play, and a list for several.
func (s scrobbles) json() any {
	var each any = s.Each
	if len(s.Each) == 1 {
		each = s.Each[0]
	}
	return map[string]any{"scrobbles": map[string]any{"scrobble": each,
		"@attr": map[string]int{"accepted": s.Accepted, "ignored": s.Ignored}}}
}

type nowPlaying struct {
	XMLName xml.Name `xml:"nowplaying" json:"-"`
	names
	Ignored ignored `xml:"ignoredMessage" json:"ignoredMessage"`
}

func (n nowPlaying) xml() any  { return n }
func (n nowPlaying) json() any { return map[string]any{"nowplaying": n} }

type registered struct {
	Unix int64 `xml:"unixtime,attr" json:"unixtime"`
}

type userInfo struct {
	XMLName    xml.Name   `xml:"user" json:"-"`
	Name       string     `xml:"name" json:"name"`
	RealName   string     `xml:"realname" json:"realname"`
	URL        string     `xml:"url" json:"url"`
	Plays      int        `xml:"playcount" json:"playcount,string"`
	Registered registered `xml:"registered" json:"registered"`
}

func (u userInfo) xml() any  { return u }
func (u userInfo) json() any { return map[string]any{"user": u} }

type recentTrack struct {
	Artist, Name, Album string
	At                  time.Time
	Now                 bool
}

type recentlyPlayed struct {
	User                        string
	Page, PerPage, Total, Pages int
	Tracks                      []recentTrack
}

func (r recentlyPlayed) xml() any {
	type date struct {
		Unix int64  `xml:"uts,attr"`
		Text string `xml:",chardata"`
	}
	type track struct {
		Now    string `xml:"nowplaying,attr,omitempty"`
		Artist string `xml:"artist"`
		Name   string `xml:"name"`
		Album  string `xml:"album"`
		Date   *date  `xml:"date"`
	}
	var all []track
	for _, t := range r.Tracks {
		one := track{Artist: t.Artist, Name: t.Name, Album: t.Album}
		if t.Now {
			one.Now = "true"
		} else {
			one.Date = &date{t.At.Unix(), t.At.UTC().Format(dated)}
		}
		all = append(all, one)
	}
	return struct {
		XMLName xml.Name `xml:"recenttracks"`
		User    string   `xml:"user,attr"`
		Page    int      `xml:"page,attr"`
		PerPage int      `xml:"perPage,attr"`
		Pages   int      `xml:"totalPages,attr"`
		Total   int      `xml:"total,attr"`
		Tracks  []track  `xml:"track"`
	}{User: r.User, Page: r.Page, PerPage: r.PerPage, Pages: r.Pages, Total: r.Total, Tracks: all}
}

// dated is how Last.fm writes a time.
const dated = "02 Jan 2006, 15:04"

func (r recentlyPlayed) json() any {
	all := []map[string]any{}
	for _, t := range r.Tracks {
		one := map[string]any{"name": t.Name, "artist": map[string]string{"#text": t.Artist},
			"album": map[string]string{"#text": t.Album}}
		if t.Now {
			one["@attr"] = map[string]string{"nowplaying": "true"}
		} else {
			one["date"] = map[string]string{"uts": strconv.FormatInt(t.At.Unix(), 10),
				"#text": t.At.UTC().Format(dated)}
		}
		all = append(all, one)
	}
	return map[string]any{"recenttracks": map[string]any{"track": all, "@attr": r.attributes()}}
}

// nothing is the answer to what only has to be taken.
type nothing struct{}

func (nothing) xml() any  { return nil }
func (nothing) json() any { return map[string]any{} }

type lovedTracks struct {
	of  recentlyPlayed // whose, and which page
	all []library.Love
}

func (l lovedTracks) xml() any {
	type date struct {
		Unix int64  `xml:"uts,attr"`
		Text string `xml:",chardata"`
	}
	type track struct {
		Name   string `xml:"name"`
		MBID   string `xml:"mbid"`
		Date   date   `xml:"date"`
		Artist string `xml:"artist>name"`
	}
	var all []track
	for _, v := range l.all {
		all = append(all, track{v.Title, v.RecordingMBID, date{v.At.Unix(), v.At.UTC().Format(dated)}, v.Artist})
	}
	return struct {
		XMLName xml.Name `xml:"lovedtracks"`
		User    string   `xml:"user,attr"`
		Page    int      `xml:"page,attr"`
		PerPage int      `xml:"perPage,attr"`
		Pages   int      `xml:"totalPages,attr"`
		Total   int      `xml:"total,attr"`
		Tracks  []track  `xml:"track"`
	}{User: l.of.User, Page: l.of.Page, PerPage: l.of.PerPage, Pages: l.of.Pages, Total: l.of.Total, Tracks: all}
}

func (l lovedTracks) json() any {
	all := []map[string]any{}
	for _, v := range l.all {
		all = append(all, map[string]any{"name": v.Title, "mbid": v.RecordingMBID, "artist": map[string]string{
			"name": v.Artist}, "date": map[string]string{"uts": strconv.FormatInt(v.At.Unix(), 10),
			"#text": v.At.UTC().Format(dated)}})
	}
	return map[string]any{"lovedtracks": map[string]any{"track": all, "@attr": l.of.attributes()}}
}

// attributes say which page it is.
func (r recentlyPlayed) attributes() map[string]string {
	return map[string]string{"user": r.User, "page": strconv.Itoa(r.Page), "perPage": strconv.Itoa(r.PerPage),
		"totalPages": strconv.Itoa(r.Pages), "total": strconv.Itoa(r.Total)}
}
