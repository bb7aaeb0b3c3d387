package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// fails returns an upstream whose first n answers have that status, and the others 200.
func fails(n, status int, header ...string) *far {
	return &far{answer: func(i int, _ *http.Request) (*http.Response, error) {
		if i <= n {
			return answered(status, header...), nil
		}
		return answered(200), nil
	}}
}

func waitOf(seconds string) []string { return []string{"Retry-After", seconds} }

// sends sends one request of a call over a transport, and returns its error.
func sends(ctx context.Context, t *testing.T, c resilience.Call, over http.RoundTripper, method, body string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "https://api.example.org/v1/me", strings.NewReader(body))
	require.NoError(t, err)
	c.Client, c.User, c.Provider = NewClient(over), 1, "spotify"
	_, err = c.Send(req, resilience.Endpoint{Name: method + " /v1/me"})
	return err
}

var (
	never   = &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	unknown = &net.DNSError{Err: "no such host", Name: "api.example.org", IsNotFound: true}
	vague   = &net.DNSError{Err: "server misbehaving", Name: "api.example.org"}
	errCut  = errors.New("connection reset by peer")
)

// TestWhatIsRepeatedInsideOneCall is the table of what may be repeated: for whom, and after which failure.
//
// Promise: What is repeated inside a call, and after what: only what may help and does no harm.
func TestWhatIsRepeatedInsideOneCall(t *testing.T) {
	alone := func(*testing.T) resilience.Call {
		p, _, _ := backoff.New(backoff.Options{}).Acquire(backofftest.SpotifyOf(1, "listens"), 1)
		return resilience.Call{Permit: &p}
	}
	person := func(*testing.T) resilience.Call { return waiting }
	troubled := func(t *testing.T) resilience.Call {
		b, key := backoff.New(backoff.Options{Base: time.Nanosecond, Jitter: -1}), backofftest.SpotifyOf(1, "listens")
		first, _, _ := b.Acquire(key, 1)
		first.Done(backofftest.Unavailable)
		time.Sleep(time.Second)
		p, _, ok := b.Acquire(key, 1)
		require.True(t, ok)
		return resilience.Call{Permit: &p}
	}
	nobody := func(*testing.T) resilience.Call { return resilience.Call{} }
	with := func(of func(*testing.T) resilience.Call, e resilience.Effect) func(*testing.T) resilience.Call {
		return func(t *testing.T) resilience.Call {
			c := of(t)
			c.Effect = e
			return c
		}
	}
	for name, c := range map[string]struct {
		call   func(*testing.T) resilience.Call
		method string
		status int
		header []string
		err    error // in place of a status
		again  bool
	}{
		"a read of a run without trouble":   {call: alone, method: "GET", status: 503, again: true},
		"a question for the head of a file": {call: alone, method: "HEAD", status: 502, again: true},
		"a gateway's silence":               {call: alone, method: "GET", status: 504, again: true},
		"a read that the network cut off":   {call: alone, method: "GET", err: errCut, again: true},
		"a read by POST": {call: with(alone, resilience.Read), method: "POST", status: 503,
			again: true},
		"a write by GET":                    {call: with(alone, resilience.Write), method: "GET", status: 503},
		"a write":                           {call: alone, method: "POST", status: 503},
		"a write that never left":           {call: alone, method: "POST", err: never},
		"a read of a run after a failure":   {call: troubled, method: "GET", status: 503},
		"a read of no run":                  {call: nobody, method: "GET", status: 503},
		"a person's read":                   {call: person, method: "GET", status: 503, again: true},
		"a person's write":                  {call: person, method: "POST", status: 503},
		"a person's write that was cut off": {call: person, method: "POST", err: errCut},
		"a person's write that never left":  {call: person, method: "POST", err: never, again: true},
		"a person's write by GET, never left": {call: with(person, resilience.Write), method: "GET", err: never,
			again: true},
		"a person's write without a name": {call: person, method: "POST", err: vague, again: true},
		"a person's mistyped address":     {call: person, method: "GET", err: unknown},
		"a person's exchange of a code": {call: with(person, resilience.Read), method: "POST", status: 503,
			again: true},
		"an error that is the server's own":     {call: person, method: "GET", status: 500},
		"a refused credential":                  {call: person, method: "GET", status: 401},
		"what is not there":                     {call: person, method: "GET", status: 404},
		"a limit":                               {call: person, method: "GET", status: 429},
		"an outage that names its wait":         {call: person, method: "GET", status: 503, header: waitOf("1")},
		"an outage with a wait that is no time": {call: person, method: "GET", status: 503, header: waitOf("0")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				up := &far{answer: func(n int, _ *http.Request) (*http.Response, error) {
					switch {
					case n > 2:
						return answered(200), nil
					case c.err != nil:
						return nil, c.err
					}
					return answered(c.status, c.header...), nil
				}}
				err := sends(t.Context(), t, c.call(t), &Transport{Base: up}, c.method, "what is sent")
				if c.again {
					require.NoError(t, err)
					require.Equal(t, 3, up.seen())
					return
				}
				require.Error(t, err)
				require.Equal(t, 1, up.seen())
			})
		})
	}
}

// waiting is the call of a person who waits.
var waiting = resilience.Call{Eager: true}

// TestTheWaitsBetweenTries: each lies between half a second and three times the one before, up to a minute; six tries
// are made.
//
// Promise: Waits U[500 ms, min(60 s, 3 · previous)], six tries: decorrelated jitter spreads best for the fewest calls.
func TestTheWaitsBetweenTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		longest := []time.Duration{}
		for range 300 {
			up := fails(99, 503)
			require.Error(t, sends(t.Context(), t, waiting, &Transport{Base: up}, "GET", ""))
			require.Equal(t, 6, up.seen())
			previous := 500 * time.Millisecond
			for i := range 5 {
				wait := up.at[i+1].Sub(up.at[i])
				require.GreaterOrEqual(t, wait, 500*time.Millisecond)
				require.LessOrEqual(t, wait, min(3*previous, time.Minute))
				if len(longest) <= i {
					longest = append(longest, 0)
				}
				longest[i], previous = max(longest[i], wait), wait
			}
		}
		require.Greater(t, longest[0], 1400*time.Millisecond, "they are spread over all of it")
		require.Greater(t, longest[4], 20*time.Second)
	})
}

// TestTheEndOfRepeating: no try is begun after three minutes, after one where nobody waits, or after three seconds for
// what was just typed; nor is one waited for that the caller would not live to see.
//
// Promise: Three minutes; one when nobody waits; 3 s for what was just typed; the caller's deadline.
func TestTheEndOfRepeating(t *testing.T) {
	t.Parallel()
	type who int
	const (
		nobody who = iota
		person
		typed
	)
	longest := func() float64 { return 1 }
	for name, c := range map[string]struct {
		who      who
		takes    time.Duration // each try
		deadline time.Duration // of the caller
		tries    int
		gaveUp   time.Duration
	}{
		// the longest waits are 1.5, 4.5, 13.5, 40.5 and 60 s
		"six tries":            {person, 0, time.Hour, 6, 120 * time.Second},
		"three minutes":        {person, 25 * time.Second, time.Hour, 5, 185 * time.Second},
		"a minute alone":       {nobody, 0, time.Hour, 4, 19500 * time.Millisecond},
		"a silent server":      {nobody, 29 * time.Second, time.Hour, 2, 59500 * time.Millisecond},
		"a page's deadline":    {person, 0, 10 * time.Second, 3, 6 * time.Second},
		"hardly any time left": {person, 0, time.Second, 1, 0},
		"a typed address":      {typed, 0, time.Hour, 2, 1500 * time.Millisecond},
		"a typed, silent one":  {typed, 5 * time.Second, time.Hour, 1, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				up := &far{answer: func(int, *http.Request) (*http.Response, error) {
					time.Sleep(c.takes)
					return answered(503), nil
				}}
				p, _, _ := backoff.New(backoff.Options{}).Acquire(backofftest.SpotifyOf(1, "listens"), 1)
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				defer cancel()
				began := time.Now()
				err := sends(ctx, t, resilience.Call{Permit: &p, Eager: c.who != nobody, Typed: c.who == typed},
					&Transport{Base: up, Rand: longest}, "GET", "")
				require.Equal(t, 503, err.(*resilience.AnswerError).Status, "the last real failure")
				require.Equal(t, c.tries, up.seen())
				require.Equal(t, c.gaveUp, time.Since(began))
			})
		})
	}
}

// TestEveryTryIsAnAttempt: each has its line, its number, its turn in the pace, and its whole body.
//
// Promise: Each try is a numbered attempt: the log shows what was really sent.
func TestEveryTryIsAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		bodies, told := []string{}, []int{}
		up := fails(2, 503)
		base := roundTripper(func(req *http.Request) (*http.Response, error) {
			b, err := io.ReadAll(req.Body)
			require.NoError(t, err)
			bodies = append(bodies, string(b))
			return up.RoundTrip(req)
		})
		over := &Transport{Base: base, Log: slog.New(slog.NewTextHandler(&out, nil)),
			Told:     func(_ context.Context, a Attempt) { told = append(told, a.Number) },
			Paces:    NewPaces(map[string]float64{"api.example.org": 0.1}),
			Breakers: NewBreakers(BreakerOptions{})}
		fourth := resilience.Call{Eager: true, Effect: resilience.Read, Attempt: 4}
		require.NoError(t, sends(t.Context(), t, fourth, over, "POST", "what is asked"))
		require.Equal(t, []string{"what is asked", "what is asked", "what is asked"}, bodies)
		require.Equal(t, []int{4, 5, 6}, told)
		for _, want := range []string{"attempt=4 status=503", "attempt=5 status=503", "attempt=6 status=200"} {
			require.Contains(t, out.String(), want)
		}
		require.InDelta(t, 10, up.at[1].Sub(up.at[0]).Seconds(), 0.001)
		require.InDelta(t, 10, up.at[2].Sub(up.at[1]).Seconds(), 0.001, "the next turn")
	})
}

// Promise: What is repeated inside a call, and after what: only what may help and does no harm.
func TestABodyThatIsGoneIsNotRepeated(t *testing.T) {
	t.Parallel()
	up := fails(1, 503)
	req, err := http.NewRequestWithContext(t.Context(), "POST", "https://api.example.org/",
		io.MultiReader(strings.NewReader("once")))
	require.NoError(t, err)
	require.Nil(t, req.GetBody)
	_, err = resilience.Call{Client: NewClient(&Transport{Base: up}), Eager: true, Effect: resilience.Read}.Send(req,
		resilience.Endpoint{Name: "POST /"})
	require.Error(t, err)
	require.Equal(t, 1, up.seen())
}

// TestRepeatingEndsAtAGuard: a breaker, a hold or a stop that comes between two tries ends them.
//
// Promise: Repetitions that nobody waits for use half of a breaker: a restart of 20 s must not cost a minute.
func TestRepeatingEndsAtAGuard(t *testing.T) {
	t.Parallel()
	t.Run("a breaker opened by others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := fails(99, 503)
			over := &Transport{Base: up, Breakers: NewBreakers(BreakerOptions{})}
			require.Equal(t, 503, sends(t.Context(), t, waiting, over, "GET", "").(*resilience.AnswerError).Status)
			require.Equal(t, 5, up.seen(), "every try counts, and the fifth opens it")
			require.Equal(t, BreakerOpen, over.Breakers.Status()[0].State)
		})
	})
	t.Run("a breaker that nobody waits for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := fails(99, 503)
			over := &Transport{Base: up, Breakers: NewBreakers(BreakerOptions{})}
			p, _, _ := backoff.New(backoff.Options{}).Acquire(backofftest.SpotifyOf(1, "listens"), 1)
			require.Error(t, sends(t.Context(), t, resilience.Call{Permit: &p}, over, "GET", ""))
			require.Equal(t, 3, up.seen(), "one read alone takes half of what opens it")
			require.Equal(t, BreakerClosed, over.Breakers.Status()[0].State)
		})
	})
	t.Run("a hold", func(t *testing.T) {
		backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
			up := fails(99, 503)
			run := b.Permit(backofftest.Listens)
			var err error
			go func() { err = request(t.Context(), t, &Transport{Base: up, Rand: func() float64 { return 1 }}, run) }()
			time.Sleep(time.Second)
			held := b.Call(backofftest.Playlists, backofftest.Limited(time.Hour))
			time.Sleep(time.Second)
			synctest.Wait()
			requireMet(t, err, held.Fault)
			require.Equal(t, 1, up.seen())
		})
	})
	t.Run("the end of the caller", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := fails(99, 503)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(100*time.Millisecond, cancel)
			began := time.Now()
			require.ErrorIs(t, sends(ctx, t, waiting, &Transport{Base: up}, "GET", ""), context.Canceled)
			require.Equal(t, 100*time.Millisecond, time.Since(began), "nothing is waited for that nobody wants")
		})
	})
}

// TestALostUplinkExplainsTheFailure: it explains why the try before failed.
func TestALostUplinkExplainsTheFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		up := &far{answer: func(int, *http.Request) (*http.Response, error) { return nil, never }}
		uplink := NewUplink(UplinkOptions{Upstreams: map[string]string{"api.example.org": "a", "b": "b", "c": "c"}})
		over := &Transport{Base: up, Uplink: uplink}
		for _, host := range []string{"b", "c"} {
			trip, _, _ := uplink.enter(host)
			trip.leave(backofftest.Unreachable)
		}
		err := sends(t.Context(), t, waiting, over, "GET", "")
		var refused *backoff.NotBeforeError
		require.ErrorAs(t, err, &refused)
		require.True(t, refused.Offline)
	})
}
