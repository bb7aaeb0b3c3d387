package keys

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
)

// BenchmarkTransport is the price of the whole way of one request (key, breaker, uplink, pace, bounded reading, typed
// answer) beside the same request by a bare client, both against a server on loopback.
func BenchmarkTransport(b *testing.B) {
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"items": []}`)
	}))
	b.Cleanup(far.Close)
	host := strings.TrimPrefix(far.URL, "http://")
	base := hosts.NewBase(nil)
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
		guarded := &transport.Transport{Base: below, UserAgent: "Reprise/1.0",
			Uplink:   transport.NewUplink(transport.UplinkOptions{Upstreams: map[string]string{host: "spotify"}}),
			Breakers: transport.NewBreakers(transport.BreakerOptions{}),
			Paces:    transport.NewPaces(map[string]float64{host: 1e9})}
		client := transport.NewClient(&Transport{Base: guarded, Pool: poolOf("aaaa", "bbbb", "cccc"),
			Put: func(r *http.Request, k resilience.Secret) { r.Header.Set("Key", string(k)) }})
		req, call := request(b), resilience.Call{Client: client, User: 1, Provider: "spotify"}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := call.Send(req, resilience.Endpoint{Name: "GET /v1/me"}); err != nil {
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
