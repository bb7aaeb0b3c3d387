package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

const (
	maxSubmit     = 1000   // listens in one call
	maxListenSize = 10_240 // bytes of one listen, on average over a call
	firstListen   = 1033430400
)

type submission struct {
	Type    string `json:"listen_type"`
	Payload []struct {
		ListenedAt int64          `json:"listened_at"`
		Metadata   map[string]any `json:"track_metadata"`
	} `json:"payload"`
}

// submit accepts listens: all of a call, or none.
func (lb *listenBrainz) submit(w http.ResponseWriter, r *http.Request) {
	account, ok := lb.writer(w, r)
	if !ok {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		lbError(w, http.StatusBadRequest, "Cannot read the request body.")
		return
	}
	var s submission
	if err := json.Unmarshal(body, &s); err != nil {
		lbError(w, http.StatusBadRequest, "Cannot parse JSON document: "+err.Error())
		return
	}
	problem := s.check(len(body), lb.opts.Now())
	if problem == "" && lb.refuses(&s) {
		problem = "JSON document contains a listen that cannot be stored."
	}
	if problem != "" {
		lbError(w, http.StatusBadRequest, problem)
		return
	}
	if s.Type != "playing_now" {
		lb.accept(account, &s)
	}
	writeJSON(w, http.StatusOK, object{"status": "ok"})
}

// refuses reports whether a call holds a track that refuse has named.
func (lb *listenBrainz) refuses(s *submission) bool {
	lb.mu.Lock()
	defer lb.mu.Unlock()
	for _, l := range s.Payload {
		if title, _ := l.Metadata["track_name"].(string); slices.Contains(lb.refused, title) {
			return true
		}
	}
	return false
}

// check returns what is wrong with the call, or nothing.
func (s *submission) check(size int, now time.Time) string {
	switch n := len(s.Payload); {
	case n == 0:
		return "JSON document does not contain any listens"
	case n > maxSubmit:
		return fmt.Sprintf("Too many listens. You may not submit more than %d listens in one request.", maxSubmit)
	case size > n*maxListenSize:
		return fmt.Sprintf("JSON document is too large. In aggregate, listens may not be larger than %d characters.",
			maxListenSize)
	case !slices.Contains([]string{"single", "import", "playing_now"}, s.Type):
		return "JSON document requires a valid listen_type key."
	case s.Type != "import" && n > 1:
		return "JSON document contains more than listen for a single/playing_now. It should contain only one."
	}
	for _, l := range s.Payload {
		for _, field := range []string{"artist_name", "track_name"} {
			if v, _ := l.Metadata[field].(string); strings.TrimSpace(v) == "" {
				return "JSON document does not contain required track_metadata." + field + "."
			}
		}
		switch {
		case s.Type == "playing_now" && l.ListenedAt != 0:
			return "JSON document should not contain listened_at key while submitting playing_now."
		case s.Type == "playing_now":
		case l.ListenedAt == 0:
			return "JSON document should contain the key listened_at at the top level."
		case l.ListenedAt < firstListen && now.Unix() >= firstListen: // a bubble of fake time begins before
			return "Value for key listened_at is too low. listened_at timestamp should be greater than the " +
				"timestamp of start of last.fm."
		case l.ListenedAt > now.Add(time.Hour).Unix():
			return "Value for key listened_at is too high."
		}
	}
	return ""
}

// accept stores listens, unless there is one of the same second, artist and title.
func (lb *listenBrainz) accept(account string, s *submission) {
	var arrived []Play
	lb.home.mu.Lock()
	p := lb.home.people[account]
	for _, l := range s.Payload {
		artist, title := l.Metadata["artist_name"].(string), l.Metadata["track_name"].(string)
		at := time.Unix(l.ListenedAt, 0)
		arrived = append(arrived, Play{Account: account, Artist: artist, Title: title, At: at})
		id := lb.home.trackLocked(Song{Artist: artist, Title: title}, l.Metadata)
		if !hasListen(p.listens, l.ListenedAt, id) {
			p.listens = insertPlay(p.listens, play{at: at.UnixMilli(), track: int32(id)})
		}
	}
	lb.home.mu.Unlock()
	lb.mu.Lock()
	defer lb.mu.Unlock()
	lb.submitted = append(lb.submitted, arrived...)
}

func hasListen(plays []play, seconds int64, track int) bool {
	i := sort.Search(len(plays), func(i int) bool { return plays[i].seconds() >= seconds })
	for ; i < len(plays) && plays[i].seconds() == seconds; i++ {
		if int(plays[i].track) == track {
			return true
		}
	}
	return false
}

const (
	jspfPlaylist = "https://musicbrainz.org/doc/jspf#playlist"
	jspfTrack    = "https://musicbrainz.org/doc/jspf#track"
)

// playlists answers both lists: a user's own, with private ones only for that user, and those made for the user.
func (lb *listenBrainz) playlists(w http.ResponseWriter, r *http.Request) {
	p := lb.user(w, r)
	if p == nil {
		return
	}
	caller, valid := lb.owner(lbToken(r))
	createdFor := strings.HasSuffix(r.URL.Path, "/createdfor")
	var lists []object
	for _, l := range lb.home.playlistsOf(ListenBrainz, p.name) {
		if l.createdFor == createdFor && (l.public || valid && caller == p.name) {
			lists = append(lists, object{"playlist": lb.jspf(l, false)})
		}
	}
	total := len(lists)
	offset := min(queryInt(r, "offset", 0), total)
	count := min(queryInt(r, "count", 25), 100)
	lists = lists[offset:min(total, offset+count)]
	if lists == nil {
		lists = []object{}
	}
	writeJSON(w, http.StatusOK,
		object{"count": len(lists), "offset": offset, "playlist_count": total, "playlists": lists})
}

func (lb *listenBrainz) playlist(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("mbid")
	if len(id) != 36 {
		lbError(w, http.StatusBadRequest, "Provided playlist ID is invalid.")
		return
	}
	l := lb.home.playlist(ListenBrainz, id)
	if caller, valid := lb.owner(lbToken(r)); l == nil || !l.public && (!valid || caller != l.owner) {
		lbError(w, http.StatusNotFound, "Cannot find playlist: "+id)
		return
	}
	writeJSON(w, http.StatusOK, object{"playlist": lb.jspf(l, true)})
}

// jspf describes a playlist, in lists without its tracks.
func (lb *listenBrainz) jspf(l *playlist, whole bool) object {
	creator := l.owner
	extension := object{
		"public":           l.public,
		"creator":          creator,
		"last_modified_at": l.changed.UTC().Format(time.RFC3339),
	}
	if l.createdFor {
		creator = "listenbrainz"
		extension["creator"], extension["created_for"] = creator, l.owner
		patch := strings.ReplaceAll(strings.ToLower(strings.TrimSuffix(l.name, " for "+l.owner)), " ", "-")
		extension["additional_metadata"] = object{"algorithm_metadata": object{"source_patch": patch}}
	}
	tracks := []object{}
	if whole {
		for _, id := range l.tracks {
			t, a := lb.home.song(id)
			tracks = append(tracks, object{
				"identifier": []string{recordingPrefix + t.mbid},
				"title":      t.title, "creator": a.artist, "album": a.title, "duration": t.duration.Milliseconds(),
				"extension": object{jspfTrack: object{
					"added_by": creator, "added_at": l.changed.UTC().Format(time.RFC3339),
					"artist_identifiers": []string{"https://musicbrainz.org/artist/" + uuid("artist"+a.artist)},
				}},
			})
		}
	}
	return object{
		"identifier": "https://listenbrainz.org/playlist/" + l.id, "title": l.name, "annotation": l.description,
		"creator": creator, "date": l.changed.UTC().Format(time.RFC3339), "track": tracks,
		"extension": object{jspfPlaylist: extension},
	}
}

// queryInt returns a parameter that is a whole number from 0, or the default.
func queryInt(r *http.Request, name string, otherwise int) int {
	n, err := strconv.Atoi(r.FormValue(name))
	if err != nil || n < 0 {
		return otherwise
	}
	return n
}
