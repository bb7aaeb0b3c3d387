package backoff_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// TestAHoldOfTheAppIsKeptByAllItsUsers: to the second, across a restart, and although somebody asks for it.
//
// Promise: A hold is kept to the second, by everyone who shares it: the service said so.
func TestAHoldOfTheAppIsKeptByAllItsUsers(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		began := time.Now()
		ch := b.Call(backofftest.Listens, backofftest.Limited(24*time.Hour))
		require.Equal(t, backoff.Change{Kind: backoff.Began, NewHold: true,
			Fault: backoff.State{Kind: backoff.Held, Category: resilience.RateLimit, Scope: resilience.ScopeApp,
				Since: began, Until: began.Add(24 * time.Hour), Failures: 1}},
			backofftest.Told(ch))

		b.Manager = backoff.New(backoff.Options{}) // a restart, and what was stored
		b.RestoreHold(backoff.Hold{Key: backoff.Key{Connection: "spotify", Provider: "spotify", App: "client"},
			Category: resilience.RateLimit, Since: ch.Fault.Since,
			Until: ch.Fault.Until})
		b.Reconnected(backofftest.SpotifyOf(2, ""), 1)
		for range 24*12 - 1 {
			time.Sleep(5 * time.Minute)
			for _, k := range []backoff.Key{backofftest.Listens, backofftest.Playlists, backofftest.Bobs} {
				require.Equal(t, ch.Fault, b.Refused(k))
				state, held := b.Retry(k)
				require.True(t, held)
				require.Equal(t, ch.Fault, state)
			}
			require.Equal(t, backoff.Unchanged, b.Call(backoff.Key{User: 1, Connection: "spotify", Provider: "spotify",
				App: "other", Stream: "listens"},
				backofftest.Well).Kind)
		}
		time.Sleep(time.Until(ch.Fault.Until) - time.Nanosecond)
		b.Refused(backofftest.Bobs)
		time.Sleep(time.Nanosecond)

		probe := b.Permit(backofftest.Bobs)
		require.Zero(t, b.Refused(backofftest.Listens).Until, "one finds out for all")
		recovered := probe.Done(backofftest.Well)
		require.Equal(t, [3]any{backoff.Recovered, backoff.Held, resilience.ScopeApp},
			[3]any{recovered.Kind, recovered.Fault.Kind, recovered.Fault.Scope})
		require.Equal(t, backoff.Unchanged, b.Call(backofftest.Listens, backofftest.Well).Kind)
	})
}

// TestTheEndOfAHold: eight users of one key come back at once, and one call goes out.
//
// Promise: One caller finds out when a wait ends: no crowd at the end of an outage.
func TestTheEndOfAHold(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		b.Call(backofftest.Listens, backofftest.Limited(time.Hour))
		time.Sleep(time.Hour)
		var permits atomic.Int64
		var wg sync.WaitGroup
		for user := range int64(8) {
			wg.Go(func() {
				if p, _, ok := b.Acquire(backofftest.SpotifyOf(user, "listens"), 1); ok {
					permits.Add(1)
					time.Sleep(time.Second)
					p.Done(backofftest.Limited(time.Hour))
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, permits.Load())
		s := b.State(backofftest.Listens)
		require.Equal(t, [2]any{2, time.Hour}, [2]any{s.Failures, time.Until(s.Until)})
	})
}

// TestAHoldThatHasEndedIsNoHold: it prevents nothing, so nobody may be refused because of it.
func TestAHoldThatHasEndedIsNoHold(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		b.RestoreHold(backoff.Hold{Key: backoff.Key{Connection: "spotify", Provider: "spotify", App: "client"},
			Category: resilience.RateLimit, Since: time.Now(),
			Until: time.Now().Add(time.Hour)})
		newcomer := backofftest.SpotifyOf(0, "")
		require.Equal(t, backoff.Held, b.State(newcomer).Kind, "known before the first call of the app")
		time.Sleep(time.Hour)
		require.Equal(t, backoff.Waiting, b.State(newcomer).Kind)
		p := b.Permit(backofftest.Listens)
		require.Equal(t, backoff.Waiting, b.State(backofftest.Listens).Kind)
		require.Equal(t, backoff.Waiting, b.Refused(backofftest.Bobs).Kind)
		_, held := b.Retry(backofftest.Bobs)
		require.False(t, held)
		p.Done(backofftest.Well)
		require.Equal(t, backoff.State{}, b.State(newcomer))
	})
}

// Promise: A later, smaller hold does not shorten one: the longer one was said, too.
func TestALaterHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second time.Duration
		want          time.Duration
		newHold       bool
	}{
		"smaller does not shorten": {time.Hour, time.Minute, time.Hour, false},
		"the same is not new":      {time.Hour, time.Hour, time.Hour, false},
		"longer lengthens":         {time.Minute, time.Hour, time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				first, second := b.Permit(backofftest.Listens), b.Permit(backofftest.Bobs)
				require.True(t, first.Done(backofftest.Limited(c.first)).NewHold)
				ch := second.Done(backofftest.Limited(c.second))
				require.Equal(t, c.newHold, ch.NewHold)
				require.NotEqual(t, backoff.Began, ch.Kind)
				require.Equal(t, c.want, time.Until(b.State(backofftest.Listens).Until))

				b.RestoreHold(backoff.Hold{Key: backoff.Key{Connection: "spotify", Provider: "spotify", App: "client"},
					Until: time.Now().Add(time.Second)})
				require.Equal(t, c.want, time.Until(b.State(backofftest.Listens).Until),
					"nor does one that is restored")
			})
		})
	}
	t.Run("no more than the wait that follows it", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			b.Call(backofftest.Listens, backofftest.Limited(time.Hour))
			time.Sleep(time.Hour)
			require.True(t, b.Call(backofftest.Listens, backofftest.Limited(time.Minute)).NewHold, "the first is over")
			require.Equal(t, time.Minute, time.Until(b.State(backofftest.Listens).Until))
		})
	})
}

// TestCallsUnderWayDoNotEndAHold: whatever they come to, they began before it.
func TestCallsUnderWayDoNotEndAHold(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]resilience.Verdict{"success": backofftest.Well,
		"the quota without a time": {Class: resilience.Retriable, Category: resilience.Quota,
			Scope: resilience.ScopeApp}} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				first := b.Permit(backofftest.Listens)
				other := b.Permit(backofftest.Bobs)
				third := b.Permit(backofftest.Playlists)
				first.Done(resilience.Verdict{Class: resilience.Retriable, Category: resilience.Quota,
					Scope: resilience.ScopeApp}) // a wait that we guess
				time.Sleep(time.Minute)
				probe := b.Permit(backofftest.Listens)
				ch := other.Done(backofftest.Limited(24 * time.Hour))
				require.True(t, ch.NewHold)
				require.Equal(t, 24*time.Hour, time.Until(ch.Fault.Until),
					"known, although another call is finding out")
				probe.Done(v)
				third.Done(v)
				s := b.Refused(backofftest.Listens)
				require.Equal(t, [3]any{backoff.Held, resilience.RateLimit, 24 * time.Hour},
					[3]any{s.Kind, s.Category, time.Until(s.Until)})
			})
		})
	}
}

// TestALateHoldOfAReadyApp: a call from before a trouble that is over may still bring a dictated wait.
func TestALateHoldOfAReadyApp(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		late := b.Permit(backofftest.Bobs)
		b.Call(backofftest.Listens, resilience.Verdict{Class: resilience.Retriable, Category: resilience.Quota,
			Scope: resilience.ScopeApp})
		time.Sleep(time.Minute)
		b.Call(backofftest.Listens, backofftest.Well)
		require.Equal(t, backoff.Change{Kind: backoff.Began, NewHold: true,
			Fault: backoff.State{Kind: backoff.Held, Category: resilience.RateLimit, Scope: resilience.ScopeApp,
				Since: time.Now(), Until: time.Now().Add(time.Hour), Failures: 1}},
			backofftest.Told(late.Done(backofftest.Limited(time.Hour))))
	})
}

// TestALateHoldThatIsOver says nothing.
func TestALateHoldThatIsOver(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		late, v := b.Permit(backofftest.Listens), backofftest.Outage(time.Second)
		b.Call(backofftest.Listens, backofftest.Unavailable)
		time.Sleep(time.Second)
		require.Equal(t, backoff.Change{}, backofftest.Told(late.Done(v)))
		time.Sleep(time.Minute)
		v.Category = resilience.RateLimit
		b.Call(backofftest.Listens, v)
		require.Equal(t, [2]any{backoff.Waiting, time.Minute},
			[2]any{b.State(backofftest.Listens).Kind, time.Until(b.State(backofftest.Listens).Until)})
	})
}

func TestARateLimitWithoutAUsableTimeIsABackoff(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"none": &resilience.AnswerError{Endpoint: "GET /things", Status: 429},
		"unusable": &resilience.AnswerError{Status: 429, BadWait: true}} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				v := resilience.VerdictOf(err)
				ch := b.Call(backofftest.Listens, v)
				require.Equal(t, [3]any{backoff.Waiting, resilience.ScopeConnection, false},
					[3]any{ch.Fault.Kind, ch.Fault.Scope, ch.NewHold})
				require.Equal(t, time.Minute, b.Fail(backofftest.Listens, v, 1))
				require.Equal(t, backoff.Unchanged, b.Call(backofftest.Bobs, backofftest.Well).Kind,
					"each finds its own pace")
			})
		})
	}
}

func TestAnOutageWithRetryAfterWaitsAtLeastThat(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		ch := b.Call(backofftest.Listens, backofftest.Outage(10*time.Minute))
		require.Equal(t, [2]any{backoff.Held, true}, [2]any{ch.Fault.Kind, ch.NewHold})
		require.Equal(t, 10*time.Minute, time.Until(ch.Fault.Until))
		require.Equal(t, backoff.Unchanged, b.Call(backofftest.Playlists, backofftest.Well).Kind,
			"the other stream goes on")

		b.Fail(backofftest.Listens, backofftest.Unavailable, 4)
		time.Sleep(time.Until(b.State(backofftest.Listens).Until))
		ch = b.Call(backofftest.Listens, backofftest.Outage(time.Minute))
		require.Equal(t, [2]any{backoff.Waiting, 16 * time.Minute}, [2]any{ch.Fault.Kind, time.Until(ch.Fault.Until)},
			"its own backoff is longer")
		require.False(t, ch.NewHold, "and that is no hold")

		state, held := b.Retry(backofftest.Listens)
		require.True(t, held, "a person may shorten what we guess, not what the upstream asked for")
		require.Equal(t, [3]any{backoff.Held, resilience.Upstream, time.Minute},
			[3]any{state.Kind, state.Category, time.Until(state.Until)})
		time.Sleep(time.Minute)
		require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind)
	})
}

// TestAHoldOutlivesAStop: a person lifts the stop; the wait that the upstream dictated stays.
func TestAHoldOutlivesAStop(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(b backofftest.Manager){
		"of the app after the hold": func(b backofftest.Manager) {
			held, stopped := b.Permit(backofftest.Listens), b.Permit(backofftest.Listens)
			held.Done(backofftest.Limited(time.Hour))
			require.Equal(b.T, backoff.BecameFatal, stopped.Done(backofftest.Misconfigured).Kind)
		},
		"of the app before the hold": func(b backofftest.Manager) {
			held, stopped := b.Permit(backofftest.Listens), b.Permit(backofftest.Listens)
			stopped.Done(backofftest.Misconfigured)
			held.Done(backofftest.Limited(time.Hour))
		},
	} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				stop(b)
				until := time.Now().Add(time.Hour)
				require.Equal(t, backoff.Stopped, b.Refused(backofftest.Bobs).Kind)
				state, held := b.Retry(backofftest.Bobs)
				require.True(t, held)
				require.Equal(t, [3]any{backoff.Held, resilience.RateLimit, until},
					[3]any{state.Kind, state.Category, state.Until})

				permitAt(b, until, backofftest.Listens).Done(backofftest.Misconfigured)
				require.Equal(t, backoff.Stopped, b.Refused(backofftest.Bobs).Kind)
			})
		})
		t.Run(name+", reconnected", func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				stop(b)
				until := time.Now().Add(time.Hour)
				b.Reconnected(backofftest.SpotifyOf(1, ""), 2)
				require.Equal(t, [2]any{backoff.Held, until}, [2]any{b.State(backofftest.Listens).Kind,
					b.State(backofftest.Listens).Until})
			})
		})
	}
	t.Run("both restored", func(t *testing.T) {
		hold := backoff.Hold{Key: backofftest.SpotifyOf(1, ""), Category: resilience.RateLimit}
		stop := backoff.Stop{Key: backofftest.SpotifyOf(1, ""), Category: resilience.Auth}
		for _, order := range []string{"stop first", "hold first"} {
			t.Run(order, func(t *testing.T) {
				backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
					hold := hold
					hold.Until = time.Now().Add(time.Hour)
					if order == "hold first" {
						b.RestoreHold(hold)
					}
					b.RestoreStop(stop)
					if order == "stop first" {
						b.RestoreHold(hold)
					}
					require.Equal(t, backoff.Stopped, b.Refused(backofftest.Listens).Kind)
					_, held := b.Retry(backofftest.Listens)
					require.True(t, held)
				})
			})
		}
	})
}

// permitAt checks that k is refused until an instant and permitted then.
func permitAt(b backofftest.Manager, at time.Time, k backoff.Key) *backoff.Permit {
	b.T.Helper()
	time.Sleep(time.Until(at) - time.Nanosecond)
	b.Refused(k)
	time.Sleep(time.Nanosecond)
	p := b.Permit(k)
	return &p
}

func TestRestoreHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key     backoff.Key
		blocked []backoff.Key
		free    []backoff.Key
	}{
		"app": {backoff.Key{Connection: "spotify", Provider: "spotify", App: "client"},
			[]backoff.Key{backofftest.Listens, backofftest.Playlists,
				backofftest.Bobs}, nil},
		"connection": {backofftest.SpotifyOf(1, ""), []backoff.Key{backofftest.Listens, backofftest.Playlists},
			[]backoff.Key{backofftest.Bobs}},
		"stream": {backofftest.Listens, []backoff.Key{backofftest.Listens},
			[]backoff.Key{backofftest.Playlists, backofftest.Bobs}},
	} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				since, until := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
				b.RestoreHold(backoff.Hold{Key: c.key, Category: resilience.RateLimit, Since: since, Until: time.Now()})
				require.Equal(t, backoff.State{}, b.State(backofftest.Listens), "one that is over is left out")
				b.RestoreHold(backoff.Hold{Key: c.key, Category: resilience.Quota, Since: since, Until: until})
				for _, k := range c.blocked {
					s := b.Refused(k)
					require.Equal(t, [5]any{backoff.Held, resilience.Quota, since, until, 1},
						[5]any{s.Kind, s.Category, s.Since, s.Until, s.Failures})
				}
				for _, k := range c.free {
					require.Equal(t, backoff.Unchanged, b.Call(k, backofftest.Well).Kind)
				}
				require.Equal(t, backoff.Recovered, permitAt(b, until, backofftest.Listens).Done(backofftest.Well).Kind)
			})
		})
	}
}

// TestAHoldThatGrows: a provider whose documentation asks for ever longer waits gets them, up to its longest.
func TestAHoldThatGrows(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		limit := &resilience.AnswerError{Status: 400, Code: "29",
			Meaning: &resilience.Meaning{Class: resilience.Retriable, Category: resilience.RateLimit,
				Scope: resilience.ScopeApp,
				Hold:  5 * time.Minute, HoldMax: time.Hour}}
		for _, want := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute,
			time.Hour, time.Hour} {
			ch := b.Call(backofftest.Listens, resilience.VerdictOf(limit))
			require.Equal(t, backoff.Held, ch.Fault.Kind)
			require.Equal(t, want, time.Until(ch.Fault.Until))
			time.Sleep(want)
		}
		require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, resilience.Verdict{}).Kind)
		require.Equal(t, 5*time.Minute,
			time.Until(b.Call(backofftest.Listens, resilience.VerdictOf(limit)).Fault.Until),
			"a success starts over")
	})
}
