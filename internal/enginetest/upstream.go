// Package enginetest sets up the whole engine (syncer, guard, backoff, bus, notifications, SQLite) over upstreams
// without sockets, so that a test can live through days in a bubble of fake time. Only the far side of the network is
// simulated; the adapters are the real ones.
package enginetest

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"reprise/internal/resilience"
)

// The hosts of the simulated services.
const (
	spotifyHost      = "api.spotify.com"
	spotifyAccounts  = "accounts.spotify.com"
	listenBrainzHost = "api.listenbrainz.org"
)

// Play is a track that an account has played.
type Play struct {
	Title string
	At    time.Time
}

// Call is one request that an upstream has seen.
type Call struct {
	At      time.Time
	Path    string
	Account string // whose credential it carried; empty when that is not known
}

// Fault answers a request in place of a healthy upstream. If it returns neither an answer nor an error, the upstream
// answers.
type Fault func(*http.Request) (*http.Response, error)

// place is where an account's history is kept.
type place struct{ host, account string }

// Upstreams are Spotify, ListenBrainz and YouTube with any number of accounts. Safe for concurrent use.
type Upstreams struct {
	// Tune, if set, changes the options of an engine before it starts.
	Tune func(*resilience.Transport, *resilience.Options)

	mu        sync.Mutex
	plays     map[place][]Play // the oldest first
	taken     []string         // titles that ListenBrainz was sent, in their order
	refusals  map[string]bool  // titles that ListenBrainz refuses
	playlists map[string]map[string][]string
	access    map[string]string // access token → account
	refresh   map[string]string // refresh token → account
	tokens    int
	faults    map[string]Fault // by host, or host and path
	calls     map[string][]Call
	youtube   youtubeWorld
	keepOld   bool // the answer to a refresh has no refresh token
}

// NewUpstreams returns services without data that work.
func NewUpstreams() *Upstreams {
	return &Upstreams{plays: map[place][]Play{}, refusals: map[string]bool{},
		playlists: map[string]map[string][]string{}, access: map[string]string{},
		refresh: map[string]string{}, faults: map[string]Fault{}, calls: map[string][]Call{}}
}

// Play adds a play to the history of an account at both services.
func (u *Upstreams) Play(account, title string, at time.Time) {
	u.PlayOn("spotify", account, title, at)
	u.PlayOn("listenbrainz", account, title, at)
}

// PlayOn adds a play to the history of an account at one service.
func (u *Upstreams) PlayOn(service, account, title string, at time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.playLocked(place{hostOf(service), account}, Play{title, at.Truncate(time.Second)})
}

// playLocked stores a play as services do: plays of the same second and title are one.
func (u *Upstreams) playLocked(where place, p Play) {
	plays := u.plays[where]
	if where.host == listenBrainzHost && slices.ContainsFunc(plays,
		func(q Play) bool { return q.Title == p.Title && q.At.Equal(p.At) }) {
		return
	}
	i, _ := slices.BinarySearchFunc(plays, p.At, func(q Play, at time.Time) int {
		if q.At.After(at) {
			return 1
		}
		return -1
	})
	u.plays[where] = slices.Insert(plays, i, p)
}

// Plays returns the history of an account at a service, the oldest first.
func (u *Upstreams) Plays(service, account string) []Play {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.plays[place{hostOf(service), account}])
}

// Refuse makes ListenBrainz refuse every submission that contains a play with this title.
func (u *Upstreams) Refuse(title string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refusals[title] = true
}

// SetPlaylist gives an account a playlist with these tracks at Spotify; without tracks it removes it.
func (u *Upstreams) SetPlaylist(account, name string, tracks ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.playlists[account] == nil {
		u.playlists[account] = map[string][]string{}
	}
	u.playlists[account][name] = tracks
	if len(tracks) == 0 {
		delete(u.playlists[account], name)
	}
}

// Allow ends Refuse.
func (u *Upstreams) Allow(title string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.refusals, title)
}

// Fail makes every request to a service's API end in a fault; nil ends that. The name "spotify accounts" means
// Spotify's token endpoint.
func (u *Upstreams) Fail(service string, f Fault) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.faults[hostOf(service)] = f
}

// FailPath is Fail for one path of a service's API.
func (u *Upstreams) FailPath(service, path string, f Fault) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.faults[hostOf(service)+path] = f
}

// Taken returns a function that returns the titles of the plays sent to ListenBrainz since, in their order.
func (u *Upstreams) Taken() func() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	from := len(u.taken)
	return func() []string {
		u.mu.Lock()
		defer u.mu.Unlock()
		return slices.Clone(u.taken[from:])
	}
}

// Revoke ends every authorization that an account has given at Spotify.
func (u *Upstreams) Revoke(account string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for token, owner := range u.access {
		if owner == account {
			delete(u.access, token)
		}
	}
	for token, owner := range u.refresh {
		if owner == account {
			delete(u.refresh, token)
		}
	}
}

// Consent returns the tokens of a new consent at Spotify.
func (u *Upstreams) Consent(account string) (accessToken, refreshToken string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.issueLocked(account)
}

func (u *Upstreams) issueLocked(account string) (accessToken, refreshToken string) {
	u.tokens++
	accessToken, refreshToken = fmt.Sprintf("access-%d", u.tokens), fmt.Sprintf("refresh-%d", u.tokens)
	u.access[accessToken], u.refresh[refreshToken] = account, account
	return accessToken, refreshToken
}

// Calls returns the requests that a service has received, in their order.
func (u *Upstreams) Calls(service string) []Call {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Call(nil), u.calls[hostOf(service)]...)
}

// hostOf returns the host of a simulated service. Other names are hosts themselves, which answer with faults only.
func hostOf(service string) string {
	known := map[string]string{"spotify": spotifyHost, "spotify accounts": spotifyAccounts,
		"listenbrainz": listenBrainzHost, "youtube": youtubeHost}
	return cmp.Or(known[service], service)
}

// RoundTrip implements http.RoundTripper.
func (u *Upstreams) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	var form url.Values
	var body []byte
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body.Close()
		body = b
		req.Body = io.NopCloser(bytes.NewReader(b))
		form, _ = url.ParseQuery(string(b))
	}
	u.mu.Lock()
	account := u.ownerLocked(req)
	u.calls[req.URL.Host] = append(u.calls[req.URL.Host], Call{time.Now(), req.URL.Path, account})
	fault := u.faults[req.URL.Host+req.URL.Path]
	if fault == nil {
		fault = u.faults[req.URL.Host]
	}
	u.mu.Unlock()
	if fault != nil {
		if resp, err := fault(req); resp != nil || err != nil {
			return resp, err
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	switch req.URL.Host {
	case spotifyAccounts:
		return u.tokenLocked(req, form)
	case spotifyHost:
		if account == "" {
			return Answer(req, 401, `{"error":{"status":401,"message":"The access token expired"}}`), nil
		}
		return u.spotifyLocked(req, account)
	case youtubeHost:
		return u.youtubeLocked(req, account)
	case listenBrainzHost:
		return u.listenBrainzLocked(req, account, body)
	}
	return nil, errors.New("no such host")
}

// AccountOf returns the account whose credential a request carries; empty when that is not known.
func (u *Upstreams) AccountOf(req *http.Request) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.ownerLocked(req)
}

func (u *Upstreams) ownerLocked(req *http.Request) string {
	if key := req.Header.Get("X-Goog-Api-Key"); key != "" {
		return "key " + key[len(key)-4:]
	}
	token := req.Header.Get("Authorization")
	if t, ok := strings.CutPrefix(token, "Bearer "); ok {
		return u.access[t]
	}
	return strings.TrimPrefix(token, "Token token-of-")
}

func (u *Upstreams) tokenLocked(req *http.Request, form url.Values) (*http.Response, error) {
	account, ok := u.refresh[form.Get("refresh_token")]
	if !ok {
		return Answer(req, 400, `{"error":"invalid_grant"}`), nil
	}
	access, refresh := u.issueLocked(account)
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 3600}
	if u.keepOld {
		delete(u.refresh, refresh)
	} else {
		answer["refresh_token"] = refresh
		delete(u.refresh, form.Get("refresh_token"))
	}
	return jsonAnswer(req, answer), nil
}

func (u *Upstreams) spotifyLocked(req *http.Request, account string) (*http.Response, error) {
	path := req.URL.Path
	switch {
	case path == "/v1/me":
		return jsonAnswer(req, map[string]any{"id": account, "display_name": account}), nil
	case path == "/v1/me/player/recently-played":
		after, _ := strconv.ParseInt(req.URL.Query().Get("after"), 10, 64)
		items := []any{}
		plays := u.plays[place{spotifyHost, account}]
		for i := len(plays) - 1; i >= 0 && len(items) < 50; i-- {
			if plays[i].At.UnixMilli() > after {
				items = append(items, map[string]any{"played_at": plays[i].At.UTC().Format(
					"2006-01-02T15:04:05.000Z"), "track": spotifyTrack(plays[i].Title)})
			}
		}
		return jsonAnswer(req, map[string]any{"items": items}), nil
	case path == "/v1/me/playlists":
		items := []any{}
		for _, name := range slices.Sorted(maps.Keys(u.playlists[account])) {
			tracks := u.playlists[account][name]
			items = append(items, map[string]any{"id": name, "name": name, "snapshot_id": fmt.Sprint(tracks),
				"tracks": map[string]any{"total": len(tracks)}, "items": map[string]any{"total": len(tracks)}})
		}
		return taggedAnswer(req, map[string]any{"items": items, "total": len(items), "next": nil}), nil
	case strings.HasPrefix(path, "/v1/playlists/"):
		name := strings.Split(path, "/")[3]
		items := []any{}
		for _, title := range u.playlists[account][name] {
			items = append(items, map[string]any{"item": spotifyTrack(title)})
		}
		return jsonAnswer(req, map[string]any{"items": items, "total": len(items), "next": nil}), nil
	}
	return Answer(req, 404, `{"error":{"status":404,"message":"Not found"}}`), nil
}

func spotifyTrack(title string) map[string]any {
	return map[string]any{"id": "id-" + title, "uri": "spotify:track:id-" + title, "type": "track", "name": title,
		"duration_ms": 180_000,
		"artists":     []any{map[string]any{"name": "Sigur Rós"}}, "album": map[string]any{
			"name": "Album"}, "external_ids": map[string]any{}}
}

// taggedAnswer returns an answer with an ETag, or without a body if the request has that ETag.
func taggedAnswer(req *http.Request, v any) *http.Response {
	b, _ := json.Marshal(v) // maps of plain values
	etag := fmt.Sprintf(`"%x"`, md5.Sum(b))
	if req.Header.Get("If-None-Match") == etag {
		return Answer(req, http.StatusNotModified, "", "ETag", etag)
	}
	return Answer(req, http.StatusOK, string(b), "ETag", etag)
}

func jsonAnswer(req *http.Request, v any) *http.Response {
	b, _ := json.Marshal(v) // maps of plain values
	return Answer(req, http.StatusOK, string(b))
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

// Unreachable is the fault of a missing network.
func Unreachable(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

// Silent is the fault of an upstream that accepts requests and never answers.
func Silent(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// Refusal returns a fault with that status and body.
func Refusal(status int, body string) Fault {
	return func(req *http.Request) (*http.Response, error) { return Answer(req, status, body), nil }
}
