package store

import (
	"maps"
	"sync"

	"reprise/internal/library"
)

// mostOpened is how many connections are kept: a few megabytes.
const mostOpened = 4096

// connectionCache keeps connections with their credentials opened. Reading one from the database takes as long as
// sending a listen, and deliveries to the same one follow each other. While the store is open nobody else writes
// connections, because it has locked the database. A server that no longer leads cannot reach it.
type connectionCache struct {
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
func (o *connectionCache) get(user int64, conn library.ConnectionID) (c library.Connection, version uint64, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok = o.all[connectionKey{user, conn}]
	c.Credentials = maps.Clone(c.Credentials)
	return c, o.version, ok
}

// keep keeps a copy of a connection that was read, unless any has changed meanwhile.
func (o *connectionCache) keep(c library.Connection, version uint64) {
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

// changed forgets all connections. It is called after everything that may have changed one, also if that failed: then
// the change may be stored all the same.
func (o *connectionCache) changed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.version++
	o.all = nil
}
