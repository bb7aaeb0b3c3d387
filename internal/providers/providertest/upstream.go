// Package providertest helps to test adapters: an upstream without sockets, and a conformance suite that checks that
// an adapter maps every failure of an upstream to a verdict of docs/resilience.md.
//
// The upstream sits below the real transport and client, so adapters behave as in production. Nothing in this package
// opens a connection, so all of it runs in a synctest bubble.
package providertest

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/transport"
)

// Respond is an upstream. It answers a request with a status, further headers (may be nil) and a body.
type Respond func(*http.Request) (status int, header http.Header, body string)

// RoundTrip implements http.RoundTripper.
func (f Respond) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	status, header, body := f(req)
	return response(req, status, header, strings.NewReader(body)), nil
}

// Always answers every request with the same status and JSON body.
func Always(status int, body string) Respond {
	return func(*http.Request) (int, http.Header, string) { return status, nil, body }
}

// Routes answers by method and path, as in "GET /v1/me" or "GET /v1/playlists/{id}" (the patterns of http.ServeMux),
// and everything else with 404.
func Routes(routes map[string]Respond) Respond {
	mux := http.NewServeMux()
	for pattern, respond := range routes {
		mux.Handle(pattern, routed(respond))
	}
	return func(req *http.Request) (int, http.Header, string) {
		h, _ := mux.Handler(req)
		if respond, ok := h.(routed); ok {
			return respond(req)
		}
		return http.StatusNotFound, nil, `{}`
	}
}

// routed makes an http.Handler of a Respond, so that a mux can look it up. It is never served.
type routed Respond

func (routed) ServeHTTP(http.ResponseWriter, *http.Request) {}

// Client returns the production HTTP client with rt as the network.
func Client(rt http.RoundTripper) *http.Client {
	return transport.NewClient(&transport.Transport{Base: rt, UserAgent: "Reprise/test (test@example.org)"})
}

// Call returns a call through Client(rt).
func Call(rt http.RoundTripper) resilience.Call { return resilience.Call{Client: Client(rt)} }

// Golden returns the file of that name in testdata.
func Golden(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(b)
}

func response(req *http.Request, status int, header http.Header, body io.Reader) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for k, v := range header {
		h[http.CanonicalHeaderKey(k)] = v
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(body), ContentLength: -1, Request: req,
	}
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// failing is a reader that returns text and then the error of end.
type failing struct {
	text io.Reader
	end  func() error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.text.Read(p)
	if errors.Is(err, io.EOF) {
		return n, f.end()
	}
	return n, err
}
