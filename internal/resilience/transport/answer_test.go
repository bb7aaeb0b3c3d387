package transport

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

// TestEveryStatusThroughASocket: what the transport returns has the meaning of the general table.
func TestEveryStatusThroughASocket(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	u := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Reason", "because")
		w.WriteHeader(int(status.Load()))
		if status.Load() != http.StatusNoContent && status.Load() != http.StatusNotModified {
			_, _ = io.WriteString(w, `{"message":"`+password+`"}`)
		}
	})
	for s := 200; s <= 599; s++ {
		status.Store(int64(s))
		u.log.Reset()
		_, err := u.get(t, t.Context())
		if s < 300 {
			require.NoError(t, err, s)
			require.Equal(t, []string{fmt.Sprint(s), "success"}, logged(t, u, "status", "outcome"))
			continue
		}
		var e *resilience.AnswerError
		require.ErrorAs(t, err, &e, s)
		require.Equal(t, s, e.Status)
		require.Equal(t, resilience.VerdictOf(&resilience.AnswerError{Endpoint: "GET /things", Status: s}),
			resilience.VerdictOf(err), s)
		if s >= 400 {
			require.Equal(t, "because", e.Header.Get("x-reason"))
			require.JSONEq(t, `{"message":"…"}`, string(e.Body),
				"what the request carried is concealed where it is repeated")
			require.Equal(t, []string{fmt.Sprint(s), resilience.VerdictOf(err).Class.String()},
				logged(t, u, "status", "outcome"))
		}
	}
}

func TestPagesWhereDataIsDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, body string
		page       bool
	}{
		"page":                     {"text/html; charset=utf-8", "<!doctype html><title>Sign in</title>", true},
		"page in capitals":         {"TEXT/HTML", "Sign in to the hotel's network", true},
		"XHTML":                    {"application/xhtml+xml", "Sign in", true},
		"page that says it is not": {"application/json", " \r\n\t<html>", true},
		"page with a mark":         {"", "\ufeff<!DOCTYPE HTML>", true},
		"data":                     {"application/json", `{"html":"<b>"}`, false},
		"data called a page":       {"text/html", `{"a":1}`, true},
		"nothing":                  {"application/json", "", false},
		"nothing, called a page":   {"text/html; charset=utf-8", "", false},
		"words":                    {"text/plain", "try again later", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{200, 401, 403, 404, 502} {
				_, err := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Content-Type"] = []string{c.kind}
					w.WriteHeader(status)
					_, _ = io.WriteString(w, c.body)
				}).get(t, t.Context())
				e, _ := err.(*resilience.AnswerError)
				switch {
				case c.page:
					require.NotNil(t, e)
					require.True(t, e.HTML)
					require.Equal(t, [2]any{resilience.Retriable, resilience.Upstream},
						[2]any{resilience.VerdictOf(err).Class, resilience.VerdictOf(err).Category})
				case status == 200:
					require.NoError(t, err)
				default:
					require.NotNil(t, e)
					require.False(t, e.HTML)
				}
			}
		})
	}
	t.Run("204, as many frameworks send it", func(t *testing.T) {
		t.Parallel()
		a, err := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(http.StatusNoContent)
		}).get(t, t.Context())
		require.NoError(t, err)
		require.Empty(t, a.Body)
	})
}

// TestWhereXMLIsDue a document is data and a page still a page; everywhere else both are pages.
func TestWhereXMLIsDue(t *testing.T) {
	t.Parallel()
	const document = `<?xml version="1.0" encoding="UTF-8"?>` + "\n<Error><Code>SlowDown</Code></Error>"
	for name, c := range map[string]struct {
		kind, body string
		page       bool
	}{
		"document":             {"application/xml", document, false},
		"document with a mark": {"", "\ufeff" + document, false},
		"document called JSON": {"application/json", document, false},
		"bare document":        {"text/xml", "<Error/>", false},
		"document called HTML": {"text/html; charset=utf-8", document, true},
		"page":                 {"application/xml", "<!DOCTYPE html><html><title>Sign in</title>", true},
		"page in capitals":     {"", " <HTML><BODY>Sign in", true},
		"page that is XML": {"application/xml",
			`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"/>`, true},
		"neither":                {"application/xml", "<<<", true},
		"begins and ends":        {"application/xml", "<?xml version", true},
		"words":                  {"text/plain", "try again later", false},
		"nothing, called a page": {"text/html", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{200, 403, 503} {
				u := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header()["Content-Type"] = []string{c.kind}
					w.WriteHeader(status)
					_, _ = io.WriteString(w, c.body)
				})
				a, err := u.getFrom(t, t.Context(), resilience.Endpoint{XML: true})
				if status == 200 && !c.page {
					require.NoError(t, err)
					require.Equal(t, strings.TrimPrefix(c.body, "\ufeff"), string(a.Body))
				} else {
					e, ok := err.(*resilience.AnswerError)
					require.True(t, ok, "%v", err)
					require.Equal(t, [2]any{status, c.page}, [2]any{e.Status, e.HTML})
					require.Equal(t, strings.TrimPrefix(c.body, "\ufeff"), string(e.Body))
				}
				u.log.Reset()
				_, err = u.get(t, t.Context())
				e, _ := err.(*resilience.AnswerError)
				require.Equal(t, strings.Contains(c.body, "<"), e != nil && e.HTML,
					"nothing changes where XML is not due")
			}
		})
	}
}

func TestRetryAfterOfAnAnswer(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]struct {
		wait time.Duration
		bad  bool
	}{"3600": {time.Hour, false}, "soon": {0, true}, "": {0, false}} {
		_, err := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		}).get(t, t.Context())
		e, ok := err.(*resilience.AnswerError)
		require.True(t, ok)
		require.Equal(t, want.bad, e.BadWait)
		if want.wait == 0 {
			require.Zero(t, e.NotBefore)
		} else {
			require.WithinDuration(t, time.Now().Add(want.wait), e.NotBefore, time.Minute)
		}
	}
}

// redirecting answers with a redirect until the path is /end, where it says which request arrived.
func redirecting(status int, to func(r *http.Request) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			_, _ = fmt.Fprintf(w, `"%s %s"`, r.Method, r.Header.Get("Authorization"))
			return
		}
		w.Header().Set("Location", to(r))
		w.WriteHeader(status)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		to       func(r *http.Request) string
		followed bool
	}{
		"on the same host":      {func(*http.Request) string { return "/end" }, true},
		"to another host":       {func(*http.Request) string { return other.URL + "/end?p=" + password }, false},
		"to another scheme":     {func(r *http.Request) string { return "ftp://" + r.Host + "/end" }, false},
		"in a circle":           {func(r *http.Request) string { return r.URL.Path }, false},
		"to nowhere":            {func(*http.Request) string { return "" }, false},
		"to what is no address": {func(*http.Request) string { return "http://%zz/?p=" + password }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{301, 302, 303, 307, 308} {
				a, err := serve(t, redirecting(status, c.to)).get(t, t.Context())
				if c.followed {
					require.NoError(t, err)
					require.Equal(t, `"GET Bearer `+password+`"`, string(a.Body))
					continue
				}
				e, ok := err.(*resilience.AnswerError)
				require.True(t, ok, "%T: %v", err, err)
				require.Equal(t, status, e.Status)
				require.Equal(t, [2]any{resilience.Retriable, resilience.Upstream},
					[2]any{resilience.VerdictOf(err).Class, resilience.VerdictOf(err).Category})
			}
		})
	}
	t.Cleanup(func() { require.Zero(t, reached.Load(), "no credential left its host") })
}

// TestARedirectNeverTurnsASubmissionIntoARead: the answer to a GET would read as if the data had been taken.
func TestARedirectNeverTurnsASubmissionIntoARead(t *testing.T) {
	t.Parallel()
	for status, followed := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		u := serve(t, redirecting(status, func(*http.Request) string { return "/end" }))
		req, err := http.NewRequestWithContext(t.Context(), "POST", u.URL+"/1/submit-listens",
			strings.NewReader(`{"listens":[]}`))
		require.NoError(t, err)
		a, err := resilience.Call{Client: u.client}.Send(req, resilience.Endpoint{Name: "POST /1/submit-listens"})
		if followed {
			require.NoError(t, err)
			require.Equal(t, `"POST "`, string(a.Body))
			continue
		}
		e, ok := err.(*resilience.AnswerError)
		require.True(t, ok, "%d: %v", status, err)
		require.Equal(t, status, e.Status)
	}
}

func TestSameRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to string
		follow   bool
	}{
		"same":            {"https://music.home/a", "https://music.home/b", true},
		"to TLS":          {"http://music.home/a", "https://music.home/a", true},
		"away from TLS":   {"https://music.home/a", "http://music.home/a", false},
		"another port":    {"https://music.home/a", "https://music.home:8443/a", false},
		"a host below it": {"https://music.home/a", "https://evil.music.home/a", false},
		"what is no web":  {"http://music.home/a", "ftp://music.home/a", false},
	} {
		from := &http.Request{Method: "GET", URL: mustParse(t, c.from)}
		to := &http.Request{Method: "GET", URL: mustParse(t, c.to)}
		require.Equal(t, c.follow, sameRequest(to, []*http.Request{from}) == nil, name)
		require.Error(t, sameRequest(to, []*http.Request{from, from, from, from, from}), "five are enough")
	}
}

func TestTheLogLine(t *testing.T) {
	t.Parallel()
	names := []string{"level", "msg", "user_id", "provider", "endpoint", "attempt", "status", "outcome"}
	u := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, err := u.get(t, t.Context())
	require.Error(t, err)
	require.Equal(t, []string{"INFO", "upstream attempt", "7", "navidrome", "GET /users/{name}/things", "1", "503",
		"retriable"}, logged(t, u, names...))
	took := logged(t, u, "took_ms")
	require.NotEqual(t, "<nil>", took[0])

	u.log.Reset()
	u.Close()
	_, err = u.get(t, t.Context())
	require.Error(t, err)
	require.Equal(t, []string{"network", "retriable"}, logged(t, u, "status", "outcome"))
}

// TestTheLogLineOfAnUnnamedEndpoint: a path may hold ids and names, so it does not stand in for the template.
func TestTheLogLineOfAnUnnamedEndpoint(t *testing.T) {
	t.Parallel()
	u := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	req, err := http.NewRequestWithContext(t.Context(), "GET", u.URL+"/users/geoff?p="+password, nil)
	require.NoError(t, err)
	_, err = u.client.Do(req)
	require.Error(t, err)
	host := strings.TrimPrefix(u.URL, "http://")
	require.Equal(t, []string{"GET " + host}, logged(t, u, "endpoint"))
	require.NotContains(t, u.log.String(), "geoff")
}

func TestALogForWarningsHasNoAttempts(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
	})
	for _, log := range []*slog.Logger{nil, slog.New(slog.NewTextHandler(&out,
		&slog.HandlerOptions{Level: slog.LevelWarn}))} {
		req, err := http.NewRequestWithContext(context.Background(), "GET", "http://music.home/", nil)
		require.NoError(t, err)
		_, err = resilience.Call{Client: NewClient(&Transport{Base: base, UserAgent: "Reprise/1.0",
			Log: log})}.Send(req,
			resilience.Endpoint{Name: "GET /"})
		require.NoError(t, err)
		require.Empty(t, req.Header, "the caller's request is not touched")
	}
	require.Empty(t, out.String())
}
