// Package backofftest tells stories about a backoff, for tests: what a call came to, in fake time.
package backofftest

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// The verdicts of these tests, as [resilience.VerdictOf] gives them.
var (
	Well        = resilience.Verdict{}
	OurEnd      = resilience.Verdict{Class: resilience.Canceled}
	Unavailable = resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
		Scope: resilience.ScopeStream}
	Unreachable = resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network,
		Scope: resilience.ScopeConnection}
	Misshapen = resilience.Verdict{Class: resilience.Retriable, Category: resilience.Contract,
		Scope: resilience.ScopeStream, FatalAfter: 3}
	Refused = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Auth,
		Scope: resilience.ScopeConnection}
	Forbidden = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Permission,
		Scope: resilience.ScopeStream}
	Misconfigured = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Config, Scope: resilience.ScopeApp}
)

// Limited is a rate limit with a dictated wait.
func Limited(wait time.Duration) resilience.Verdict {
	return resilience.Verdict{Class: resilience.Retriable, Category: resilience.RateLimit, Scope: resilience.ScopeApp,
		NotBefore: time.Now().Add(wait)}
}

// Outage is a 503 with a dictated wait.
func Outage(wait time.Duration) resilience.Verdict {
	v := Unavailable
	v.NotBefore = time.Now().Add(wait)
	return v
}

// Manager is a [backoff.Manager] whose calls must be permitted or refused as a test expects.
type Manager struct {
	*backoff.Manager
	T *testing.T
}

// Bubble runs a test in fake time on a manager whose waits have no jitter (but at the cap, where they are 26.25 min).
func Bubble(t *testing.T, test func(t *testing.T, b Manager)) {
	t.Helper()
	BubbleWith(t, backoff.Options{Rand: func() float64 { return 0.5 }}, test)
}

// BubbleWith is Bubble with other settings.
func BubbleWith(t *testing.T, opt backoff.Options, test func(t *testing.T, b Manager)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, Manager{Manager: backoff.New(opt), T: t}) })
}

// Permit returns a permit, which there must be.
func (b Manager) Permit(k backoff.Key) backoff.Permit {
	b.T.Helper()
	p, s, ok := b.Acquire(k, 1)
	require.True(b.T, ok, "refused: %+v", s)
	return p
}

// Refused returns the state that forbids a call, which there must be.
func (b Manager) Refused(k backoff.Key) backoff.State {
	b.T.Helper()
	_, s, ok := b.Acquire(k, 1)
	require.False(b.T, ok, "a permit although %+v", b.State(k))
	require.NotEqual(b.T, backoff.Ready, s.Kind)
	return s
}

// Told is what a change announces, without the state of its stream after it.
func Told(ch backoff.Change) backoff.Change {
	return backoff.Change{Kind: ch.Kind, Fault: ch.Fault, NewHold: ch.NewHold}
}

// Call is one call with its outcome.
func (b Manager) Call(k backoff.Key, v resilience.Verdict) backoff.Change {
	b.T.Helper()
	p := b.Permit(k)
	return p.Done(v)
}

// Fail lets a call fail as soon as it is permitted, so many times in a row, and returns the last wait.
func (b Manager) Fail(k backoff.Key, v resilience.Verdict, times int) time.Duration {
	b.T.Helper()
	for range times {
		time.Sleep(time.Until(b.State(k).Until))
		b.Call(k, v)
	}
	return time.Until(b.State(k).Until)
}

// Seeded is randomness that is the same in every run.
func Seeded(seed uint64) func() float64 { return rand.New(rand.NewPCG(seed, 0)).Float64 }

// SpotifyOf names a stream of a person's only connection, to Spotify.
func SpotifyOf(user int64, stream string) backoff.Key {
	return backoff.Key{User: user, Connection: "spotify", Provider: "spotify", App: "client", Stream: stream}
}

// Streams of two persons.
var (
	Listens   = SpotifyOf(1, "listens")
	Playlists = SpotifyOf(1, "playlists")
	Bobs      = SpotifyOf(2, "listens")
)
