package demo

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ListenBrainzServer is the address of the simulated ListenBrainz.
type ListenBrainzServer struct {
	URL string // of the API, without /1
	lb  *listenBrainz
}

// Token returns the token on the account's profile page: "demo-token-alice", and another one after Revoked.
func (s ListenBrainzServer) Token(account string) string {
	s.lb.mu.Lock()
	defer s.lb.mu.Unlock()
	return s.lb.tokenLocked(account)
}

// Submitted returns what was accepted by submit-listens, in the order of arrival, repeats included.
func (s ListenBrainzServer) Submitted() []Play {
	s.lb.mu.Lock()
	defer s.lb.mu.Unlock()
	return slices.Clone(s.lb.submitted)
}

// Deleted returns the listens whose deletion was accepted, in the order of arrival, repeats included.
func (s ListenBrainzServer) Deleted() []Play {
	s.lb.mu.Lock()
	defer s.lb.mu.Unlock()
	return slices.Clone(s.lb.deleted)
}

// Listens returns the account's whole history, oldest first. A listen that was submitted twice, with the same second,
// artist and title, is there once.
func (s ListenBrainzServer) Listens(account string) []Play {
	return s.lb.home.history(account, func(p *person) []play { return p.listens })
}

// Refuse makes submit-listens answer 400 from now on to every call that holds a track of one of these titles, as it
// does to one bad listen among many. Without titles nothing is refused any more.
func (s ListenBrainzServer) Refuse(titles ...string) {
	s.lb.mu.Lock()
	defer s.lb.mu.Unlock()
	s.lb.refused = slices.Clone(titles)
}

const (
	submitPath = "/1/submit-listens"
	deletePath = "/1/delete-listen"
)

type listenBrainz struct {
	*gate
	home *household

	mu        sync.Mutex
	refused   []string // titles
	issue     int      // of tokens; grows when they are revoked
	submitted []Play
	deleted   []Play
	window    time.Time // start of the rate limit's window
	used      int
}

func (w *World) startListenBrainz(ctx context.Context) (err error) {
	lb := &listenBrainz{home: w.home, issue: 1}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /1/validate-token", lb.validateToken)
	mux.HandleFunc("GET /1/user/{name}/listens", lb.listens)
	mux.HandleFunc("GET /1/user/{name}/listen-count", lb.listenCount)
	mux.HandleFunc("GET /1/user/{name}/playlists", lb.playlists)
	mux.HandleFunc("GET /1/user/{name}/playlists/createdfor", lb.playlists)
	mux.HandleFunc("GET /1/playlist/{mbid}", lb.playlist)
	mux.HandleFunc("POST /1/playlist/create", lb.createList)
	mux.HandleFunc("POST /1/playlist/edit/{mbid}", lb.editList)
	mux.HandleFunc("POST /1/playlist/{mbid}/item/add", lb.addToList)
	mux.HandleFunc("POST /1/playlist/{mbid}/item/delete", lb.removeFromList)
	mux.HandleFunc("POST "+submitPath, lb.submit)
	mux.HandleFunc("POST "+deletePath, lb.delete)
	mux.HandleFunc("GET /1/feedback/user/{name}/get-feedback", lb.feedback)
	mux.HandleFunc("POST /1/feedback/recording-feedback", lb.setFeedback)
	mux.HandleFunc("GET /1/metadata/lookup/", lb.lookUp)
	mux.HandleFunc("POST /1/metadata/lookup/", lb.lookUpAll)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { lbError(w, http.StatusNotFound, "Not found.") })
	lb.gate = w.newGate(ctx, rules{who: lb.who, refuse: lb.refuse, next: func(w http.ResponseWriter, r *http.Request) {
		lb.rateHeaders(w)
		if account, valid := lb.owner(lbToken(r)); account != "" && !valid && r.URL.Path != "/1/validate-token" {
			// Revoked. A token that never existed passes: the real service ignores it where none is needed.
			lbError(w, http.StatusUnauthorized, "Invalid authorization token.")
			return
		}
		mux.ServeHTTP(w, r)
	}}, ReadOnly)
	w.revoke[ListenBrainz] = func() {
		lb.mu.Lock()
		defer lb.mu.Unlock()
		lb.issue++
	}
	w.ListenBrainz.lb = lb
	w.ListenBrainz.URL, err = w.serve(ctx, ListenBrainz, lb.gate)
	return err
}

func (lb *listenBrainz) tokenLocked(account string) string {
	if lb.issue == 1 {
		return "demo-token-" + account
	}
	return fmt.Sprintf("demo-token-%s-%d", account, lb.issue)
}

// lbToken returns the token that came with r, in the header or, to validate-token, in the query.
func lbToken(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "token") {
		return strings.TrimSpace(token)
	}
	return r.URL.Query().Get("token")
}

// owner says whose token it is, and whether it is the current one. Somebody with a new token has been to the profile
// page: that ends Revoked.
func (lb *listenBrainz) owner(token string) (account string, valid bool) {
	name, ok := strings.CutPrefix(token, "demo-token-")
	if ok && lb.home.person(name) == nil { // a later token has a number
		name = name[:max(0, strings.LastIndexByte(name, '-'))]
	}
	if !ok || lb.home.person(name) == nil {
		return "", false
	}
	lb.mu.Lock()
	defer lb.mu.Unlock()
	if token != lb.tokenLocked(name) {
		return name, false
	}
	lb.heal()
	return name, true
}

func (lb *listenBrainz) who(r *http.Request) string {
	account, _ := lb.owner(lbToken(r))
	return account
}

func (lb *listenBrainz) validateToken(w http.ResponseWriter, r *http.Request) {
	token := lbToken(r)
	if token == "" {
		lbError(w, http.StatusBadRequest, "You need to provide an Authorization token.")
		return
	}
	account, valid := lb.owner(token)
	if !valid {
		writeJSON(w, http.StatusOK, object{"code": 200, "message": "Token invalid.", "valid": false})
		return
	}
	writeJSON(w, http.StatusOK, object{"code": 200, "message": "Token valid.", "valid": true, "user_name": account})
}

// user returns the person in the path, or answers 404.
func (lb *listenBrainz) user(w http.ResponseWriter, r *http.Request) *person {
	p := lb.home.person(r.PathValue("name"))
	if p == nil {
		lbError(w, http.StatusNotFound, "Cannot find user: "+r.PathValue("name"))
	}
	return p
}

func (lb *listenBrainz) listenCount(w http.ResponseWriter, r *http.Request) {
	if p := lb.user(w, r); p != nil {
		lb.home.mu.RLock()
		n := len(p.listens)
		lb.home.mu.RUnlock()
		writeJSON(w, http.StatusOK, object{"payload": object{"count": n}})
	}
}

func (lb *listenBrainz) listens(w http.ResponseWriter, r *http.Request) {
	p := lb.user(w, r)
	if p == nil {
		return
	}
	var bounds [3]int64
	for i, name := range []string{"min_ts", "max_ts", "count"} {
		s := r.URL.Query().Get(name)
		if s == "" {
			continue
		}
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			lbError(w, http.StatusBadRequest, "Invalid "+name+" argument: "+s)
			return
		}
		bounds[i] = n
	}
	minTS, maxTS, count := bounds[0], bounds[1], int(min(bounds[2], 1000))
	if minTS > 0 && maxTS > 0 && minTS >= maxTS {
		lbError(w, http.StatusBadRequest, "max_ts should be greater than min_ts")
		return
	}
	if count == 0 {
		count = 25
	}
	lb.home.mu.RLock()
	page := slices.Clone(listensBetween(p.listens, minTS, maxTS, count))
	var oldest, latest int64
	if n := len(p.listens); n > 0 {
		oldest, latest = p.listens[0].seconds(), p.listens[n-1].seconds()
	}
	metas := lb.home.metas // only ever appended to
	lb.home.mu.RUnlock()
	listensPage{p.name, page, metas, oldest, latest}.write(w)
}

// listensBetween returns the newest count listens with min < time < max; with a lower bound alone the oldest ones, as
// the real service does. Zero is no bound.
func listensBetween(all []play, minTS, maxTS int64, count int) []play {
	if maxTS > 0 {
		all = all[:sort.Search(len(all), func(i int) bool { return all[i].seconds() >= maxTS })]
	}
	if minTS > 0 {
		all = all[sort.Search(len(all), func(i int) bool { return all[i].seconds() > minTS }):]
	}
	if minTS > 0 && maxTS == 0 {
		return all[:min(count, len(all))]
	}
	return all[max(0, len(all)-count):]
}

// rateHeaders counts calls as the real service does, 30 in 10 s, but leaves the refusing to RateLimited.
func (lb *listenBrainz) rateHeaders(w http.ResponseWriter) {
	const limit, window = 30, 10 * time.Second
	now := lb.opts.Now()
	lb.mu.Lock()
	if now.Sub(lb.window) >= window {
		lb.window, lb.used = now, 0
	}
	lb.used++
	left, reset := max(1, limit-lb.used), lb.window.Add(window)
	lb.mu.Unlock()
	setRate(w.Header(), limit, left, reset, reset.Sub(now))
}

func setRate(h http.Header, limit, left int, reset time.Time, in time.Duration) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(left))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
	h.Set("X-RateLimit-Reset-In", strconv.Itoa(int((in+time.Second-1)/time.Second)))
}

func (lb *listenBrainz) refuse(w http.ResponseWriter, m Mode) {
	if m == Unavailable {
		lbError(w, http.StatusServiceUnavailable, "The service is unavailable right now.")
		return
	}
	setRate(w.Header(), 30, 0, lb.opts.Now().Add(lb.opts.RetryAfter), lb.opts.RetryAfter)
	lbError(w, http.StatusTooManyRequests,
		"You have exceeded your rate limit. See the X-RateLimit-* response headers for more information on your "+
			"current rate limit.")
}

func lbError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"code": status, "error": message})
}
