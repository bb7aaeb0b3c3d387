package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// farSide is what is at the other end of the network, host by host.
type farSide struct {
	mu      sync.Mutex
	status  map[string]int // by host; 0 is 200, -1 a failure of the network
	header  http.Header
	waiting chan struct{} // when it is set, calls are answered after it is closed
	seen    []time.Time
	hosts   []string
}

func (f *farSide) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.seen, f.hosts = append(f.seen, time.Now()), append(f.hosts, req.URL.Host)
	status, header, waiting := f.status[req.URL.Host], f.header.Clone(), f.waiting
	f.mu.Unlock()
	if waiting != nil {
		select {
		case <-waiting:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	switch status {
	case -1:
		return nil, errors.New("connection refused")
	case 0:
		status = http.StatusOK
	}
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("{}")),
		Request: req}, nil
}

func (f *farSide) set(host string, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.status == nil {
		f.status = map[string]int{}
	}
	f.status[host] = status
}

func (f *farSide) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seen)
}

// through calls a host through a transport.
func through(t *testing.T, tr *Transport, ctx context.Context, host string) error {
	t.Helper()
	return throughAs(t, resilience.Call{Client: NewClient(tr)}, ctx, host)
}

func throughAs(t *testing.T, c resilience.Call, ctx context.Context, host string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/v1/me", nil)
	require.NoError(t, err)
	_, err = c.Send(req, resilience.Endpoint{Name: "GET /v1/me"})
	return err
}

var down = resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream, Scope: resilience.ScopeStream}

const api = "api.example.org"

// breakers are a test's: the far side, a transport, and the changes of state that were told.
type breakers struct {
	*Transport
	far  *farSide
	told *[]string
	t    *testing.T
}

func breakerBubble(t *testing.T, test func(t *testing.T, b breakers)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		far, told := &farSide{}, []string{}
		all := NewBreakers(BreakerOptions{Changed: func(c BreakerChange) {
			told = append(told, c.Endpoint+": "+c.From.String()+" to "+c.To.String())
		}})
		test(t, breakers{&Transport{Base: far, Breakers: all}, far, &told, t})
	})
}

func (b breakers) call() error { return through(b.t, b.Transport, b.t.Context(), api) }

// fails calls n times, each of which must reach the upstream and fail there.
func (b breakers) fails(n int) {
	b.t.Helper()
	before := b.far.calls()
	for range n {
		require.Error(b.t, b.call())
	}
	require.Equal(b.t, before+n, b.far.calls())
}

// refuses calls, which must not reach the upstream, and returns how long until it says to come back.
func (b breakers) refuses() time.Duration {
	b.t.Helper()
	before := b.far.calls()
	err := b.call()
	require.Equal(b.t, before, b.far.calls())
	v := resilience.VerdictOf(err)
	require.Equal(b.t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.CircuitOpen,
		Scope: resilience.ScopeEndpoint, NotBefore: v.NotBefore},
		v, "%v", err)
	return time.Until(v.NotBefore)
}

// TestOneProbeAMinute: with equal waits an endpoint is asked once a minute, however long it fails.
//
// Promise: It stays open 60 s, doubling to 10 min: one probe is enough to find out.
func TestOneProbeAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bs, probes := NewBreakers(BreakerOptions{Cooldown: time.Minute, MaxCooldown: time.Minute}), 0
		for range 60 * 60 {
			if p, _, ok := bs.enter("spotify", "api.example.org", "GET /v1/me", false); ok {
				p.done(down)
				probes++
			}
			time.Sleep(time.Second)
		}
		require.Equal(t, 5+59, probes, "five that open it, then one a minute")
	})
}

// Promise: A breaker opens after 5 failures in a row: fewer are chance, over all users.
func TestABreakerOpensAfterFiveFailuresInARow(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		for _, status := range []int{503, -1} {
			b.far.set(api, status)
			b.fails(4)
			b.far.set(api, 0)
			require.NoError(t, b.call(), "a success in between starts the count over")
			b.far.set(api, status)
			b.fails(5)
			require.Equal(t, time.Minute, b.refuses())
			time.Sleep(time.Minute)
			b.far.set(api, 0)
			require.NoError(t, b.call())
		}
		require.Equal(t, strings.Repeat(
			"GET api.example.org/v1/me: closed to open,GET api.example.org/v1/me: open to half-open,GET "+
				"api.example.org/v1/me: half-open to closed,", 2),
			strings.Join(*b.told, ",")+",")
	})
}

func TestWhatIsNotTheEndpointsFaultOpensNoBreaker(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		for _, status := range []int{400, 401, 403, 404, 410, 422, 429, 302} {
			b.far.set(api, status)
			b.fails(10)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		b.far.waiting = make(chan struct{})
		for range 10 {
			require.ErrorIs(t, through(t, b.Transport, ended, api), context.Canceled)
		}
		require.Empty(t, *b.told)
	})
}

// Promise: It stays open 60 s, doubling to 10 min: one probe is enough to find out.
func TestTheCooldownDoublesWhileProbesFail(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		b.far.set(api, 502)
		b.fails(5)
		for _, minutes := range []time.Duration{1, 2, 4, 8, 10, 10} {
			require.Equal(t, minutes*time.Minute, b.refuses())
			time.Sleep(minutes*time.Minute - time.Nanosecond)
			b.refuses()
			time.Sleep(time.Nanosecond)
			b.fails(1)
		}
		time.Sleep(10 * time.Minute)
		b.far.set(api, 0)
		require.NoError(t, b.call())
		b.far.set(api, 502)
		b.fails(5)
		require.Equal(t, time.Minute, b.refuses(), "it was closed in between")
	})
}

// Promise: One probe, all others fail fast: an upstream that comes back isn't run over.
func TestOneProbeWhileAllOthersFailFast(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		b.far.set(api, 503)
		b.fails(5)
		time.Sleep(time.Minute)
		b.far.set(api, 0)
		b.far.waiting = make(chan struct{})
		probe := make(chan error, 1)
		go func() { probe <- b.call() }()
		synctest.Wait()
		for range 20 {
			require.Equal(t, probeAgain, b.refuses())
		}
		close(b.far.waiting)
		require.NoError(t, <-probe)
		require.NoError(t, b.call())
	})
}

func TestACanceledProbeIsFollowedByAnother(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		b.far.set(api, 503)
		b.fails(5)
		time.Sleep(time.Minute)
		b.far.set(api, 0)
		ended, cancel := context.WithCancel(t.Context())
		b.far.waiting = make(chan struct{})
		probe := make(chan error, 1)
		go func() { probe <- through(t, b.Transport, ended, api) }()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-probe, context.Canceled)
		close(b.far.waiting)
		require.NoError(t, b.call())
	})
}

// Promise: A person may probe an open breaker every 5 s: they wait in front of the page.
func TestAPersonWhoWaitsIsTheProbe(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		b.far.set(api, 503)
		b.fails(5)
		try := func() error {
			return throughAs(t, resilience.Call{Client: NewClient(b.Transport), Eager: true}, t.Context(), api)
		}
		require.Equal(t, resilience.CircuitOpen, resilience.VerdictOf(try()).Category,
			"but not within seconds of the latest failure")
		time.Sleep(probeAgain)
		require.Equal(t, resilience.Upstream, resilience.VerdictOf(try()).Category)
		require.Equal(t, resilience.CircuitOpen, resilience.VerdictOf(try()).Category)
		b.far.set(api, 0)
		time.Sleep(probeAgain)
		b.refuses()
		require.NoError(t, try())
		require.NoError(t, b.call())
	})
}

func TestAPanicBelowLeavesNoProbeBehind(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		b.far.set(api, 503)
		b.fails(5)
		time.Sleep(time.Minute)
		b.Base = roundTripper(func(*http.Request) (*http.Response, error) { panic("below") })
		require.Panics(t, func() { _ = b.call() })
		b.Base = b.far
		b.far.set(api, 0)
		require.NoError(t, b.call())
	})
}

func TestALateOutcomeCountsForNothing(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		b.far.waiting = make(chan struct{})
		late := make(chan error, 2)
		go func() { late <- b.call() }() // began while all was well
		synctest.Wait()
		waiting := b.far.waiting
		b.far.waiting = nil
		b.far.set(api, 503)
		b.fails(5)
		close(waiting)
		require.NoError(t, <-late)
		b.refuses()
	})
}

func TestBreakersOfOtherEndpointsAndHostsAreOthers(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		b.far.set(api, 503)
		b.fails(5)
		require.NoError(t, through(t, b.Transport, t.Context(), "other.example.org"))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+api+"/", nil)
		require.NoError(t, err)
		_, err = resilience.Call{Client: NewClient(b.Transport)}.Send(req,
			resilience.Endpoint{Name: "POST user.getRecentTracks"})
		require.Equal(t, resilience.Upstream, resilience.VerdictOf(err).Category, "it is asked")
		var names []string
		for _, s := range b.Breakers.Status() {
			names = append(names, s.Endpoint+" "+s.State.String())
		}
		require.Equal(t, []string{"GET api.example.org/v1/me open", "GET other.example.org/v1/me closed",
			"POST api.example.org user.getRecentTracks closed"}, names)
	})
}

func TestAnAdministratorResetsABreaker(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		b.far.set(api, 503)
		b.fails(5)
		_, ok := b.Breakers.Reset("GET nowhere/v1/me")
		require.False(t, ok)
		previous, ok := b.Breakers.Reset("GET api.example.org/v1/me")
		require.True(t, ok)
		require.Equal(t, BreakerOpen, previous)
		previous, ok = b.Breakers.Reset("GET api.example.org/v1/me")
		require.True(t, ok)
		require.Equal(t, BreakerClosed, previous, "as often as one likes")
		b.fails(5)
		require.Equal(t, time.Minute, b.refuses())
	})
}

func TestUnusedEndpointsAreForgotten(t *testing.T) {
	breakerBubble(t, func(t *testing.T, b breakers) {
		b.far.set(api, 503)
		b.fails(5)
		require.NoError(t, through(t, b.Transport, t.Context(), "other.example.org"))
		time.Sleep(forgetAfter)
		b.Breakers.Forget()
		require.Len(t, b.Breakers.Status(), 2, "its probe has been due for less")
		b.fails(1)
		time.Sleep(forgetAfter)
		b.Breakers.Forget()
		require.Len(t, b.Breakers.Status(), 2, "somebody has asked")
		time.Sleep(2 * time.Minute)
		b.Breakers.Forget()
		require.Len(t, b.Breakers.Status(), 1)
		require.Equal(t, "GET api.example.org/v1/me: open to closed", (*b.told)[len(*b.told)-1])
		b.fails(5)
		require.Equal(t, time.Minute, b.refuses(), "as one that was never called")
	})
}

// TestAnOpenBreakerIsNoFailureOfTheConnection: it waits for the probe, and its own backoff stays where it was.
//
// Promise: An open breaker is no failure of a connection: nothing was learned about it.
func TestAnOpenBreakerIsNoFailureOfTheConnection(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		open := func(wait time.Duration) resilience.Verdict {
			return resilience.VerdictOf(shared("GET /v1/me", resilience.CircuitOpen, time.Now().Add(wait)))
		}
		ch := b.Call(backofftest.Listens, open(time.Minute))
		began := time.Now()
		require.Equal(t, backoff.Change{Kind: backoff.Began, Fault: backoff.State{Kind: backoff.Waiting,
			Category: resilience.CircuitOpen, Scope: resilience.ScopeStream,
			Since: began,
			Until: began.Add(time.Minute + time.Minute/8)}}, backofftest.Told(
			ch), "a little later than the probe, and not with everybody")
		require.Equal(t, ch.Fault, b.Refused(backofftest.Listens))
		time.Sleep(2 * time.Minute)
		require.Equal(t, backoff.Change{}, backofftest.Told(b.Call(backofftest.Listens, open(time.Minute))),
			"said once")
		time.Sleep(2 * time.Minute)
		require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind)

		b.Call(backofftest.Listens, backofftest.Unavailable)
		time.Sleep(time.Minute)
		b.Call(backofftest.Listens, open(time.Minute))
		require.Equal(t, resilience.Upstream, b.State(backofftest.Listens).Category,
			"why it waits is still the failure")
		require.Equal(t, 1, b.State(backofftest.Listens).Failures)
		time.Sleep(2 * time.Minute)
		require.Equal(t, 2, b.Call(backofftest.Listens, backofftest.Unavailable).Fault.Failures)

		b.Call(backofftest.Playlists, backofftest.Forbidden)
		require.Equal(t, backoff.Stopped, b.State(backofftest.Playlists).Kind)
	})
}

func TestServersThatComeAndGoDoNotFillTheMemory(t *testing.T) {
	t.Parallel()
	all := NewBreakers(BreakerOptions{})
	for i := range 3 * maxBreakers {
		p, _, ok := all.enter("navidrome", "host-"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+time.Duration(
			i).String(), "GET /", false)
		require.True(t, ok)
		p.done(resilience.Verdict{})
	}
	require.LessOrEqual(t, len(all.all), maxBreakers)
}

// TestWhyAStreamWaitsIsSaidAnewWhenItChanges: being offline, and later an open breaker, have different words.
func TestWhyAStreamWaitsIsSaidAnewWhenItChanges(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		put := func(why resilience.Category) backoff.Change {
			defer time.Sleep(2 * time.Minute)
			return b.Call(backofftest.Listens,
				resilience.VerdictOf(shared("GET /v1/me", why, time.Now().Add(time.Minute))))
		}
		require.Equal(t, backoff.Began, put(resilience.Network).Kind)
		require.Equal(t, backoff.Change{}, backofftest.Told(put(resilience.Network)))
		ch := put(resilience.CircuitOpen)
		require.Equal(t, backoff.Unchanged, ch.Kind)
		require.Equal(t, resilience.CircuitOpen, ch.Fault.Category)
	})
}

// TestStillFailingIsSaidBehindAnOpenBreaker: the probes are others'.
func TestStillFailingIsSaidBehindAnOpenBreaker(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		began, said := time.Now(), 0
		for time.Since(began) < 72*time.Hour {
			if ch := b.Call(backofftest.Listens, resilience.VerdictOf(shared("GET /v1/me", resilience.CircuitOpen,
				time.Now().Add(10*time.Minute)))); ch.Kind == backoff.StillFailing {
				require.WithinDuration(t, began.Add(24*time.Hour), time.Now(), 30*time.Minute)
				said++
			}
			time.Sleep(time.Until(b.State(backofftest.Listens).Until))
		}
		require.Equal(t, 1, said)
	})
}
