package store

import (
	"maps"
	"sync"

	"reprise/internal/library"
)

// mostOpened is how many connections are kept: a few megabytes.
const mostOpened = 4096

// opened keeps connections in memory whose credentials were opened. Reading one from the database takes as long as
// sending a listen, and deliveries to the same one follow each other. While the store is open, nobody else writes
// connections: it has locked the database.
type opened struct {
	mu      sync.Mutex
	all     map[connectionKey]library.Connection
	version uint64 // grows with every change
}

type connectionKey struct {
	user int64
	conn library.ConnectionID
}

// get returns a copy of a connection that is kept. Without one it returns the version with which to keep what is read
// now.
func (o *opened) get(user int64, conn library.ConnectionID) (c library.Connection, version uint64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok = o.all[connectionKey{user, conn}]
	c.Credentials = maps.Clone(c.Credentials)
	return c, o.version, ok
}

// keep keeps a copy of a connection that was read, unless any has changed meanwhile.
func (o *opened) keep(c library.Connection, version uint64) {
	c.Credentials = maps.Clone(c.Credentials)
	o.mu.Lock()
	defer o.mu.Unlock()
	if version != o.version {
		return
	}
	if o.all == nil || len(o.all) >= mostOpened {
		o.all = map[connectionKey]library.Connection{}
	}
	o.all[connectionKey{c.User, c.ID}] = c
}

// changed forgets them all. It is called after everything that may have changed a connection, also if that failed: then
// it may be stored all the same.
func (o *opened) changed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.version++
	o.all = nil
}
