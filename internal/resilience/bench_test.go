package resilience

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkAcquire is the price of one call that goes well: a permit, and its success.
func BenchmarkAcquire(b *testing.B) {
	b.Run("one-key", func(b *testing.B) {
		backoff, key := NewBackoff(Options{}), spotifyOf(1, "listens")
		b.ReportAllocs()
		for b.Loop() {
			callWell(backoff, key)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		backoff := NewBackoff(Options{})
		var users atomic.Int64
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			key := spotifyOf(users.Add(1), "listens")
			for pb.Next() {
				callWell(backoff, key)
			}
		})
	})
	b.Run("100000-keys", func(b *testing.B) {
		backoff := NewBackoff(Options{})
		keys := make([]Key, 100_000)
		for i := range keys {
			keys[i] = spotifyOf(int64(i), "listens")
			callWell(backoff, keys[i])
		}
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			callWell(backoff, keys[i%len(keys)])
			i += 7919 // no neighbours: a cache must not make it look better than it is
		}
	})
}

func callWell(b *Backoff, k Key) bool {
	p, _, ok := b.Acquire(k, 1)
	p.Done(Verdict{})
	return ok
}

// typicalErrors are the failures of daily life, as the transport and the adapters report them.
func typicalErrors() map[string]error {
	return map[string]error{
		"answer":   &AnswerError{Endpoint: "GET /v1/me", Status: 503},
		"network":  &NetworkError{Endpoint: "GET /v1/me", Err: fmt.Errorf("connection refused")},
		"contract": &ContractError{Endpoint: "GET /v1/me", What: "not valid JSON"},
		"wrapped":  fmt.Errorf("page 3: %w", &AnswerError{Endpoint: "GET /v1/me", Status: 503}),
	}
}

func BenchmarkClassify(b *testing.B) {
	for name, err := range typicalErrors() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Classify(err)
			}
		})
	}
}

func TestTheWayOfAGoodCallAllocatesNothing(t *testing.T) {
	backoff, key := NewBackoff(Options{}), spotifyOf(1, "listens")
	require.True(t, callWell(backoff, key), "the first call makes the connection known")
	require.Zero(t, testing.AllocsPerRun(100, func() { callWell(backoff, key) }))
}

func TestClassifyAllocatesNothing(t *testing.T) {
	for name, err := range typicalErrors() {
		require.Zero(t, testing.AllocsPerRun(100, func() { Classify(err) }), name)
	}
}
