package players

import (
	"slices"
	"sync"
	"time"
)

// strays are the latest requests with a secret that no player has, in memory. Who sets up a player sees them: the token
// that they have entered may be another one.
type strays struct {
	mu  sync.Mutex
	all []Refusal // the newest first
}

const (
	mostStrays = 5
	strayFor   = 15 * time.Minute
)

func (s *strays) add(r Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = slices.Insert(s.all[:min(len(s.all), mostStrays-1)], 0, r)
}

// Strays returns the requests of the last quarter of an hour with a secret that no player has, the newest first.
func (d *Desk) Strays() []Refusal {
	d.now.strays.mu.Lock()
	defer d.now.strays.mu.Unlock()
	old := time.Now().Add(-strayFor)
	return slices.DeleteFunc(slices.Clone(d.now.strays.all), func(r Refusal) bool { return r.At.Before(old) })
}
