package metrics

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
)

// kept is a RollupStore in memory.
type kept struct {
	mu     sync.Mutex
	all    map[cellKey]Quarter
	fails  error
	writes int

	hoursFrom time.Time // what Hours was asked for last
}

func (k *kept) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fails = err
}

func (k *kept) written() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.writes
}

func (k *kept) AddQuarters(_ context.Context, all []Quarter) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fails != nil {
		return k.fails
	}
	k.writes++
	for _, q := range all {
		key := cellKey{q.Start, q.Provider, q.Endpoint}
		q.Add(k.all[key].Tally)
		k.all[key] = q
	}
	return nil
}

func (k *kept) Quarters(_ context.Context, usual, from, to time.Time) (all []Quarter, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	byStart := func(a, b Quarter) int { return a.Start.Compare(b.Start) }
	for _, q := range slices.SortedFunc(maps.Values(k.all), byStart) {
		if q.Start.Before(usual) || !q.Start.Before(to) {
			continue
		}
		if q.Start.Before(from) { // not added up, which is fine for readers
			q.Start = usual.UTC()
		}
		all = append(all, q)
	}
	return all, k.fails
}

func (k *kept) Hours(_ context.Context, provider string, from time.Time) (all []Quarter, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hoursFrom = from
	for _, q := range k.all {
		q.Start, q.Endpoint = q.Start.Truncate(time.Hour), ""
		same := func(o Quarter) bool { return o.Start.Equal(q.Start) && o.Provider == q.Provider }
		if q.Start.Before(from) || provider != "" && q.Provider != provider {
			continue
		}
		if i := slices.IndexFunc(all, same); i >= 0 {
			all[i].Add(q.Tally)
		} else {
			all = append(all, q)
		}
	}
	return all, k.fails
}

var services = Catalogue{
	Providers: []Provider{
		{
			Name:      "spotify",
			Endpoints: []Endpoint{{"api.spotify.com", "GET /v1/me"}, {"api.spotify.com", "GET /v1/me/playlists"}},
		},
		{Name: "navidrome", Endpoints: []Endpoint{{Name: "GET /rest/ping"}}},
	},
}

const me = "GET api.spotify.com/v1/me"

// rolling is a running roll-up in a bubble, which begins at midnight.
type rolling struct {
	*Rollup
	t    *testing.T
	kept *kept
	stop func()
}

func rollupBubble(t *testing.T, test func(*rolling)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rolling{t: t, kept: &kept{all: map[cellKey]Quarter{}}}
		r.start()
		defer func() { r.stop() }()
		test(r)
	})
}

// start starts the roll-up with what is stored, as a new process does.
func (r *rolling) start() {
	r.Rollup = NewRollup(services, r.kept, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	run := r.Rollup.Run
	running.Go(func() { assert.NoError(r.t, run(ctx)) })
	r.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
}

// kill stops the roll-up without storing anything.
func (r *rolling) kill() {
	r.mu.Lock()
	clear(r.cells)
	clear(r.open)
	r.mu.Unlock()
	r.stop()
}

func (r *rolling) attempts(n int, outcome transport.Outcome) {
	for range n {
		r.Attempt(transport.Attempt{
			Provider: "spotify",
			Host:     "api.spotify.com",
			Endpoint: "GET /v1/me",
			Start:    time.Now(),
			Took:     time.Second,
			Outcome:  outcome,
		})
	}
}

func (r *rolling) breaker(host string, to transport.BreakerState) {
	c := transport.BreakerChange{Provider: "spotify", Host: host, Route: "GET /v1/me", To: to}
	if host != "api.spotify.com" {
		c.Provider, c.Route = "navidrome", "GET /rest/ping"
	}
	r.Breaker(c)
}

// pass waits, with everything that is due in that time.
func (r *rolling) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// health returns the health of an endpoint.
func (r *rolling) health(endpoint string) (h Health) {
	r.t.Helper()
	all, _, err := r.Health(r.t.Context())
	require.NoError(r.t, err)
	if i := slices.IndexFunc(all, func(h Health) bool { return h.Endpoint == endpoint }); i >= 0 {
		h = all[i]
	}
	return h
}

func TestAnAttemptIsCountedInItsQuarter(t *testing.T) {
	rollupBubble(t, func(r *rolling) {
		r.attempts(3, transport.Success)
		r.attempts(1, transport.WasRetriable)
		r.attempts(5, transport.WasCanceled) // says nothing
		for _, c := range []resilience.Category{
			resilience.Item, resilience.Auth, resilience.Permission, resilience.Config,
		} {
			r.Attempt(transport.Attempt{
				Provider: "spotify",
				Host:     "api.spotify.com",
				Endpoint: "GET /v1/me",
				Start:    time.Now(),
				Outcome:  transport.WasFatal,
				Category: c,
			})
		}
		r.Attempt(transport.Attempt{
			Provider: "spotify",
			Host:     "api.spotify.com",
			Endpoint: "GET /v1/me",
			Outcome:  transport.BreakerStood,
		})
		r.Attempt(transport.Attempt{
			Provider: "spotify",
			Host:     "api.spotify.com",
			Endpoint: "GET /v1/new",
			Start:    time.Now(),
			Outcome:  transport.Success,
		})
		for _, host := range []string{"music.home.arpa", "10.0.0.7"} {
			r.Attempt(transport.Attempt{
				Provider: "navidrome",
				Host:     host,
				Endpoint: "GET /rest/ping",
				Start:    time.Now(),
				Outcome:  transport.Success,
			})
		}
		h := r.health(me)
		require.Equal(r.t, Tally{Attempts: 8, Failures: 1, Refused: 1, Took: 4 * time.Second}, h.Hour)
		require.Equal(r.t, h.Hour, h.Quarters[95], "the running quarter is the last")
		require.InDelta(r.t, 0.125, h.Day.FailureRate(), 0.001)
		require.InDelta(r.t, 8.0/7, h.Day.PerSuccess(), 0.001)
		require.Equal(r.t, 500*time.Millisecond, h.Day.Mean())
		require.Equal(r.t, 1, r.health("other").Day.Attempts)
		require.Equal(r.t, 2, r.health("GET navidrome/rest/ping").Day.Attempts, "people's own servers are one")
		require.Equal(r.t, "GET navidrome/rest/ping", r.Endpoint("navidrome", "10.0.0.7", "GET /rest/ping"))

		r.pass(45 * time.Minute)
		r.attempts(1, transport.Success)
		require.Equal(r.t, 9, r.health(me).Hour.Attempts)
		r.pass(15 * time.Minute)
		h = r.health(me)
		require.Equal(r.t, [3]int{1, 8, 9}, [3]int{h.Hour.Attempts, h.Usual.Attempts, h.Today.Attempts})
		r.pass(23 * time.Hour)
		h = r.health(me)
		require.Equal(r.t, [4]int{0, 9, 1, 0},
			[4]int{h.Hour.Attempts, h.Usual.Attempts, h.Day.Attempts, h.Today.Attempts}, "a day later")
		from := time.Now().Add(-24 * time.Hour)
		past, err := r.HealthBetween(r.t.Context(), from, from.Add(time.Hour))
		require.NoError(r.t, err)
		require.Equal(r.t, [2]int{9, 12}, [2]int{past[1].Day.Attempts, Sum(past).Day.Attempts}, "in its first hour")
	})
}

func TestTheTimeOfAnOpenBreakerIsSplit(t *testing.T) {
	rollupBubble(t, func(r *rolling) {
		r.pass(10 * time.Minute)
		r.breaker("api.spotify.com", transport.BreakerOpen)
		r.pass(20 * time.Minute)
		r.breaker("api.spotify.com", transport.BreakerHalfOpen)
		r.pass(12 * time.Minute)
		require.Equal(r.t, 32*time.Minute, r.health(me).Today.Open, "up to now")
		require.Equal(r.t, 32*time.Minute, r.health(me).Today.Open, "looking adds nothing")
		r.pass(8 * time.Minute)
		r.breaker("api.spotify.com", transport.BreakerClosed)
		r.pass(9 * time.Minute)
		var open []time.Duration
		for _, q := range r.health(me).Quarters[92:] {
			open = append(open, q.Open)
		}
		require.Equal(r.t, []time.Duration{5 * time.Minute, 15 * time.Minute, 15 * time.Minute, 5 * time.Minute}, open)

		r.breaker("a.home.arpa", transport.BreakerOpen)
		r.pass(time.Minute)
		r.breaker("b.home.arpa", transport.BreakerOpen)
		r.pass(time.Minute)
		r.breaker("a.home.arpa", transport.BreakerClosed)
		r.pass(time.Minute)
		r.breaker("b.home.arpa", transport.BreakerClosed)
		r.breaker("b.home.arpa", transport.BreakerClosed)
		require.Equal(r.t, 3*time.Minute, r.health("GET navidrome/rest/ping").Day.Open,
			"two servers under one name count once")

		r.breaker("api.spotify.com", transport.BreakerOpen)
		r.breaker("a.home.arpa", transport.BreakerOpen)
		r.pass(4 * time.Minute)
		all, _, err := r.Health(r.t.Context())
		require.NoError(r.t, err)
		require.Equal(r.t, 46*time.Minute, Sum(all).Today.Open,
			"and so does a time in which two endpoints were left alone")
	})
}

// A machine without a clock starts in the past, and learns the time when a breaker is open.
func TestALeapOfTheClockFillsAtMostWhatIsKept(t *testing.T) {
	rollupBubble(t, func(r *rolling) {
		r.breaker("api.spotify.com", transport.BreakerOpen)
		r.mu.Lock()
		k := cellKey{provider: "spotify", endpoint: me}
		r.open[k] = since{at: time.Now().AddDate(-2, 0, 0), hosts: r.open[k].hosts}
		r.mu.Unlock()
		r.pass(time.Minute)
		require.Equal(r.t, time.Minute, r.health(me).Today.Open)
		r.mu.Lock()
		n := len(r.cells)
		r.mu.Unlock()
		require.LessOrEqual(r.t, n, int(KeepQuarters/QuarterLength)+1)
	})
}

func TestARestartLosesNothingAKillOneQuarter(t *testing.T) {
	rollupBubble(t, func(r *rolling) {
		r.pass(20 * time.Minute)
		r.attempts(3, transport.Success)
		r.breaker("api.spotify.com", transport.BreakerOpen)
		r.pass(time.Minute)
		r.stop()
		r.start()
		r.attempts(2, transport.WasRetriable)
		require.Equal(r.t, Tally{Attempts: 5, Failures: 2, Took: 5 * time.Second, Open: time.Minute},
			r.health(me).Quarters[95])
		r.pass(10 * time.Minute) // the next quarter has begun: that one is stored
		r.attempts(7, transport.Success)
		r.kill()
		r.start()
		require.Equal(r.t, 5, r.health(me).Day.Attempts)
	})
}

func TestWhatCannotBeStoredIsStoredLater(t *testing.T) {
	rollupBubble(t, func(r *rolling) {
		r.kept.fail(errors.New("no space left"))
		r.attempts(3, transport.Success)
		r.pass(40 * time.Minute)
		_, _, err := r.Health(r.t.Context())
		require.Error(r.t, err)
		r.attempts(1, transport.WasRetriable)
		r.kept.fail(nil)
		require.Equal(r.t, [2]int{4, 1}, [2]int{r.health(me).Day.Attempts, r.health(me).Day.Failures})
		r.pass(6 * time.Minute)
		require.Equal(r.t, 1, r.kept.written())
		require.Equal(r.t, 4, r.health(me).Day.Attempts)

		r.kept.fail(errors.New("no space left"))
		r.attempts(1, transport.Success)
		r.pass(KeepQuarters + time.Hour)
		r.mu.Lock()
		require.Empty(r.t, r.cells, "what nobody would look back at is let go")
		r.mu.Unlock()
		r.kept.fail(nil)
	})
}

// Reading writes nothing, and sums up the same fortnight once only.
func TestReadingWritesNothing(t *testing.T) {
	rollupBubble(t, func(r *rolling) {
		r.attempts(4, transport.Success)
		r.pass(26 * time.Hour)
		writes := r.kept.written()
		r.attempts(3, transport.Success)
		for range 5 {
			h := r.health(me)
			require.Equal(r.t, [2]int{4, 3}, [2]int{h.Usual.Attempts, h.Hour.Attempts})
		}
		require.Equal(r.t, writes, r.kept.written())
		r.pass(3 * time.Hour)
		require.Equal(r.t, writes+1, r.kept.writes, "without attempts nothing is written either")
		require.Equal(r.t, 7, r.health(me).Usual.Attempts)
	})
}

// Two weeks are read once, not at every view, and the page also has the counts that were stored late.
func TestHoursThatAreOverAreReadOnce(t *testing.T) {
	rollupBubble(t, func(r *rolling) {
		count := func() (n int) {
			all, err := r.Hours(t.Context(), "", time.Now().Add(-KeepQuarters).Truncate(time.Hour))
			require.NoError(t, err)
			for _, q := range all {
				n += q.Attempts
			}
			return n
		}
		r.attempts(3, transport.Success)
		r.pass(5 * time.Hour)
		require.Equal(t, 3, count())
		require.Equal(t, 3, count())
		require.Equal(t, time.Now().Add(-time.Hour).Truncate(time.Hour), r.kept.hoursFrom)

		r.attempts(2, transport.Success)
		r.kept.fail(errors.New("the disk is full"))
		r.pass(5 * time.Hour)
		r.kept.fail(nil)
		require.Equal(t, 5, count(), "not stored yet")
		r.pass(20 * time.Minute)
		require.Equal(t, 5, count(), "stored in an hour that was read before")

		r.pass(KeepQuarters)
		require.Zero(t, count(), "14 days are kept")
	})
}

func TestAReadDuringAFlushFindsEachQuarterOnce(t *testing.T) {
	t.Parallel()
	r := NewRollup(services, &kept{all: map[cellKey]Quarter{}}, slog.New(slog.DiscardHandler))
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for n := range 200 {
				r.Attempt(transport.Attempt{
					Provider: "spotify",
					Host:     "api.spotify.com",
					Endpoint: "GET /v1/me",
					Start:    time.Now(),
					Outcome:  transport.Success,
				})
				r.Breaker(transport.BreakerChange{
					Provider: "spotify",
					Host:     "api.spotify.com",
					Route:    "GET /v1/me",
					To:       transport.BreakerState(n % 3),
				})
				if n%20 == 0 {
					assert.NoError(t, r.Flush(context.Background()))
				}
			}
		})
		all.Go(func() {
			last := 0
			for range 50 {
				found, _, err := r.Health(context.Background())
				assert.NoError(t, err)
				now := Sum(found).Day.Attempts
				assert.GreaterOrEqual(t, now, last)
				last = now
			}
		})
	}
	all.Wait()
	found, _, err := r.Health(t.Context())
	require.NoError(t, err)
	require.Equal(t, 800, Sum(found).Day.Attempts)
}

func TestTrends(t *testing.T) {
	t.Parallel()
	tally := func(attempts, failures int, mean time.Duration) Tally {
		return Tally{Attempts: attempts, Failures: failures, Took: time.Duration(attempts) * mean}
	}
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		hour, usual Tally
		want        Trend
	}{
		"all is well":                             {tally(12, 0, 300*ms), tally(4000, 40, 300*ms), Steady},
		"nothing was asked":                       {Tally{}, tally(4000, 40, 300*ms), Steady},
		"two failures are chance":                 {tally(12, 2, 300*ms), tally(4000, 0, 300*ms), Steady},
		"every third fails, and none did":         {tally(12, 4, 300*ms), tally(4000, 40, 300*ms), Failing},
		"a rate as always":                        {tally(50, 6, 300*ms), tally(4000, 400, 300*ms), Steady},
		"it always fails often":                   {tally(12, 6, 300*ms), tally(4000, 2000, 300*ms), OftenFailing},
		"and now more so":                         {tally(20, 19, 300*ms), tally(4000, 1600, 300*ms), Failing},
		"too few attempts, some of which succeed": {tally(7, 3, 300*ms), tally(4000, 0, 300*ms), Steady},
		"few attempts, none of which succeeds":    {tally(4, 4, 300*ms), tally(4000, 0, 300*ms), Failing},
		"new here, and one in fifty fails":        {tally(200, 4, 300*ms), Tally{}, Steady},
		"new here, and fails":                     {tally(9, 3, 300*ms), Tally{}, Failing},
		"thrice as slow":                          {tally(12, 0, 900*ms), tally(4000, 0, 300*ms), Slower},
		"thrice as slow, which nobody feels":      {tally(12, 0, 90*ms), tally(4000, 0, 30*ms), Steady},
		"a little slower":                         {tally(12, 0, 590*ms), tally(4000, 0, 300*ms), Steady},
		"slow, but new here":                      {tally(12, 0, 9*time.Second), tally(3, 0, 300*ms), Steady},
		"slow and failing":                        {tally(12, 9, 9*time.Second), tally(4000, 0, 300*ms), Failing},
	} {
		require.Equal(t, c.want, compare(c.hour, c.usual), name)
	}
	require.Zero(t, Tally{}.FailureRate())
	require.Zero(t, Tally{}.Mean())
	require.Zero(t, tally(4, 4, 0).PerSuccess())
}

func BenchmarkRollup(b *testing.B) {
	r := NewRollup(services, &kept{all: map[cellKey]Quarter{}}, slog.New(slog.DiscardHandler))
	a := transport.Attempt{
		Provider: "spotify",
		Host:     "api.spotify.com",
		Endpoint: "GET /v1/me/playlists",
		Start:    time.Now(),
		Took:     time.Second,
		Outcome:  transport.Success,
	}
	b.ReportAllocs()
	for b.Loop() {
		r.Attempt(a)
	}
}
