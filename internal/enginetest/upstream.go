// Package enginetest sets up the whole engine (syncer, guard, backoff, bus, notifications, SQLite) over the demo's
// simulated services, without sockets, so that a test can live through days in a bubble of fake time. Only the far side
// of the network is simulated; the adapters are the real ones.
package enginetest

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"reprise/internal/demo"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
)

// What the simulated services tell.
type (
	Play  = demo.Play
	Call  = demo.Call
	Fault = demo.Fault
)

// The names of what signs people in, beside those of the services.
const (
	spotifyAccounts = "spotify accounts"
	spotifyToken    = "/api/token"
	youtubeToken    = "/token"
)

// Upstreams are the simulated services, with any number of accounts and without data at first. Safe for concurrent use.
type Upstreams struct {
	*demo.World

	// Tune, if set, changes the options of an engine before it starts.
	Tune func(*transport.Transport, *backoff.Options)

	// ReadsLoves turns on reading loved tracks. Few tests need it, and its calls would disturb tests that count calls.
	ReadsLoves bool

	mu      sync.Mutex
	refused []string // titles that ListenBrainz refuses
}

// NewUpstreams returns services without data that work.
func NewUpstreams() *Upstreams {
	w, err := demo.Start(demo.Options{Empty: true, InProcess: true})
	if err != nil {
		panic(err) // in process there is no port that could be taken
	}
	return &Upstreams{World: w}
}

// song is the recording of that title, of three minutes, which YouTube knows by the name of the video.
func song(title, video string) demo.Song {
	return demo.Song{Artist: "Sigur Rós", Album: "Album", Title: title, Genre: "Post-rock", Duration: 3 * time.Minute,
		Video: video, Blocked: []string{"DE"}}
}

// Play adds a play to the history of an account at Spotify and ListenBrainz.
func (u *Upstreams) Play(account, title string, at time.Time) {
	u.PlayOn(demo.Spotify, account, title, at)
	u.PlayOn(demo.ListenBrainz, account, title, at)
}

// PlayOn adds a play to the history of an account at one of them.
func (u *Upstreams) PlayOn(service, account, title string, at time.Time) {
	u.Hear(service, account, song(title, ""), at.Truncate(time.Second))
}

// Plays returns the history of an account at a service, the oldest first; of Spotify's the last 50.
func (u *Upstreams) Plays(service, account string) []Play {
	if service == demo.Spotify {
		return u.Spotify.Recent(account)
	}
	return u.ListenBrainz.Listens(account)
}

// Refuse makes ListenBrainz refuse every submission that contains a play with this title.
func (u *Upstreams) Refuse(title string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refused = append(u.refused, title)
	u.ListenBrainz.Refuse(u.refused...)
}

// Allow ends Refuse.
func (u *Upstreams) Allow(title string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refused = slices.DeleteFunc(u.refused, func(r string) bool { return r == title })
	u.ListenBrainz.Refuse(u.refused...)
}

// Taken returns a function that returns the titles of the plays sent to ListenBrainz since, in their order.
func (u *Upstreams) Taken() func() []string {
	from := len(u.ListenBrainz.Submitted())
	return func() (titles []string) {
		for _, p := range u.ListenBrainz.Submitted()[from:] {
			titles = append(titles, p.Title)
		}
		return titles
	}
}

// SetPlaylist gives an account a playlist with these tracks at Spotify; without tracks it removes it.
func (u *Upstreams) SetPlaylist(account, name string, tracks ...string) {
	songs := make([]demo.Song, len(tracks))
	for i, title := range tracks {
		songs[i] = song(title, "")
	}
	u.World.SetPlaylist(demo.Spotify, account, demo.List{ID: name, Name: name, Privacy: "private", Songs: songs})
}

// SetYouTubePlaylist gives an account a playlist at YouTube, "public", "unlisted" or "private", with these videos.
func (u *Upstreams) SetYouTubePlaylist(account, id, privacy string, videos ...string) {
	songs := make([]demo.Song, len(videos))
	for i, video := range videos {
		songs[i] = song(strings.TrimPrefix(video, "video-"), video)
	}
	u.World.SetPlaylist(demo.YouTube, account, demo.List{ID: id, Name: id, Privacy: privacy, Songs: songs})
}

// Like adds a new video to those that an account likes at YouTube.
func (u *Upstreams) Like(account, title string) { u.LikeVideo(account, song(title, "video-"+title)) }

// Vanish makes a video "private" or "deleted" at YouTube; empty brings it back.
func (u *Upstreams) Vanish(video, how string) { u.YouTube.Vanish(video, how) }

// VideosAsked returns how many videos each call for videos named, in the order of the calls.
func (u *Upstreams) VideosAsked() []int { return u.YouTube.Asked() }

// RefuseKey makes YouTube refuse a key, as "spent" or "invalid"; empty makes it accept the key again.
func (u *Upstreams) RefuseKey(key keys.Key, why string) {
	u.YouTube.Refuse(string(key.Secret), map[string]demo.Mode{"spent": demo.KeySpent, "invalid": demo.KeyInvalid}[why])
}

// SpendProject makes YouTube refuse every call in a person's name, because the quota of the client id's project is
// used up; false ends that.
func (u *Upstreams) SpendProject(spent bool) {
	u.YouTube.Refuse("", map[bool]demo.Mode{true: demo.KeySpent}[spent])
}

// KeyCalls returns the last four characters of the key of each request to YouTube that carried one, in their order.
func (u *Upstreams) KeyCalls() (names []string) {
	for _, c := range u.Calls(demo.YouTube) {
		if key, ok := strings.CutPrefix(c.User, "key "); ok {
			names = append(names, key)
		}
	}
	return names
}

// Revoke ends every authorization that an account has given at Spotify.
func (u *Upstreams) Revoke(account string) { u.Spotify.Revoke(account) }

// Consent returns the tokens of a new consent at Spotify.
func (u *Upstreams) Consent(account string) (accessToken, refreshToken string) {
	u.AddPerson(account)
	t := u.Spotify.Authorize(account, "user-read-recently-played", "playlist-read-private", "user-library-read")
	return t.AccessToken, t.RefreshToken
}

// Fail makes every request to a service's API end in a fault; nil ends that. The name "spotify accounts" means
// Spotify's token endpoint. Other names are hosts, which answer with faults only.
func (u *Upstreams) Fail(service string, f Fault) { u.FailPath(service, "", f) }

// FailPath is Fail for one path of a service's API.
func (u *Upstreams) FailPath(service, path string, f Fault) {
	if service == spotifyAccounts {
		service, path = demo.Spotify, spotifyToken
	}
	u.World.Fail(service, path, f)
}

// Calls returns the requests that a service has received, in their order: those to its API, or with the name "spotify
// accounts" to Spotify's token endpoint.
func (u *Upstreams) Calls(service string) []Call {
	if service == spotifyAccounts {
		return slices.DeleteFunc(u.World.Calls(demo.Spotify), func(c Call) bool { return c.Path != spotifyToken })
	}
	return slices.DeleteFunc(u.World.Calls(service),
		func(c Call) bool { return c.Path == spotifyToken || c.Path == youtubeToken })
}

// Answer returns a response with a status, a body and pairs of header names and values.
func Answer(req *http.Request, status int, body string, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1, Request: req}
}

// Status returns a fault with that status and these header pairs.
func Status(status int, header ...string) Fault {
	return func(req *http.Request) (*http.Response, error) { return Answer(req, status, `{}`, header...), nil }
}

// Refusal returns a fault with that status and body.
func Refusal(status int, body string) Fault {
	return func(req *http.Request) (*http.Response, error) { return Answer(req, status, body), nil }
}

// Slow returns a fault of a ListenBrainz that is slow for one account.
func (u *Upstreams) Slow(account string, d time.Duration) Fault {
	return func(req *http.Request) (*http.Response, error) {
		if u.AccountOf(demo.ListenBrainz, req) == account {
			time.Sleep(d)
		}
		return nil, nil
	}
}

// Unreachable is the fault of a missing network.
func Unreachable(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

// Silent is the fault of an upstream that accepts requests and never answers.
func Silent(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}
