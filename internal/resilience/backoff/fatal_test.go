package backoff_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// Promise: Each change is announced once: a hundred failures are one toast.
func TestAHundredFatalFailuresAreToldOnce(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		var permits [100]backoff.Permit
		for i := range permits {
			permits[i] = b.Permit(backofftest.SpotifyOf(1, []string{"listens", "playlists"}[i%2]))
		}
		changes := make([]backoff.Change, len(permits))
		var wg sync.WaitGroup
		for i := range permits {
			wg.Go(func() { changes[i] = permits[i].Done(backofftest.Refused) })
		}
		wg.Wait()
		news := 0
		for _, ch := range changes {
			if ch.News() {
				news++
				require.Equal(t, backoff.Change{Kind: backoff.BecameFatal,
					Fault: backoff.State{Kind: backoff.Stopped, Category: resilience.Auth,
						Scope: resilience.ScopeConnection, Since: time.Now(),
						Failures: 1}}, backofftest.Told(ch))
			}
		}
		require.Equal(t, 1, news)
		time.Sleep(12 * time.Hour)
		require.Equal(t, backoff.Stopped, b.Refused(backofftest.Listens).Kind)
		require.Equal(t, backoff.Stopped, b.Refused(backofftest.Playlists).Kind)
	})
}

// TestNoOutcomeEndsAStop: neither a late success, nor a late failure, nor time.
//
// Promise: Only a person ends a stop: a dead credential is never sent again.
func TestNoOutcomeEndsAStop(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]resilience.Verdict{
		"success": backofftest.Well, "our own end": backofftest.OurEnd, "outage": backofftest.Unreachable,
		"fatal": backofftest.Refused, "another fatal": backofftest.Forbidden,
		"rate limit": {Class: resilience.Retriable, Category: resilience.RateLimit, Scope: resilience.ScopeConnection},
	} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				old := b.Permit(backofftest.Listens)
				stop := b.Call(backofftest.Listens, backofftest.Refused)
				time.Sleep(time.Minute)
				require.NotEqual(t, backoff.Recovered, old.Done(late).Kind)
				time.Sleep(24 * time.Hour)
				require.Equal(t, stop.Fault, b.Refused(backofftest.Listens))
			})
		})
	}
}

func TestAStopOfOneStreamLeavesTheOther(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		b.Call(backofftest.Playlists, backofftest.Forbidden)
		require.Equal(t, backoff.Unchanged, b.Call(backofftest.Listens, backofftest.Well).Kind)
		require.Equal(t, resilience.ScopeStream, b.Refused(backofftest.Playlists).Scope)
		require.Equal(t, backoff.BecameFatal, b.Call(backofftest.Listens, backofftest.Refused).Kind,
			"another thing is at fault: that is told too")
	})
}

func TestAStopIsWorseThanAWait(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		long, stopped := b.Permit(backofftest.Listens), b.Permit(backofftest.Listens)
		stopped.Done(backofftest.Forbidden)
		long.Done(backofftest.Limited(24 * time.Hour))
		require.Equal(t, backoff.Stopped, b.Refused(backofftest.Listens).Kind)
		require.Equal(t, backoff.Held, b.Refused(backofftest.Playlists).Kind)
	})
}

// Promise: A broken contract is fatal after 3 in a row: one bad answer is an accident, three are a change.
func TestABrokenContractIsFatalAfterThreeInARow(t *testing.T) {
	t.Run("three", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			require.Equal(t, backoff.Began, b.Call(backofftest.Listens, backofftest.Misshapen).Kind)
			since := time.Now()
			b.Fail(backofftest.Listens, backofftest.Misshapen, 1)
			time.Sleep(time.Until(b.State(backofftest.Listens).Until))
			require.Equal(t, backoff.Change{Kind: backoff.BecameFatal,
				Fault: backoff.State{Kind: backoff.Stopped, Category: resilience.Contract,
					Scope: resilience.ScopeStream, Since: since, Failures: 3}},
				backofftest.Told(b.Call(backofftest.Listens, backofftest.Misshapen)))
			require.Equal(t, backoff.Unchanged, b.Call(backofftest.Playlists, backofftest.Well).Kind)
		})
	})
	for name, between := range map[string]resilience.Verdict{"a success": backofftest.Well,
		"an outage":   backofftest.Unavailable,
		"the network": backofftest.Unreachable} {
		t.Run("interrupted by "+name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				for range 5 {
					b.Fail(backofftest.Listens, backofftest.Misshapen, 2)
					b.Fail(backofftest.Listens, between, 1)
				}
				b.Fail(backofftest.Listens, backofftest.Misshapen, 2)
				require.Equal(t, backoff.Waiting, b.State(backofftest.Listens).Kind)
				time.Sleep(time.Until(b.State(backofftest.Listens).Until))
				require.Equal(t, backoff.BecameFatal, b.Call(backofftest.Listens, backofftest.Misshapen).Kind)
			})
		})
	}
}

func TestWhatCountsTowardsABrokenContract(t *testing.T) {
	t.Run("our own end does not interrupt", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			b.Fail(backofftest.Listens, backofftest.Misshapen, 2)
			b.Fail(backofftest.Listens, backofftest.OurEnd, 1)
			require.Equal(t, backoff.BecameFatal, b.Call(backofftest.Listens, backofftest.Misshapen).Kind)
		})
	})
	t.Run("an ordinary failure of the category is none of them", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			generic := backofftest.Unavailable
			generic.FatalAfter = 10
			b.Fail(backofftest.Listens, backofftest.Unavailable, 5)
			b.Fail(backofftest.Listens, generic, 9)
			require.Equal(t, backoff.Waiting, b.State(backofftest.Listens).Kind)
			time.Sleep(time.Until(b.State(backofftest.Listens).Until))
			ch := b.Call(backofftest.Listens, generic)
			require.Equal(t, [3]any{backoff.BecameFatal, resilience.Contract, 15},
				[3]any{ch.Kind, ch.Fault.Category, ch.Fault.Failures})
		})
	})
	t.Run("another such category counts for itself", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			generic := backofftest.Unavailable
			generic.FatalAfter = 3
			for range 4 {
				b.Fail(backofftest.Listens, backofftest.Misshapen, 2)
				b.Fail(backofftest.Listens, generic, 2)
			}
			require.Equal(t, backoff.Waiting, b.State(backofftest.Listens).Kind)
		})
	})
	t.Run("together they count once", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			var permits [5]backoff.Permit
			for i := range permits {
				permits[i] = b.Permit(backofftest.Listens)
			}
			for i := range permits {
				permits[i].Done(backofftest.Misshapen)
			}
			require.Equal(t, [2]any{backoff.Waiting, 1}, [2]any{b.State(backofftest.Listens).Kind,
				b.State(backofftest.Listens).Failures})
		})
	})
}

// Promise: "still failing" after 24 h at the cap: somebody should know, once.
func TestStillFailingIsToldOnceAfterADayAtTheCap(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		b.Fail(backofftest.Listens, backofftest.Unavailable, 1)
		since := b.State(backofftest.Listens).Since
		b.Fail(backofftest.Listens, backofftest.Unavailable, 6)
		atCap := time.Now()
		var told []backoff.Change
		var at time.Time
		for time.Since(atCap) < 7*24*time.Hour {
			time.Sleep(time.Until(b.State(backofftest.Listens).Until))
			if ch := b.Call(backofftest.Listens, backofftest.Unavailable); ch.Kind != backoff.Unchanged {
				told, at = append(told, ch), time.Now()
			}
		}
		require.Len(t, told, 1)
		require.Equal(t, backoff.StillFailing, told[0].Kind)
		require.Equal(t, since, told[0].Fault.Since)
		require.GreaterOrEqual(t, at.Sub(atCap), 24*time.Hour)
		require.Less(t, at.Sub(atCap), 24*time.Hour+30*time.Minute)
		require.Equal(t, backoff.Waiting, b.State(backofftest.Listens).Kind, "it never stops trying")

		time.Sleep(time.Until(b.State(backofftest.Listens).Until))
		require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind)
		told = nil
		for range 100 {
			time.Sleep(time.Until(b.State(backofftest.Listens).Until))
			if ch := b.Call(backofftest.Listens, backofftest.Unavailable); ch.Kind == backoff.StillFailing {
				told = append(told, ch)
			}
		}
		require.Len(t, told, 1, "another row of failures is told again")
	})
}

// Promise: An outcome of an old credential changes nothing: it says nothing about the new one.
func TestAReconnectMakesOldOutcomesVoid(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]resilience.Verdict{
		"failure": backofftest.Refused, "outage": backofftest.Unreachable, "success": backofftest.Well,
		"contract": backofftest.Misshapen, "app": backofftest.Misconfigured,
	} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				old := b.Permit(backofftest.Listens)
				b.Call(backofftest.Listens, backofftest.Refused)
				b.Reconnected(backofftest.SpotifyOf(1, ""), 2)
				require.Equal(t, backoff.State{}, b.State(backofftest.Listens), "the stop is forgotten")
				require.Equal(t, backoff.Change{}, backofftest.Told(old.Done(late)))
				require.Equal(t, backoff.State{}, b.State(backofftest.Listens))
				p, _, ok := b.Acquire(backofftest.Listens, 2)
				require.True(t, ok)
				require.Equal(t, backoff.Unchanged, p.Done(backofftest.Well).Kind)
			})
		})
	}
	t.Run("nor do they end what the new credential meets", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			old := b.Permit(backofftest.Listens)
			b.Reconnected(backofftest.SpotifyOf(1, ""), 2)
			p, _, _ := b.Acquire(backofftest.Listens, 2)
			require.Equal(t, backoff.BecameFatal, p.Done(backofftest.Refused).Kind)
			require.Equal(t, backoff.Change{}, backofftest.Told(old.Done(backofftest.Well)))
			require.Equal(t, backoff.Stopped, b.State(backofftest.Listens).Kind)
		})
	})
	t.Run("a caller with a newer credential makes them void too", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			old := b.Permit(backofftest.Listens)
			p, _, _ := b.Acquire(backofftest.Playlists, 2)
			require.Equal(t, backoff.Change{}, backofftest.Told(old.Done(backofftest.Refused)))
			require.Equal(t, backoff.Unchanged, p.Done(backofftest.Well).Kind)
		})
	})
	t.Run("a probe of the old credential stands in nobody's way", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			b.Fail(backofftest.Listens, backofftest.Unreachable, 1)
			time.Sleep(time.Minute)
			old := b.Permit(backofftest.Listens)
			b.Reconnected(backofftest.SpotifyOf(1, ""), 2)
			p, _, ok := b.Acquire(backofftest.Listens, 2)
			require.True(t, ok)
			p.Done(backofftest.Unreachable)
			old.Done(backofftest.OurEnd)
			require.Equal(t, 1, b.State(backofftest.Listens).Failures)
		})
	})
}

func TestALateSuccessDoesNotEndABackoff(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		late := b.Permit(backofftest.Listens)
		b.Call(backofftest.Listens, backofftest.Unreachable)
		require.Equal(t, backoff.Change{}, backofftest.Told(late.Done(backofftest.Well)),
			"it was under way before the failure")
		require.Equal(t, backoff.Waiting, b.State(backofftest.Listens).Kind)
	})
}

// TestALateFailureOfAReadyConnection: a failure from before one that is overcome already tells nothing new.
func TestALateFailureOfAReadyConnection(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		late := b.Permit(backofftest.Listens)
		b.Fail(backofftest.Listens, backofftest.Unreachable, 1)
		time.Sleep(time.Minute)
		require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind)
		require.Equal(t, backoff.Change{}, backofftest.Told(late.Done(backofftest.Unreachable)))
		require.Equal(t, backoff.State{}, b.State(backofftest.Listens))
	})
}
