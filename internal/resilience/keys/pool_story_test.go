package keys

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// TestKeyPoolProperties does random things to a pool and shows what must be true whatever they are.
func TestKeyPoolProperties(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) { poolStory(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func poolStory(t *testing.T, r *rand.Rand) {
	names := []string{"aaaa", "p:bbbb", "p:cccc", "q:dddd", "eeee"}[:1+r.IntN(5)]
	p := poolOf(names...)
	s := &keyServer{answers: map[string]string{}}
	client, _ := keyed(s, p)
	for range 60 {
		s.wait = time.Duration(1+r.IntN(7200)) * time.Second
		for _, k := range p.Keys() {
			s.answers[k.LastFour] = []string{"", "", "", "403 quota", "429", "503",
				"403 invalid"}[min(r.IntN(20), 6-r.IntN(2))*r.IntN(2)]
		}
		before, sent := p.Keys(), len(s.seen)
		err := ask(t, client)
		checkTries(t, before, s, sent, err)
		for _, k := range p.Keys() {
			require.GreaterOrEqual(t, k.Failures, 0)
		}
		if r.IntN(10) == 0 {
			p.Readmit()
		}
		time.Sleep(time.Duration(r.IntN(3600)) * time.Second)
	}
	p.Readmit()
	clear(s.answers)
	for range 30 {
		time.Sleep(time.Hour)
		require.NoError(t, ask(t, client))
	}
	for _, k := range p.Keys() {
		require.Zero(t, k.Failures, "counters recover")
	}
}

// checkTries shows what one request did, to a pool whose keys were as in before.
func checkTries(t *testing.T, before []Status, s *keyServer, sent int, err error) {
	t.Helper()
	tries := s.seen[sent:]
	require.LessOrEqual(t, len(tries), len(before), "never more tries than keys")
	usable := 0
	for i, k := range before {
		free := !k.Invalid && k.Until.IsZero()
		require.True(t, free || !slices.Contains(tries, k.LastFour), "key %d was not to be used", i)
		if free {
			usable++
		}
	}
	require.Equal(t, usable > 0, len(tries) > 0, "a key that may be used is used")
	for i, key := range tries {
		require.NotContains(t, tries[:i], key, "no key twice for one request")
	}
	if _, short := errors.AsType[*Error](err); err == nil || !short {
		return
	}
	v := resilience.VerdictOf(err)
	require.Equal(t, resilience.ScopeApp, v.Scope)
	require.Equal(t, v.Class == resilience.Retriable, v.NotBefore.After(time.Now()))
}

func TestALeaseAllocatesNothing(t *testing.T) {
	p := poolOf("aaaa", "bbbb", "cccc")
	require.Zero(t, testing.AllocsPerRun(100, func() { leaseWell(p) }))
}

func leaseWell(p *Pool) {
	l, _, _ := p.acquire()
	l.done(resilience.Verdict{})
}

func BenchmarkKeyPool(b *testing.B) {
	b.Run("lease", func(b *testing.B) {
		p := poolOf("aaaa", "bbbb", "cccc")
		b.ReportAllocs()
		for b.Loop() {
			leaseWell(p)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		p := poolOf("aaaa", "bbbb", "cccc")
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				leaseWell(p)
			}
		})
	})
	b.Run("transport", func(b *testing.B) {
		_, keyTransport := keyed(&keyServer{}, poolOf("aaaa", "bbbb", "cccc"))
		answer := &http.Response{StatusCode: 200, Body: http.NoBody}
		keyTransport.Base = roundTripper(func(*http.Request) (*http.Response, error) { return answer, nil })
		req, err := http.NewRequestWithContext(b.Context(), "GET", "https://api.example.org/videos", nil)
		require.NoError(b, err)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := keyTransport.RoundTrip(req); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What a person wants tried at once is like new: its wait, its refusal and its failures are forgotten, and
// nobody else's.
func TestResetMakesAKeyLikeNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := poolOf("aaaa", "bbbb", "cccc")
		leased(p, badKey)
		leased(p, until(spent, time.Now().Add(time.Hour)))
		leased(p, until(spent, time.Now().Add(time.Hour)))
		_, short := p.Short()
		require.True(t, short)
		before, which := p.Reset("aaaa")
		require.Equal(t, Refused, before.State())
		require.Equal(t, []Cooldown{{Provider: "youtube", Key: fingerprint("secret-part-aaaa"), LastFour: "aaaa",
			Category: badKey.Category}}, which)
		require.Equal(t, Status{LastFour: "aaaa"}, p.Keys()[0])
		require.Equal(t, "aaaa", leased(p, backofftest.Well))
		before, _ = p.Reset("bbbb")
		require.Equal(t, Cooling, before.State())
		before, which = p.Reset("bbbb")
		require.Equal(t, Ready, before.State())
		require.Len(t, which, 1)
		require.Equal(t, Cooling, p.Keys()[2].State(), "nobody asked for that one")
		_, which = p.Reset("dddd")
		require.Empty(t, which)
		_, which = (*Pool)(nil).Reset("aaaa")
		require.Empty(t, which)
	})
}

func TestARefusedKeyStaysRefusedAcrossARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := poolOf("aaaa", "bbbb")
		first, _, _ := p.acquire()
		again, _, _ := p.acquire()
		again.index = first.index // the same key, by a request that was under way with it
		kept := first.done(badKey)
		require.Len(t, kept, 1)
		require.Zero(t, kept[0].Until)
		require.Empty(t, again.done(badKey), "it is known")
		p = poolOf("aaaa", "bbbb")
		p.Restore(kept)
		require.Equal(t, "bbbb", leased(p, backofftest.Well))
		require.Equal(t, "bbbb", leased(p, backofftest.Well))
		require.Equal(t, Refused, p.Keys()[0].State())
		require.Equal(t, badKey.Category, p.Keys()[0].Category)
		p.Readmit()
		require.Equal(t, Ready, p.Keys()[0].State())
	})
}

// When a key is back, what stood against everybody for want of one ends, and what was dictated for another
// reason does not.
func TestKeysBackLiftsOnlyWhatThePoolHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := backoff.New(backoff.Options{})
		key := backoff.Key{User: 1, Connection: "youtube", Provider: "youtube", App: "youtube", Stream: "playlists"}
		other := backoff.Key{User: 1, Connection: "openai", Provider: "openai", App: "openai", Stream: "digests"}
		now := time.Now()
		for _, k := range []backoff.Key{key, other} {
			b.RestoreHold(backoff.Hold{Key: backoff.Key{Connection: k.Provider, Provider: k.Provider, App: k.App},
				Category: resilience.Quota, Since: now,
				Until: now.Add(5 * time.Hour)})
			require.Equal(t, backoff.Held, b.State(k).Kind)
		}
		b.KeysBack("youtube", []backoff.Hold{{Key: backoff.Key{Connection: "openai", Provider: "openai", App: "openai"},
			Category: resilience.Quota, Since: now,
			Until: now.Add(9 * time.Hour)}})
		permit, _, ok := b.Acquire(key, 0)
		require.True(t, ok)
		require.Equal(t, backoff.Recovered, permit.Done(resilience.Verdict{}).Kind)
		require.Equal(t, now.Add(5*time.Hour), b.State(other).Until, "nobody spoke of that provider")

		b.RestoreHold(backoff.Hold{Key: backoff.Key{Connection: "youtube", Provider: "youtube", App: "youtube"},
			Category: resilience.Quota,
			Since:    now,
			Until:    now.Add(5 * time.Hour)})
		b.KeysBack("youtube",
			[]backoff.Hold{{Key: backoff.Key{Connection: "youtube", Provider: "youtube", App: "youtube"},
				Category: resilience.RateLimit, Since: now,
				Until: now.Add(2 * time.Hour)}})
		require.Equal(t, now.Add(2*time.Hour), b.State(key).Until, "that was not the keys")
	})
}
