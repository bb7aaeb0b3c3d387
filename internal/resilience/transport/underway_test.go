package transport

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// far is an upstream that notes what reaches it.
type far struct {
	mu     sync.Mutex
	at     []time.Time
	answer func(n int, req *http.Request) (*http.Response, error) // n counts from 1; nil for a success each time
}

func (f *far) RoundTrip(req *http.Request) (*http.Response, error) {
	f.mu.Lock()
	f.at = append(f.at, time.Now())
	n := len(f.at)
	f.mu.Unlock()
	if f.answer == nil {
		return answered(200), nil
	}
	return f.answer(n, req)
}

// seen returns how many requests arrived.
func (f *far) seen() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.at)
}

func answered(status int, header ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: http.NoBody}
}

// request sends one request of a run that has this permit.
func request(ctx context.Context, t *testing.T, over http.RoundTripper, p backoff.Permit) error {
	req, err := http.NewRequestWithContext(ctx, "GET", "https://api.example.org/v1/me", nil)
	require.NoError(t, err)
	_, err = resilience.Call{Client: NewClient(over), User: 1, Provider: "spotify", Permit: &p}.Send(req,
		resilience.Endpoint{Name: "GET /v1/me"})
	return err
}

// requireMet checks that a request was not sent because of a state that came while its run was under way.
func requireMet(t *testing.T, err error, want backoff.State) {
	t.Helper()
	e, ok := err.(*backoff.NotBeforeError)
	require.True(t, ok, "%v", err)
	require.True(t, e.Met)
	require.Equal(t, want, e.State)
}

// Promise: Every request asks for its permit again, after its turn has come: a run under way keeps a hold, too.
func TestEveryRequestAsksForItsPermitAgain(t *testing.T) {
	hold := func(wait time.Duration) func(b backofftest.Manager) {
		return func(b backofftest.Manager) { b.Call(backofftest.Playlists, backofftest.Limited(wait)) }
	}
	for name, c := range map[string]struct {
		happens func(b backofftest.Manager)
		ends    bool
	}{
		"nothing":           {func(backofftest.Manager) {}, false},
		"a hold of the app": {hold(40 * time.Second), true},
		"a stop of the connection": {func(b backofftest.Manager) {
			b.Call(backofftest.Playlists,
				backofftest.Refused)
		}, true},
		"a stop of the app": {func(b backofftest.Manager) {
			b.Call(backofftest.Bobs,
				backofftest.Misconfigured)
		}, true},
		"a stop of another stream": {func(b backofftest.Manager) {
			b.Call(backofftest.Playlists,
				backofftest.Forbidden)
		}, false},
		"a hold of another stream": {func(b backofftest.Manager) {
			b.Call(backofftest.Playlists,
				backofftest.Outage(time.Hour))
		}, false},
		"a backoff of the connection": {func(b backofftest.Manager) {
			b.Call(backofftest.Playlists,
				backofftest.Unreachable)
		}, false},
		"a stop of somebody else": {func(b backofftest.Manager) {
			b.Call(backofftest.Bobs,
				backofftest.Refused)
		}, false},
		"a new credential":               {func(b backofftest.Manager) { b.Reconnected(backofftest.Listens, 2) }, true},
		"the end of the connection":      {func(b backofftest.Manager) { b.Forget(1, "spotify") }, true},
		"an end of the connection's app": {func(b backofftest.Manager) { b.KeysBack("spotify", nil) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
				up := &far{}
				run, over := b.Permit(backofftest.Listens), &Transport{Base: up}
				require.NoError(t, request(t.Context(), t, over, run))
				c.happens(b)
				err := request(t.Context(), t, over, run)
				if !c.ends {
					require.NoError(t, err)
					require.Equal(t, 2, up.seen())
					return
				}
				require.True(t, err.(*backoff.NotBeforeError).Met)
				require.Equal(t, 1, up.seen(), "what was not sent cannot be refused")
			})
		})
	}
}

// TestWhatWaitsForItsTurnIsNotSent: it took its turn before the hold, and asks again when that has come.
//
// Promise: Every request asks for its permit again, after its turn has come: a run under way keeps a hold, too.
func TestWhatWaitsForItsTurnIsNotSent(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		up := &far{}
		over := &Transport{Base: up, Paces: NewPaces(map[string]float64{"api.example.org": 0.1}),
			Breakers: NewBreakers(BreakerOptions{})}
		run := b.Permit(backofftest.Listens)
		require.NoError(t, request(t.Context(), t, over, run))
		var err error
		go func() { err = request(t.Context(), t, over, run) }()
		time.Sleep(7 * time.Second)
		held := b.Call(backofftest.Playlists, backofftest.Limited(40*time.Second))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		requireMet(t, err, held.Fault)
		require.Equal(t, 1, up.seen())
		require.Equal(t, backoff.Unchanged, run.Done(backofftest.OurEnd).Kind)
		require.Equal(t, held.Fault, b.State(backofftest.Listens), "nothing is learned from it")
	})
}

// TestARunThatMeetsTwoStatesEndsByTheWorse: a stop outlasts every wait.
func TestARunThatMeetsTwoStatesEndsByTheWorse(t *testing.T) {
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		run, other := b.Permit(backofftest.Listens), b.Permit(backofftest.Playlists)
		b.Call(backofftest.Bobs, backofftest.Limited(time.Hour))
		stopped := other.Done(backofftest.Refused)
		err := request(t.Context(), t, &Transport{Base: &far{}}, run)
		requireMet(t, err, stopped.Fault)
	})
}
