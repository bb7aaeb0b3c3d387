package delivery

import (
	"maps"
	"slices"
	"sync"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
)

// browsers tells people's browsers that their deliveries have changed.
type browsers struct {
	bus *events.Bus

	mu     sync.Mutex
	told   map[int64]time.Time // when a person's browsers were told last
	untold map[int64]bool      // people with changes since then
}

func newBrowsers(bus *events.Bus) *browsers {
	return &browsers{bus: bus, told: map[int64]time.Time{}, untold: map[int64]bool{}}
}

// tellEvery is the shortest time between two events to a person's browsers; an event is only a hint to look again.
const tellEvery = time.Second

// changed tells the browsers of a person that deliveries to a connection have changed, unless they were told a moment
// ago: then it returns false, and tellLater does it.
func (b *browsers) changed(to Send) bool {
	b.mu.Lock()
	soon := time.Since(b.told[to.User]) < tellEvery
	if soon {
		b.untold[to.User] = true
	} else {
		b.told[to.User] = time.Now()
	}
	b.mu.Unlock()
	if !soon {
		b.publish(to.User, to.Connection)
	}
	return !soon
}

// tellLater tells the browsers that changed has left out.
func (b *browsers) tellLater() {
	b.mu.Lock()
	users := slices.Collect(maps.Keys(b.untold))
	for _, user := range users {
		b.told[user] = time.Now()
	}
	clear(b.untold)
	b.mu.Unlock()
	for _, user := range users {
		b.publish(user, "")
	}
}

func (b *browsers) publish(user int64, conn library.ConnectionID) {
	if _, channel := ChannelNumber(conn); channel {
		conn = ""
	}
	b.bus.Publish(user, events.Event{Type: events.Deliveries, Connection: conn})
}
