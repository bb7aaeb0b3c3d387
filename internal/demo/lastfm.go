package demo

import (
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	maxScrobbles = 50 // in one call
	oldScrobble  = 14 * 24 * time.Hour
	maxRecent    = 200 // plays in one answer
)

// lastErrors has Last.fm's messages by error code.
var lastErrors = map[int]string{
	3: "Invalid Method - No method with that name in this package",
	6: "Invalid parameters - Your request is missing a required parameter",
	7: "Invalid resource specified", 9: "Invalid session key - Please re-authenticate",
	10: "Invalid API key - You must be granted a valid key by last.fm", 13: "Invalid method signature supplied",
	14: "Unauthorized Token - This token has not been issued", 15: "This token has expired",
	16: "The service is temporarily unavailable, please try again.",
	17: "Login: User required to be logged in",
	26: "Suspended API key - Access for your account has been suspended, please contact Last.fm",
	29: "Rate Limit Exceded - Your IP has made too many requests in a short period, exceeding our API guidelines",
}

func lastError(w http.ResponseWriter, status, code int) {
	writeJSON(w, status, object{"error": code, "message": lastErrors[code]})
}

func (lf *lastFM) refuse(w http.ResponseWriter, m Mode) {
	if m == Unavailable {
		lastError(w, http.StatusServiceUnavailable, 16)
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(lf.opts.RetryAfter/time.Second)))
	lastError(w, http.StatusTooManyRequests, 29)
}

// api serves every method, because all have the same address.
func (lf *lastFM) api(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		lastError(w, http.StatusBadRequest, 6)
		return
	}
	form := r.Form
	mode, _ := lf.current()
	switch {
	case form.Get("api_key") != lf.clientID:
		lastError(w, http.StatusForbidden, 10)
	case mode == Suspended:
		lastError(w, http.StatusForbidden, 26)
	case form.Has("api_sig") && form.Get("api_sig") != lf.signature(form):
		lastError(w, http.StatusForbidden, 13)
	default:
		lf.method(w, form, mode)
	}
}

func (lf *lastFM) method(w http.ResponseWriter, form url.Values, mode Mode) {
	method := form.Get("method")
	if method == "auth.getSession" && form.Has("api_sig") {
		lf.getSession(w, form)
		return
	}
	account, ok := lf.caller(form)
	if !ok {
		lastError(w, http.StatusOK, 9) // Last.fm reports errors with any status, this one included
		return
	}
	switch {
	case method == "user.getInfo":
		lf.getInfo(w, form, account)
	case method == "user.getRecentTracks" && mode == Hidden:
		lastError(w, http.StatusForbidden, 17)
	case method == "user.getRecentTracks":
		lf.getRecentTracks(w, form)
	case method == "track.scrobble" && account == "":
		lastError(w, http.StatusForbidden, 9)
	case method == "track.updateNowPlaying" && account != "":
		writeJSON(w, http.StatusOK, object{"nowplaying": object{"artist": object{"#text": form.Get("artist")},
			"track": object{"#text": form.Get("track")}}})
	case method == "user.getLovedTracks":
		lf.getLovedTracks(w, form)
	case (method == "track.love" || method == "track.unlove") && account == "":
		lastError(w, http.StatusForbidden, 9)
	case method == "track.love":
		lf.setLoved(w, form, account, 1)
	case method == "track.unlove":
		lf.setLoved(w, form, account, 0)
	case method == "track.scrobble":
		lf.scrobble(w, form, account, mode)
	default:
		lastError(w, http.StatusBadRequest, 3)
	}
}

// caller returns the account of a session key; empty without a key, and false with a bad one.
func (lf *lastFM) caller(form url.Values) (account string, ok bool) {
	key := form.Get("sk")
	if key == "" {
		return "", true
	}
	lf.mu.Lock()
	defer lf.mu.Unlock()
	if s := lf.sessions[key]; s != nil && !s.dead && form.Has("api_sig") {
		return s.account, true
	}
	return "", false
}

func (lf *lastFM) getInfo(w http.ResponseWriter, form url.Values, account string) {
	if name := form.Get("user"); name != "" {
		account = strings.ToLower(name)
	}
	p := lf.home.person(account)
	if p == nil {
		lastError(w, http.StatusNotFound, 6)
		return
	}
	n := len(lf.home.window(func() []play { return p.scrobbled }))
	writeJSON(w, http.StatusOK,
		object{"user": object{"name": p.name, "realname": p.display, "playcount": strconv.Itoa(n), "type": "user"}})
}

func (lf *lastFM) getRecentTracks(w http.ResponseWriter, form url.Values) {
	p := lf.home.person(strings.ToLower(form.Get("user")))
	if p == nil {
		lastError(w, http.StatusNotFound, 6)
		return
	}
	number := func(name string, otherwise int64) int64 {
		if n, err := strconv.ParseInt(form.Get(name), 10, 64); err == nil && n > 0 {
			return n
		}
		return otherwise
	}
	from, to := number("from", 0), number("to", 1<<40)
	limit, page := int(min(number("limit", 50), maxRecent)), int(min(number("page", 1), 1<<20))
	var total int
	plays := lf.home.window(func() []play {
		all := p.scrobbled
		all = all[sort.Search(len(all), func(i int) bool { return all[i].seconds() > from }):]
		all = all[:sort.Search(len(all), func(i int) bool { return all[i].seconds() >= to })]
		total = len(all)
		end := max(0, total-(page-1)*limit)
		return all[max(0, end-limit):end]
	})
	rows := make([]object, 0, len(plays))
	for _, p := range slices.Backward(plays) {
		rows = append(rows, lf.row(p))
	}
	var list any = rows
	if len(rows) == 1 { // Last.fm's way with a list of one
		list = rows[0]
	}
	writeJSON(w, http.StatusOK, object{"recenttracks": object{"track": list, "@attr": object{
		"user": p.name, "page": strconv.Itoa(page), "perPage": strconv.Itoa(limit), "total": strconv.Itoa(total),
		"totalPages": strconv.Itoa((total + limit - 1) / limit),
	}}})
}

func (lf *lastFM) row(p play) object {
	t, a := lf.home.song(int(p.track))
	named := func(name string) object { return object{"#text": name, "mbid": ""} }
	return object{
		"artist": named(a.artist), "name": t.title, "album": named(a.title), "mbid": "", "streamable": "0",
		"image": []object{},
		"url":   "https://www.last.fm/music/" + url.PathEscape(a.artist) + "/_/" + url.PathEscape(t.title),
		"date": object{
			"uts":   strconv.FormatInt(p.seconds(), 10),
			"#text": time.UnixMilli(p.at).UTC().Format("02 Jan 2006, 15:04"),
		},
	}
}

// sent is one play in a call of track.scrobble.
type sent struct {
	artist, title string
	seconds       int64
	code          int // with which it is ignored; 0 when it is taken
}

// scrobble accepts or ignores each play of a call.
func (lf *lastFM) scrobble(w http.ResponseWriter, form url.Values, account string, mode Mode) {
	plays, ok := lf.read(form, mode)
	if n := len(plays); !ok || n == 0 || n > maxScrobbles {
		lastError(w, http.StatusBadRequest, 6)
		return
	}
	results, accepted := make([]object, len(plays)), 0
	for i, s := range plays {
		if s.code == 0 {
			lf.keep(account, s)
			accepted++
		}
		results[i] = object{
			"artist": object{"corrected": "0", "#text": s.artist}, "track": object{"corrected": "0", "#text": s.title},
			"timestamp":      strconv.FormatInt(s.seconds, 10),
			"ignoredMessage": object{"code": strconv.Itoa(s.code), "#text": ignoredWords[s.code]},
		}
	}
	var list any = results
	if len(results) == 1 { // Last.fm's way with a list of one
		list = results[0]
	}
	writeJSON(w, http.StatusOK, object{
		"scrobbles": object{
			"scrobble": list,
			"@attr":    object{"accepted": accepted, "ignored": len(results) - accepted},
		},
	})
}

// read returns the plays of a call, at most one more than allowed; false when one is incomplete.
func (lf *lastFM) read(form url.Values, mode Mode) (plays []sent, ok bool) {
	for i := range maxScrobbles + 1 {
		suffix := "[" + strconv.Itoa(i) + "]"
		if i == 0 && form.Has("artist") { // a single one may do without
			suffix = ""
		}
		if !form.Has("artist" + suffix) {
			break
		}
		s := sent{artist: form.Get("artist" + suffix), title: form.Get("track" + suffix)}
		seconds, err := strconv.ParseInt(form.Get("timestamp"+suffix), 10, 64)
		if err != nil || s.artist == "" || s.title == "" {
			return nil, false
		}
		s.seconds, s.code = seconds, lf.judge(s.artist, time.Unix(seconds, 0), mode)
		plays = append(plays, s)
	}
	return plays, true
}

var ignoredWords = map[int]string{
	1: "Artist was ignored", 3: "Timestamp was too old", 4: "Timestamp was too new", 5: "Daily scrobble limit exceeded",
}

// judge returns the code with which a play is ignored, or 0.
func (lf *lastFM) judge(artist string, at time.Time, mode Mode) int {
	now := lf.opts.Now()
	switch {
	case strings.EqualFold(artist, "Unknown Artist"):
		return 1
	case at.Before(now.Add(-oldScrobble)):
		return 3
	case at.After(now.Add(time.Hour)):
		return 4
	case mode == DailyLimit:
		return 5
	}
	return 0
}

// keep adds a play, unless there is one of the same second, artist and title.
func (lf *lastFM) keep(account string, s sent) {
	at := time.Unix(s.seconds, 0)
	lf.home.mu.Lock()
	p := lf.home.people[account]
	id := lf.home.trackLocked(Song{Artist: s.artist, Title: s.title}, nil)
	if !hasListen(p.scrobbled, s.seconds, id) {
		p.scrobbled = insertPlay(p.scrobbled, play{at: at.UnixMilli(), track: int32(id)})
	}
	lf.home.mu.Unlock()
	lf.mu.Lock()
	defer lf.mu.Unlock()
	lf.arrived = append(lf.arrived, Play{Account: account, Artist: s.artist, Title: s.title, At: at})
}
