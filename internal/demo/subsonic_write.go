package demo

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Scrobbled returns what scrobble accepted, in the order of arrival, repeats included.
func (s NavidromeServer) Scrobbled() []Play {
	s.nd.mu.Lock()
	defer s.nd.mu.Unlock()
	return slices.Clone(s.nd.scrobbled)
}

func (nd *navidrome) received(p *person, track int, seconds int64) {
	t, a := nd.home.song(track)
	nd.mu.Lock()
	defer nd.mu.Unlock()
	nd.scrobbled = append(nd.scrobbled, Play{
		Account: p.name, Title: t.title, Artist: a.artist, At: time.Unix(seconds, 0),
	})
}

// search3 finds songs in whose title, artist or album every word of the query begins a word. It looks for nothing else.
func (nd *navidrome) search3(r *http.Request, p *person) (object, *subsonicError) {
	if !r.Form.Has("query") {
		return nil, &subsonicError{errParameter, "missing parameter: 'query'"}
	}
	found := nd.home.search(nd.home.localTracks(), r.FormValue("query"))
	offset := min(queryInt(r, "songOffset", 0), len(found))
	found = found[offset:min(len(found), offset+queryInt(r, "songCount", 20))]
	result, played := object{}, nd.home.played(p)
	if len(found) > 0 { // the real server leaves an empty list out
		songs := make([]object, len(found))
		for i, id := range found {
			songs[i] = nd.song(id, played[id])
		}
		result["song"] = songs
	}
	return object{"searchResult3": result}, nil
}

// search returns the tracks that match a text: each of its words begins a word of the title, the artist or the album.
func (h *household) search(among []int, text string) (found []int) {
	wanted := terms(text)
	for _, id := range among {
		t, a := h.song(id)
		has := terms(t.title + " " + a.artist + " " + a.title)
		begins := func(w string) bool {
			return slices.ContainsFunc(has, func(h string) bool { return strings.HasPrefix(h, w) })
		}
		if !slices.ContainsFunc(wanted, func(w string) bool { return !begins(w) }) {
			found = append(found, id)
		}
	}
	return found
}

// terms are the words of a text in lower case, without accents and punctuation.
func terms(text string) []string {
	plain := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(text))
	return strings.FieldsFunc(plain, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// songs finds the files of these ids; as the real server does, it passes over those that it does not have.
func (nd *navidrome) songs(ids []string) []int {
	var found []int
	for _, s := range ids {
		if id := nd.home.localTrack(s); id >= 0 {
			found = append(found, id)
		}
	}
	return found
}

// createPlaylist makes a playlist, or exchanges the songs of one. As at the real server, the second neither renames nor
// empties it.
func (nd *navidrome) createPlaylist(r *http.Request, p *person) (object, *subsonicError) {
	id, name, songs := r.FormValue("playlistId"), r.FormValue("name"), nd.songs(r.Form["songId"])
	if id != "" {
		e := nd.change(p, id, func(l *playlist) {
			if len(songs) > 0 {
				l.tracks = songs
			}
		})
		if e != nil {
			return nil, e
		}
		return nd.wholePlaylist(id, p)
	}
	if name == "" {
		return nil, &subsonicError{errGeneric, "required parameter name is missing"}
	}
	nd.mu.Lock()
	nd.created++
	id = base62("created" + strconv.Itoa(nd.created))
	nd.mu.Unlock()
	nd.home.addList(p,
		&playlist{service: Navidrome, id: id, name: name, owner: p.name, changed: nd.opts.Now(), tracks: songs})
	return nd.wholePlaylist(id, p)
}

// updatePlaylist renames, takes songs out and then puts others at the end.
func (nd *navidrome) updatePlaylist(r *http.Request, p *person) (object, *subsonicError) {
	id := r.FormValue("playlistId")
	if id == "" {
		return nil, &subsonicError{errParameter, "missing parameter: 'playlistId'"}
	}
	gone := map[int]bool{}
	for _, s := range r.Form["songIndexToRemove"] {
		i, err := strconv.Atoi(s)
		if err != nil {
			return nil, &subsonicError{errGeneric, fmt.Sprintf("invalid index: %q", s)}
		}
		gone[i] = true
	}
	added := nd.songs(r.Form["songIdToAdd"])
	return object{}, nd.change(p, id, func(l *playlist) {
		if r.Form.Has("name") {
			l.name = r.FormValue("name")
		}
		if r.Form.Has("comment") {
			l.description = r.FormValue("comment")
		}
		if r.Form.Has("public") {
			l.public = r.FormValue("public") == "true"
		}
		var kept []int
		for i, id := range l.tracks {
			if !gone[i] {
				kept = append(kept, id)
			}
		}
		l.tracks = append(kept, added...)
	})
}

func (nd *navidrome) deletePlaylist(r *http.Request, p *person) (object, *subsonicError) {
	nd.home.mu.Lock()
	defer nd.home.mu.Unlock()
	i, err := nd.home.ownLocked(p, Navidrome, r.FormValue("id"))
	if err == nil {
		p.playlists = slices.Delete(p.playlists, i, i+1)
	}
	return object{}, listError(err)
}

// change puts what f makes of a copy into the place of a person's own playlist.
func (nd *navidrome) change(p *person, id string, f func(*playlist)) *subsonicError {
	return listError(nd.home.changeList(p, Navidrome, id, nd.opts.Now(), f))
}

// listError returns the answer to a failed change of a playlist.
func listError(err error) *subsonicError {
	switch err {
	case nil:
		return nil
	case errOthers:
		return &subsonicError{errForbidden, "User is not authorized for the given operation"}
	}
	return &subsonicError{errNotFound, "Playlist not found"}
}
