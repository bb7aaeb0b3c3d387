package demo

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
)

const (
	mostAdded       = 100 // recordings in one call
	recordingPrefix = "https://musicbrainz.org/recording/"
)

// sentList is a playlist in the body of a request that creates or changes one.
type sentList struct {
	Playlist struct {
		Title      string `json:"title"`
		Annotation string `json:"annotation"`
		Tracks     []struct {
			Identifier string `json:"identifier"`
		} `json:"track"`
		Extension map[string]struct {
			Public *bool `json:"public"`
		} `json:"extension"`
	} `json:"playlist"`
}

// public returns whether others can see the playlist; nil if the request doesn't say.
func (s *sentList) public() *bool { return s.Playlist.Extension[jspfPlaylist].Public }

// createList makes a playlist.
func (lb *listenBrainz) createList(w http.ResponseWriter, r *http.Request) {
	p, s, ok := lb.sentList(w, r)
	if !ok {
		return
	}
	if s.Playlist.Title == "" || s.public() == nil {
		lbError(w, http.StatusBadRequest, "JSPF playlist must contain a title and whether it is public.")
		return
	}
	tracks, problem := lb.recordings(s)
	if problem != "" {
		lbError(w, http.StatusBadRequest, problem)
		return
	}
	now := lb.opts.Now()
	id := uuid("created" + p.name + s.Playlist.Title + now.String())
	lb.home.addList(p, &playlist{service: ListenBrainz, id: id, name: s.Playlist.Title, owner: p.name,
		description: s.Playlist.Annotation, public: *s.public(), changed: now, tracks: tracks})
	writeJSON(w, http.StatusOK, object{"status": "ok", "playlist_mbid": id})
}

// editList overwrites a playlist's name, description and visibility.
func (lb *listenBrainz) editList(w http.ResponseWriter, r *http.Request) {
	p, s, ok := lb.sentList(w, r)
	if !ok {
		return
	}
	lb.changeList(w, r, p, func(l *playlist) string {
		if s.Playlist.Title != "" {
			l.name = s.Playlist.Title
		}
		l.description, l.public = s.Playlist.Annotation, s.public() != nil && *s.public()
		return ""
	})
}

// addToList puts recordings at the end of a playlist.
func (lb *listenBrainz) addToList(w http.ResponseWriter, r *http.Request) {
	p, s, ok := lb.sentList(w, r)
	if !ok {
		return
	}
	tracks, problem := lb.recordings(s)
	lb.changeList(w, r, p, func(l *playlist) string {
		l.tracks = append(slices.Clone(l.tracks), tracks...)
		return problem
	})
}

// removeFromList takes recordings out of a playlist.
func (lb *listenBrainz) removeFromList(w http.ResponseWriter, r *http.Request) {
	p, ok := lb.listWriter(w, r)
	if !ok {
		return
	}
	var s struct{ Index, Count *int }
	if json.NewDecoder(r.Body).Decode(&s) != nil || s.Index == nil || s.Count == nil || *s.Index < 0 || *s.Count < 0 {
		lbError(w, http.StatusBadRequest, "a remove instruction must include the keys 'index' and 'count'.")
		return
	}
	lb.changeList(w, r, p, func(l *playlist) string {
		from := min(*s.Index, len(l.tracks))
		l.tracks = slices.Delete(slices.Clone(l.tracks), from, min(from+*s.Count, len(l.tracks)))
		return ""
	})
}

// changeList applies f to a person's own playlist. f returns what is wrong with the request, if anything.
func (lb *listenBrainz) changeList(w http.ResponseWriter, r *http.Request, p *person, f func(*playlist) string) {
	problem := ""
	err := lb.home.changeList(p, ListenBrainz, r.PathValue("mbid"), lb.opts.Now(), func(l *playlist) {
		was := *l
		if problem = f(l); problem != "" {
			*l = was
		}
	})
	switch {
	case errors.Is(err, errOthers):
		lbError(w, http.StatusForbidden, "You are not allowed to edit this playlist.")
	case err != nil:
		lbError(w, http.StatusNotFound, "Cannot find playlist: "+r.PathValue("mbid"))
	case problem != "":
		lbError(w, http.StatusBadRequest, problem)
	default:
		writeJSON(w, http.StatusOK, object{"status": "ok"})
	}
}

// listWriter returns the person whose token the request has.
func (lb *listenBrainz) listWriter(w http.ResponseWriter, r *http.Request) (*person, bool) {
	account, ok := lb.writer(w, r)
	return lb.home.person(account), ok
}

// sentList reads the playlist in a request's body, and the person who sent it.
func (lb *listenBrainz) sentList(w http.ResponseWriter, r *http.Request) (*person, *sentList, bool) {
	p, ok := lb.listWriter(w, r)
	if !ok {
		return nil, nil, false
	}
	var s sentList
	if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
		lbError(w, http.StatusBadRequest, "Cannot parse JSON document: "+err.Error())
		return nil, nil, false
	}
	return p, &s, true
}

// recordings returns the tracks that a call names, or what is wrong with it. It skips unknown recordings.
func (lb *listenBrainz) recordings(s *sentList) (tracks []int, problem string) {
	if len(s.Playlist.Tracks) > mostAdded {
		return nil, "You may only add max 100 recordings per call."
	}
	for _, t := range s.Playlist.Tracks {
		mbid, ok := strings.CutPrefix(t.Identifier, recordingPrefix)
		if !ok || len(mbid) != 36 {
			return nil, "JSPF playlist track does not contain a valid track identifier field."
		}
		if id, known := lb.home.trackOfMBID(mbid); known {
			tracks = append(tracks, id)
		}
	}
	return tracks, ""
}
