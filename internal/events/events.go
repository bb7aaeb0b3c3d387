// Package events is the in-memory bus between what happens and who watches.
//
// Publish never blocks and never fails: a subscriber that is too slow for its buffer is dropped, its channel is closed,
// and it comes back to a fresh snapshot. So an event is a hint to look again, never the only copy of anything.
// Events of one user reach each of that user's subscribers in the order in which they were published.
package events

import (
	"sync"
	"sync/atomic"
)

// Type says what an event is about; the names are those of the websocket's messages.
type Type string

// The types of events.
const (
	Connection   Type = "connection"   // a connection's state may have changed: Provider
	Notification Type = "notification" // a notification was opened, acknowledged or resolved: ID
	Progress     Type = "progress"     // Provider, Stream, Done, Total
	Listens      Type = "listens"      // new listens were stored: Done is their number
	Deliveries   Type = "deliveries"   // what is owed to Provider may have changed; an empty Provider stands for all
	Imports      Type = "imports"      // an import of a file of Provider's began or ended
	Breakers     Type = "breakers"     // a breaker opened or closed; for administrators
	Digest       Type = "digest"       // a digest was asked for, written, put off or deleted
	Enrichment   Type = "enrichment"   // more is known of the music, by Provider
	SessionEnd   Type = "session_end"  // a session ended: ID is its fingerprint
)

// Event is one message on the bus. Only the fields that its type names are set.
type Event struct {
	Type     Type
	Provider string
	Stream   string
	ID       string
	Done     int
	Total    int // 0 when unknown
}

// Buffer is how many events wait for a subscriber before it counts as too slow.
const Buffer = 64

// Bus carries events from publishers to the subscribers of one user. The zero Bus is ready for use, by any number of
// goroutines.
type Bus struct {
	slow, thinned atomic.Uint64

	mu    sync.RWMutex
	users map[int64]map[*Subscription]struct{}
}

// Subscription is one watcher. Its channel is closed when the watcher was too slow or has closed it.
type Subscription struct {
	C    <-chan Event
	c    chan Event
	bus  *Bus
	user int64

	mu     sync.Mutex // guards sending against closing
	closed bool
	slow   bool
}

// Subscribe starts watching a user's events. The caller must Close the subscription.
func (b *Bus) Subscribe(user int64) *Subscription {
	c := make(chan Event, Buffer)
	s := &Subscription{C: c, c: c, bus: b, user: user}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users == nil {
		b.users = map[int64]map[*Subscription]struct{}{}
	}
	if b.users[user] == nil {
		b.users[user] = map[*Subscription]struct{}{}
	}
	b.users[user][s] = struct{}{}
	return s
}

// Publish hands e to everyone who watches user, and returns at once.
func (b *Bus) Publish(user int64, e Event) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for s := range b.users[user] {
		s.send(e)
	}
}

func (s *Subscription) send(e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	// Progress may be thinned out: it gives way before what matters would not fit.
	if e.Type == Progress && len(s.c) > Buffer/2 {
		s.bus.thinned.Add(1)
		return
	}
	select {
	case s.c <- e:
	default:
		s.slow, s.closed = true, true
		s.bus.slow.Add(1)
		close(s.c)
	}
}

// Slow says whether the subscription was dropped because its buffer was full.
func (s *Subscription) Slow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow
}

// Close stops watching. It may be called more than once.
func (s *Subscription) Close() {
	b := s.bus
	b.mu.Lock()
	delete(b.users[s.user], s)
	if len(b.users[s.user]) == 0 {
		delete(b.users, s.user)
	}
	b.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.c)
	}
}

// Dropped is how many subscribers were too slow, and how many events of progress gave way, since the start.
func (b *Bus) Dropped() (slow, thinned uint64) { return b.slow.Load(), b.thinned.Load() }

// Watchers is how many subscriptions there are.
func (b *Bus) Watchers() int {
	b.mu.RLock()
	defer b.mu.RUnlock()
	n := 0
	for _, subs := range b.users {
		n += len(subs)
	}
	return n
}
