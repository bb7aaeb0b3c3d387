package resilience

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkAcquire is the price of one call that goes well: a permit, and its success.
func BenchmarkAcquire(b *testing.B) {
	b.Run("one-key", func(b *testing.B) {
		backoff, key := NewBackoff(Options{}), spotifyOf(1, "listens")
		b.ReportAllocs()
		for b.Loop() {
			callWell(backoff, key)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		backoff := NewBackoff(Options{})
		var users atomic.Int64
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			key := spotifyOf(users.Add(1), "listens")
			for pb.Next() {
				callWell(backoff, key)
			}
		})
	})
	b.Run("100000-keys", func(b *testing.B) {
		const keys = 100_000
		backoff := NewBackoff(Options{})
		for i := range int64(keys) {
			callWell(backoff, spotifyOf(i, "listens"))
		}
		b.ReportAllocs()
		i := int64(0)
		for b.Loop() {
			callWell(backoff, spotifyOf(i%keys, "listens"))
			i += 7919 // no neighbours: a cache must not make it look better than it is
		}
	})
}

func callWell(b *Backoff, k Key) bool {
	p, _, ok := b.Acquire(k, 1)
	p.Done(Verdict{})
	return ok
}

// typicalErrors are the failures of daily life, as the transport and the adapters report them.
func typicalErrors() map[string]error {
	return map[string]error{
		"answer":   &AnswerError{Endpoint: "GET /v1/me", Status: 503},
		"network":  &NetworkError{Endpoint: "GET /v1/me", Err: fmt.Errorf("connection refused")},
		"contract": &ContractError{Endpoint: "GET /v1/me", What: "not valid JSON"},
		"wrapped":  fmt.Errorf("page 3: %w", &AnswerError{Endpoint: "GET /v1/me", Status: 503}),
	}
}

func BenchmarkClassify(b *testing.B) {
	for name, err := range typicalErrors() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				VerdictOf(err)
			}
		})
	}
}

func TestTheWayOfAGoodCallAllocatesNothing(t *testing.T) {
	backoff, key := NewBackoff(Options{}), spotifyOf(1, "listens")
	require.True(t, callWell(backoff, key), "the first call makes the connection known")
	require.Zero(t, testing.AllocsPerRun(100, func() { callWell(backoff, key) }))
}

func TestClassifyAllocatesNothing(t *testing.T) {
	for name, err := range typicalErrors() {
		require.Zero(t, testing.AllocsPerRun(100, func() { VerdictOf(err) }), name)
	}
}

// BenchmarkTransport is the price of the whole way of one request (key, breaker, uplink, pace, bounded reading, typed
// answer) beside the same request by a bare client, both against a server on loopback.
func BenchmarkTransport(b *testing.B) {
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items": []}`)
	}))
	b.Cleanup(far.Close)
	host := strings.TrimPrefix(far.URL, "http://")
	base := NewBase(nil)
	b.Cleanup(base.CloseIdleConnections)
	request := func(b *testing.B) *http.Request {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, far.URL+"/v1/me", nil)
		require.NoError(b, err)
		return req
	}
	b.Run("bare", func(b *testing.B) {
		client, req := &http.Client{Transport: base}, request(b)
		b.ReportAllocs()
		for b.Loop() {
			resp, err := client.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				b.Fatal(err)
			}
			_ = resp.Body.Close()
		}
	})
	ours := func(b *testing.B, below http.RoundTripper) {
		guarded := &Transport{Base: below, UserAgent: "Reprise/1.0",
			Uplink:   NewUplink(UplinkOptions{Upstreams: map[string]string{host: "spotify"}}),
			Breakers: NewBreakers(BreakerOptions{}), Paces: NewPaces(map[string]float64{host: 1e9})}
		client := NewClient(&KeyTransport{Base: guarded, Pool: poolOf("aaaa", "bbbb", "cccc"),
			Put: func(r *http.Request, k Secret) { r.Header.Set("Key", string(k)) }})
		req, call := request(b), Call{Client: client, User: 1, Provider: "spotify"}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := call.Send(req, Endpoint{Name: "GET /v1/me"}); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("guarded", func(b *testing.B) { ours(b, base) })
	b.Run("overhead", func(b *testing.B) { // without the network, which varies by more than this costs
		answer := http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
			Body: http.NoBody}
		ours(b, roundTripper(func(*http.Request) (*http.Response, error) {
			r := answer
			return &r, nil
		}))
	})
}

func TestTheDecisionsOfAGoodCallAllocateNothing(t *testing.T) {
	breakers, paces := NewBreakers(BreakerOptions{}), NewPaces(map[string]float64{"api.example.org": 1e9})
	uplink := NewUplink(UplinkOptions{Upstreams: map[string]string{"api.example.org": "spotify"}})
	permit, _, _ := NewBackoff(Options{}).Acquire(spotifyOf(1, "listens"), 1)
	decide := func() {
		_ = permit.ask("GET /v1/me", 1)
		p, _, _ := breakers.enter("spotify", "api.example.org", "GET /v1/me", false)
		trip, _, _ := uplink.enter("api.example.org")
		paces.reserve("api.example.org", "")
		trip.leave(Verdict{})
		p.done(Verdict{})
	}
	decide() // the first call makes the endpoint known
	require.Zero(t, testing.AllocsPerRun(100, decide))
}
