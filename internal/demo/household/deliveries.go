package household

import (
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// sentFor is how far back the deliveries go.
const sentFor = 4 * 24 * time.Hour

// sent tells what was sent to Last.fm, to which the first person forwards: every listen of the last days that is known
// from another service, soon after it was played.
func (t *teller) sent() {
	const to = library.ConnectionID("lastfm")
	p := t.People[0]
	all := slices.Clone(p.Listens)
	slices.SortStableFunc(all, func(a, b library.StoredListen) int { return a.PlayedAt.Compare(b.PlayedAt) })
	for _, l := range all {
		if t.Now.Sub(l.PlayedAt) > sentFor || l.PlayedAt.After(t.Now.Add(-10*time.Minute)) {
			continue
		}
		created := l.PlayedAt.Add(l.Duration + time.Duration(t.rnd.Int64N(int64(listensEvery))))
		draft := delivery.Draft{User: p.ID, Connection: to, Kind: delivery.Scrobble, Listens: []int64{l.ID}}
		d := Delivery{Draft: draft, Created: created, Ended: created.Add(t.around(20 * time.Second))}
		if in := t.during("lastfm", created); in != nil && in.kind == held {
			d.Ended = in.to.Add(t.around(10 * time.Second))
		}
		t.past.Deliveries = append(t.past.Deliveries, d)
	}
}
