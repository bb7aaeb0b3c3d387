package demo

import (
	"cmp"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// md5Hex is how the Subsonic API makes its tokens.
func md5Hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// The error codes of the Subsonic API that this server gives.
const (
	errGeneric   = 0
	errParameter = 10
	errPassword  = 40
	errForbidden = 50
	errNotFound  = 70
)

// subsonic serves GET and POST of /rest/<method> with or without ".view".
func (nd *navidrome) subsonic(w http.ResponseWriter, r *http.Request) {
	method := strings.TrimSuffix(r.PathValue("method"), ".view")
	methods := map[string]func(*http.Request, *person) (object, *subsonicError){
		"ping":           func(*http.Request, *person) (object, *subsonicError) { return object{}, nil },
		"getUser":        nd.getUser,
		"getPlaylists":   nd.getPlaylists,
		"getPlaylist":    nd.getPlaylist,
		"getAlbumList2":  nd.getAlbumList2,
		"getAlbum":       nd.getAlbum,
		"getSong":        nd.getSong,
		"search3":        nd.search3,
		"createPlaylist": nd.createPlaylist,
		"updatePlaylist": nd.updatePlaylist,
		"deletePlaylist": nd.deletePlaylist,
		"scrobble":       nd.scrobble,
		"getStarred2":    nd.getStarred2,
		"star":           nd.star(1),
		"unstar":         nd.star(0),
		"getNowPlaying":  nd.getNowPlaying,
	}
	if method == "getOpenSubsonicExtensions" { // the one that needs no user
		extensions := []object{}
		for _, name := range []string{"transcodeOffset", "formPost", "songLyrics", "indexBasedQueue"} {
			extensions = append(extensions, object{"name": name, "versions": []int{1}})
		}
		subsonicAnswer(w, r, object{"openSubsonicExtensions": extensions}, nil)
		return
	}
	serve := methods[method]
	if serve == nil {
		http.NotFound(w, r)
		return
	}
	p, e := nd.authenticate(r)
	if e != nil {
		subsonicAnswer(w, r, nil, e)
		return
	}
	o, e := serve(r, p)
	subsonicAnswer(w, r, o, e)
}

type subsonicError struct {
	code    int
	message string
}

// authenticate accepts a token with its salt, or the password, plain or in hexadecimal after "enc:".
func (nd *navidrome) authenticate(r *http.Request) (*person, *subsonicError) {
	for _, name := range []string{"u", "v", "c"} {
		if r.FormValue(name) == "" {
			return nil, &subsonicError{errParameter, "missing parameter: '" + name + "'"}
		}
	}
	password := r.FormValue("p")
	if coded, ok := strings.CutPrefix(password, "enc:"); ok {
		plain, err := hex.DecodeString(coded)
		if err != nil {
			return nil, &subsonicError{errPassword, "Wrong username or password"}
		}
		password = string(plain)
	}
	right := nd.correct(r.FormValue("u"), func(p string) bool {
		if t := r.FormValue("t"); t != "" {
			return strings.EqualFold(t, md5Hex(p+r.FormValue("s")))
		}
		return p == password
	})
	if !right {
		return nil, &subsonicError{errPassword, "Wrong username or password"}
	}
	return nd.home.person(r.FormValue("u")), nil
}

// subsonicAnswer sends o or e, both with status 200. Only JSON is complete; XML carries the status alone.
func subsonicAnswer(w http.ResponseWriter, r *http.Request, o object, e *subsonicError) {
	if r.FormValue("f") != "json" {
		w.Header().Set("Content-Type", "application/xml")
		const attributes = `xmlns="http://subsonic.org/restapi" version="1.16.1" type="navidrome" ` +
			`serverVersion="` + navidromeVersion + `" openSubsonic="true"`
		if e != nil {
			_, _ = fmt.Fprintf(w,
				`<subsonic-response %s status="failed"><error code="%d" message=%q></error></subsonic-response>`,
				attributes, e.code, e.message)
			return
		}
		_, _ = fmt.Fprintf(w, `<subsonic-response %s status="ok"></subsonic-response>`, attributes)
		return
	}
	a := object{
		"status":        "ok",
		"version":       "1.16.1",
		"type":          "navidrome",
		"serverVersion": navidromeVersion,
		"openSubsonic":  true,
	}
	maps.Copy(a, o)
	if e != nil {
		a["status"], a["error"] = "failed", object{"code": e.code, "message": e.message}
	}
	writeJSON(w, http.StatusOK, object{"subsonic-response": a})
}

func (nd *navidrome) getUser(r *http.Request, p *person) (object, *subsonicError) {
	if name := cmp.Or(r.FormValue("username"), p.name); name != p.name {
		return nil, &subsonicError{errForbidden, "User is not authorized for the given operation"}
	}
	return object{"user": object{
		"username": p.name, "scrobblingEnabled": true, "adminRole": false, "settingsRole": true, "downloadRole": true,
		"playlistRole": true,
		"streamRole":   true, "jukeboxRole": false, "shareRole": false, "folder": []int{1},
	}}, nil
}

func (nd *navidrome) playlistObject(l *playlist) object {
	var length time.Duration
	for _, id := range l.tracks {
		t, _ := nd.home.song(id)
		length += t.duration
	}
	return object{
		"id": l.id, "name": l.name, "comment": l.description, "songCount": len(l.tracks),
		"duration": int(length.Seconds()),
		"public":   l.public, "owner": l.owner, "created": l.changed.AddDate(0, -3, 0).UTC().Format(time.RFC3339),
		"changed": l.changed.UTC().Format(time.RFC3339), "coverArt": "pl-" + l.id,
	}
}

// getPlaylists lists the person's own playlists and the public ones.
func (nd *navidrome) getPlaylists(_ *http.Request, p *person) (object, *subsonicError) {
	lists := []object{}
	for _, name := range []string{Alice, Bob} {
		for _, l := range nd.home.playlistsOf(Navidrome, name) {
			if l.public || l.owner == p.name {
				lists = append(lists, nd.playlistObject(l))
			}
		}
	}
	return object{"playlists": object{"playlist": lists}}, nil
}

func (nd *navidrome) getPlaylist(r *http.Request, p *person) (object, *subsonicError) {
	if r.FormValue("id") == "" {
		return nil, &subsonicError{errParameter, "missing parameter: 'id'"}
	}
	return nd.wholePlaylist(r.FormValue("id"), p)
}

func (nd *navidrome) wholePlaylist(id string, p *person) (object, *subsonicError) {
	l := nd.home.playlist(Navidrome, id)
	if l == nil || !l.public && l.owner != p.name {
		return nil, &subsonicError{errNotFound, "Playlist not found"}
	}
	o, played := nd.playlistObject(l), nd.home.played(p)
	entries := []object{}
	for _, id := range l.tracks {
		entries = append(entries, nd.song(id, played[id]))
	}
	o["entry"] = entries
	return object{"playlist": o}, nil
}

func (nd *navidrome) song(id int, plays count) object {
	t, a := nd.home.song(id)
	recording := t.mbid
	if unmatched(id) {
		recording = ""
	}
	albumID, artistID := base62("album"+a.artist+a.title), base62("artist"+a.artist)
	o := object{
		"id": t.navidromeID, "parent": albumID, "isDir": false, "title": t.title, "album": a.title, "artist": a.artist,
		"track": t.number,
		"year":  a.year, "genre": a.genre, "coverArt": "mf-" + t.navidromeID,
		"size":        int64(t.duration.Seconds()) * 110_000,
		"contentType": "audio/flac", "suffix": "flac", "duration": int(t.duration.Seconds()), "bitRate": 880,
		"playCount": plays.n,
		"path":      a.artist + "/" + a.title + "/" + fmt.Sprintf("%02d - %s.flac", t.number, t.title), "discNumber": 1,
		"created": nd.home.born.AddDate(-1, 0, -id).UTC().Format(time.RFC3339), "albumId": albumID,
		"artistId": artistID, "type": "music",
		"isVideo": false, "mediaType": "song", "musicBrainzId": recording, "isrc": []string{t.isrc},
		"artists": []object{{"id": artistID, "name": a.artist}}, "displayArtist": a.artist,
	}
	if plays.n > 0 {
		o["played"] = time.Unix(plays.last, 0).UTC().Format(time.RFC3339)
	}
	return o
}

func (nd *navidrome) albumObject(a *album, played map[int]count) object {
	var length time.Duration
	var plays count
	for _, id := range a.tracks {
		length += nd.home.cat.tracks[id].duration
		plays.n += played[id].n
		plays.last = max(plays.last, played[id].last)
	}
	id := base62("album" + a.artist + a.title)
	o := object{
		"id": id, "name": a.title, "artist": a.artist, "artistId": base62("artist" + a.artist),
		"songCount": len(a.tracks),
		"duration":  int(length.Seconds()), "playCount": plays.n, "year": a.year, "genre": a.genre,
		"coverArt": "al-" + id,
		"created":  nd.home.born.AddDate(-1, 0, -a.tracks[0]).UTC().Format(time.RFC3339),
	}
	if plays.n > 0 {
		o["played"] = time.Unix(plays.last, 0).UTC().Format(time.RFC3339)
	}
	return o
}

// getAlbumList2 knows recent and frequent, which hold only what was played, and gives every other type by artist.
func (nd *navidrome) getAlbumList2(r *http.Request, p *person) (object, *subsonicError) {
	kind := r.FormValue("type")
	if kind == "" {
		return nil, &subsonicError{errParameter, "missing parameter: 'type'"}
	}
	played := nd.home.played(p)
	weight := func(a *album) (w int64) {
		for _, id := range a.tracks {
			switch kind {
			case "recent":
				w = max(w, played[id].last)
			case "frequent":
				w += int64(played[id].n)
			}
		}
		return w
	}
	var albums []*album
	for i := range nd.home.cat.albums {
		a := &nd.home.cat.albums[i]
		if a.local && (weight(a) > 0 || kind != "recent" && kind != "frequent") {
			albums = append(albums, a)
		}
	}
	slices.SortStableFunc(albums, func(a, b *album) int {
		return cmp.Or(cmp.Compare(weight(b), weight(a)), strings.Compare(a.artist, b.artist))
	})
	offset := min(queryInt(r, "offset", 0), len(albums))
	size := min(queryInt(r, "size", 10), 500)
	list := []object{}
	for _, a := range albums[offset:min(len(albums), offset+size)] {
		list = append(list, nd.albumObject(a, played))
	}
	return object{"albumList2": object{"album": list}}, nil
}

func (nd *navidrome) getAlbum(r *http.Request, p *person) (object, *subsonicError) {
	played := nd.home.played(p)
	for i := range nd.home.cat.albums {
		a := &nd.home.cat.albums[i]
		if !a.local || base62("album"+a.artist+a.title) != r.FormValue("id") {
			continue
		}
		o := nd.albumObject(a, played)
		songs := []object{}
		for _, id := range a.tracks {
			songs = append(songs, nd.song(id, played[id]))
		}
		o["song"] = songs
		return object{"album": o}, nil
	}
	return nil, &subsonicError{errNotFound, "Album not found"}
}

func (nd *navidrome) getSong(r *http.Request, p *person) (object, *subsonicError) {
	id := nd.home.localTrack(r.FormValue("id"))
	if id < 0 {
		return nil, &subsonicError{errNotFound, "Song not found"}
	}
	return object{"song": nd.song(id, nd.home.played(p)[id])}, nil
}

// scrobble stores a row for every id, whether it has one of that instant or not; as the real server does, it passes
// over ids that it does not know.
func (nd *navidrome) scrobble(r *http.Request, p *person) (object, *subsonicError) {
	ids, times := r.Form["id"], r.Form["time"]
	if len(ids) == 0 {
		return nil, &subsonicError{errParameter, "missing parameter: 'id'"}
	}
	if len(times) > 0 && len(times) != len(ids) {
		return nil, &subsonicError{
			errGeneric,
			fmt.Sprintf("Wrong number of timestamps: %d, should be %d", len(times), len(ids)),
		}
	}
	if r.FormValue("submission") == "false" {
		if id := nd.home.localTrack(ids[0]); id >= 0 {
			nd.home.mu.Lock()
			p.said = append(p.said, said{play{at: nd.opts.Now().UnixMilli(), track: int32(id)}, r.FormValue("c")})
			nd.home.mu.Unlock()
		}
		return object{}, nil
	}
	for i, s := range ids {
		at := nd.opts.Now().Unix()
		if len(times) > 0 {
			if ms, err := strconv.ParseInt(times[i], 10, 64); err == nil {
				at = ms / 1000
			}
		}
		if id := nd.home.localTrack(s); id >= 0 {
			nd.home.mu.Lock()
			p.scrobbleLocked(id, at)
			nd.home.mu.Unlock()
			nd.received(p, id, at)
		}
	}
	return object{}, nil
}

// count holds how often a track was played on Navidrome, and when last.
type count struct {
	n    int
	last int64 // Unix seconds
}

func (h *household) played(p *person) map[int]count {
	h.mu.RLock()
	defer h.mu.RUnlock()
	played := map[int]count{}
	for _, s := range p.scrobbles {
		c := played[int(s.track)]
		played[int(s.track)] = count{c.n + 1, max(c.last, s.at)}
	}
	return played
}

func (h *household) localTracks() []int {
	return h.tracks(func(a *album) bool { return a.local })
}

// tracks returns the ids of all tracks on some albums.
func (h *household) tracks(on func(*album) bool) (ids []int) {
	for i := range h.cat.tracks {
		if on(h.cat.albumOf(i)) {
			ids = append(ids, i)
		}
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for i := range h.added {
		if on(&h.added[i].album) {
			ids = append(ids, len(h.cat.tracks)+i)
		}
	}
	return ids
}

// localTrack returns the track with one of Navidrome's ids; -1 without one.
func (h *household) localTrack(id string) int {
	for _, i := range h.localTracks() {
		if t, _ := h.song(i); t.navidromeID == id {
			return i
		}
	}
	return -1
}
