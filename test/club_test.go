package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// club is a service with ListenBrainz' API and many people. It notes every breach of what a client has to keep to: a
// person's history is read by one call at a time, and nobody calls during a wait that the service has asked for.
type club struct {
	url string

	mu       sync.Mutex
	fans     map[string]*fan // by token
	wait     time.Duration   // asked for in the next answer
	from     time.Time       // when it was asked for
	until    time.Time
	breaches []string
}

// fan is a person of a club.
type fan struct {
	name    string
	heard   []playID // the oldest first
	sent    map[playID]int
	reading int
}

// inFlight is how old a call can be when a wait begins: it was made before anybody knew of it.
const inFlight = time.Second

// newClub starts a service with n people, whose names are numbers and whose tokens are their names after "token-".
func newClub(t testing.TB, n int) *club {
	t.Helper()
	c := &club{fans: map[string]*fan{}}
	for i := range n {
		name := nameOf(i)
		c.fans["token-"+name] = &fan{name: name, sent: map[playID]int{}}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /1/validate-token", func(w http.ResponseWriter, r *http.Request) {
		f := c.owner(r)
		writeObject(w, http.StatusOK, object{"code": 200, "valid": f != nil, "user_name": f.called()})
	})
	mux.HandleFunc("GET /1/user/{name}/listens", c.known(c.listens))
	mux.HandleFunc("POST /1/submit-listens", c.known(c.submit))
	mux.HandleFunc("GET /1/user/{name}/listen-count", c.known(func(w http.ResponseWriter, _ *http.Request, f *fan) {
		c.mu.Lock()
		defer c.mu.Unlock()
		writeObject(w, http.StatusOK, object{"payload": object{"count": len(f.heard)}})
	}))
	none := func(w http.ResponseWriter, _ *http.Request, _ *fan) {
		writeObject(w, http.StatusOK, object{"count": 0, "offset": 0, "playlist_count": 0, "playlists": []object{}})
	}
	mux.HandleFunc("GET /1/user/{name}/playlists", c.known(none))
	mux.HandleFunc("GET /1/user/{name}/playlists/createdfor", c.known(none))
	s := httptest.NewServer(c.patient(mux))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

func (f *fan) called() string {
	if f == nil {
		return ""
	}
	return f.name
}

func writeObject(w http.ResponseWriter, status int, o object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(o)
}

// patient answers 429 during a wait, and notes who calls although they know of it.
func (c *club) patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		now := time.Now()
		if c.wait > 0 {
			c.from, c.until, c.wait = now, now.Add(c.wait), 0
		}
		left := c.until.Sub(now)
		if left > 0 && now.Sub(c.from) > inFlight {
			c.breaches = append(c.breaches, fmt.Sprintf("%s %s: %s before the end of a wait", r.Method, r.URL, left))
		}
		c.mu.Unlock()
		if left > 0 {
			w.Header().Set("X-RateLimit-Reset-In", strconv.Itoa(int(left/time.Second)+1))
			writeObject(w, http.StatusTooManyRequests, object{"code": 429, "error": "Rate limit exceeded."})
			return
		}
		time.Sleep(5 * time.Millisecond) // what a near service takes
		next.ServeHTTP(w, r)
	})
}

func (c *club) owner(r *http.Request) *fan {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token == "" {
		token = r.URL.Query().Get("token")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fans[token]
}

// known answers 401 to people without an account.
func (c *club) known(next func(http.ResponseWriter, *http.Request, *fan)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f := c.owner(r)
		if f == nil {
			writeObject(w, http.StatusUnauthorized, object{"code": 401, "error": "Invalid authorization token."})
			return
		}
		next(w, r, f)
	}
}

func (c *club) listens(w http.ResponseWriter, r *http.Request, f *fan) {
	bound := func(name string, none int64) int64 {
		if n, err := strconv.ParseInt(r.URL.Query().Get(name), 10, 64); err == nil {
			return n
		}
		return none
	}
	after, before, most := bound("min_ts", 0), bound("max_ts", 1<<40), bound("count", 25)
	c.mu.Lock()
	if f.reading++; f.reading > 1 {
		c.breaches = append(c.breaches, f.name+" was read twice at once")
	}
	page := []object{}
	for _, p := range slices.Backward(f.heard) {
		if p.second > after && p.second < before && int64(len(page)) < most {
			page = append(page, object{"listened_at": p.second, "user_name": f.name,
				"track_metadata": object{"artist_name": "Somebody", "track_name": p.title}})
		}
	}
	payload := object{"count": len(page), "user_id": f.name, "listens": page}
	if n := len(f.heard); n > 0 {
		payload["oldest_listen_ts"], payload["latest_listen_ts"] = f.heard[0].second, f.heard[n-1].second
	}
	c.mu.Unlock()
	time.Sleep(5 * time.Millisecond)
	c.mu.Lock()
	f.reading--
	c.mu.Unlock()
	writeObject(w, http.StatusOK, object{"payload": payload})
}

func (c *club) submit(w http.ResponseWriter, r *http.Request, f *fan) {
	var in struct {
		Payload []struct {
			ListenedAt int64 `json:"listened_at"`
			Metadata   struct {
				Track string `json:"track_name"`
			} `json:"track_metadata"`
		} `json:"payload"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		writeObject(w, http.StatusBadRequest, object{"code": 400, "error": err.Error()})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range in.Payload {
		p := playID{l.ListenedAt, l.Metadata.Track}
		if f.sent[p]++; f.sent[p] == 1 && l.ListenedAt != 0 {
			f.heard = append(f.heard, p)
		}
	}
	slices.SortFunc(f.heard, func(a, b playID) int { return int(a.second - b.second) })
	writeObject(w, http.StatusOK, object{"status": "ok"})
}

// plays lets a person hear something now.
func (c *club) plays(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.fans {
		if f.name != name {
			continue
		}
		second := time.Now().Unix()
		if n := len(f.heard); n > 0 {
			second = max(second, f.heard[n-1].second+1)
		}
		f.heard = append(f.heard, playID{second, fmt.Sprintf("Song %d of %s", len(f.heard)+1, name)})
	}
}

// asksToWait asks everybody to wait, from the next call on.
func (c *club) asksToWait(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wait = d
}

// forgets gives a person another token, which is returned.
func (c *club) forgets(name string) (token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, token := "token-"+name, "second-token-"+name
	c.fans[token] = c.fans[old]
	delete(c.fans, old)
	return token
}

// heardBy returns what a person has heard, and how often it was sent here.
func (c *club) heardBy(name string) (heard []playID, sent map[playID]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.fans {
		if f.name == name {
			return slices.Clone(f.heard), f.sent
		}
	}
	return nil, nil
}

// submissions returns how many plays were sent here.
func (c *club) submissions() (sum int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.fans {
		for _, n := range f.sent {
			sum += n
		}
	}
	return sum
}

// complaints returns the breaches so far.
func (c *club) complaints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.breaches)
}
