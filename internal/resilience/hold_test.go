package resilience

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAHoldOfTheAppIsKeptByAllItsUsers: to the second, across a restart, and although somebody asks for it.
func TestAHoldOfTheAppIsKeptByAllItsUsers(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		began := time.Now()
		ch := b.call(listens, limited(24*time.Hour))
		require.Equal(t, Change{Kind: Began, NewHold: true,
			State: State{Kind: Held, Category: RateLimit, Scope: ScopeApp,
				Since: began, Until: began.Add(24 * time.Hour), Failures: 1}}, told(ch))

		b.Backoff = NewBackoff(Options{}) // a restart, and what was stored
		b.RestoreHold(Hold{Key: Key{Connection: "spotify", Provider: "spotify", App: "client"},
			Category: RateLimit, Since: ch.State.Since,
			Until: ch.State.Until})
		b.Reconnected(spotifyOf(2, ""), 1)
		for range 24*12 - 1 {
			time.Sleep(5 * time.Minute)
			for _, k := range []Key{listens, playlists, bobs} {
				require.Equal(t, ch.State, b.refused(k))
				state, held := b.Retry(k)
				require.True(t, held)
				require.Equal(t, ch.State, state)
			}
			require.Equal(t, Unchanged, b.call(Key{User: 1, Connection: "spotify", Provider: "spotify",
				App: "other", Stream: "listens"},
				well).Kind)
		}
		time.Sleep(time.Until(ch.State.Until) - time.Nanosecond)
		b.refused(bobs)
		time.Sleep(time.Nanosecond)

		probe := b.permit(bobs)
		require.Zero(t, b.refused(listens).Until, "one finds out for all")
		recovered := probe.Done(well)
		require.Equal(t, [3]any{Recovered, Held, ScopeApp},
			[3]any{recovered.Kind, recovered.State.Kind, recovered.State.Scope})
		require.Equal(t, Unchanged, b.call(listens, well).Kind)
	})
}

// TestTheEndOfAHold: eight users of one key come back at once, and one call goes out.
func TestTheEndOfAHold(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		b.call(listens, limited(time.Hour))
		time.Sleep(time.Hour)
		var permits atomic.Int64
		var wg sync.WaitGroup
		for user := range int64(8) {
			wg.Go(func() {
				if p, _, ok := b.Acquire(spotifyOf(user, "listens"), 1); ok {
					permits.Add(1)
					time.Sleep(time.Second)
					p.Done(limited(time.Hour))
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 1, permits.Load())
		s := b.State(listens)
		require.Equal(t, [2]any{2, time.Hour}, [2]any{s.Failures, time.Until(s.Until)})
	})
}

// TestAHoldThatHasEndedIsNoHold: it prevents nothing, so nobody may be refused because of it.
func TestAHoldThatHasEndedIsNoHold(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		b.RestoreHold(Hold{Key: Key{Connection: "spotify", Provider: "spotify", App: "client"},
			Category: RateLimit, Since: time.Now(),
			Until: time.Now().Add(time.Hour)})
		newcomer := spotifyOf(0, "")
		require.Equal(t, Held, b.State(newcomer).Kind, "known before the first call of the app")
		time.Sleep(time.Hour)
		require.Equal(t, Waiting, b.State(newcomer).Kind)
		p := b.permit(listens)
		require.Equal(t, Waiting, b.State(listens).Kind)
		require.Equal(t, Waiting, b.refused(bobs).Kind)
		_, held := b.Retry(bobs)
		require.False(t, held)
		p.Done(well)
		require.Equal(t, State{}, b.State(newcomer))
	})
}

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
			bubble(t, func(t *testing.T, b manager) {
				first, second := b.permit(listens), b.permit(bobs)
				require.True(t, first.Done(limited(c.first)).NewHold)
				ch := second.Done(limited(c.second))
				require.Equal(t, c.newHold, ch.NewHold)
				require.NotEqual(t, Began, ch.Kind)
				require.Equal(t, c.want, time.Until(b.State(listens).Until))

				b.RestoreHold(Hold{Key: Key{Connection: "spotify", Provider: "spotify", App: "client"},
					Until: time.Now().Add(time.Second)})
				require.Equal(t, c.want, time.Until(b.State(listens).Until), "nor does one that is restored")
			})
		})
	}
	t.Run("no more than the wait that follows it", func(t *testing.T) {
		bubble(t, func(t *testing.T, b manager) {
			b.call(listens, limited(time.Hour))
			time.Sleep(time.Hour)
			require.True(t, b.call(listens, limited(time.Minute)).NewHold, "the first is over")
			require.Equal(t, time.Minute, time.Until(b.State(listens).Until))
		})
	})
}

// TestCallsUnderWayDoNotEndAHold: whatever they come to, they began before it.
func TestCallsUnderWayDoNotEndAHold(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]Verdict{"success": well,
		"the quota without a time": {Class: Retriable, Category: Quota, Scope: ScopeApp}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				first := b.permit(listens)
				other := b.permit(bobs)
				third := b.permit(playlists)
				first.Done(Verdict{Class: Retriable, Category: Quota, Scope: ScopeApp}) // a wait that we guess
				time.Sleep(time.Minute)
				probe := b.permit(listens)
				ch := other.Done(limited(24 * time.Hour))
				require.True(t, ch.NewHold)
				require.Equal(t, 24*time.Hour, time.Until(ch.State.Until),
					"known, although another call is finding out")
				probe.Done(v)
				third.Done(v)
				s := b.refused(listens)
				require.Equal(t, [3]any{Held, RateLimit, 24 * time.Hour},
					[3]any{s.Kind, s.Category, time.Until(s.Until)})
			})
		})
	}
}

// TestALateHoldOfAReadyApp: a call from before a trouble that is over may still bring a dictated wait.
func TestALateHoldOfAReadyApp(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		late := b.permit(bobs)
		b.call(listens, Verdict{Class: Retriable, Category: Quota, Scope: ScopeApp})
		time.Sleep(time.Minute)
		b.call(listens, well)
		require.Equal(t, Change{Kind: Began, NewHold: true,
			State: State{Kind: Held, Category: RateLimit, Scope: ScopeApp,
				Since: time.Now(), Until: time.Now().Add(time.Hour), Failures: 1}}, told(late.Done(limited(time.Hour))))
	})
}

// TestALateHoldThatIsOver says nothing.
func TestALateHoldThatIsOver(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		late, v := b.permit(listens), outage(time.Second)
		b.call(listens, unavailable)
		time.Sleep(time.Second)
		require.Equal(t, Change{}, told(late.Done(v)))
		time.Sleep(time.Minute)
		v.Category = RateLimit
		b.call(listens, v)
		require.Equal(t, [2]any{Waiting, time.Minute},
			[2]any{b.State(listens).Kind, time.Until(b.State(listens).Until)})
	})
}

func TestARateLimitWithoutAUsableTimeIsABackoff(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"none": answer(429), "unusable": &AnswerError{Status: 429, BadWait: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				v := VerdictOf(err)
				ch := b.call(listens, v)
				require.Equal(t, [3]any{Waiting, ScopeConnection, false},
					[3]any{ch.State.Kind, ch.State.Scope, ch.NewHold})
				require.Equal(t, time.Minute, b.fail(listens, v, 1))
				require.Equal(t, Unchanged, b.call(bobs, well).Kind, "each finds its own pace")
			})
		})
	}
}

func TestAnOutageWithRetryAfterWaitsAtLeastThat(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		ch := b.call(listens, outage(10*time.Minute))
		require.Equal(t, [2]any{Held, true}, [2]any{ch.State.Kind, ch.NewHold})
		require.Equal(t, 10*time.Minute, time.Until(ch.State.Until))
		require.Equal(t, Unchanged, b.call(playlists, well).Kind, "the other stream goes on")

		b.fail(listens, unavailable, 4)
		time.Sleep(time.Until(b.State(listens).Until))
		ch = b.call(listens, outage(time.Minute))
		require.Equal(t, [2]any{Waiting, 16 * time.Minute}, [2]any{ch.State.Kind, time.Until(ch.State.Until)},
			"its own backoff is longer")
		require.False(t, ch.NewHold, "and that is no hold")

		state, held := b.Retry(listens)
		require.True(t, held, "a person may shorten what we guess, not what the upstream asked for")
		require.Equal(t, [3]any{Held, Upstream, time.Minute},
			[3]any{state.Kind, state.Category, time.Until(state.Until)})
		time.Sleep(time.Minute)
		require.Equal(t, Recovered, b.call(listens, well).Kind)
	})
}

// TestAHoldOutlivesAStop: a person lifts the stop; the wait that the upstream dictated stays.
func TestAHoldOutlivesAStop(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(b manager){
		"of the app after the hold": func(b manager) {
			held, stopped := b.permit(listens), b.permit(listens)
			held.Done(limited(time.Hour))
			require.Equal(b.t, BecameFatal, stopped.Done(misconfigured).Kind)
		},
		"of the app before the hold": func(b manager) {
			held, stopped := b.permit(listens), b.permit(listens)
			stopped.Done(misconfigured)
			held.Done(limited(time.Hour))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				stop(b)
				until := time.Now().Add(time.Hour)
				require.Equal(t, Stopped, b.refused(bobs).Kind)
				state, held := b.Retry(bobs)
				require.True(t, held)
				require.Equal(t, [3]any{Held, RateLimit, until}, [3]any{state.Kind, state.Category, state.Until})

				b.permitAt(until, listens).Done(misconfigured)
				require.Equal(t, Stopped, b.refused(bobs).Kind)
			})
		})
		t.Run(name+", reconnected", func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				stop(b)
				until := time.Now().Add(time.Hour)
				b.Reconnected(spotifyOf(1, ""), 2)
				require.Equal(t, [2]any{Held, until}, [2]any{b.State(listens).Kind, b.State(listens).Until})
			})
		})
	}
	t.Run("both restored", func(t *testing.T) {
		hold := Hold{Key: spotifyOf(1, ""), Category: RateLimit}
		stop := Stop{Key: spotifyOf(1, ""), Category: Auth}
		for _, order := range []string{"stop first", "hold first"} {
			t.Run(order, func(t *testing.T) {
				bubble(t, func(t *testing.T, b manager) {
					hold := hold
					hold.Until = time.Now().Add(time.Hour)
					if order == "hold first" {
						b.RestoreHold(hold)
					}
					b.RestoreStop(stop)
					if order == "stop first" {
						b.RestoreHold(hold)
					}
					require.Equal(t, Stopped, b.refused(listens).Kind)
					_, held := b.Retry(listens)
					require.True(t, held)
				})
			})
		}
	})
}

// permitAt checks that k is refused until an instant and permitted then.
func (b manager) permitAt(at time.Time, k Key) *Permit {
	b.t.Helper()
	time.Sleep(time.Until(at) - time.Nanosecond)
	b.refused(k)
	time.Sleep(time.Nanosecond)
	p := b.permit(k)
	return &p
}

func TestRestoreHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key     Key
		blocked []Key
		free    []Key
	}{
		"app": {Key{Connection: "spotify", Provider: "spotify", App: "client"}, []Key{listens, playlists,
			bobs}, nil},
		"connection": {spotifyOf(1, ""), []Key{listens, playlists}, []Key{bobs}},
		"stream":     {listens, []Key{listens}, []Key{playlists, bobs}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b manager) {
				since, until := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
				b.RestoreHold(Hold{Key: c.key, Category: RateLimit, Since: since, Until: time.Now()})
				require.Equal(t, State{}, b.State(listens), "one that is over is left out")
				b.RestoreHold(Hold{Key: c.key, Category: Quota, Since: since, Until: until})
				for _, k := range c.blocked {
					s := b.refused(k)
					require.Equal(t, [5]any{Held, Quota, since, until, 1},
						[5]any{s.Kind, s.Category, s.Since, s.Until, s.Failures})
				}
				for _, k := range c.free {
					require.Equal(t, Unchanged, b.call(k, well).Kind)
				}
				require.Equal(t, Recovered, b.permitAt(until, listens).Done(well).Kind)
			})
		})
	}
}

// TestAHoldThatGrows: a provider whose documentation asks for ever longer waits gets them, up to its longest.
func TestAHoldThatGrows(t *testing.T) {
	bubble(t, func(t *testing.T, b manager) {
		limit := &AnswerError{Status: 400, Code: "29",
			Meaning: &Meaning{Class: Retriable, Category: RateLimit, Scope: ScopeApp,
				Hold: 5 * time.Minute, HoldMax: time.Hour}}
		for _, want := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute,
			time.Hour, time.Hour} {
			ch := b.call(listens, VerdictOf(limit))
			require.Equal(t, Held, ch.State.Kind)
			require.Equal(t, want, time.Until(ch.State.Until))
			time.Sleep(want)
		}
		require.Equal(t, Recovered, b.call(listens, Verdict{}).Kind)
		require.Equal(t, 5*time.Minute, time.Until(b.call(listens, VerdictOf(limit)).State.Until),
			"a success starts over")
	})
}
