package household

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"reprise/internal/activity"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/notify"
	"reprise/internal/providers"
)

// Length is how far back a past goes.
const Length = metrics.KeepQuarters

// The intervals of the household's server, which are the program's defaults.
const (
	listensEvery   = 5 * time.Minute
	playlistsEvery = 15 * time.Minute
	runsKept       = 48 * time.Hour
)

// Person is somebody of the household.
type Person struct {
	ID          int64
	Name        string
	Connections []library.Connection
	Listens     []library.StoredListen // of the last days, in any order
}

// Endpoint is an endpoint that the household's server calls.
type Endpoint struct {
	Provider string
	Route    string // method and route, as the provider's description has it
	Label    string // as in the roll-up
}

// House is the household whose past Tell invents.
type House struct {
	Seed      uint64
	Now       time.Time
	People    []Person
	Endpoints []Endpoint
	Provider  func(name string) *providers.Provider
	Usual     func(name string) time.Duration // how long a call to a provider takes
}

// Past is what a household's server would have written down.
type Past struct {
	Runs          []library.Run
	Quarters      []metrics.Quarter
	Notifications []notify.Notification
	Activity      []activity.Entry // the oldest first
	Deliveries    []Delivery       // the oldest first
	Gaps          []Gap
}

// Gap is a time in which a connection was not read.
type Gap struct {
	User       int64
	Connection library.ConnectionID
	library.Gap
}

// Delivery is a delivery that has ended.
type Delivery struct {
	delivery.Draft
	Created, Ended time.Time
}

// teller makes up a past.
type teller struct {
	House
	rnd       *rand.Rand
	incidents []incident
	past      Past
}

// Tell makes up the past of a household.
func Tell(h House) Past {
	t := &teller{House: h, rnd: rand.New(rand.NewPCG(h.Seed, 14))}
	t.incidents = incidents(h.Now)
	for _, p := range h.People {
		for _, c := range p.Connections {
			t.runs(p, c)
			t.troubles(p, c)
		}
	}
	t.days()
	for _, e := range h.Endpoints {
		t.quarters(e)
	}
	slices.SortStableFunc(t.past.Activity, func(a, b activity.Entry) int { return a.At.Compare(b.At) })
	t.sent()
	return t.past
}

// owners is the order in which the services learn of a listen.
var owners = []string{"spotify", "navidrome", "lastfm", "listenbrainz"}

// first reports whether a connection is the one that told of a listen first.
func first(l library.StoredListen, id library.ConnectionID) bool {
	rank := func(s library.Source) int {
		if i := slices.Index(owners, s.Connection.Provider()); i >= 0 {
			return i
		}
		return len(owners)
	}
	if len(l.Sources) == 0 {
		return false
	}
	told := slices.MinFunc(l.Sources, func(a, b library.Source) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Connection, b.Connection))
	})
	return told.Connection == id
}

// runs tells the runs of a connection's streams. The last one ended within the interval before now.
func (t *teller) runs(p Person, c library.Connection) {
	provider := t.Provider(c.Provider())
	if provider == nil {
		return
	}
	for _, stream := range provider.Streams {
		every := listensEvery
		if stream == library.Playlists {
			every = playlistsEvery
		}
		offset := time.Duration(t.rnd.Int64N(int64(every - time.Minute)))
		from := t.Now.Add(-runsKept)
		for at := from.Add(offset); at.Before(t.Now.Add(-10 * time.Second)); {
			r := library.Run{User: p.ID, Connection: c.ID, Stream: stream, Started: at.Truncate(time.Millisecond),
				Took: t.around(t.Usual(c.Provider()) * 2), Result: "ok"}
			next := every - every/20 + time.Duration(t.rnd.Int64N(int64(every/10)))
			switch in := t.at(c, at); {
			case in == nil:
				r.Rows = t.brought(p, c, stream, from, at)
				from = at
			case in.kind == down:
				t.fail(&r, provider, c, in)
				next = min(every*2, in.to.Sub(at)+time.Minute)
			default: // nothing may be asked
				at = in.to.Add(time.Duration(t.rnd.Int64N(int64(time.Minute))))
				continue
			}
			t.past.Runs = append(t.past.Runs, r)
			at = at.Add(next)
		}
	}
}

// brought returns how many rows a run brings that reads what happened between two times.
func (t *teller) brought(p Person, c library.Connection, stream string, from, to time.Time) (n int) {
	if stream == library.Playlists {
		if t.rnd.IntN(24) == 0 { // somebody has changed one
			return 1
		}
		return 0
	}
	for _, l := range p.Listens {
		if l.PlayedAt.After(from) && !l.PlayedAt.After(to) && first(l, c.ID) {
			n++
		}
	}
	return n
}

// around returns a duration, give or take a third.
func (t *teller) around(d time.Duration) time.Duration {
	return d*2/3 + time.Duration(t.rnd.Int64N(int64(d)*2/3+1))
}
