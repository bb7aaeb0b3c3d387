package backoff_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// model does random things to a Backoff and knows what must be true whatever they are.
type model struct {
	*backoff.Manager
	t          *testing.T
	r          *rand.Rand
	history    []step // what was done, shown when something is not true
	keys       []backoff.Key
	generation map[int64]int64
	permits    []taken
	dictated   map[string]time.Time // per thing at fault: the latest instant that its upstream dictated
	stopped    map[string]bool      // per thing at fault
	seq        uint64               // of the latest change
}

// step is something done, as a format and its values.
type step struct {
	format string
	values []any
}

func (s step) String() string { return fmt.Sprintf(s.format, s.values...) }

// taken is a permit without its outcome yet. probe names the thing at fault that it finds out about, if any.
type taken struct {
	backoff.Permit
	key        backoff.Key
	generation int64
	probe      string
}

func newModel(t *testing.T, seed uint64) *model {
	r := rand.New(rand.NewPCG(seed, 1))
	m := &model{Manager: backoff.New(backoff.Options{Rand: r.Float64}), t: t, r: r,
		generation: map[int64]int64{1: 1, 2: 1, 3: 1},
		dictated:   map[string]time.Time{}, stopped: map[string]bool{}}
	for user := range int64(3) {
		for _, stream := range []string{"listens", "playlists"} {
			m.keys = append(m.keys, backoff.Key{User: user + 1, Connection: "spotify", Provider: "spotify",
				App: []string{"client", "client", "other"}[user], Stream: stream})
		}
	}
	return m
}

// fault names the thing that a scope means for a key; path is all that stand between the key and a call.
func fault(k backoff.Key, s resilience.Scope) string {
	switch s {
	case resilience.ScopeApp:
		return "app " + k.App
	case resilience.ScopeConnection:
		return fmt.Sprint("connection ", k.User)
	}
	return fmt.Sprint("stream ", k.User, " ", k.Stream)
}

func path(k backoff.Key) []string {
	return []string{fault(k, resilience.ScopeApp), fault(k, resilience.ScopeConnection),
		fault(k, resilience.ScopeStream)}
}

func (m *model) verdict() resilience.Verdict {
	scope := []resilience.Scope{resilience.ScopeStream, resilience.ScopeConnection, resilience.ScopeApp}[m.r.IntN(3)]
	switch m.r.IntN(10) {
	case 0, 1, 2:
		return backofftest.Well
	case 3:
		return backofftest.OurEnd
	case 4:
		return resilience.Verdict{Class: resilience.Fatal, Category: resilience.Auth, Scope: scope}
	case 5:
		return backofftest.Misshapen
	case 6:
		wait := time.Duration(m.r.IntN(7200)) * time.Second
		return resilience.Verdict{Class: resilience.Retriable, Category: []resilience.Category{resilience.RateLimit,
			resilience.Upstream}[m.r.IntN(2)], Scope: scope,
			NotBefore: time.Now().Add(wait)}
	}
	return resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network, Scope: scope}
}

func (m *model) acquire() {
	k := m.keys[m.r.IntN(len(m.keys))]
	before := m.State(k)
	g := m.generation[k.User]
	p, s, ok := m.Acquire(k, g)
	m.note("acquire %v: %v, was %+v", k, ok, before)
	if !ok {
		m.require(s.Kind != backoff.Ready, "a refusal has a reason")
		m.require(s.Kind == backoff.Stopped || s.Until.IsZero() || s.Until.After(time.Now()),
			"and an end that is to come")
		return
	}
	probing := taken{Permit: p, key: k, generation: g}
	if before.Kind != backoff.Ready {
		m.require(before.Kind == backoff.Waiting && !before.Until.IsZero() && !before.Until.After(time.Now()),
			"a permit only when the wait is over")
		probing.probe = fault(k, before.Scope)
		m.require(!slices.ContainsFunc(m.permits, func(o taken) bool { return o.probe == probing.probe }),
			"never two probes at once")
	}
	for _, f := range path(k) {
		m.require(!m.stopped[f], "%s is stopped", f)
		m.require(!m.dictated[f].After(time.Now()), "the wait that was dictated for %s is kept", f)
	}
	m.permits = append(m.permits, probing)
}

func (m *model) done() {
	if len(m.permits) == 0 {
		return
	}
	i := m.r.IntN(len(m.permits))
	p, v := m.permits[i], m.verdict()
	m.permits = slices.Delete(m.permits, i, i+1)
	ch := p.Done(v)
	m.note("done %v generation %d: %+v → %+v", p.key, p.generation, v, ch)
	m.require(ch.Stream == m.State(p.key), "it says where the stream stands: %+v", m.State(p.key))
	m.require(!ch.AllReady || ch.Stream.Kind == backoff.Ready, "all streams are ready only if this one is")
	m.require(ch.Seq >= m.seq, "changes are in order")
	m.seq = ch.Seq
	if p.generation < m.generation[p.key.User] || v.Class == resilience.Canceled {
		m.require(!ch.News() && backofftest.Told(ch) == backoff.Change{}, "it changes nothing")
		return
	}
	f := fault(p.key, v.Scope)
	switch {
	case ch.Kind == backoff.BecameFatal:
		m.require(!m.stopped[f] && ch.Fault.Kind == backoff.Stopped, "told once")
		m.stopped[f] = true
	case ch.Kind == backoff.Recovered:
		m.require(v.Class == resilience.OK && ch.Fault.Kind != backoff.Stopped,
			"only a success recovers, and not from a stop")
	case ch.Kind == backoff.Began:
		m.require(v.Class == resilience.Retriable && ch.Fault.Kind != backoff.Ready, "a wait began")
	}
	m.require(!ch.NewHold || ch.Fault.Kind == backoff.Held && ch.Fault.Until.After(time.Now()), "a hold is one")
	if v.Class == resilience.Retriable && v.NotBefore.After(m.dictated[f]) {
		m.dictated[f] = v.NotBefore
	}
}

// lifted forgets what a person's action ended.
func (m *model) lifted(k backoff.Key, reconnected bool) {
	names := append(path(k), fault(backoff.Key{User: k.User, Stream: "listens"}, resilience.ScopeStream),
		fault(backoff.Key{User: k.User, Stream: "playlists"}, resilience.ScopeStream))
	for _, f := range names {
		delete(m.stopped, f)
		if !reconnected {
			continue
		}
		if f != fault(k, resilience.ScopeApp) {
			delete(m.dictated, f)
		}
		for i := range m.permits {
			if m.permits[i].probe == f {
				m.permits[i].probe = ""
			}
		}
	}
}

func (m *model) act() {
	k := m.keys[m.r.IntN(len(m.keys))]
	switch m.r.IntN(20) {
	case 0:
		m.generation[k.User]++
		m.Reconnected(k, m.generation[k.User])
		m.note("reconnected %v", k)
		m.lifted(k, true)
	case 1:
		s, held := m.Retry(k)
		m.note("retry %v: %v %+v", k, held, s)
		m.require(held == (s.Kind == backoff.Held) && (!held || s.Until.After(time.Now())), "held only by a hold")
		m.lifted(k, false)
	case 2, 3, 4, 5:
		time.Sleep(time.Duration(m.r.IntN(600)) * time.Second)
		m.note("%v", time.Now())
	case 6, 7, 8, 9, 10, 11:
		m.done()
	default:
		m.acquire()
	}
	for _, k := range m.keys {
		s := m.State(k)
		stopped := slices.ContainsFunc(path(k), func(f string) bool { return m.stopped[f] })
		m.require(stopped == (s.Kind == backoff.Stopped), "%v: a stop ends by a person only: %+v", k, s)
		switch s.Kind {
		case backoff.Ready:
			m.require(s == backoff.State{}, "ready is zero")
		case backoff.Waiting:
			m.require(!s.Until.After(time.Now().Add(30*time.Minute)), "%v: a backoff has a cap: %+v", k, s)
		case backoff.Held:
			m.require(s.Until.After(time.Now()) && slices.ContainsFunc(path(k),
				func(f string) bool { return m.dictated[f].Equal(s.Until) }),
				"%v: a hold is what was dictated: %+v", k, s)
		}
	}
}

func (m *model) note(format string, values ...any) {
	m.history = append(m.history, step{format, values})
}

func (m *model) require(ok bool, format string, args ...any) {
	m.t.Helper()
	if !ok {
		require.FailNow(m.t, fmt.Sprintf(format, args...), "after %q", m.history[max(0, len(m.history)-20):])
	}
}

func TestWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			m := newModel(t, seed)
			for range 300 {
				m.act()
			}
		})
	}
}

// TestWhateverHappensAtOnce: several callers and a person, in parallel. One stream that never succeeds has one
// call under
// way at most, and each stop is announced once.
func TestWhateverHappensAtOnce(t *testing.T) {
	t.Parallel()
	var stops int64
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			b := backofftest.Manager{Manager: backoff.New(backoff.Options{Rand: func() float64 { return 0.5 }}), T: t}
			b.Call(backofftest.Listens, backofftest.Unavailable)
			var underWay, most, calls, told, lifts atomic.Int64
			var wg sync.WaitGroup
			for caller := range uint64(6) {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, caller))
					for range 100 {
						if p, _, ok := b.Acquire(backofftest.Listens, 1); ok {
							calls.Add(1)
							if n := underWay.Add(1); n > most.Load() {
								most.Store(n)
							}
							time.Sleep(time.Duration(r.IntN(3)) * time.Second)
							underWay.Add(-1)
							if p.Done([]resilience.Verdict{backofftest.Unavailable, backofftest.Unavailable,
								backofftest.OurEnd,
								backofftest.Forbidden}[r.IntN(4)]).Kind == backoff.BecameFatal {
								told.Add(1)
							}
						}
						b.State(backofftest.Playlists)
						time.Sleep(time.Duration(r.IntN(60)) * time.Second)
					}
				})
			}
			wg.Go(func() { // the person
				for range 10 {
					time.Sleep(5 * time.Minute)
					if b.State(backofftest.Listens).Kind == backoff.Stopped {
						time.Sleep(time.Minute)
						require.Equal(t, backoff.Stopped, b.State(backofftest.Listens).Kind, "nobody else ends it")
						lifts.Add(1)
						b.Retry(backofftest.Listens)
					}
				}
			})
			wg.Wait()
			require.EqualValues(t, 1, most.Load())
			require.Greater(t, calls.Load(), int64(5))
			stops += told.Load()
			require.LessOrEqual(t, told.Load(), lifts.Load()+1)
			require.GreaterOrEqual(t, told.Load(), lifts.Load())
		})
	}
	require.Greater(t, stops, int64(10))
}
