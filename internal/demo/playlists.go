package demo

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// playlist is a list of tracks at one service.
type playlist struct {
	service     string // provider name
	id          string
	name        string
	description string
	owner       string // a person's name, or the service's
	public      bool
	unlisted    bool // public for those who know its address
	createdFor  bool // made by ListenBrainz for the person
	quirks      bool // holds a file of the person's own and a track that is gone, as real lists do
	changed     time.Time
	tracks      []int
}

// collection lists the playlists of the household, by person.
var collection = map[string][]struct {
	service, name, description string
	n                          int
	how                        string // "private", "createdfor", "closed", "quirks" or empty
}{
	Alice: {
		{Spotify, "Slow evening", "Lights down", 20, ""},
		{Spotify, "Running", "", 15, "private"},
		{Spotify, "Everything I like", "One list for all of it", 150, "private"},
		{Spotify, "Road trip", "Brittany and back", 24, "quirks"},
		{Spotify, "New Music Friday", "The best new releases of the week", 40, "closed"},
		{ListenBrainz, "Rain", "For grey days", 20, ""},
		{ListenBrainz, "Only for me", "", 9, "private"},
		{ListenBrainz, "Daily Jams for alice", "", 25, "createdfor"},
		{ListenBrainz, "Weekly Exploration for alice", "", 30, "createdfor"},
		{Navidrome, "Dinner", "With guests", 18, ""},
		{Navidrome, "Headphones", "", 32, "private"},
		{Navidrome, "Piano", "", 8, "private"},
		{YouTube, "Live sessions", "", 16, ""},
		{YouTube, "Kitchen", "To cook by", 62, "private"},
	},
	Bob: {
		{Spotify, "Gym", "", 14, ""},
		{ListenBrainz, "Bass", "", 10, ""},
		{Navidrome, "Garage", "Loud", 16, ""},
		{YouTube, "Bass lines", "", 7, ""},
	},
}

// version changes whenever the list does.
func (p *playlist) version() string { return base62(fmt.Sprint(p.id, p.name, p.changed, p.tracks)) }

func (t *teller) playlists(name string, now time.Time) []*playlist {
	var lists []*playlist
	for i, c := range collection[name] {
		p := &playlist{
			service: c.service, name: c.name, description: c.description, owner: name, public: c.how != "private",
			createdFor: c.how == "createdfor", quirks: c.how == "quirks",
			changed: now.AddDate(0, 0, -11*i-2).Truncate(time.Second),
		}
		p.id = base62("playlist" + c.service + name + c.name)
		switch {
		case c.service == ListenBrainz:
			p.id = uuid("playlist" + name + c.name)
		case c.how == "closed":
			p.owner = Spotify
		case c.service == YouTube:
			p.id = "PL" + p.id
		}
		for len(p.tracks) < c.n {
			if id := t.track(); c.service != Navidrome || t.cat.albumOf(id).local {
				p.tracks = append(p.tracks, id)
			}
		}
		lists = append(lists, p)
	}
	return lists
}

// playlistsOf returns the lists of one person at one service.
func (h *household) playlistsOf(service, name string) []*playlist {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var lists []*playlist
	if p := h.people[name]; p != nil {
		for _, l := range p.playlists {
			if l.service == service {
				lists = append(lists, l)
			}
		}
	}
	return lists
}

// playlist finds a list of a service by its id; nil without one.
func (h *household) playlist(service, id string) *playlist {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, p := range h.people {
		for _, l := range p.playlists {
			if l.service == service && l.id == id {
				return l
			}
		}
	}
	return nil
}

// Why a playlist cannot be changed.
var (
	errNoList = errors.New("there is no such playlist")
	errOthers = errors.New("it is somebody else's playlist")
)

// addList gives a person one more playlist.
func (h *household) addList(p *person, l *playlist) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.playlists = append(p.playlists, l)
}

// changeList applies f to a copy of a person's own playlist, and puts the copy in its place.
func (h *household) changeList(p *person, service, id string, now time.Time, f func(*playlist)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	i, err := h.ownLocked(p, service, id)
	if err != nil {
		return err
	}
	l := *p.playlists[i]
	f(&l)
	l.changed = now
	p.playlists[i] = &l
	return nil
}

// ownLocked returns the index in p.playlists of a person's own playlist at a service. It returns errOthers if the
// playlist is somebody else's, and errNoList if that one is private.
func (h *household) ownLocked(p *person, service, id string) (int, error) {
	here := func(l *playlist) bool { return l.service == service && l.id == id }
	if i := slices.IndexFunc(p.playlists, here); i >= 0 {
		if p.playlists[i].createdFor || p.playlists[i].owner != p.name {
			return 0, errOthers
		}
		return i, nil
	}
	for _, other := range h.people {
		if i := slices.IndexFunc(other.playlists, here); i >= 0 && other.playlists[i].public {
			return 0, errOthers
		}
	}
	return 0, errNoList
}
