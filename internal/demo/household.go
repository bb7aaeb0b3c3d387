package demo

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// The two people of the household, as they sign in everywhere.
const (
	Alice = "alice"
	Bob   = "bob"
)

const (
	recentPlays  = 50 // plays that Spotify remembers
	onlySpotify  = 8  // of those, plays that never reached ListenBrainz
	mostScrobble = 600
	startLikes   = 30
)

// scrobble is a row of Navidrome's own history.
type scrobble struct {
	id    int64 // grows by one with every row
	at    int64 // Unix seconds
	track int32
}

// person is one account at every service, by the same name.
type person struct {
	name, display string
	spotify       []play               // the last recentPlays, oldest first
	listens       []play               // ListenBrainz's, oldest first
	scrobbles     []scrobble           // Navidrome's, in the order of id
	said          []said               // what programs say is playing, at Navidrome
	scrobbled     []play               // Last.fm's, oldest first
	likes         []like               // YouTube's, the oldest first
	loves         map[string][]opinion // of the other services, by their names; the oldest first
	playlists     []*playlist          // never changed, only replaced
}

// household is the data that the upstreams share.
type household struct {
	cat  *catalog
	born time.Time // the end of the initial history

	mu     sync.RWMutex
	people map[string]*person
	rnd    *rand.Rand // of plays that are added later
	foreign
}

func newHousehold(o *Options, now time.Time) *household {
	if o.Empty {
		return &household{cat: &catalog{}, born: now, people: map[string]*person{}, foreign: newForeign(&catalog{})}
	}
	h := &household{cat: theCatalog(), born: now, people: map[string]*person{}, rnd: rand.New(rand.NewPCG(o.Seed, 99))}
	h.foreign = newForeign(h.cat)
	h.people[Alice] = h.newPerson(Alice, "Alice", o.Plays, newTeller(h.cat, o, 1))
	h.people[Bob] = h.newPerson(Bob, "Bob", o.Plays/10, newTeller(h.cat, o, 2))
	return h
}

func (h *household) newPerson(name, display string, plays int, t *teller) *person {
	p := &person{name: name, display: display}
	all := t.history(plays+onlySpotify, h.born)
	scrobbles := min(mostScrobble, plays*15/100)
	shared := limitHome(all, scrobbles*6/10)
	p.listens, p.spotify = splitRecent(all, t.rnd, plays)
	p.scrobbled = slices.DeleteFunc(slices.Clone(p.listens), func(l play) bool { return l.home })
	p.scrobbles = t.scrobbles(shared, scrobbles-len(shared), h.born)
	p.playlists = t.playlists(name, h.born)
	p.loves = map[string][]opinion{}
	for _, service := range []string{Spotify, LastFM, ListenBrainz, Navidrome} {
		p.loves[service] = t.lovesAtFirst(service, h.born)
	}
	for i := range min(startLikes, plays) { // a like now and then, as far back as the lists go
		p.likes = append(p.likes, like{h.born.AddDate(0, 0, i-startLikes).UnixMilli(), t.track()})
	}
	return p
}

// limitHome leaves the newest n plays at home and moves the others to Spotify, as if Navidrome was set up late.
func limitHome(plays []play, n int) (home []play) {
	for i := len(plays) - 1; i >= 0; i-- {
		if !plays[i].home {
			continue
		}
		if len(home) == n {
			plays[i].home = false
			continue
		}
		home = append(home, plays[i])
	}
	slices.Reverse(home)
	return home
}

// splitRecent divides a history: the last plays that Spotify knows, a second or two off and a few of them unknown to
// ListenBrainz, and the newest n that ListenBrainz knows.
func splitRecent(all []play, rnd *rand.Rand, n int) (listens, recent []play) {
	only := map[int]bool{}
	for i := len(all) - 1; i >= 0 && len(recent) < recentPlays; i-- {
		p := all[i]
		if p.home {
			continue
		}
		if len(recent)%6 == 3 && len(only) < onlySpotify {
			only[i] = true
		}
		p.at += 200 + rnd.Int64N(1900)
		recent = append(recent, p)
	}
	slices.Reverse(recent)
	listens = make([]play, 0, len(all))
	for i, p := range all {
		if !only[i] {
			p.at -= p.at % 1000
			listens = append(listens, p)
		}
	}
	return listens[len(listens)-n:], recent
}

// scrobbles returns Navidrome's rows: the shared plays, and more that were never sent on.
func (t *teller) scrobbles(shared []play, more int, now time.Time) []scrobble {
	all := slices.Clone(shared)
	era := int64(300 * 24 * time.Hour / time.Millisecond)
	if len(shared) > 0 {
		era = min(era, now.UnixMilli()-shared[0].at)
	}
	var local []int
	for i := range t.cat.tracks {
		if t.cat.albumOf(i).local {
			local = append(local, i)
		}
	}
	for range more {
		at := now.UnixMilli() - 20*60_000 - t.rnd.Int64N(max(era, 24*3600_000))
		all = append(all, play{at: at, track: int32(local[t.rnd.IntN(len(local))])})
	}
	slices.SortStableFunc(all, byTime)
	rows := make([]scrobble, len(all))
	for i, p := range all {
		rows[i] = scrobble{id: int64(i + 1), at: p.seconds(), track: p.track}
	}
	return rows
}

// play adds a play of that person now: on Navidrome when home is true, on Spotify otherwise, and in ListenBrainz.
func (h *household) play(name string, home bool, now time.Time) Play {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.playLocked(name, h.pickLocked(home), home, now)
}

// playOwned adds a play on Spotify of a track whose file the household has too.
func (h *household) playOwned(name string, now time.Time) Play {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.playLocked(name, h.pickLocked(true), false, now)
}

func (h *household) pickLocked(local bool) int {
	id := h.rnd.IntN(len(h.cat.tracks))
	for local && !h.cat.albumOf(id).local {
		id = h.rnd.IntN(len(h.cat.tracks))
	}
	return id
}

func (h *household) playLocked(name string, id int, home bool, now time.Time) Play {
	p := h.people[name]
	at := now.UnixMilli()
	if home {
		p.scrobbleLocked(id, at/1000)
	} else {
		p.spotify = insertPlay(p.spotify, play{at: at, track: int32(id)})
		p.spotify = p.spotify[max(0, len(p.spotify)-recentPlays):]
	}
	p.listens = insertPlay(p.listens, play{at: at - at%1000, track: int32(id), home: home})
	return h.told(name, id, at)
}

// playOnPhone adds a play of that person now, which only Last.fm knows.
func (h *household) playOnPhone(name string, now time.Time) Play {
	h.mu.Lock()
	defer h.mu.Unlock()
	p, id, at := h.people[name], h.rnd.IntN(len(h.cat.tracks)), now.Truncate(time.Second).UnixMilli()
	p.scrobbled = insertPlay(p.scrobbled, play{at: at, track: int32(id)})
	return h.told(name, id, at)
}

func (h *household) told(name string, id int, at int64) Play {
	return Play{Account: name, Title: h.cat.tracks[id].title, Artist: h.cat.albumOf(id).artist, At: time.UnixMilli(at)}
}

// history returns the plays that a service knows of an account, oldest first; nil without that account.
func (h *household) history(account string, known func(*person) []play) []Play {
	p := h.person(account)
	if p == nil {
		return nil
	}
	all := []Play{}
	for _, l := range h.window(func() []play { return known(p) }) {
		t, a := h.song(int(l.track))
		all = append(all, Play{Account: account, Title: t.title, Artist: a.artist, At: time.UnixMilli(l.at)})
	}
	return all
}

func (p *person) scrobbleLocked(track int, seconds int64) {
	next := int64(1)
	if n := len(p.scrobbles); n > 0 {
		next = p.scrobbles[n-1].id + 1
	}
	p.scrobbles = append(p.scrobbles, scrobble{id: next, at: seconds, track: int32(track)})
}

// insertPlay adds a play in order of time, after others of the same instant.
func insertPlay(plays []play, p play) []play {
	i := len(plays)
	for i > 0 && plays[i-1].at > p.at {
		i--
	}
	return slices.Insert(plays, i, p)
}

// person returns the account of that name, or nil.
func (h *household) person(name string) *person {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.people[name]
}

// window returns a copy of the part of plays that f selects from the sorted history, taken under the lock.
func (h *household) window(f func() []play) []play {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return slices.Clone(f())
}
