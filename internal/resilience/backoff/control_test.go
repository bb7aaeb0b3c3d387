package backoff_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

func TestTryAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		v     resilience.Verdict
		scope resilience.Scope
	}{
		"a backoff of a stream":     {backofftest.Unavailable, resilience.ScopeStream},
		"a backoff of a connection": {backofftest.Unreachable, resilience.ScopeConnection},
		"a stop of a stream":        {backofftest.Forbidden, resilience.ScopeStream},
		"a stop of a connection":    {backofftest.Refused, resilience.ScopeConnection},
		"a stop of the app":         {backofftest.Misconfigured, resilience.ScopeApp},
	} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				b.Call(backofftest.Listens, c.v)
				before := b.Refused(backofftest.Listens)
				time.Sleep(time.Second)
				_, held := b.Retry(backofftest.SpotifyOf(1, ""))
				require.False(t, held)
				s := b.State(backofftest.Listens)
				require.Equal(t, [4]any{backoff.Waiting, before.Category, before.Since, time.Now()},
					[4]any{s.Kind, s.Category, s.Since, s.Until})

				probe := b.Permit(backofftest.Listens)
				require.Zero(t, b.Refused(backofftest.Listens).Until, "one call finds out")
				ch := probe.Done(backofftest.Well)
				require.Equal(t, [3]any{backoff.Recovered, c.scope, before.Since},
					[3]any{ch.Kind, ch.Fault.Scope, ch.Fault.Since})
				require.Equal(t, backoff.State{}, b.State(backofftest.Listens))
			})
		})
	}
}

// TestTryAgainInVain: it is still the same trouble, and begins with short waits again.
func TestTryAgainInVain(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		b.Fail(backofftest.Listens, backofftest.Unavailable, 8)
		since := b.State(backofftest.Listens).Since
		b.Retry(backofftest.Listens)
		require.Equal(t, backoff.Unchanged, b.Call(backofftest.Listens, backofftest.Unavailable).Kind,
			"nothing new to tell")
		s := b.State(backofftest.Listens)
		require.Equal(t, [3]any{since, 1, 30 * time.Second}, [3]any{s.Since, s.Failures, time.Until(s.Until)})

		require.Equal(t, backoff.BecameFatal, b.Call(backofftest.Bobs, backofftest.Refused).Kind)
		since = b.State(backofftest.Bobs).Since
		time.Sleep(time.Hour)
		b.Retry(backofftest.Bobs)
		ch := b.Call(backofftest.Bobs, backofftest.Refused)
		require.Equal(t, [2]any{backoff.BecameFatal, since}, [2]any{ch.Kind, ch.Fault.Since})
	})
}

// TestOutcomesFromBeforeTryAgain: the person asked for a new call, so what old ones come to is no answer.
func TestOutcomesFromBeforeTryAgain(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]resilience.Verdict{"success": backofftest.Well,
		"outage": backofftest.Unreachable, "fatal": backofftest.Refused} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				old := b.Permit(backofftest.Playlists)
				b.Call(backofftest.Listens, backofftest.Refused)
				b.Retry(backofftest.Listens)
				require.Equal(t, backoff.Change{}, backofftest.Told(old.Done(late)))
				require.Equal(t, backoff.Waiting, b.State(backofftest.Listens).Kind)
				require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind)
			})
		})
	}
	t.Run("when the new call has gone well already", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			old := b.Permit(backofftest.Playlists)
			b.Call(backofftest.Listens, backofftest.Refused)
			b.Retry(backofftest.Listens)
			require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind)
			require.Equal(t, backoff.Change{}, backofftest.Told(old.Done(backofftest.Refused)))
		})
	})
	t.Run("of another user of the app", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			old := b.Permit(backofftest.Bobs)
			b.Call(backofftest.Listens, backofftest.Misconfigured)
			b.Retry(backofftest.Listens)
			require.Equal(t, backoff.Change{}, backofftest.Told(old.Done(backofftest.Misconfigured)))
			require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind)
		})
	})
	t.Run("but for a wait that is dictated", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			old := b.Permit(backofftest.Playlists)
			b.Call(backofftest.Listens, backofftest.Misconfigured)
			b.Retry(backofftest.Listens)
			require.True(t, old.Done(backofftest.Limited(time.Hour)).NewHold)
			require.Equal(t, backoff.Held, b.Refused(backofftest.Listens).Kind)
		})
	})
	t.Run("but for what was not lifted", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			old := b.Permit(backofftest.Playlists)
			b.Call(backofftest.Listens, backofftest.Refused)
			b.Retry(backofftest.Listens)
			require.Equal(t, backoff.BecameFatal, old.Done(backofftest.Misconfigured).Kind)
		})
	})
}

func TestTryAgainOfWhatIsWell(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		s, held := b.Retry(backofftest.Listens)
		require.Equal(t, backoff.State{}, s)
		require.False(t, held)
		require.Equal(t, backoff.Unchanged, b.Call(backofftest.Listens, backofftest.Well).Kind)
		p := b.Permit(backofftest.Listens)
		b.Retry(backofftest.Listens)
		require.Equal(t, backoff.Began, p.Done(backofftest.Unavailable).Kind,
			"nothing was lifted, so nothing is out of date")
	})
}

func TestTryAgainWhileACallFindsOut(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		b.Fail(backofftest.Listens, backofftest.Unreachable, 3)
		time.Sleep(time.Hour)
		probe := b.Permit(backofftest.Listens)
		_, held := b.Retry(backofftest.Listens)
		require.False(t, held)
		require.Zero(t, b.Refused(backofftest.Listens).Until, "never two at once")
		require.Equal(t, backoff.Recovered, probe.Done(backofftest.Well).Kind)
	})
}

// TestTryAgainOfAStopWhileACallFindsOut: what it comes to is void, but there are never two.
func TestTryAgainOfAStopWhileACallFindsOut(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		late := b.Permit(backofftest.Listens)
		b.Fail(backofftest.Listens, backofftest.Unreachable, 1)
		time.Sleep(time.Minute)
		probe := b.Permit(backofftest.Listens)
		require.Equal(t, backoff.BecameFatal, late.Done(backofftest.Refused).Kind)
		b.Retry(backofftest.Listens)
		b.Refused(backofftest.Listens)
		require.Equal(t, backoff.Change{}, backofftest.Told(probe.Done(backofftest.Well)))
		require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind)
	})
}

// TestTryAgainNamesTheLongestHold of the connection's streams.
func TestTryAgainNamesTheLongestHold(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		b.Call(backofftest.Listens, backofftest.Outage(time.Hour))
		b.Call(backofftest.Playlists, backofftest.Outage(2*time.Hour))
		s, held := b.Retry(backofftest.SpotifyOf(1, ""))
		require.True(t, held)
		require.Equal(t, [2]any{backoff.Held, 2 * time.Hour}, [2]any{s.Kind, time.Until(s.Until)})
	})
}

func TestReconnectedForgetsTheConnectionsFailures(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]resilience.Verdict{
		"outage": backofftest.Unavailable, "network": backofftest.Unreachable, "stop": backofftest.Refused,
		"stop of a stream": backofftest.Forbidden,
		"stop of the app":  backofftest.Misconfigured, "backoff of the app": {Class: resilience.Retriable,
			Category: resilience.Quota, Scope: resilience.ScopeApp},
	} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				b.Call(backofftest.Listens, v)
				b.Reconnected(backofftest.SpotifyOf(1, ""), 2)
				p, _, ok := b.Acquire(backofftest.Listens, 2)
				require.True(t, ok)
				require.Equal(t, backoff.Began, p.Done(backofftest.Unavailable).Kind)
				require.Equal(t, 1, b.State(backofftest.Listens).Failures)
			})
		})
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]resilience.Verdict{"success": backofftest.Well,
		"outage": backofftest.Unreachable, "fatal": backofftest.Refused,
		"fatal for the app": backofftest.Misconfigured} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				old := b.Permit(backofftest.Playlists)
				b.Call(backofftest.Listens, backofftest.Refused)
				b.Forget(1, "spotify")
				require.Equal(t, backoff.State{}, b.State(backofftest.Listens))
				require.Equal(t, backoff.Change{}, backofftest.Told(old.Done(late)), "there is nobody left to tell")
				require.Equal(t, backoff.Unchanged, b.Call(backofftest.Listens, backofftest.Well).Kind)
				b.Forget(1, "spotify")
				b.Forget(7, "spotify")
			})
		})
	}
	t.Run("but not the user's other connections", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			providers := []string{"spotify", "navidrome", "listenbrainz"}
			for _, forgotten := range providers {
				for _, p := range providers {
					b.Acquire(backoff.Key{User: 1, Connection: p, Provider: p, Stream: "listens"}, 1)
					b.RestoreStop(backoff.Stop{Key: backoff.Key{User: 1, Connection: p, Provider: p},
						Category: resilience.Auth})
				}
				b.Forget(1, forgotten)
				for _, p := range providers {
					_, _, ok := b.Acquire(backoff.Key{User: 1, Connection: p, Provider: p, Stream: "listens"}, 1)
					require.Equal(t, p == forgotten, ok, p)
				}
			}
		})
	})
	t.Run("but not the hold of its app", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			b.Call(backofftest.Listens, backofftest.Limited(time.Hour))
			b.Forget(1, "spotify")
			require.Equal(t, backoff.Held, b.State(backofftest.Listens).Kind)
			require.Equal(t, backoff.Held, b.Refused(backofftest.Listens).Kind)
		})
	})
	t.Run("and gives its probe of the app back", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			b.Call(backofftest.Listens, backofftest.Limited(time.Hour))
			time.Sleep(time.Hour)
			p := b.Permit(backofftest.Listens)
			b.Forget(1, "spotify")
			b.Refused(backofftest.Bobs)
			p.Done(backofftest.OurEnd)
			require.Equal(t, backoff.Recovered, b.Call(backofftest.Bobs, backofftest.Well).Kind)
		})
	})
}

func TestRestoreStop(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		since := time.Now().Add(-48 * time.Hour)
		b.RestoreStop(backoff.Stop{Key: backofftest.SpotifyOf(1, ""), Generation: 3, Category: resilience.Auth,
			Since: since})
		b.RestoreStop(backoff.Stop{Key: backofftest.SpotifyOf(2, "playlists"), Generation: 1,
			Category: resilience.Permission, Since: since})
		want := backoff.State{Kind: backoff.Stopped, Category: resilience.Auth, Scope: resilience.ScopeConnection,
			Since: since, Failures: 1}
		for _, k := range []backoff.Key{backofftest.Listens, backofftest.Playlists} {
			require.Equal(t, want, b.Refused(k))
			require.Equal(t, want, b.State(k))
		}
		require.Equal(t, backoff.Unchanged, b.Call(backofftest.Bobs, backofftest.Well).Kind)
		require.Equal(t, resilience.ScopeStream, b.Refused(backofftest.SpotifyOf(2, "playlists")).Scope)
		late := b.Permit(backofftest.Bobs)
		b.RestoreStop(backoff.Stop{Key: backofftest.Bobs, Category: resilience.Permission, Since: since})
		require.Equal(t, backoff.Change{}, backofftest.Told(late.Done(backofftest.Well)), "a success ends no stop")
		require.Equal(t, backoff.Stopped, b.Refused(backofftest.Bobs).Kind)

		b.Retry(backofftest.SpotifyOf(1, ""))
		old, _, ok := b.Acquire(backofftest.Listens, 2)
		require.True(t, ok)
		require.Equal(t, backoff.Change{}, backofftest.Told(old.Done(backofftest.Well)), "the stored generation counts")
		p, _, ok := b.Acquire(backofftest.Listens, 3)
		require.True(t, ok)
		require.Equal(t, backoff.Recovered, p.Done(backofftest.Well).Kind)
	})
}

func TestAPermitTakesOneOutcome(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		p := b.Permit(backofftest.Listens)
		require.Equal(t, backoff.Began, p.Done(backofftest.Unavailable).Kind)
		require.Equal(t, backoff.Change{}, backofftest.Told(p.Done(backofftest.Refused)))
		require.Equal(t, backoff.Change{}, backofftest.Told(p.Done(backofftest.Well)))
		require.Equal(t, [2]any{backoff.Waiting, 1}, [2]any{b.State(backofftest.Listens).Kind,
			b.State(backofftest.Listens).Failures})
		var none backoff.Permit
		require.Equal(t, backoff.Change{}, backofftest.Told(none.Done(backofftest.Refused)))
	})
}

// TestOurOwnEndGivesTheProbeBack: the next caller may try at once, and the count is what it was.
func TestOurOwnEndGivesTheProbeBack(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]resilience.Verdict{"stream": backofftest.Unavailable,
		"connection": backofftest.Unreachable,
		"app":        {Class: resilience.Retriable, Category: resilience.Quota, Scope: resilience.ScopeApp}} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				b.Fail(backofftest.Listens, v, 2)
				time.Sleep(time.Hour)
				before := b.State(backofftest.Listens)
				p := b.Permit(backofftest.Listens)
				b.Refused(backofftest.Listens)
				require.Equal(t, backoff.Change{}, backofftest.Told(p.Done(backofftest.OurEnd)))
				require.Equal(t, before, b.State(backofftest.Listens))
				require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind)
			})
		})
	}
}

// TestAConnectionThatMovesToAnotherApp waits for that one's sake only.
func TestAConnectionThatMovesToAnotherApp(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		b.Call(backofftest.Listens, backofftest.Limited(time.Hour))
		moved := backofftest.Listens
		moved.App = "other"
		require.Equal(t, backoff.State{}, b.State(moved))
		require.Equal(t, backoff.Unchanged, b.Call(moved, backofftest.Well).Kind)
		require.Equal(t, backoff.Held, b.Refused(backofftest.Bobs).Kind)
	})
}

// TestLookingChangesNothing: a state that was asked for leaves no trace.
func TestLookingChangesNothing(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		for range 3 {
			require.Equal(t, backoff.State{}, b.State(backofftest.Listens))
			require.Equal(t, backoff.State{}, b.State(backofftest.SpotifyOf(1, "")))
		}
		b.Call(backofftest.Listens, backofftest.Well)
		b.State(backofftest.SpotifyOf(1, ""))
		b.State(backofftest.Playlists)
		b.Call(backofftest.Listens, backofftest.Unavailable)
		require.Equal(t, backoff.State{}, b.State(backofftest.SpotifyOf(1, "")),
			"a stream's trouble is not the connection's")
	})
}
