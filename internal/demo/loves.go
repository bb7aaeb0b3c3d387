package demo

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// opinion is what a person thinks of a track at one service.
type opinion struct {
	at    int64 // Unix milliseconds
	track int
	score int // 1 loved, -1 hated
}

// Loved is a track that a person loves, or hates, at a service.
type Loved struct {
	Artist, Title string
	Score         int
}

// startOpinions is how many tracks a person loves at each service in the beginning.
const startOpinions = 12

// lovesAtFirst returns what a person loves at a service at the start: some tracks at every service, others only there.
func (t *teller) lovesAtFirst(service string, now time.Time) (all []opinion) {
	skip := map[string]int{Spotify: 0, LastFM: 4, ListenBrainz: 6, Navidrome: 9}[service]
	for i := range startOpinions {
		track := (i + skip) * 17 % max(len(t.cat.tracks), 1)
		if service == Navidrome && !t.cat.albumOf(track).local {
			continue
		}
		all = append(all, opinion{now.AddDate(0, 0, (i-startOpinions)*9).UnixMilli(), track, 1})
	}
	return all
}

// loves returns what a person thinks at a service, the latest first.
func (h *household) loves(service, name string) []opinion {
	h.mu.RLock()
	defer h.mu.RUnlock()
	p := h.people[name]
	if p == nil {
		return nil
	}
	all := slices.Clone(p.loves[service])
	slices.Reverse(all)
	return all
}

// love sets what a person thinks of a track at a service; 0 takes it back.
func (h *household) love(service, name string, track, score int, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.people[name]
	all := slices.Clone(p.loves[service])
	if slices.ContainsFunc(all, func(o opinion) bool { return o.track == track && o.score == score }) {
		return
	}
	all = slices.DeleteFunc(all, func(o opinion) bool { return o.track == track })
	if score != 0 {
		all = append(all, opinion{now.UnixMilli(), track, score})
	}
	if p.loves == nil {
		p.loves = map[string][]opinion{}
	}
	p.loves[service] = all
}

// Loves returns what a person thinks at a service, the latest first.
func (w *World) Loves(service, account string) (all []Loved) {
	if service == YouTube {
		tracks, _ := w.home.likesOf(account)
		for _, id := range tracks {
			t, a := w.home.song(id)
			all = append(all, Loved{Artist: a.artist, Title: t.title, Score: 1})
		}
		return all
	}
	for _, o := range w.home.loves(service, account) {
		t, a := w.home.song(o.track)
		all = append(all, Loved{Artist: a.artist, Title: t.title, Score: o.score})
	}
	return all
}

// Love sets what a person thinks of a track at a service, as they do there themselves; 0 takes it back.
func (w *World) Love(service, account, artist, title string, score int) {
	w.home.mu.Lock()
	id := w.home.trackLocked(Song{Artist: artist, Title: title}, nil)
	w.home.mu.Unlock()
	w.home.love(service, account, id, score, w.opts.Now())
}

// named returns the track with these names.
func (h *household) named(artist, title string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.trackLocked(Song{Artist: artist, Title: title}, nil)
}

func (lf *lastFM) getLovedTracks(w http.ResponseWriter, form url.Values) {
	p := lf.home.person(strings.ToLower(form.Get("user")))
	if p == nil {
		lastError(w, http.StatusNotFound, 6)
		return
	}
	limit, err := strconv.Atoi(form.Get("limit"))
	if err != nil || limit < 1 {
		limit = 50
	}
	page, err := strconv.Atoi(form.Get("page"))
	if err != nil || page < 1 {
		page = 1
	}
	all := lf.home.loves(LastFM, p.name)
	from := min((page-1)*limit, len(all))
	rows := []object{}
	for _, o := range all[from:min(from+limit, len(all))] {
		t, a := lf.home.song(o.track)
		rows = append(rows, object{"name": t.title, "mbid": "", "artist": object{"name": a.artist, "mbid": ""},
			"date": object{"uts": strconv.FormatInt(o.at/1000, 10)}})
	}
	var list any = rows
	if len(rows) == 1 { // Last.fm's way with a list of one
		list = rows[0]
	}
	writeJSON(w, http.StatusOK, object{"lovedtracks": object{"track": list, "@attr": object{"user": p.name,
		"page": strconv.Itoa(page), "perPage": strconv.Itoa(limit), "total": strconv.Itoa(len(all)),
		"totalPages": strconv.Itoa((len(all) + limit - 1) / limit)}}})
}

func (lf *lastFM) setLoved(w http.ResponseWriter, form url.Values, account string, score int) {
	if form.Get("artist") == "" || form.Get("track") == "" {
		lastError(w, http.StatusBadRequest, 6)
		return
	}
	lf.home.love(LastFM, account, lf.home.named(form.Get("artist"), form.Get("track")), score, lf.opts.Now())
	writeJSON(w, http.StatusOK, object{})
}

func (lb *listenBrainz) feedback(w http.ResponseWriter, r *http.Request) {
	p := lb.user(w, r)
	if p == nil {
		return
	}
	all := lb.home.loves(ListenBrainz, p.name)
	if score := r.FormValue("score"); score != "" {
		all = slices.DeleteFunc(all, func(o opinion) bool { return strconv.Itoa(o.score) != score })
	}
	offset, count := queryInt(r, "offset", 0), min(queryInt(r, "count", 25), 1000)
	from := min(offset, len(all))
	rows := []object{}
	for _, o := range all[from:min(from+count, len(all))] {
		t, a := lb.home.song(o.track)
		row := object{"created": o.at / 1000, "score": o.score, "user_id": p.name, "recording_msid": nil,
			"recording_mbid": lb.home.mbidOf(o.track), "track_metadata": nil}
		if r.FormValue("metadata") == "true" {
			row["track_metadata"] = object{"artist_name": a.artist, "track_name": t.title, "release_name": a.title}
		}
		rows = append(rows, row)
	}
	writeJSON(w, http.StatusOK, object{"feedback": rows, "count": len(rows), "offset": offset, "total_count": len(all)})
}

func (lb *listenBrainz) setFeedback(w http.ResponseWriter, r *http.Request) {
	account, ok := lb.writer(w, r)
	if !ok {
		return
	}
	var body struct {
		MBID  string `json:"recording_mbid"`
		MSID  string `json:"recording_msid"`
		Score *int   `json:"score"`
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	if err != nil || body.Score == nil || *body.Score < -1 || *body.Score > 1 {
		lbError(w, http.StatusBadRequest, "JSON document must contain recording_msid or recording_mbid and score")
		return
	}
	track, known := lb.home.trackOfMBID(body.MBID)
	if !known {
		lbError(w, http.StatusBadRequest, "recording_mbid is not valid.")
		return
	}
	lb.home.love(ListenBrainz, account, track, *body.Score, lb.opts.Now())
	writeJSON(w, http.StatusOK, object{"status": "ok"})
}

// lookUp finds a recording by its names.
func (lb *listenBrainz) lookUp(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, lb.recording(r.FormValue("artist_name"), r.FormValue("recording_name")))
}

// recording returns what is known of a recording with these names.
func (lb *listenBrainz) recording(artist, title string) object {
	if artist == "" || title == "" || strings.HasPrefix(artist, "Nobody") {
		return object{}
	}
	id := lb.home.named(artist, title)
	return object{"artist_credit_name": artist, "recording_name": title, "recording_mbid": lb.home.mbidOf(id)}
}

// lookUpAll finds at most 50 recordings by their names.
func (lb *listenBrainz) lookUpAll(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Recordings []struct {
			Artist string `json:"artist_name"`
			Title  string `json:"recording_name"`
		} `json:"recordings"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Recordings) == 0 || len(in.Recordings) > 50 {
		writeJSON(w, http.StatusBadRequest, object{"code": http.StatusBadRequest, "error": "recordings"})
		return
	}
	all := make([]object, len(in.Recordings))
	for i, named := range in.Recordings {
		all[i] = lb.recording(named.Artist, named.Title)
		all[i]["index"] = i
	}
	writeJSON(w, http.StatusOK, all)
}

// mbidOf returns the MusicBrainz id of a track.
func (h *household) mbidOf(track int) string {
	t, _ := h.song(track)
	return t.mbid
}

// trackOfMBID returns the track with a MusicBrainz id.
func (h *household) trackOfMBID(mbid string) (track int, known bool) {
	h.mu.RLock()
	n := len(h.metas)
	h.mu.RUnlock()
	for i := range n {
		if h.mbidOf(i) == mbid {
			return i, true
		}
	}
	return 0, false
}

func (nd *navidrome) getStarred2(_ *http.Request, p *person) (object, *subsonicError) {
	songs := []object{}
	for _, o := range nd.home.loves(Navidrome, p.name) {
		s := nd.song(o.track, nd.home.played(p)[o.track])
		s["starred"] = time.UnixMilli(o.at).UTC().Format(time.RFC3339Nano)
		songs = append(songs, s)
	}
	starred := object{}
	if len(songs) > 0 {
		starred["song"] = songs
	}
	return object{"starred2": starred}, nil
}

// star returns the method that sets a star, or takes it away.
func (nd *navidrome) star(score int) func(*http.Request, *person) (object, *subsonicError) {
	return func(r *http.Request, p *person) (object, *subsonicError) {
		for _, id := range nd.home.localTracks() {
			if t, _ := nd.home.song(id); t.navidromeID == r.FormValue("id") {
				nd.home.love(Navidrome, p.name, id, score, nd.opts.Now())
				return object{}, nil
			}
		}
		return nil, &subsonicError{errNotFound, "data not found"}
	}
}

// setLiked adds tracks to the liked songs (PUT) or removes them (DELETE).
func (sp *spotify) setLiked(w http.ResponseWriter, r *http.Request, p *person) {
	uris := strings.Split(r.FormValue("uris"), ",")
	if r.FormValue("uris") == "" || len(uris) > 40 {
		spotifyError(w, http.StatusBadRequest, "Invalid uris")
		return
	}
	tracks, ok := sp.named(w, uris)
	if !ok {
		return
	}
	score := 0
	if r.Method == http.MethodPut {
		score = 1
	}
	for _, id := range tracks {
		sp.home.love(Spotify, p.name, id, score, sp.opts.Now())
	}
	writeJSON(w, http.StatusOK, object{})
}

func (sp *spotify) liked(w http.ResponseWriter, r *http.Request, p *person) {
	limit, ok := limitOf(w, r, 20, 50)
	if !ok {
		return
	}
	all := sp.home.loves(Spotify, p.name)
	sp.page(w, r, limit, len(all), func(i int) object {
		return object{"added_at": time.UnixMilli(all[i].at).UTC().Format(time.RFC3339), "track": sp.track(all[i].track)}
	})
}
