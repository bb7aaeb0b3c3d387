package players

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/playrules"
)

// Playing is what is heard now.
type Playing struct {
	From  library.ConnectionID // the player that says so, or the connection that it is read from
	Name  string               // of the player; empty for a connection
	With  string               // the device or program; empty for unknown
	Track library.Track
	Told  library.Track // the title and artist as reported; in Track, the person's rules have been applied
	// Withheld lists the connections that the person's rules keep the play from; see [playrules.Sends].
	Withheld []library.ConnectionID
	Since    time.Time // when it was first said
	Until    time.Time // when it is forgotten
}

// Sent reports whether it may be told outside of Reprise at all.
func (p Playing) Sent() bool { return !slices.Contains(p.Withheld, playrules.Everywhere) }

// unknownLength is how long a track of unknown length is taken to play.
const unknownLength = 10 * time.Minute

// Announcer tells others what is playing.
type Announcer interface {
	// RulesFor returns a person's rules for what they play; nil without any.
	RulesFor(user int64) (*playrules.Set, error)
	// Playing tells what a player, or a connection, has begun to play, but for where it is withheld. It does not wait
	// for them.
	Playing(user int64, from library.ConnectionID, t library.Track, withheld []library.ConnectionID)
}

// Now is what is playing now, in memory: it is worth nothing after a restart. It is safe for concurrent use.
type Now struct {
	bus   *events.Bus
	other Announcer
	tell  atomic.Pointer[func(Turn)] // other servers; nil without any
	mu    sync.Mutex
	all   map[int64][]Playing // by person; one for each player and connection

	strays strays
}

// rule applies a person's rules to what has begun to play, and reports whether to show it. It is not shown if a rule
// ignores it, or if the rules can't be read.
func (n *Now) rule(user int64, p *Playing) bool {
	rules, err := n.other.RulesFor(user)
	if err != nil {
		return false
	}
	o := rules.Apply(playrules.Play{Track: p.Track, At: time.Now(), Player: p.With, Source: p.From})
	p.Told = library.Track{Title: p.Track.Title, Artist: p.Track.Artist}
	p.Track, p.Withheld = o.Track, o.Targets()
	return o.Ignored == 0
}

// Turn is that something has begun to play, or has ended, or that a request had a secret that no player has.
type Turn struct {
	User  int64         `json:"u"`
	What  Playing       `json:"p,omitzero"`
	Left  time.Duration `json:"l,omitempty"` // 0 for unknown
	Ends  bool          `json:"e,omitempty"`
	Again bool          `json:"a,omitempty"` // repeated for a server that has just started; no news
	Stray *Refusal      `json:"s,omitempty"`
}

// Follow has every turn from now on given to tell, which must not block, so that it gets to other servers.
func (n *Now) Follow(tell func(Turn)) { n.tell.Store(&tell) }

func (n *Now) follow(t Turn) {
	if tell := n.tell.Load(); tell != nil {
		t.What.Track.Artists = nil // which nobody shows, and may be long
		(*tell)(t)
	}
}

// TellAgain repeats everything that is playing, for a server that has just started.
func (n *Now) TellAgain() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for user := range n.all {
		for _, p := range n.currentLocked(user) {
			n.follow(Turn{User: user, What: p, Left: time.Until(p.Until), Again: true})
		}
	}
}

// strayed notes a request with a secret that no player has.
func (n *Now) strayed(r Refusal) {
	n.strays.add(r)
	n.follow(Turn{Stray: &r})
}

// Relay notes a turn that another server reports. It tells the announcer what has begun, and publishes nothing: the
// other server does.
func (n *Now) Relay(t Turn) {
	switch {
	case t.Stray != nil:
		n.strays.add(*t.Stray)
	case t.Ends:
		n.clear(t.User, t.What.From, t.What.Track)
	case n.set(t.User, t.What, t.Left) && !t.Again:
		n.other.Playing(t.User, t.What.From, t.What.Track, t.What.Withheld)
	}
}

// NewNow returns a Now in which nothing plays. It publishes changes, and tells the announcer what has begun.
func NewNow(other Announcer, bus *events.Bus) *Now {
	return &Now{other: other, bus: bus, all: map[int64][]Playing{}}
}

// Begins notes what a connection plays; the same again changes nothing.
func (n *Now) Begins(user int64, from library.ConnectionID, p library.Playing) {
	n.begins(user, Playing{From: from, With: p.With, Track: p.Track}, p.Left)
}

// Ends notes that a player or a connection has stopped playing a track, or whatever it plays if the track is zero.
func (n *Now) Ends(user int64, from library.ConnectionID, t library.Track) {
	if n.clear(user, from, t) {
		n.follow(Turn{User: user, What: Playing{From: from, Track: t}, Ends: true})
		n.bus.Publish(user, events.Event{Type: events.NowPlaying, Connection: from})
	}
}

func (n *Now) begins(user int64, p Playing, left time.Duration) {
	l := library.Listen{Track: p.Track, Player: p.With, PlayedAt: time.Now()}
	if l.Clean(time.Now()); l.Title == "" || l.Artist == "" {
		return
	}
	p.Track, p.With = l.Track, l.Player
	if !n.rule(user, &p) {
		n.Ends(user, p.From, library.Track{})
		return
	}
	if n.set(user, p, left) {
		n.follow(Turn{User: user, What: p, Left: left})
		n.bus.Publish(user, events.Event{Type: events.NowPlaying, Connection: p.From})
		n.other.Playing(user, p.From, p.Track, p.Withheld)
	}
}

// Of returns what a person hears, the latest first.
func (n *Now) Of(user int64) []Playing {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.currentLocked(user))
}

// currentLocked drops what has ended, and returns the rest.
func (n *Now) currentLocked(user int64) []Playing {
	now := time.Now()
	left := slices.DeleteFunc(n.all[user], func(p Playing) bool { return !p.Until.After(now) })
	if n.all[user] = left; len(left) == 0 {
		delete(n.all, user)
	}
	return left
}

// set notes a track with so much of it left, 0 for unknown, and reports whether that is news. The same track again does
// not last longer. A track that is heard already counts once: a server that is read may also be a player.
func (n *Now) set(user int64, p Playing, left time.Duration) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if left <= 0 || left > 24*time.Hour {
		left = unknownLength
	}
	now := time.Now()
	p.Since, p.Until = now, now.Add(left)
	all := n.currentLocked(user)
	known := slices.ContainsFunc(all, func(other Playing) bool { return same(other.Track, p.Track) })
	all = slices.DeleteFunc(all, func(other Playing) bool {
		return other.From == p.From && !same(other.Track, p.Track)
	})
	if !known {
		all = slices.Insert(all, 0, p)
	}
	n.all[user] = all
	return !known
}

// clear forgets what a player or a connection plays, if it is this track or the zero track is given. It reports whether
// it was.
func (n *Now) clear(user int64, from library.ConnectionID, t library.Track) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := n.currentLocked(user)
	i := slices.IndexFunc(all, func(other Playing) bool {
		return other.From == from && (t.Title == "" || same(other.Track, t) || same(other.Told, t))
	})
	if i < 0 {
		return false
	}
	n.all[user] = slices.Delete(all, i, i+1)
	return true
}

func same(one, other library.Track) bool {
	return one.Title == other.Title && one.Artist == other.Artist
}
