package backoff_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// BenchmarkAcquire is the price of one call that goes well: a permit, and its success.
func BenchmarkAcquire(b *testing.B) {
	b.Run("one-key", func(b *testing.B) {
		manager, key := backoff.New(backoff.Options{}), backofftest.SpotifyOf(1, "listens")
		b.ReportAllocs()
		for b.Loop() {
			callWell(manager, key)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		manager := backoff.New(backoff.Options{})
		var users atomic.Int64
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			key := backofftest.SpotifyOf(users.Add(1), "listens")
			for pb.Next() {
				callWell(manager, key)
			}
		})
	})
	b.Run("100000-keys", func(b *testing.B) {
		const keys = 100_000
		manager := backoff.New(backoff.Options{})
		for i := range int64(keys) {
			callWell(manager, backofftest.SpotifyOf(i, "listens"))
		}
		b.ReportAllocs()
		i := int64(0)
		for b.Loop() {
			callWell(manager, backofftest.SpotifyOf(i%keys, "listens"))
			i += 7919 // no neighbours: a cache must not make it look better than it is
		}
	})
}

func callWell(b *backoff.Manager, k backoff.Key) bool {
	p, _, ok := b.Acquire(k, 1)
	p.Done(resilience.Verdict{})
	return ok
}

func TestTheWayOfAGoodCallAllocatesNothing(t *testing.T) {
	manager, key := backoff.New(backoff.Options{}), backofftest.SpotifyOf(1, "listens")
	require.True(t, callWell(manager, key), "the first call makes the connection known")
	require.Zero(t, testing.AllocsPerRun(100, func() { callWell(manager, key) }))
}
