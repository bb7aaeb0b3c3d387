package demo

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// navidromeVersion is the version of the simulated server. Versions from 0.63 have /api/scrobble.
const navidromeVersion = "0.63.2 (d3m0d3m0)"

const (
	loginTries  = 5 // per loginWindow and address
	loginWindow = 20 * time.Second
	sessionLife = 48 * time.Hour
)

// NavidromeServer is the address of the simulated Navidrome.
type NavidromeServer struct {
	URL string
	nd  *navidrome
}

// Password returns the account's password: "demo-password-alice", and another one after Revoked.
func (s NavidromeServer) Password(account string) string {
	s.nd.mu.Lock()
	defer s.nd.mu.Unlock()
	return s.nd.passwordLocked(account)
}

type navidrome struct {
	*gate
	home   *household
	secret []byte // signs the native API's tokens

	mu     sync.Mutex
	issue  int                    // of passwords; grows when they are changed
	logins map[string][]time.Time // tries within loginWindow, by address

	scrobbled []Play // what arrived by scrobble, in the order of arrival
	created   int    // playlists, for their ids
}

func (w *World) startNavidrome(ctx context.Context) (err error) {
	nd := &navidrome{home: w.home, issue: 1, secret: []byte(rand.Text()), logins: map[string][]time.Time{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/rest/{method}", nd.subsonic)
	mux.HandleFunc("POST /auth/login", nd.login)
	mux.HandleFunc("GET /api/scrobble", nd.native(nd.nativeScrobbles))
	mux.HandleFunc("GET /api/song", nd.native(nd.nativeSongs))
	mux.HandleFunc("GET /api/song/{id}", nd.native(nd.nativeSong))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	nd.gate = w.newGate(ctx, rules{who: nd.who, refuse: nd.refuse, next: mux.ServeHTTP})
	w.revoke[Navidrome] = func() {
		nd.mu.Lock()
		defer nd.mu.Unlock()
		nd.issue++
	}
	w.Navidrome.nd = nd
	w.Navidrome.URL, err = w.serve(ctx, Navidrome, nd.gate)
	return err
}

func (nd *navidrome) passwordLocked(account string) string {
	if nd.issue == 1 {
		return "demo-password-" + account
	}
	return fmt.Sprintf("demo-password-%s-%d", account, nd.issue)
}

// correct reports whether ok holds for the account's password. Who knows a password that was changed has been told the
// new one.
func (nd *navidrome) correct(account string, ok func(password string) bool) bool {
	if nd.home.person(account) == nil {
		return false
	}
	nd.mu.Lock() // until healed: no change of the password may come between
	defer nd.mu.Unlock()
	if !ok(nd.passwordLocked(account)) {
		return false
	}
	nd.heal()
	return true
}

// who returns the caller of either API, whatever the password.
func (nd *navidrome) who(r *http.Request) string {
	name := r.FormValue("u")
	if s := bearerOf(r); s != "" {
		name, _, _ = nd.readSession(s)
	}
	if nd.home.person(name) == nil {
		return ""
	}
	return name
}

// refuse answers as the proxy in front of a server at home does.
func (nd *navidrome) refuse(w http.ResponseWriter, m Mode) {
	if m == Unavailable {
		http.Error(w, "Service Unavailable", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(nd.opts.RetryAfter/time.Second)))
	http.Error(w, "Too Many Requests", http.StatusTooManyRequests)
}

// session is the content of a token of the native API, a JSON web token.
type session struct {
	Subject string `json:"sub"`
	Issue   int    `json:"iss"`
	Expires int64  `json:"exp"`
}

func (nd *navidrome) sign(s string) string {
	mac := hmac.New(sha256.New, nd.secret)
	_, _ = io.WriteString(mac, s) // a hash takes everything
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (nd *navidrome) newSession(account string) string {
	nd.mu.Lock()
	issue := nd.issue
	nd.mu.Unlock()
	claims, err := json.Marshal(session{account, issue, nd.opts.Now().Add(sessionLife).Unix()})
	if err != nil {
		panic(err)
	}
	enc := base64.RawURLEncoding.EncodeToString
	s := enc([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + enc(claims)
	return s + "." + nd.sign(s)
}

// readSession returns whose token it is, and whether it is still good: not too old, and given for today's password.
func (nd *navidrome) readSession(token string) (account string, valid, signed bool) {
	i := strings.LastIndexByte(token, '.')
	if i < 0 || !hmac.Equal([]byte(nd.sign(token[:i])), []byte(token[i+1:])) {
		return "", false, false
	}
	_, claims, _ := strings.Cut(token[:i], ".")
	body, err := base64.RawURLEncoding.DecodeString(claims)
	var s session
	if err != nil || json.Unmarshal(body, &s) != nil {
		return "", false, false
	}
	nd.mu.Lock()
	defer nd.mu.Unlock()
	return s.Subject, s.Issue == nd.issue && nd.opts.Now().Unix() < s.Expires, true
}

func bearerOf(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("X-Nd-Authorization"), "Bearer ")
}

func nativeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"error": message})
}

// allowed counts an attempt to sign in, and returns false after too many from an address.
func (nd *navidrome) allowed(address string) (bool, time.Duration) {
	host := address[:max(0, strings.LastIndexByte(address, ':'))]
	now := nd.opts.Now()
	nd.mu.Lock()
	defer nd.mu.Unlock()
	tries := slices.DeleteFunc(nd.logins[host], func(t time.Time) bool { return now.Sub(t) >= loginWindow })
	if len(tries) >= loginTries {
		nd.logins[host] = tries
		return false, tries[0].Add(loginWindow).Sub(now)
	}
	nd.logins[host] = append(tries, now)
	return true, 0
}

func (nd *navidrome) login(w http.ResponseWriter, r *http.Request) {
	if ok, wait := nd.allowed(r.RemoteAddr); !ok {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
		http.Error(w, "Too Many Requests", http.StatusTooManyRequests)
		return
	}
	var given struct{ Username, Password string }
	if err := json.NewDecoder(r.Body).Decode(&given); err != nil {
		nativeError(w, http.StatusUnprocessableEntity, "invalid request payload")
		return
	}
	if !nd.correct(given.Username, func(p string) bool { return p == given.Password }) {
		nativeError(w, http.StatusUnauthorized, "Invalid username or password")
		return
	}
	salt := rand.Text()[:6]
	writeJSON(w, http.StatusOK, object{
		"id": base62("user" + given.Username), "name": nd.home.person(given.Username).display,
		"username": given.Username, "isAdmin": false,
		"token": nd.newSession(given.Username), "subsonicSalt": salt, "subsonicToken": md5Hex(given.Password + salt),
	})
}

// native serves signed in calls to an endpoint of Navidrome's own API, with a renewed token in the answer.
func (nd *navidrome) native(serve func(http.ResponseWriter, *http.Request, *person)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		account, valid, _ := nd.readSession(bearerOf(r))
		p := nd.home.person(account)
		if !valid || p == nil {
			nativeError(w, http.StatusUnauthorized, "Not authenticated")
			return
		}
		w.Header().Set("X-Nd-Authorization", nd.newSession(account))
		serve(w, r, p)
	}
}

// part answers with rows _start to _end of n, sorted before.
func part(w http.ResponseWriter, r *http.Request, n int, row func(int) object) {
	start := min(queryInt(r, "_start", 0), n)
	end := min(max(start, cmp.Or(queryInt(r, "_end", 0), n)), n)
	rows := make([]object, 0, end-start)
	for i := start; i < end; i++ {
		rows = append(rows, row(i))
	}
	w.Header().Set("X-Total-Count", strconv.Itoa(n))
	writeJSON(w, http.StatusOK, rows)
}

func descending(r *http.Request) bool { return strings.EqualFold(r.FormValue("_order"), "DESC") }

func (nd *navidrome) nativeScrobbles(w http.ResponseWriter, r *http.Request, p *person) {
	from, to := queryInt(r, "from", 0), queryInt(r, "to", math.MaxInt)
	nd.home.mu.RLock()
	rows := slices.Clone(p.scrobbles)
	nd.home.mu.RUnlock()
	rows = slices.DeleteFunc(rows, func(s scrobble) bool { return s.at < int64(from) || s.at > int64(to) })
	if r.FormValue("_sort") == "submission_time" {
		slices.SortStableFunc(rows, func(a, b scrobble) int { return cmp.Compare(a.at, b.at) })
	}
	if descending(r) {
		slices.Reverse(rows)
	}
	part(w, r, len(rows), func(i int) object {
		s := rows[i]
		t, _ := nd.home.song(int(s.track))
		return object{"id": s.id, "mediaFileId": t.navidromeID, "submissionTime": s.at}
	})
}

func (nd *navidrome) nativeSongs(w http.ResponseWriter, r *http.Request, p *person) {
	played := nd.home.played(p)
	songs := nd.home.localTracks()
	if ids := r.URL.Query()["id"]; len(ids) > 0 {
		songs = slices.DeleteFunc(songs, func(id int) bool {
			t, _ := nd.home.song(id)
			return !slices.Contains(ids, t.navidromeID)
		})
	}
	if r.FormValue("_sort") == "play_date" || r.FormValue("_sort") == "playDate" {
		slices.SortStableFunc(songs, func(a, b int) int { return cmp.Compare(played[a].last, played[b].last) })
	}
	if descending(r) {
		slices.Reverse(songs)
	}
	part(w, r, len(songs), func(i int) object { return nd.nativeRow(songs[i], played[songs[i]]) })
}

func (nd *navidrome) nativeSong(w http.ResponseWriter, r *http.Request, p *person) {
	id := nd.home.localTrack(r.PathValue("id"))
	if id < 0 {
		nativeError(w, http.StatusNotFound, "data not found")
		return
	}
	writeJSON(w, http.StatusOK, nd.nativeRow(id, nd.home.played(p)[id]))
}

func (nd *navidrome) nativeRow(id int, plays count) object {
	t, a := nd.home.song(id)
	o := object{
		"id": t.navidromeID, "title": t.title, "album": a.title, "albumId": base62("album" + a.artist + a.title),
		"artist": a.artist, "artistId": base62("artist" + a.artist), "albumArtist": a.artist, "libraryId": 1,
		"trackNumber": t.number, "discNumber": 1, "year": a.year, "genre": a.genre, "suffix": "flac",
		"compilation": false,
		"duration":    t.duration.Seconds(), "size": int64(t.duration.Seconds()) * 110_000, "bitRate": 880,
		"mbzRecordingID": t.mbid, "tags": object{"isrc": []string{t.isrc}}, "playCount": plays.n,
		"createdAt": nd.home.born.AddDate(-1, 0, -id).UTC().Format(time.RFC3339),
	}
	if plays.n > 0 {
		o["playDate"] = time.Unix(plays.last, 0).UTC().Format(time.RFC3339)
	}
	return o
}
