package resilience

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAHundredFatalFailuresAreToldOnce(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		var permits [100]Permit
		for i := range permits {
			permits[i] = b.permit(spotifyOf(1, []string{"listens", "playlists"}[i%2]))
		}
		changes := make([]Change, len(permits))
		var wg sync.WaitGroup
		for i := range permits {
			wg.Go(func() { changes[i] = permits[i].Done(refused) })
		}
		wg.Wait()
		news := 0
		for _, ch := range changes {
			if ch.News() {
				news++
				require.Equal(t, Change{Kind: BecameFatal,
					State: State{Kind: Stopped, Category: Auth, Scope: ScopeConnection, Since: time.Now(),
						Failures: 1}}, told(ch))
			}
		}
		require.Equal(t, 1, news)
		time.Sleep(12 * time.Hour)
		require.Equal(t, Stopped, b.refused(listens).Kind)
		require.Equal(t, Stopped, b.refused(playlists).Kind)
	})
}

// TestNoOutcomeEndsAStop: neither a late success, nor a late failure, nor time.
func TestNoOutcomeEndsAStop(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]Verdict{
		"success": well, "our own end": ourEnd, "outage": unreachable, "fatal": refused, "another fatal": forbidden,
		"rate limit": {Class: Retriable, Category: RateLimit, Scope: ScopeConnection},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				old := b.permit(listens)
				stop := b.call(listens, refused)
				time.Sleep(time.Minute)
				require.NotEqual(t, Recovered, old.Done(late).Kind)
				time.Sleep(24 * time.Hour)
				require.Equal(t, stop.State, b.refused(listens))
			})
		})
	}
}

func TestAStopOfOneStreamLeavesTheOther(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		b.call(playlists, forbidden)
		require.Equal(t, Unchanged, b.call(listens, well).Kind)
		require.Equal(t, ScopeStream, b.refused(playlists).Scope)
		require.Equal(t, BecameFatal, b.call(listens, refused).Kind, "another thing is at fault: that is told too")
	})
}

func TestAStopIsWorseThanAWait(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		long, stopped := b.permit(listens), b.permit(listens)
		stopped.Done(forbidden)
		long.Done(limited(24 * time.Hour))
		require.Equal(t, Stopped, b.refused(listens).Kind)
		require.Equal(t, Held, b.refused(playlists).Kind)
	})
}

func TestABrokenContractIsFatalAfterThreeInARow(t *testing.T) {
	t.Run("three", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			require.Equal(t, Began, b.call(listens, misshapen).Kind)
			since := time.Now()
			b.fail(listens, misshapen, 1)
			time.Sleep(time.Until(b.State(listens).Until))
			require.Equal(t, Change{Kind: BecameFatal,
				State: State{Kind: Stopped, Category: Contract, Scope: ScopeStream, Since: since, Failures: 3}},
				told(b.call(listens, misshapen)))
			require.Equal(t, Unchanged, b.call(playlists, well).Kind)
		})
	})
	for name, between := range map[string]Verdict{"a success": well, "an outage": unavailable,
		"the network": unreachable} {
		t.Run("interrupted by "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				for range 5 {
					b.fail(listens, misshapen, 2)
					b.fail(listens, between, 1)
				}
				b.fail(listens, misshapen, 2)
				require.Equal(t, Waiting, b.State(listens).Kind)
				time.Sleep(time.Until(b.State(listens).Until))
				require.Equal(t, BecameFatal, b.call(listens, misshapen).Kind)
			})
		})
	}
}

func TestWhatCountsTowardsABrokenContract(t *testing.T) {
	t.Run("our own end does not interrupt", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			b.fail(listens, misshapen, 2)
			b.fail(listens, ourEnd, 1)
			require.Equal(t, BecameFatal, b.call(listens, misshapen).Kind)
		})
	})
	t.Run("an ordinary failure of the category is none of them", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			generic := unavailable
			generic.FatalAfter = 10
			b.fail(listens, unavailable, 5)
			b.fail(listens, generic, 9)
			require.Equal(t, Waiting, b.State(listens).Kind)
			time.Sleep(time.Until(b.State(listens).Until))
			ch := b.call(listens, generic)
			require.Equal(t, [3]any{BecameFatal, Contract, 15}, [3]any{ch.Kind, ch.State.Category, ch.State.Failures})
		})
	})
	t.Run("another such category counts for itself", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			generic := unavailable
			generic.FatalAfter = 3
			for range 4 {
				b.fail(listens, misshapen, 2)
				b.fail(listens, generic, 2)
			}
			require.Equal(t, Waiting, b.State(listens).Kind)
		})
	})
	t.Run("together they count once", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			var permits [5]Permit
			for i := range permits {
				permits[i] = b.permit(listens)
			}
			for i := range permits {
				permits[i].Done(misshapen)
			}
			require.Equal(t, [2]any{Waiting, 1}, [2]any{b.State(listens).Kind, b.State(listens).Failures})
		})
	})
}

func TestStillFailingIsToldOnceAfterADayAtTheCap(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		b.fail(listens, unavailable, 1)
		since := b.State(listens).Since
		b.fail(listens, unavailable, 6)
		atCap := time.Now()
		var told []Change
		var at time.Time
		for time.Since(atCap) < 7*24*time.Hour {
			time.Sleep(time.Until(b.State(listens).Until))
			if ch := b.call(listens, unavailable); ch.Kind != Unchanged {
				told, at = append(told, ch), time.Now()
			}
		}
		require.Len(t, told, 1)
		require.Equal(t, StillFailing, told[0].Kind)
		require.Equal(t, since, told[0].State.Since)
		require.GreaterOrEqual(t, at.Sub(atCap), 24*time.Hour)
		require.Less(t, at.Sub(atCap), 24*time.Hour+30*time.Minute)
		require.Equal(t, Waiting, b.State(listens).Kind, "it never stops trying")

		time.Sleep(time.Until(b.State(listens).Until))
		require.Equal(t, Recovered, b.call(listens, well).Kind)
		told = nil
		for range 100 {
			time.Sleep(time.Until(b.State(listens).Until))
			if ch := b.call(listens, unavailable); ch.Kind == StillFailing {
				told = append(told, ch)
			}
		}
		require.Len(t, told, 1, "another row of failures is told again")
	})
}

func TestAReconnectMakesOldOutcomesVoid(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]Verdict{
		"failure": refused, "outage": unreachable, "success": well, "contract": misshapen, "app": misconfigured,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				old := b.permit(listens)
				b.call(listens, refused)
				b.Reconnected(spotifyOf(1, ""), 2)
				require.Equal(t, State{}, b.State(listens), "the stop is forgotten")
				require.Equal(t, Change{}, told(old.Done(late)))
				require.Equal(t, State{}, b.State(listens))
				p, _, ok := b.Acquire(listens, 2)
				require.True(t, ok)
				require.Equal(t, Unchanged, p.Done(well).Kind)
			})
		})
	}
	t.Run("nor do they end what the new credential meets", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			old := b.permit(listens)
			b.Reconnected(spotifyOf(1, ""), 2)
			p, _, _ := b.Acquire(listens, 2)
			require.Equal(t, BecameFatal, p.Done(refused).Kind)
			require.Equal(t, Change{}, told(old.Done(well)))
			require.Equal(t, Stopped, b.State(listens).Kind)
		})
	})
	t.Run("a caller with a newer credential makes them void too", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			old := b.permit(listens)
			p, _, _ := b.Acquire(playlists, 2)
			require.Equal(t, Change{}, told(old.Done(refused)))
			require.Equal(t, Unchanged, p.Done(well).Kind)
		})
	})
	t.Run("a probe of the old credential stands in nobody's way", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			b.fail(listens, unreachable, 1)
			time.Sleep(time.Minute)
			old := b.permit(listens)
			b.Reconnected(spotifyOf(1, ""), 2)
			p, _, ok := b.Acquire(listens, 2)
			require.True(t, ok)
			p.Done(unreachable)
			old.Done(ourEnd)
			require.Equal(t, 1, b.State(listens).Failures)
		})
	})
}

func TestALateSuccessDoesNotEndABackoff(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		late := b.permit(listens)
		b.call(listens, unreachable)
		require.Equal(t, Change{}, told(late.Done(well)), "it was under way before the failure")
		require.Equal(t, Waiting, b.State(listens).Kind)
	})
}

// TestALateFailureOfAReadyConnection: a failure from before one that is overcome already tells nothing new.
func TestALateFailureOfAReadyConnection(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		late := b.permit(listens)
		b.fail(listens, unreachable, 1)
		time.Sleep(time.Minute)
		require.Equal(t, Recovered, b.call(listens, well).Kind)
		require.Equal(t, Change{}, told(late.Done(unreachable)))
		require.Equal(t, State{}, b.State(listens))
	})
}
