package library

import (
	"slices"
	"time"
)

// Outage is a time whose plays of a connection can come through others only, because it isn't read, or because it no
// longer had them when it could be read again.
type Outage struct {
	Connection ConnectionID
	From       time.Time      // everything before has been read
	To         time.Time      // from here on it was read again; zero if it still isn't
	LostTo     time.Time      // plays before that were no longer there; zero if it still isn't read
	By         []ConnectionID // those through which its plays came before, too
}

// Filled reports whether a listen stands in for a play of the connection: it is of that time, and nothing but those
// connections has reported it.
func (o Outage) Filled(l StoredListen) bool {
	return len(l.Sources) > 0 && !l.PlayedAt.Before(o.From) && (o.LostTo.IsZero() || l.PlayedAt.Before(o.LostTo)) &&
		!slices.ContainsFunc(l.Sources, func(s Source) bool { return !slices.Contains(o.By, s.Connection) })
}

// Record returns the outage as programs read it.
func (o Outage) Record() OutageRecord {
	r := OutageRecord{Connection: o.Connection, From: Stamp(o.From)}
	if !o.To.IsZero() {
		r.To = new(Stamp(o.To))
	}
	return r
}

// StandIns are the plays of an outage that came through others.
type StandIns struct {
	Outage
	Plays int
	By    []ConnectionID // those that brought any, the one with the most first
}
