package resilience

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTryAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		v     Verdict
		scope Scope
	}{
		"a backoff of a stream":     {unavailable, ScopeStream},
		"a backoff of a connection": {unreachable, ScopeConnection},
		"a stop of a stream":        {forbidden, ScopeStream},
		"a stop of a connection":    {refused, ScopeConnection},
		"a stop of the app":         {misconfigured, ScopeApp},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				b.call(listens, c.v)
				before := b.refused(listens)
				time.Sleep(time.Second)
				_, held := b.Retry(spotifyOf(1, ""))
				require.False(t, held)
				s := b.State(listens)
				require.Equal(t, [4]any{Waiting, before.Category, before.Since, time.Now()},
					[4]any{s.Kind, s.Category, s.Since, s.Until})

				probe := b.permit(listens)
				require.Zero(t, b.refused(listens).Until, "one call finds out")
				ch := probe.Done(well)
				require.Equal(t, [3]any{Recovered, c.scope, before.Since},
					[3]any{ch.Kind, ch.State.Scope, ch.State.Since})
				require.Equal(t, State{}, b.State(listens))
			})
		})
	}
}

// TestTryAgainInVain: it is still the same trouble, and begins with short waits again.
func TestTryAgainInVain(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		b.fail(listens, unavailable, 8)
		since := b.State(listens).Since
		b.Retry(listens)
		require.Equal(t, Unchanged, b.call(listens, unavailable).Kind, "nothing new to tell")
		s := b.State(listens)
		require.Equal(t, [3]any{since, 1, 30 * time.Second}, [3]any{s.Since, s.Failures, time.Until(s.Until)})

		require.Equal(t, BecameFatal, b.call(bobs, refused).Kind)
		since = b.State(bobs).Since
		time.Sleep(time.Hour)
		b.Retry(bobs)
		ch := b.call(bobs, refused)
		require.Equal(t, [2]any{BecameFatal, since}, [2]any{ch.Kind, ch.State.Since})
	})
}

// TestOutcomesFromBeforeTryAgain: the person asked for a new call, so what old ones come to is no answer.
func TestOutcomesFromBeforeTryAgain(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]Verdict{"success": well, "outage": unreachable, "fatal": refused} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				old := b.permit(playlists)
				b.call(listens, refused)
				b.Retry(listens)
				require.Equal(t, Change{}, told(old.Done(late)))
				require.Equal(t, Waiting, b.State(listens).Kind)
				require.Equal(t, Recovered, b.call(listens, well).Kind)
			})
		})
	}
	t.Run("when the new call has gone well already", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			old := b.permit(playlists)
			b.call(listens, refused)
			b.Retry(listens)
			require.Equal(t, Recovered, b.call(listens, well).Kind)
			require.Equal(t, Change{}, told(old.Done(refused)))
		})
	})
	t.Run("of another user of the app", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			old := b.permit(bobs)
			b.call(listens, misconfigured)
			b.Retry(listens)
			require.Equal(t, Change{}, told(old.Done(misconfigured)))
			require.Equal(t, Recovered, b.call(listens, well).Kind)
		})
	})
	t.Run("but for a wait that is dictated", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			old := b.permit(playlists)
			b.call(listens, misconfigured)
			b.Retry(listens)
			require.True(t, old.Done(limited(time.Hour)).NewHold)
			require.Equal(t, Held, b.refused(listens).Kind)
		})
	})
	t.Run("but for what was not lifted", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			old := b.permit(playlists)
			b.call(listens, refused)
			b.Retry(listens)
			require.Equal(t, BecameFatal, old.Done(misconfigured).Kind)
		})
	})
}

func TestTryAgainOfWhatIsWell(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		s, held := b.Retry(listens)
		require.Equal(t, State{}, s)
		require.False(t, held)
		require.Equal(t, Unchanged, b.call(listens, well).Kind)
		p := b.permit(listens)
		b.Retry(listens)
		require.Equal(t, Began, p.Done(unavailable).Kind, "nothing was lifted, so nothing is out of date")
	})
}

func TestTryAgainWhileACallFindsOut(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		b.fail(listens, unreachable, 3)
		time.Sleep(time.Hour)
		probe := b.permit(listens)
		_, held := b.Retry(listens)
		require.False(t, held)
		require.Zero(t, b.refused(listens).Until, "never two at once")
		require.Equal(t, Recovered, probe.Done(well).Kind)
	})
}

// TestTryAgainOfAStopWhileACallFindsOut: what it comes to is void, but there are never two.
func TestTryAgainOfAStopWhileACallFindsOut(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		late := b.permit(listens)
		b.fail(listens, unreachable, 1)
		time.Sleep(time.Minute)
		probe := b.permit(listens)
		require.Equal(t, BecameFatal, late.Done(refused).Kind)
		b.Retry(listens)
		b.refused(listens)
		require.Equal(t, Change{}, told(probe.Done(well)))
		require.Equal(t, Recovered, b.call(listens, well).Kind)
	})
}

// TestTryAgainNamesTheLongestHold of the connection's streams.
func TestTryAgainNamesTheLongestHold(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		b.call(listens, outage(time.Hour))
		b.call(playlists, outage(2*time.Hour))
		s, held := b.Retry(spotifyOf(1, ""))
		require.True(t, held)
		require.Equal(t, [2]any{Held, 2 * time.Hour}, [2]any{s.Kind, time.Until(s.Until)})
	})
}

func TestReconnectedForgetsTheConnectionsFailures(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]Verdict{
		"outage": unavailable, "network": unreachable, "stop": refused, "stop of a stream": forbidden,
		"stop of the app": misconfigured, "backoff of the app": {Class: Retriable, Category: Quota, Scope: ScopeApp},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				b.call(listens, v)
				b.Reconnected(spotifyOf(1, ""), 2)
				p, _, ok := b.Acquire(listens, 2)
				require.True(t, ok)
				require.Equal(t, Began, p.Done(unavailable).Kind)
				require.Equal(t, 1, b.State(listens).Failures)
			})
		})
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]Verdict{"success": well, "outage": unreachable, "fatal": refused,
		"fatal for the app": misconfigured} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				old := b.permit(playlists)
				b.call(listens, refused)
				b.Forget(1, "spotify")
				require.Equal(t, State{}, b.State(listens))
				require.Equal(t, Change{}, told(old.Done(late)), "there is nobody left to tell")
				require.Equal(t, Unchanged, b.call(listens, well).Kind)
				b.Forget(1, "spotify")
				b.Forget(7, "spotify")
			})
		})
	}
	t.Run("but not the user's other connections", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			providers := []string{"spotify", "navidrome", "listenbrainz"}
			for _, forgotten := range providers {
				for _, p := range providers {
					b.Acquire(Key{User: 1, Connection: p, Provider: p, Stream: "listens"}, 1)
					b.RestoreStop(Stop{Key: Key{User: 1, Connection: p, Provider: p}, Category: Auth})
				}
				b.Forget(1, forgotten)
				for _, p := range providers {
					_, _, ok := b.Acquire(Key{User: 1, Connection: p, Provider: p, Stream: "listens"}, 1)
					require.Equal(t, p == forgotten, ok, p)
				}
			}
		})
	})
	t.Run("but not the hold of its app", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			b.call(listens, limited(time.Hour))
			b.Forget(1, "spotify")
			require.Equal(t, Held, b.State(listens).Kind)
			require.Equal(t, Held, b.refused(listens).Kind)
		})
	})
	t.Run("and gives its probe of the app back", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			b.call(listens, limited(time.Hour))
			time.Sleep(time.Hour)
			p := b.permit(listens)
			b.Forget(1, "spotify")
			b.refused(bobs)
			p.Done(ourEnd)
			require.Equal(t, Recovered, b.call(bobs, well).Kind)
		})
	})
}

func TestRestoreStop(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		since := time.Now().Add(-48 * time.Hour)
		b.RestoreStop(Stop{Key: spotifyOf(1, ""), Generation: 3, Category: Auth, Since: since})
		b.RestoreStop(Stop{Key: spotifyOf(2, "playlists"), Generation: 1, Category: Permission, Since: since})
		want := State{Kind: Stopped, Category: Auth, Scope: ScopeConnection, Since: since, Failures: 1}
		for _, k := range []Key{listens, playlists} {
			require.Equal(t, want, b.refused(k))
			require.Equal(t, want, b.State(k))
		}
		require.Equal(t, Unchanged, b.call(bobs, well).Kind)
		require.Equal(t, ScopeStream, b.refused(spotifyOf(2, "playlists")).Scope)
		late := b.permit(bobs)
		b.RestoreStop(Stop{Key: bobs, Category: Permission, Since: since})
		require.Equal(t, Change{}, told(late.Done(well)), "a success ends no stop")
		require.Equal(t, Stopped, b.refused(bobs).Kind)

		b.Retry(spotifyOf(1, ""))
		old, _, ok := b.Acquire(listens, 2)
		require.True(t, ok)
		require.Equal(t, Change{}, told(old.Done(well)), "the stored generation counts")
		p, _, ok := b.Acquire(listens, 3)
		require.True(t, ok)
		require.Equal(t, Recovered, p.Done(well).Kind)
	})
}

func TestAPermitTakesOneOutcome(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		p := b.permit(listens)
		require.Equal(t, Began, p.Done(unavailable).Kind)
		require.Equal(t, Change{}, told(p.Done(refused)))
		require.Equal(t, Change{}, told(p.Done(well)))
		require.Equal(t, [2]any{Waiting, 1}, [2]any{b.State(listens).Kind, b.State(listens).Failures})
		var none Permit
		require.Equal(t, Change{}, told(none.Done(refused)))
	})
}

// TestOurOwnEndGivesTheProbeBack: the next caller may try at once, and the count is what it was.
func TestOurOwnEndGivesTheProbeBack(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]Verdict{"stream": unavailable, "connection": unreachable,
		"app": {Class: Retriable, Category: Quota, Scope: ScopeApp}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				b.fail(listens, v, 2)
				time.Sleep(time.Hour)
				before := b.State(listens)
				p := b.permit(listens)
				b.refused(listens)
				require.Equal(t, Change{}, told(p.Done(ourEnd)))
				require.Equal(t, before, b.State(listens))
				require.Equal(t, Recovered, b.call(listens, well).Kind)
			})
		})
	}
}

// TestAConnectionThatMovesToAnotherApp waits for that one's sake only.
func TestAConnectionThatMovesToAnotherApp(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		b.call(listens, limited(time.Hour))
		moved := listens
		moved.App = "other"
		require.Equal(t, State{}, b.State(moved))
		require.Equal(t, Unchanged, b.call(moved, well).Kind)
		require.Equal(t, Held, b.refused(bobs).Kind)
	})
}

// TestLookingChangesNothing: a state that was asked for leaves no trace.
func TestLookingChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		for range 3 {
			require.Equal(t, State{}, b.State(listens))
			require.Equal(t, State{}, b.State(spotifyOf(1, "")))
		}
		b.call(listens, well)
		b.State(spotifyOf(1, ""))
		b.State(playlists)
		b.call(listens, unavailable)
		require.Equal(t, State{}, b.State(spotifyOf(1, "")), "a stream's trouble is not the connection's")
	})
}
