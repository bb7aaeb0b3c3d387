package navidrome_test

import (
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"reprise/internal/library"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
)

// server simulates Navidrome: the Subsonic API as far as connecting needs it, and its own API, where tokens expire,
// every answer renews the token, and the sixth sign-in gets a 429.
type server struct {
	*httptest.Server
	client *http.Client

	mu        sync.Mutex
	password  string
	plays     []play // latest first
	songs     map[string]map[string]any
	unlisted  map[string]bool // songs that lists omit but that can be looked up
	older     bool            // has no list of plays
	total     string          // told instead of the number of plays; empty for the true one
	tokenUses int             // calls per token; 0 for any number
	revokeAt  int             // the API call at which all tokens expire; 0 for never
	tokens    map[string]int  // uses left
	signIns   int
	calls     int
	asked     map[string]int // how often each song was asked for
}

type play struct {
	ID             int    `json:"id"`
	MediaFileID    string `json:"mediaFileId"`
	SubmissionTime int64  `json:"submissionTime"`
}

func newServer(t testing.TB) *server {
	t.Helper()
	s, mux := newSimulation()
	s.Server = httptest.NewServer(mux)
	base := hosts.NewBase(nil)
	s.client = transport.NewClient(&transport.Transport{Base: base})
	t.Cleanup(func() { base.CloseIdleConnections(); s.Close() })
	return s
}

// newSimulation returns a server without a socket, and its handler.
func newSimulation() (*server, http.Handler) {
	s := &server{password: "correct-horse-battery", songs: map[string]map[string]any{}, unlisted: map[string]bool{},
		tokens: map[string]int{}, asked: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/rest/{method}", s.rest)
	mux.HandleFunc("POST /auth/login", s.login)
	mux.HandleFunc("GET /api/scrobble", s.own(s.scrobbles))
	mux.HandleFunc("GET /api/song", s.own(s.songList))
	mux.HandleFunc("GET /api/song/{id}", s.own(s.song))
	return s, mux
}

func (s *server) credentials() library.Credentials {
	return library.Credentials{"url": s.URL, "username": "geoff", "password": s.password, "auth": "token",
		"form": "yes", "native": "yes"}
}

// fill adds n plays, one minute apart and ending at last, that cycle through the songs.
func (s *server) fill(n, songs int, last time.Time) {
	for i := range songs {
		id := fmt.Sprintf("song%018d", i)
		s.songs[id] = map[string]any{"id": id, "title": "Song " + strconv.Itoa(i), "artist": "Artist", "album": "Album",
			"duration": 180.5}
	}
	for i := range n {
		id, at := fmt.Sprintf("song%018d", i%songs), last.Add(-time.Duration(i)*time.Minute)
		s.plays = append(s.plays, play{n - i, id, at.Unix()})
		if song := s.songs[id]; song["playDate"] == nil {
			song["playDate"] = at.Format(time.RFC3339Nano)
			song["playCount"] = (n - i + songs - 1) / songs
		}
	}
}

func (s *server) rest(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := map[string]any{"status": "ok", "version": "1.16.1", "type": "navidrome", "serverVersion": "0.63.1",
		"openSubsonic": true}
	token := md5.Sum([]byte(s.password + r.FormValue("s")))
	switch {
	case r.FormValue("u") != "geoff" || r.FormValue("t") != hex.EncodeToString(token[:]):
		body["status"], body["error"] = "failed", map[string]any{"code": 40, "message": "Wrong username or password"}
	case r.PathValue("method") == "getOpenSubsonicExtensions.view":
		body["openSubsonicExtensions"] = []any{map[string]any{"name": "formPost", "versions": []int{1}}}
	}
	respond(w, 200, map[string]any{"subsonic-response": body})
}

func (s *server) login(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var given struct{ Username, Password string }
	_ = json.NewDecoder(r.Body).Decode(&given)
	if s.signIns++; s.signIns > 5 {
		w.Header().Set("Retry-After", "20")
		http.Error(w, "Too Many Requests", http.StatusTooManyRequests)
		return
	}
	if given.Username != "geoff" || given.Password != s.password {
		respond(w, 401, map[string]any{"error": "Invalid username or password"})
		return
	}
	respond(w, 200, map[string]any{"id": "u1", "username": "geoff", "isAdmin": false, "token": s.newToken()})
}

func (s *server) newToken() string {
	token := "token-" + strconv.Itoa(len(s.tokens))
	s.tokens[token] = s.tokenUses
	return token
}

// own checks the token of a call of Navidrome's own API.
func (s *server) own(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.calls++; s.calls == s.revokeAt {
			for t := range s.tokens {
				s.tokens[t] = -1
			}
		}
		token := r.Header.Get("X-Nd-Authorization")
		left, known := s.tokens[token[min(len(token), len("Bearer ")):]]
		if !known || left < 0 {
			respond(w, 401, map[string]any{"error": "Not authenticated"})
			return
		}
		if left == 1 {
			s.tokens[token[len("Bearer "):]] = -1
		}
		w.Header().Set("X-Nd-Authorization", s.newToken())
		next(w, r)
	}
}

func (s *server) scrobbles(w http.ResponseWriter, r *http.Request) {
	if s.older {
		http.NotFound(w, r)
		return
	}
	q := r.URL.Query()
	from, to := bound(q, "from", 0), bound(q, "to", 1<<60)
	var rows []play
	for _, p := range s.plays {
		if p.SubmissionTime >= from && p.SubmissionTime <= to {
			rows = append(rows, p)
		}
	}
	slices.SortStableFunc(rows, func(x, y play) int { return int(y.SubmissionTime - x.SubmissionTime) })
	if q.Get("_sort") != "submission_time" || q.Get("_order") != "DESC" {
		slices.Reverse(rows)
	}
	w.Header().Set("X-Total-Count", cmp.Or(s.total, strconv.Itoa(len(rows))))
	respond(w, 200, window(rows, q))
}

func (s *server) songList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	rows := []map[string]any{}
	for _, id := range q["id"] {
		s.asked[id]++
		if song := s.songs[id]; song != nil && !s.unlisted[id] {
			rows = append(rows, song)
		}
	}
	if len(q["id"]) == 0 {
		for _, song := range s.songs {
			rows = append(rows, song)
		}
		slices.SortFunc(rows, func(x, y map[string]any) int {
			a, _ := x["playDate"].(string)
			b, _ := y["playDate"].(string)
			if a < b {
				return 1
			}
			return -1
		})
	}
	w.Header().Set("X-Total-Count", strconv.Itoa(len(rows)))
	respond(w, 200, window(rows, q))
}

func (s *server) song(w http.ResponseWriter, r *http.Request) {
	if song := s.songs[r.PathValue("id")]; song != nil {
		respond(w, 200, song)
		return
	}
	respond(w, 404, map[string]any{"error": "song(id:" + r.PathValue("id") + ") not found"})
}

func bound(q url.Values, name string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(q.Get(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

func window[T any](rows []T, q url.Values) []T {
	start := min(int(bound(q, "_start", 0)), len(rows))
	end := min(int(bound(q, "_end", int64(len(rows)))), len(rows))
	return append([]T{}, rows[start:max(start, end)]...)
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
