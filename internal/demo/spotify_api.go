package demo

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

const spotifyTime = "2006-01-02T15:04:05.000Z"

// bearer returns the access token of r with its grant; ok is false for one that never existed.
func (sp *spotify) bearer(r *http.Request) (a accessToken, given, ok bool) {
	t, given := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sp.mu.Lock()
	defer sp.mu.Unlock()
	a, ok = sp.access[t]
	return a, given, ok
}

func (sp *spotify) who(r *http.Request) string {
	if a, _, ok := sp.bearer(r); ok {
		return a.grant.account
	}
	if r.URL.Path == "/api/token" {
		sp.mu.Lock()
		defer sp.mu.Unlock()
		if g := sp.grants[r.PostFormValue("refresh_token")]; g != nil {
			return g.account
		}
		return sp.codes[r.PostFormValue("code")].account
	}
	return ""
}

// api serves calls to an endpoint of the Web API with a good access token.
func (sp *spotify) api(scope string, serve func(http.ResponseWriter, *http.Request, *person)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a, given, ok := sp.bearer(r)
		dead := false
		if ok {
			sp.mu.Lock()
			dead = a.grant.dead
			sp.mu.Unlock()
		}
		switch {
		case !given:
			spotifyError(w, http.StatusUnauthorized, "No token provided")
		case !ok || dead:
			spotifyError(w, http.StatusUnauthorized, "Invalid access token")
		case !sp.opts.Now().Before(a.expires):
			spotifyError(w, http.StatusUnauthorized, "The access token expired")
		case scope != "" && !slices.Contains(strings.Fields(a.grant.scope), scope):
			spotifyError(w, http.StatusForbidden, "Insufficient client scope")
		default:
			serve(w, r, sp.home.person(a.grant.account))
		}
	}
}

func (sp *spotify) refuse(w http.ResponseWriter, m Mode) {
	if m == Unavailable {
		spotifyError(w, http.StatusServiceUnavailable, "Service temporarily unavailable")
		return
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(sp.opts.RetryAfter/time.Second)))
	spotifyError(w, http.StatusTooManyRequests, "API rate limit exceeded")
}

func spotifyError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, object{"error": object{"status": status, "message": message}})
}

// ref returns the fields by which Spotify names an object of that kind.
func (sp *spotify) ref(kind, id, name string) object {
	path := kind + "s/" + id
	return object{
		"id": id, "name": name, "type": kind, "uri": "spotify:" + kind + ":" + id, "href": sp.url + "/v1/" + path,
		"external_urls": object{"spotify": "https://open.spotify.com/" + kind + "/" + id},
	}
}

func (sp *spotify) user(name string) object {
	o := sp.ref("user", name, "")
	delete(o, "name")
	o["display_name"] = "Spotify"
	if p := sp.home.person(name); p != nil {
		o["display_name"] = p.display
	}
	return o
}

func (sp *spotify) me(w http.ResponseWriter, _ *http.Request, p *person) {
	o := sp.user(p.name)
	o["images"] = []object{}
	writeJSON(w, http.StatusOK, o)
}

func (sp *spotify) track(id int) object {
	t, a := sp.home.song(id)
	artists := []object{sp.ref("artist", base62("artist"+a.artist), a.artist)}
	record := sp.ref("album", base62("album"+a.artist+a.title), a.title)
	record["album_type"], record["artists"], record["images"] = "album", artists, []object{}
	record["release_date"], record["release_date_precision"] = strconv.Itoa(a.year), "year"
	record["total_tracks"] = len(a.tracks)
	o := sp.ref("track", t.spotifyID, t.title)
	o["album"], o["artists"], o["disc_number"], o["track_number"] = record, artists, 1, t.number
	o["duration_ms"], o["explicit"], o["is_local"], o["preview_url"] = t.duration.Milliseconds(), false, false, nil
	o["external_ids"] = object{}
	if t.isrc != "" {
		o["external_ids"] = object{"isrc": t.isrc}
	}
	return o
}

// limitOf reads limit, or answers 400.
func limitOf(w http.ResponseWriter, r *http.Request, otherwise, most int) (int, bool) {
	s := r.FormValue("limit")
	if s == "" {
		return otherwise, true
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > most {
		spotifyError(w, http.StatusBadRequest, "Invalid limit")
		return 0, false
	}
	return n, true
}

// currentlyPlaying answers with the latest play for as long as its track lasts.
func (sp *spotify) currentlyPlaying(w http.ResponseWriter, _ *http.Request, p *person) {
	sp.home.mu.RLock()
	plays := p.spotify[max(0, len(p.spotify)-1):]
	sp.home.mu.RUnlock()
	for _, one := range plays {
		t, _ := sp.home.song(int(one.track))
		if since := sp.opts.Now().UnixMilli() - one.at; since >= 0 && since < t.duration.Milliseconds() {
			writeJSON(w, http.StatusOK, object{"timestamp": one.at, "progress_ms": since, "is_playing": true,
				"currently_playing_type": "track", "item": sp.track(int(one.track))})
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func (sp *spotify) recentlyPlayed(w http.ResponseWriter, r *http.Request, p *person) {
	limit, ok := limitOf(w, r, 20, recentPlays)
	if !ok {
		return
	}
	after, before := r.FormValue("after"), r.FormValue("before")
	if after != "" && before != "" {
		spotifyError(w, http.StatusBadRequest, "Invalid request: only one of after and before is allowed")
		return
	}
	cursor, err := strconv.ParseInt(after+before, 10, 64)
	if after+before != "" && err != nil {
		spotifyError(w, http.StatusBadRequest, "Invalid cursor")
		return
	}
	older := 0 // how many there are before this page
	page := sp.home.window(func() []play {
		all := p.spotify
		if before != "" {
			all = all[:sort.Search(len(all), func(i int) bool { return all[i].at >= cursor })]
		}
		first := max(0, len(all)-limit)
		if after != "" {
			first = max(first, sort.Search(len(all), func(i int) bool { return all[i].at > cursor }))
		}
		older = first
		return all[first:]
	})
	slices.Reverse(page)
	items := []object{}
	for _, pl := range page {
		record := sp.track(int(pl.track))["album"].(object)
		items = append(items, object{
			"track": sp.track(int(pl.track)), "played_at": time.UnixMilli(pl.at).UTC().Format(spotifyTime),
			"context": object{
				"type":          "album",
				"uri":           record["uri"],
				"href":          record["href"],
				"external_urls": record["external_urls"],
			},
		})
	}
	a := object{"items": items, "limit": limit, "next": nil, "cursors": nil, "href": sp.url + r.URL.RequestURI()}
	if n := len(page); n > 0 {
		oldest := strconv.FormatInt(page[n-1].at, 10)
		a["cursors"] = object{"after": strconv.FormatInt(page[0].at, 10), "before": oldest}
		if older > 0 {
			a["next"] = fmt.Sprintf("%s%s?before=%s&limit=%d", sp.url, r.URL.Path, oldest, limit)
		}
	}
	writeJSON(w, http.StatusOK, a)
}

// page answers with a part of a list of n items, in Spotify's paging object.
func (sp *spotify) page(w http.ResponseWriter, r *http.Request, limit, n int, item func(int) object) {
	offset := queryInt(r, "offset", 0)
	link := func(from int) any {
		if from < 0 || from >= n || from == offset {
			return nil
		}
		q := url.Values{"offset": {strconv.Itoa(from)}, "limit": {strconv.Itoa(limit)}}
		return sp.url + r.URL.Path + "?" + q.Encode()
	}
	items := []object{}
	for i := offset; i < min(n, offset+limit); i++ {
		items = append(items, item(i))
	}
	answer := object{
		"href": sp.url + r.URL.RequestURI(), "items": items, "limit": limit, "offset": offset, "total": n,
		"next": link(offset + limit), "previous": link(max(0, offset-limit)),
	}
	if tag, same := tagOf(w, r, answer); !same {
		w.Header().Set("ETag", `"`+tag+`"`)
		writeJSON(w, http.StatusOK, answer)
	}
}

func (sp *spotify) playlists(w http.ResponseWriter, r *http.Request, p *person) {
	limit, ok := limitOf(w, r, 20, 50)
	if !ok {
		return
	}
	lists := sp.home.playlistsOf(Spotify, p.name)
	sp.page(w, r, limit, len(lists), func(i int) object { return sp.list(lists[i]) })
}

// list describes a playlist without its tracks.
func (sp *spotify) list(l *playlist) object {
	o := sp.ref("playlist", l.id, l.name)
	o["collaborative"], o["description"], o["images"] = false, l.description, []object{}
	o["owner"] = sp.user(l.owner)
	o["primary_color"], o["public"] = nil, l.public
	o["snapshot_id"] = base64.StdEncoding.EncodeToString([]byte(l.version()))
	o["items"] = object{"href": o["href"].(string) + "/items", "total": l.rows()}
	return o
}

// rows returns the number of items that Spotify counts in a list.
func (l *playlist) rows() int {
	if l.quirks {
		return len(l.tracks) + 2
	}
	return len(l.tracks)
}

func (sp *spotify) items(w http.ResponseWriter, r *http.Request, p *person) {
	limit, ok := limitOf(w, r, 20, 100)
	if !ok {
		return
	}
	l := sp.home.playlist(Spotify, r.PathValue("id"))
	switch {
	case l == nil || !l.public && l.owner != p.name:
		spotifyError(w, http.StatusNotFound, "Resource not found")
		return
	case l.owner != p.name: // since 2026 only the owner's and collaborators' lists are open to apps
		spotifyError(w, http.StatusForbidden, "Forbidden")
		return
	}
	sp.page(w, r, limit, l.rows(), func(i int) object {
		o := object{
			"added_at":      l.changed.UTC().Format(time.RFC3339),
			"added_by":      sp.user(l.owner),
			"is_local":      false,
			"primary_color": nil,
		}
		switch {
		case i < len(l.tracks) && sp.offers(l.tracks[i]):
			o["item"] = sp.track(l.tracks[i])
		case i == len(l.tracks): // a file of the person's own
			o["is_local"] = true
			o["item"] = object{
				"id": nil, "name": "Grandpa plays the accordion", "type": "track",
				"uri":         "spotify:local:::Grandpa+plays+the+accordion:187",
				"album":       object{"id": nil, "name": "", "type": "album"},
				"artists":     []object{{"id": nil, "name": "Grandpa", "type": "artist"}},
				"duration_ms": 187_000, "is_local": true, "external_ids": object{}, "href": nil,
			}
		default: // a track that Spotify no longer has
			o["item"] = nil
		}
		return o
	})
}
