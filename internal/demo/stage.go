package demo

import (
	"encoding/json"
	"slices"
	"time"
)

// Song is a recording that services know beside those of the catalog.
type Song struct {
	Artist, Album, Title, Genre string
	Duration                    time.Duration
	Video                       string   // its id at YouTube
	Blocked                     []string // the countries in which YouTube does not show it
	Local                       bool     // Navidrome has it
}

// AddPerson adds an account of that name at every service, without any music. It does nothing if there is one.
func (w *World) AddPerson(name string) {
	w.home.mu.Lock()
	defer w.home.mu.Unlock()
	w.home.addPersonLocked(name)
}

func (h *household) addPersonLocked(name string) *person {
	if h.people[name] == nil {
		h.people[name] = &person{name: name, display: name}
	}
	return h.people[name]
}

// Hear adds a play to the history of an account at Spotify, Last.fm or ListenBrainz.
func (w *World) Hear(service, account string, s Song, at time.Time) {
	w.home.mu.Lock()
	defer w.home.mu.Unlock()
	p, id := w.home.addPersonLocked(account), w.home.trackLocked(s, nil)
	heard := play{at: at.UnixMilli(), track: int32(id)}
	switch {
	case service == Spotify:
		p.spotify = insertPlay(p.spotify, heard)
		p.spotify = p.spotify[max(0, len(p.spotify)-recentPlays):]
	case service == LastFM:
		p.scrobbled = insertPlay(p.scrobbled, heard)
	case !hasListen(p.listens, heard.seconds(), id):
		p.listens = insertPlay(p.listens, heard)
	}
}

// Lose removes the plays of a time from the history of an account at Last.fm or ListenBrainz, and returns their number.
func (w *World) Lose(service, account string, from, to time.Time) (n int) {
	w.home.mu.Lock()
	defer w.home.mu.Unlock()
	p := w.home.addPersonLocked(account)
	of := &p.listens
	if service == LastFM {
		of = &p.scrobbled
	}
	kept := slices.DeleteFunc(slices.Clone(*of), func(v play) bool {
		return v.at >= from.UnixMilli() && v.at < to.UnixMilli()
	})
	n = len(*of) - len(kept)
	*of = kept
	return n
}

// LikeVideo adds a song to the videos that an account likes at YouTube.
func (w *World) LikeVideo(account string, s Song) {
	w.home.mu.Lock()
	defer w.home.mu.Unlock()
	p := w.home.addPersonLocked(account)
	p.likes = append(p.likes, like{w.opts.Now().UnixMilli(), w.home.trackLocked(s, nil)})
}

// List is a playlist of an account at a service. ListenBrainz wants a UUID as its id.
type List struct {
	ID, Name string
	Privacy  string // "public", "unlisted" or "private"
	Songs    []Song
}

// SetPlaylist gives an account a playlist at a service, in place of the one with that id; without songs it removes
// that.
func (w *World) SetPlaylist(service, account string, l List) {
	w.home.mu.Lock()
	defer w.home.mu.Unlock()
	p := w.home.addPersonLocked(account)
	is := func(old *playlist) bool { return old.service == service && old.id == l.ID }
	list := &playlist{service: service, id: l.ID, name: l.Name, owner: account, changed: w.opts.Now(),
		public: l.Privacy != "private", unlisted: l.Privacy == "unlisted"}
	for _, s := range l.Songs {
		id := w.home.trackLocked(s, nil)
		list.tracks = append(list.tracks, id)
		if n := id - len(w.home.cat.tracks); n >= 0 && service == Navidrome {
			w.home.added[n].album.local = true
		}
	}
	lists := slices.Clone(p.playlists)
	switch i := slices.IndexFunc(lists, is); {
	case len(l.Songs) == 0:
		lists = slices.DeleteFunc(lists, is)
	case i >= 0:
		if next := lists[i].changed.Add(time.Second); list.changed.Before(next) {
			list.changed = next // some tell it in whole seconds
		}
		lists[i] = list
	default:
		lists = slices.Insert(lists, 0, list) // services list the newest first
	}
	p.playlists = lists
}

// Playlists returns the playlists of an account at a service, with the artists and titles of their songs.
func (w *World) Playlists(service, account string) (all []List) {
	for _, l := range w.home.playlistsOf(service, account) {
		list := List{ID: l.id, Name: l.name, Privacy: "private"}
		if l.public {
			list.Privacy = "public"
		}
		for _, id := range l.tracks {
			t, a := w.home.song(id)
			list.Songs = append(list.Songs, Song{Artist: a.artist, Title: t.title})
		}
		all = append(all, list)
	}
	return all
}

// song returns a track and its album. The caller does not hold the lock.
func (h *household) song(id int) (*track, *album) {
	if id < len(h.cat.tracks) {
		return &h.cat.tracks[id], h.cat.albumOf(id)
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	a := h.added[id-len(h.cat.tracks)]
	return &a.track, &a.album
}

// trackLocked returns the index of a song, which it adds if it is new. ListenBrainz describes a new one with the
// metadata, by default with the song's names.
func (h *household) trackLocked(s Song, metadata object) int {
	name := s.Artist + "\x00" + s.Title
	key := name
	if s.Video != "" { // one of several recordings of that name
		key += "\x00" + s.Video
	}
	if id, ok := h.byName[key]; ok {
		return id
	}
	if metadata == nil {
		metadata = object{"artist_name": s.Artist, "track_name": s.Title}
		if s.Album != "" {
			metadata["release_name"] = s.Album
		}
	}
	body, err := json.Marshal(metadata)
	if err != nil {
		panic(err) // it was just read from JSON, or is of strings
	}
	id := len(h.metas)
	h.metas = append(h.metas, meta{msid: uuid("msid" + name), json: body, atHome: body, compare: name})
	h.added = append(h.added, &added{
		track: track{title: s.Title, number: 1, duration: s.Duration, mbid: uuid("recording" + name),
			spotifyID: base62("spotify" + name), navidromeID: base62("navidrome" + name),
			videoID: s.Video, blocked: s.Blocked},
		album: album{artist: s.Artist, title: s.Album, genre: s.Genre, local: s.Local},
	})
	h.byName[key] = id
	if s.Video != "" {
		h.byID[s.Video] = id
	}
	return id
}
