package throttle

import (
	"context"
	"sync"
	"time"
)

// Limit is how often each key of one kind may be tried.
type Limit struct {
	Name string // its keys have nothing to do with those of other limits
	Rate Rate
}

// Of returns what a try of a key costs.
func (l Limit) Of(key string) Toll { return Toll{l, key} }

// Toll is what a try costs: one of the tries that a key has within a limit.
type Toll struct {
	Limit Limit
	Key   string
}

// Limits count tries that have several tolls, each of another limit. An error says that they can't be counted now, so
// that nothing may be tried. They are safe for concurrent use.
type Limits interface {
	// Take counts a try with all of its tolls and returns 0. If there were too many by one of them, it counts nothing
	// and returns for how long to wait.
	Take(context.Context, ...Toll) (wait time.Duration, err error)
	// Wait returns for how long a try has to wait. It counts nothing.
	Wait(context.Context, ...Toll) (wait time.Duration, err error)
	// GiveBack takes back tolls that Take has counted.
	GiveBack(context.Context, ...Toll) error
}

// Memory is the Limits of one server, which forgets them when it ends. It never returns an error. The zero value has
// counted nothing.
type Memory struct {
	mu     sync.Mutex
	tables map[string]*Throttle // by the names of limits
}

func (m *Memory) of(l Limit) *Throttle {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tables[l.Name] == nil {
		if m.tables == nil {
			m.tables = map[string]*Throttle{}
		}
		m.tables[l.Name] = New(l.Rate)
	}
	return m.tables[l.Name]
}

// Take implements Limits.
func (m *Memory) Take(ctx context.Context, tolls ...Toll) (wait time.Duration, err error) {
	for i, one := range tolls {
		if wait = m.of(one.Limit).Take(one.Key); wait > 0 {
			_ = m.GiveBack(ctx, tolls[:i]...)
			rest, _ := m.Wait(ctx, tolls[i+1:]...)
			return max(wait, rest), nil
		}
	}
	return 0, nil
}

// Wait implements Limits.
func (m *Memory) Wait(_ context.Context, tolls ...Toll) (wait time.Duration, err error) {
	for _, one := range tolls {
		wait = max(wait, m.of(one.Limit).Wait(one.Key))
	}
	return wait, nil
}

// GiveBack implements Limits.
func (m *Memory) GiveBack(_ context.Context, tolls ...Toll) error {
	for _, one := range tolls {
		m.of(one.Limit).GiveBack(one.Key)
	}
	return nil
}
