package demo

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

// searchResults is the most that a search returns, and mostURIs the most that one call takes.
const (
	searchResults = 10
	mostURIs      = 100
)

// search finds tracks by an ISRC, or by words in their names.
func (sp *spotify) search(w http.ResponseWriter, r *http.Request, _ *person) {
	limit, ok := limitOf(w, r, 5, searchResults)
	if !ok {
		return
	}
	text := strings.TrimSpace(r.FormValue("q"))
	if text == "" || r.FormValue("type") != "track" {
		spotifyError(w, http.StatusBadRequest, "No search query")
		return
	}
	all := sp.home.tracks(func(*album) bool { return true })
	isrc, byISRC := strings.CutPrefix(text, "isrc:")
	var found []int
	if byISRC {
		for _, id := range all {
			if t, _ := sp.home.song(id); t.isrc == isrc {
				found = append(found, id)
			}
		}
	} else {
		found = sp.home.search(all, text)
	}
	items := []object{}
	for _, id := range found[:min(len(found), limit)] {
		items = append(items, sp.track(id))
	}
	writeJSON(w, http.StatusOK, object{"tracks": object{"items": items, "limit": limit, "offset": 0, "next": nil,
		"previous": nil, "total": len(found), "href": sp.url + r.URL.RequestURI()}})
}

// createPlaylist makes an empty playlist.
func (sp *spotify) createPlaylist(w http.ResponseWriter, r *http.Request, p *person) {
	in := struct {
		Name   string `json:"name"`
		Public *bool  `json:"public"`
	}{}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Name == "" {
		spotifyError(w, http.StatusBadRequest, "Missing required field: name")
		return
	}
	now := sp.opts.Now()
	l := &playlist{service: Spotify, id: base62("created" + p.name + in.Name + now.String()), name: in.Name,
		owner: p.name, public: in.Public == nil || *in.Public, changed: now}
	sp.home.addList(p, l)
	writeJSON(w, http.StatusCreated, sp.list(l))
}

// onePlaylist describes a playlist.
func (sp *spotify) onePlaylist(w http.ResponseWriter, r *http.Request, p *person) {
	l := sp.home.playlist(Spotify, r.PathValue("id"))
	if l == nil || !l.public && l.owner != p.name {
		spotifyError(w, http.StatusNotFound, "Resource not found")
		return
	}
	writeJSON(w, http.StatusOK, sp.list(l))
}

// renamePlaylist changes the name of a playlist.
func (sp *spotify) renamePlaylist(w http.ResponseWriter, r *http.Request, p *person) {
	var in struct {
		Name string `json:"name"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Name == "" {
		spotifyError(w, http.StatusBadRequest, "Missing required field: name")
		return
	}
	if sp.changeList(w, r, p, func(l *playlist) { l.name = in.Name }) {
		w.WriteHeader(http.StatusOK)
	}
}

// putItems puts tracks into a playlist: with PUT in place of what is there, with POST at the end.
func (sp *spotify) putItems(w http.ResponseWriter, r *http.Request, p *person) {
	var in struct {
		URIs []string `json:"uris"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.URIs == nil || len(in.URIs) > mostURIs {
		spotifyError(w, http.StatusBadRequest, "Invalid request: uris")
		return
	}
	tracks, ok := sp.named(w, in.URIs)
	if !ok {
		return
	}
	done := sp.changeList(w, r, p, func(l *playlist) {
		if r.Method == http.MethodPut {
			l.tracks = nil
		}
		l.tracks = append(slices.Clone(l.tracks), tracks...)
	})
	if done {
		writeJSON(w, http.StatusCreated, object{"snapshot_id": sp.home.playlist(Spotify, r.PathValue("id")).version()})
	}
}

// named returns the tracks that the URIs name. If one names none, it answers with an error.
func (sp *spotify) named(w http.ResponseWriter, uris []string) ([]int, bool) {
	byID := map[string]int{}
	for _, id := range sp.home.tracks(func(*album) bool { return true }) {
		t, _ := sp.home.song(id)
		byID[t.spotifyID] = id
	}
	tracks := make([]int, 0, len(uris))
	for _, uri := range uris {
		name, ok := strings.CutPrefix(uri, "spotify:track:")
		id, known := byID[name]
		if !ok || !known {
			spotifyError(w, http.StatusBadRequest, "Invalid track uri: "+uri)
			return nil, false
		}
		tracks = append(tracks, id)
	}
	return tracks, true
}

// changeList applies f to a person's own playlist, or answers why it can't.
func (sp *spotify) changeList(w http.ResponseWriter, r *http.Request, p *person, f func(*playlist)) bool {
	err := sp.home.changeList(p, Spotify, r.PathValue("id"), sp.opts.Now(), f)
	switch {
	case errors.Is(err, errOthers):
		spotifyError(w, http.StatusForbidden, "Forbidden")
	case err != nil:
		spotifyError(w, http.StatusNotFound, "Resource not found")
	}
	return err == nil
}
