// Package events is an in-memory bus that tells browsers what changes.
//
// Publish never blocks and never fails. A subscriber that is too slow for its buffer is dropped: its channel is closed,
// and it subscribes again and starts from a fresh snapshot. An event is therefore a hint to look again, never the only
// copy of anything. Events of one user reach each of that user's subscribers in the order in which they were published.
package events

import (
	"slices"
	"sync"
	"sync/atomic"

	"reprise/internal/library"
)

// Type says what an event is about; the names are those of the websocket's messages.
type Type string

// The types of events.
const (
	Connection   Type = "connection"   // a connection's state may have changed: Connection
	Notification Type = "notification" // a notification was opened, acknowledged or resolved: ID
	Progress     Type = "progress"     // Connection, Stream, Done, Total
	Listens      Type = "listens"      // new listens were stored: Done is their number
	Deliveries   Type = "deliveries"   // deliveries to Connection may have changed; to any connection when it is empty
	Imports      Type = "imports"      // an import for Connection began or ended
	Breakers     Type = "breakers"     // a breaker opened or closed; for administrators
	Digest       Type = "digest"       // a digest was requested, written, postponed or deleted
	Enrichment   Type = "enrichment"   // the provider that Connection names has told more about the music
	SessionEnd   Type = "session_end"  // a session or a token ended: ID names it
	Players      Type = "players"      // the player that Connection names was heard from, or has changed
	NowPlaying   Type = "now_playing"  // what the player that Connection names plays has changed
	Backups      Type = "backups"      // a backup began or ended; for administrators
	Access       Type = "access"       // a password, a role or sessions have changed: who may watch is asked again
)

// Event is one message on the bus. Only the fields that its type names are set.
type Event struct {
	Type       Type                 `json:"t"`
	Connection library.ConnectionID `json:"c,omitempty"`
	Stream     string               `json:"s,omitempty"`
	ID         string               `json:"i,omitempty"`
	Done       int                  `json:"d,omitempty"`
	Total      int                  `json:"n,omitempty"` // 0 when unknown
	Serial     uint64               `json:"-"`           // set by the bus; grows with every event, whoever it is for
}

// Buffer is the number of events that may wait for a subscriber. One more makes it too slow.
const Buffer = 64

// Bus carries events from publishers to the subscribers of one user. The zero Bus is ready for use. It is safe for
// concurrent use.
type Bus struct {
	// mu guards everything, including against closing a channel while an event is sent to it. One lock per event is
	// cheaper than one per subscription, and nothing blocks while it is held.
	mu            sync.Mutex
	users         map[int64][]*Subscription
	slow, thinned uint64
	serial        atomic.Uint64 // written with mu locked
	// tell, if set, is called with what is published here, so that it gets to other servers.
	tell atomic.Pointer[func(user int64, e Event)]
}

// Follow has every event that is published from now on given to tell, which must not block: with its user, 0 for all.
func (b *Bus) Follow(tell func(user int64, e Event)) { b.tell.Store(&tell) }

func (b *Bus) follow(user int64, e Event) {
	if tell := b.tell.Load(); tell != nil {
		(*tell)(user, e)
	}
}

// Subscription receives the events of one user on C, until it is closed or too slow. Then C is closed.
type Subscription struct {
	C      <-chan Event
	c      chan Event
	bus    *Bus
	user   int64
	closed bool
}

// Subscribe returns a subscription to a user's events from now on. The caller must Close it.
func (b *Bus) Subscribe(user int64) *Subscription {
	c := make(chan Event, Buffer)
	s := &Subscription{C: c, c: c, bus: b, user: user}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users == nil {
		b.users = map[int64][]*Subscription{}
	}
	b.users[user] = append(b.users[user], s)
	return s
}

// Serial returns the serial of the last event. What is read afterwards is not older than that event, nor than those
// before it.
func (b *Bus) Serial() uint64 { return b.serial.Load() }

// Publish sends e to every subscription to user, and returns at once.
func (b *Bus) Publish(user int64, e Event) {
	b.Relay(user, e)
	b.follow(user, e)
}

// PublishAll sends e to every subscription to any user, and returns at once.
func (b *Bus) PublishAll(e Event) { b.Publish(0, e) }

// Relay is Publish for an event of another server: it is not followed. User 0 is everybody.
func (b *Bus) Relay(user int64, e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.Serial = b.serial.Add(1)
	if user != 0 {
		b.sendLocked(b.users[user], &e)
		return
	}
	for _, theirs := range b.users {
		b.sendLocked(theirs, &e)
	}
}

// CloseAll closes all subscriptions, because events may have got lost: who has one subscribes again.
func (b *Bus) CloseAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, theirs := range b.users {
		for _, s := range theirs {
			if !s.closed {
				s.closed = true
				close(s.c)
			}
		}
	}
}

// sendLocked is little more than the sends themselves: a thousand subscriptions feel every step.
func (b *Bus) sendLocked(all []*Subscription, e *Event) {
	progress := e.Type == Progress
	for _, s := range all {
		if s.closed {
			continue
		}
		// Progress events are dropped early, so that others still fit.
		if progress && len(s.c) > Buffer/2 {
			b.thinned++
			continue
		}
		select {
		case s.c <- *e:
		default:
			s.closed = true
			b.slow++
			close(s.c)
		}
	}
}

// Nudge sends an empty Event to this subscription only, so that its reader, who waits for nothing else, does what is
// due. It reports false if there was no room: the reader is behind.
func (s *Subscription) Nudge() bool {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	if s.closed {
		return true
	}
	select {
	case s.c <- Event{}:
		return true
	default:
		return false
	}
}

// Close ends the subscription. It may be called more than once.
func (s *Subscription) Close() {
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.c)
	}
	theirs := b.users[s.user]
	at := slices.Index(theirs, s)
	if at < 0 {
		return
	}
	theirs[at] = theirs[len(theirs)-1] // their order does not matter
	theirs[len(theirs)-1] = nil
	if b.users[s.user] = theirs[:len(theirs)-1]; len(theirs) == 1 {
		delete(b.users, s.user)
	}
}

// Dropped returns the number of subscriptions that were too slow and of progress events that were dropped, since the
// start.
func (b *Bus) Dropped() (slow, thinned uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.slow, b.thinned
}

// Watchers returns the number of subscriptions.
func (b *Bus) Watchers() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, subs := range b.users {
		n += len(subs)
	}
	return n
}
