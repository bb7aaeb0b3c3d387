package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/soak"
)

// promises lists the checks that every capability of every adapter must pass. Each runs in its own bubble.
var promises = []struct {
	name  string
	check func(*testing.T, *capability)
}{
	{"reads all and the same twice", checkHealthy},
	{"gives every status its meaning", checkStatuses},
	{"takes a refused credential for fatal", checkUnauthorized},
	{"takes a page for an outage", checkHTML},
	{"takes a cut connection for the network", checkNetwork},
	{"learns nothing when we stop", checkCanceled},
	{"takes a broken shape for a broken contract", checkContract},
	{"takes a wrong count for a broken contract", checkCounts},
	{"does not take geoff for the network", checkGeoff},
	{"keeps the wait of a rate limit", checkRateLimit},
	{"stops at the request that fails", checkEachRequest},
	{"can be left early", checkEarlyBreak},
	{"survives nonsense", checkNonsense},
}

func checkHealthy(t *testing.T, c *capability) {
	first, err := c.try(t.Context(), t, c.Healthy)
	require.NoError(t, err)
	require.NotEmpty(t, first)
	again, err := c.try(t.Context(), t, c.Healthy)
	require.NoError(t, err)
	require.Equal(t, first, again, "the same data read twice")
	var oldest time.Time
	for _, page := range first {
		switch p := page.(type) {
		case providers.Account:
			require.True(t, p.ID != "" || c.Ignored, "whose account it is")
			require.NotEmpty(t, p.Name)
		case providers.ListenPage:
			require.Equal(t, time.UTC, p.Oldest.Location())
			require.True(t, oldest.IsZero() || !p.Oldest.After(oldest), "newest first")
			oldest = p.Oldest
			for _, l := range p.Listens {
				checkListen(t, l)
			}
		case []library.Playlist:
			for _, l := range p {
				require.NotEmpty(t, l.SourceID)
				require.NotEmpty(t, l.Name)
			}
		case []library.Track:
			for _, tr := range p {
				require.True(t, tr.Title != "" || tr.Gone != "" && tr.SourceID != "", "%+v", tr)
			}
		}
	}
}

func checkListen(t *testing.T, l library.Listen) {
	t.Helper()
	require.NotEmpty(t, l.SourceID)
	require.NotEmpty(t, l.Title)
	require.NotEmpty(t, l.Artist)
	require.False(t, l.PlayedAt.IsZero())
	require.Equal(t, time.UTC, l.PlayedAt.Location())
	require.Equal(t, l.PlayedAt.Truncate(time.Millisecond), l.PlayedAt)
}

const errorBody = `{"error":{"message":"a reason"}}`

// otherBodies holds bodies that a proxy, a gateway or a failing server sends instead of the provider's answer.
var otherBodies = []string{
	"", errorBody, `{"message":"no healthy upstream","code":"UNAVAILABLE","request_id":"4f1c"}`,
	`{"error":`, `[{"error":"x"}]`, `null`, "404 page not found\n",
}

// swept reports whether a sweep over all statuses meets this one with the n-th of several answers. A status that has a
// name, or that the tables list, is met with each; any other with one of them in turn, unless the sweep is full.
func (c *capability) swept(status, n, of int, full bool) bool {
	_, listed := c.Statuses[status]
	return full || listed || c.fine(status) || http.StatusText(status) != "" || status%of == n
}

// checkStatuses checks all statuses with the bodies that are not the provider's. The meaning of such an answer follows
// from its status alone, and a 200 is not a success.
func checkStatuses(t *testing.T, c *capability) {
	full := soak.Full(t)
	if c.fine(http.StatusNotModified) { // only what was told of a version may be unchanged
		_, err := c.try(t.Context(), t, c.Healthy)
		require.NoError(t, err)
	}
	for status := 100; status <= 599; status++ {
		for n, body := range otherBodies {
			if status == http.StatusNoContent && body != "" {
				continue // net/http handles these itself
			}
			if !c.swept(status, n, len(otherBodies), full) {
				continue
			}
			_, err := c.try(t.Context(), t, c.answering(status, nil, body))
			if c.Ignored && status >= 200 && status < 300 && err == nil {
				continue
			}
			if c.fine(status) && (err == nil || errors.Is(err, providers.ErrNotOffered)) {
				continue
			}
			require.False(t, c.fine(status) && (body == "" || body == errorBody), "status %d: %v", status, err)
			where := fmt.Sprintf("status %d, body %q", status, body)
			require.Error(t, err, where)
			got := resilience.VerdictOf(err)
			require.NotEqual(t, resilience.Unknown, got.Category, where)
			if status < 300 {
				require.Equal(t, resilience.Retriable, got.Class, "%s: %v", where, err)
				require.Contains(t, []resilience.Category{resilience.Contract, resilience.Upstream}, got.Category,
					"%s: %v", where, err)
				continue
			}
			require.Equal(t, c.wanted(status), got, "%s: %v", where, err)
		}
	}
}

func checkUnauthorized(t *testing.T, c *capability) {
	_, err := c.try(t.Context(), t, c.answering(http.StatusUnauthorized, nil, `{}`))
	require.Equal(t, resilience.Verdict{Class: resilience.Fatal, Category: resilience.Auth,
		Scope: resilience.ScopeConnection}, resilience.VerdictOf(err))
}

func checkHTML(t *testing.T, c *capability) {
	const page = "\n<!DOCTYPE html><html><head><title>Sign in to the network</title></head></html>"
	types := []string{"text/html; charset=utf-8", "application/json"}
	full := soak.Full(t)
	for status := 200; status <= 599; status++ {
		if status == http.StatusNoContent || status == http.StatusNotModified {
			continue // no body
		}
		for n, contentType := range types {
			if !c.swept(status, n, len(types), full) {
				continue
			}
			_, err := c.try(t.Context(), t, c.answering(status, http.Header{"Content-Type": {contentType}}, page))
			require.Error(t, err, status)
			v := resilience.VerdictOf(err)
			require.Equal(t, resilience.Retriable, v.Class, "status %d: %v", status, err)
			require.Equal(t, resilience.Upstream, v.Category, "status %d: %v", status, err)
		}
	}
}

func checkNetwork(t *testing.T, c *capability) {
	faults := map[string]func(*http.Request) (*http.Response, error){
		"refused": func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		},
		"not resolved": func(req *http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp",
				Err: &net.DNSError{Err: "no such host", Name: req.URL.Hostname(), IsNotFound: true}}
		},
		"cut": func(req *http.Request) (*http.Response, error) {
			end := func() error { return io.ErrUnexpectedEOF }
			return response(req, 200, nil, &failing{strings.NewReader(c.half(req)), end}), nil
		},
		"silent": func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		},
		"silent in the middle of the body": func(req *http.Request) (*http.Response, error) {
			end := func() error { <-req.Context().Done(); return req.Context().Err() }
			return response(req, 200, nil, &failing{strings.NewReader(c.half(req)), end}), nil
		},
	}
	for name, fault := range faults {
		_, err := c.try(t.Context(), t, c.with(fault))
		require.Error(t, err, name)
		v := resilience.VerdictOf(err)
		require.Equal(t, resilience.Retriable, v.Class, "%s: %v", name, err)
		require.Equal(t, resilience.Network, v.Category, "%s: %v", name, err)
		require.Equal(t, resilience.ScopeConnection, v.Scope, "%s: %v", name, err)
	}
}

func checkCanceled(t *testing.T, c *capability) {
	ctx, cancel := context.WithCancel(t.Context())
	cut := func(req *http.Request) (*http.Response, error) {
		end := func() error { cancel(); return req.Context().Err() }
		return response(req, 200, nil, &failing{strings.NewReader(c.half(req)), end}), nil
	}
	_, err := c.try(ctx, t, c.with(cut))
	require.Error(t, err)
	require.Equal(t, resilience.Verdict{Class: resilience.Canceled}, resilience.VerdictOf(err),
		"in the middle of a body: %v", err)
	_, err = c.try(ctx, t, c.Healthy)
	require.Error(t, err)
	require.Equal(t, resilience.Verdict{Class: resilience.Canceled}, resilience.VerdictOf(err),
		"before the call: %v", err)
}

func checkContract(t *testing.T, c *capability) {
	if c.Ignored {
		t.Skip("it reads nothing of its answers")
	}
	broken := map[string]func(*http.Request) string{
		"truncated":   c.half,
		"wrong types": func(req *http.Request) string { return swapTypes(c.body(req)) },
	}
	for _, body := range []string{`{`, `{}`, `[[1,2],`, `null`, `"text"`, `42`, `{"error":`, "\x00\xff"} {
		if !slices.Contains(c.nothing, body) {
			broken[fmt.Sprintf("%q", body)] = func(*http.Request) string { return body }
		}
	}
	for name, body := range broken {
		_, err := c.try(t.Context(), t, c.with(func(req *http.Request) (*http.Response, error) {
			return response(req, 200, nil, strings.NewReader(body(req))), nil
		}))
		require.Error(t, err, name)
		v := resilience.VerdictOf(err)
		require.Equal(t, resilience.Retriable, v.Class, "%s: %v", name, err)
		require.Equal(t, resilience.Contract, v.Category, "%s: %v", name, err)
		require.Equal(t, resilience.ScopeStream, v.Scope, "%s: %v", name, err)
		require.NotZero(t, v.FatalAfter, "%s: %v", name, err)
	}
}

func checkGeoff(t *testing.T, c *capability) {
	const body = `{"error":"Cannot find user: geoff: unexpected EOF, timeout, connection reset"}`
	_, err := c.try(t.Context(), t, c.answering(http.StatusNotFound, nil, body))
	if c.fine(http.StatusNotFound) {
		return
	}
	require.Error(t, err)
	require.NotEqual(t, resilience.Network, resilience.VerdictOf(err).Category)
	require.Equal(t, c.wanted(http.StatusNotFound), resilience.VerdictOf(err))
}

func checkRateLimit(t *testing.T, c *capability) {
	waits := map[string]time.Time{
		"120": time.Now().Add(2 * time.Minute),
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat): time.Now().Add(time.Hour),
	}
	for retryAfter, until := range waits {
		_, err := c.try(t.Context(), t,
			c.answering(http.StatusTooManyRequests, http.Header{"Retry-After": {retryAfter}}, `{}`))
		v := resilience.VerdictOf(err)
		require.Equal(t, resilience.Retriable, v.Class, "%v", err)
		require.Equal(t, resilience.RateLimit, v.Category, "%v", err)
		require.Equal(t, resilience.ScopeApp, v.Scope, "%v", err)
		require.WithinDuration(t, until, v.NotBefore, time.Second)
	}
}

// checkEachRequest fails the first request, then only the second, and so on. The pages before must be unchanged, and
// no request may follow.
func checkEachRequest(t *testing.T, c *capability) {
	whole, err := c.try(t.Context(), t, c.Healthy)
	require.NoError(t, err)
	for n := 1; ; n++ {
		require.Less(t, n, 100, "a healthy upstream of few pages is enough")
		count, after := 0, 0
		pages, err := c.try(t.Context(), t, roundTripper(func(req *http.Request) (*http.Response, error) {
			if count >= n {
				after++
			}
			if c.faulty(req) {
				if count++; count == n {
					return response(req, http.StatusServiceUnavailable, nil, strings.NewReader(`{}`)), nil
				}
			}
			return c.Healthy.RoundTrip(req)
		}))
		if count < n {
			require.NoError(t, err)
			return
		}
		require.Error(t, err, "request %d answered 503", n)
		require.Equal(t, resilience.Upstream, resilience.VerdictOf(err).Category, "%v", err)
		require.LessOrEqual(t, len(pages), len(whole))
		for i, page := range pages {
			require.Equal(t, whole[i], page, "page %d before the failure", i+1)
		}
		require.Zero(t, after, "requests sent after request %d failed", n)
	}
}

func checkEarlyBreak(t *testing.T, c *capability) {
	if c.first == nil {
		t.Skip("has no pages")
	}
	c.first(t.Context(), c.open(c.Healthy)) // the runtime panics when a sequence continues after a break
	c.first(t.Context(), c.open(c.answering(http.StatusServiceUnavailable, nil, `{}`)))
}

// body returns the healthy upstream's answer to req, and half returns its first half.
func (c *capability) body(req *http.Request) string {
	_, _, body := c.Healthy(req)
	return body
}

func (c *capability) half(req *http.Request) string {
	body := strings.TrimSpace(c.body(req))
	return body[:(len(body)+1)/2]
}

// swapTypes changes the type of every top-level value of a JSON text.
func swapTypes(body string) string {
	var object map[string]any
	if json.Unmarshal([]byte(body), &object) != nil {
		return `{"items":true}`
	}
	for k, v := range object {
		if _, ok := v.(bool); ok {
			object[k] = []string{"not", "a", "bool"}
		} else {
			object[k] = true
		}
	}
	text, _ := json.Marshal(object)
	return string(text)
}
