package transport

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
)

// password is in every request of these tests, in the query and in a header, and must appear nowhere else.
const password = "hunter2-secret"

// upstream is a server on loopback and the client of the program.
type upstream struct {
	*httptest.Server
	client *http.Client
	log    *bytes.Buffer
}

func serve(t *testing.T, h http.HandlerFunc) *upstream {
	t.Helper()
	u := &upstream{Server: httptest.NewUnstartedServer(h)}
	u.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	u.Start()
	t.Cleanup(u.Close)
	u.dial(t, nil)
	return u
}

// dial gives u a client of its own, on connections made by dial.
func (u *upstream) dial(t *testing.T, dial func(context.Context, string, string) (net.Conn, error)) {
	base := hosts.NewBase(dial)
	t.Cleanup(base.CloseIdleConnections)
	u.log = &bytes.Buffer{}
	u.client = NewClient(&Transport{Base: base, UserAgent: "Reprise/1.0 (me@example.com)",
		Log: slog.New(slog.NewJSONHandler(u.log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
}

// get calls u and checks that nothing of the request shows in the error or in the log.
func (u *upstream) get(t *testing.T, ctx context.Context) (*resilience.Answer, error) {
	t.Helper()
	return u.getFrom(t, ctx, resilience.Endpoint{})
}

// getFrom is get from an endpoint of a kind.
func (u *upstream) getFrom(t *testing.T, ctx context.Context, to resilience.Endpoint) (*resilience.Answer, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET",
		u.URL+"/users/geoff/things?p="+password, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+password)
	to.Name = "GET /users/{name}/things"
	a, err := resilience.Call{Client: u.client, User: 7, Provider: "navidrome"}.Send(req, to)
	if err != nil {
		require.Nil(t, a)
		require.NotContains(t, err.Error(), u.URL)
		require.NotContains(t, err.Error(), "geoff")
		require.NotContains(t, err.Error(), password)
		require.True(t, ctx.Err() == context.Canceled || strings.HasPrefix(err.Error(), "GET /users/{name}/things"),
			err)
	}
	require.NotContains(t, u.log.String(), u.URL)
	require.NotContains(t, u.log.String(), "geoff")
	require.NotContains(t, u.log.String(), password)
	return a, err
}

// hijacked lets a handler write to the bare connection, which is closed afterwards.
func hijacked(do func(c *net.TCPConn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err)
		}
		do(c.(*net.TCPConn))
		_ = c.Close()
	}
}

func reset(c *net.TCPConn) { _ = c.SetLinger(0) }

func raw(text string) func(*net.TCPConn) {
	return func(c *net.TCPConn) { _, _ = io.WriteString(c, text) }
}

const halfABody = `{"items":[{"track":"Svefn-g-eng`

// TestNoCompleteAnswer: whatever the network does, it is the network's fault, and never a broken contract.
func TestNoCompleteAnswer(t *testing.T) {
	t.Parallel()
	compressed := func() string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, strings.Repeat(halfABody, 100))
		_ = z.Close()
		return b.String()[:b.Len()/2]
	}()
	for name, h := range map[string]http.HandlerFunc{
		"reset":                    hijacked(reset),
		"closed without an answer": hijacked(func(*net.TCPConn) {}),
		"closed in the headers":    hijacked(raw("HTTP/1.1 200 OK\r\nContent-Ty")),
		"cut in the body":          hijacked(raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + halfABody)),
		"cut in a chunked body": hijacked(raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n" +
			halfABody)),
		"cut between chunks": hijacked(raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")),
		"cut in a compressed body": hijacked(
			raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + compressed)),
		"cut in the body of a 401": hijacked(raw("HTTP/1.1 401 Unauthorized\r\nContent-Length: 1000\r\n\r\n" +
			halfABody)),
		"reset in the body": hijacked(func(c *net.TCPConn) {
			raw("HTTP/1.1 200 OK\r\n\r\n" + halfABody)(
				c)
			reset(c)
		}),
		"no HTTP at all": hijacked(raw("220 mail.example.com ESMTP\r\n")),
		"says gzip and is not": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "{}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := serve(t, h).get(t, t.Context())
			requireNetwork(t, err)
		})
	}
}

func requireNetwork(t *testing.T, err error) {
	t.Helper()
	var e *resilience.NetworkError
	require.ErrorAs(t, err, &e)
	require.Equal(t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network,
		Scope: resilience.ScopeConnection}, resilience.VerdictOf(err))
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		u := serve(t, nil)
		u.Close()
		_, err := u.get(t, t.Context())
		requireNetwork(t, err)
	})
	t.Run("no such host", func(t *testing.T) {
		t.Parallel()
		u := serve(t, nil)
		u.dial(t, func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "music.home", IsNotFound: true}
		})
		_, err := u.get(t, t.Context())
		requireNetwork(t, err)
	})
	t.Run("TLS not trusted", func(t *testing.T) {
		t.Parallel()
		u := serve(t, nil)
		secure := httptest.NewUnstartedServer(nil)
		secure.Config.ErrorLog = u.Config.ErrorLog
		secure.StartTLS()
		t.Cleanup(secure.Close)
		u.URL = secure.URL
		_, err := u.get(t, t.Context())
		requireNetwork(t, err)
	})
	t.Run("TLS with a plain server", func(t *testing.T) {
		t.Parallel()
		u := serve(t, nil)
		u.URL = strings.Replace(u.URL, "http:", "https:", 1)
		_, err := u.get(t, t.Context())
		requireNetwork(t, err)
	})
}

// silent answers nothing, or begins to, until the client has gone.
func silent(beginning string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if beginning != "" {
			_, _ = io.WriteString(w, beginning)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

func TestAnUpstreamThatFallsSilent(t *testing.T) {
	t.Parallel()
	for name, beginning := range map[string]string{"before it answers": "", "in the middle of the body": halfABody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := serve(t, silent(beginning)).get(t, ctx)
			requireNetwork(t, err)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		})
	}
}

// TestOurOwnEnd teaches nothing, wherever in the call it comes.
func TestOurOwnEnd(t *testing.T) {
	t.Parallel()
	for name, beginning := range map[string]string{"before it answers": "", "in the middle of the body": halfABody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			arrived := make(chan struct{})
			u := serve(t, func(w http.ResponseWriter, r *http.Request) {
				close(arrived)
				silent(beginning)(w, r)
			})
			go func() {
				<-arrived
				cancel()
			}()
			_, err := u.get(t, ctx)
			require.Equal(t, context.Canceled, err)
			require.Equal(t, resilience.Verdict{Class: resilience.Canceled}, resilience.VerdictOf(err))
			require.Equal(t, []string{"", "canceled"}, logged(t, u, "status", "outcome"))
		})
	}
}

// TestACallTakesAtMostThirtySeconds, its body included.
//
// Promise: A call takes at most 30 s, connecting 5 s: longer is a dead upstream.
func TestACallTakesAtMostThirtySeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, base := range []roundTripper{
			func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
			func(r *http.Request) (*http.Response, error) {
				body, w := io.Pipe()
				context.AfterFunc(r.Context(), func() { w.CloseWithError(r.Context().Err()) })
				return &http.Response{StatusCode: 200, Body: body}, nil
			},
		} {
			began := time.Now()
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://music.home/", nil)
			_, err := resilience.Call{Client: NewClient(&Transport{Base: base})}.Send(req,
				resilience.Endpoint{Name: "GET /"})
			requireNetwork(t, err)
			require.Equal(t, resilience.CallTimeout, time.Since(began))
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAnAnswer(t *testing.T) {
	t.Parallel()
	var agent atomic.Value
	u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		agent.Store(r.UserAgent())
		w.Header().Set("X-Total-Count", "3")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"a":1}`)
	})
	a, err := u.get(t, t.Context())
	require.NoError(t, err)
	require.Equal(t, "Reprise/1.0 (me@example.com)", agent.Load())
	require.Equal(t, [4]any{201, "3", `{"a":1}`, "GET /users/{name}/things"},
		[4]any{a.Status, a.Header.Get("X-Total-Count"), string(a.Body), a.Endpoint})
}

func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	send := func(size int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed)
			_, _ = io.CopyN(z, zeros{}, int64(size))
			_ = z.Close()
		}
	}
	a, err := serve(t, send(100_000)).get(t, t.Context())
	require.NoError(t, err)
	require.Len(t, a.Body, 100_000)
	_, err = serve(t, send(maxBody+1)).get(t, t.Context())
	var e *resilience.ContractError
	require.ErrorAs(t, err, &e, "a bomb is bounded by what comes out of it")
}

type zeros struct{}

var block = bytes.Repeat([]byte("0"), 64<<10)

func (zeros) Read(p []byte) (int, error) { return copy(p, block), nil }

// Promise: 10 MiB of an answer, 256 KiB of a failed one: no stranger fills the memory.
func TestABodyIsBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		size     int
		status   int
		kind     string
		announce bool
		want     resilience.Verdict
	}{
		{"just right", maxBody, 200, "application/json", true, resilience.Verdict{}},
		{"too much", maxBody + 1, 200, "application/json", true,
			resilience.Verdict{Class: resilience.Retriable, Category: resilience.Contract,
				Scope: resilience.ScopeStream, FatalAfter: 3}},
		{"too much, unannounced", maxBody + 1, 200, "application/json", false,
			resilience.Verdict{Class: resilience.Retriable, Category: resilience.Contract,
				Scope: resilience.ScopeStream, FatalAfter: 3}},
		{"too much of a 503", maxBody + 1, 503, "application/json", true,
			resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
				Scope: resilience.ScopeStream}},
		{"too much of a 401", maxBody + 1, 401, "application/json", true,
			resilience.Verdict{Class: resilience.Fatal, Category: resilience.Auth, Scope: resilience.ScopeConnection}},
		{"too much of a page", maxBody + 1, 200, "text/html", true,
			resilience.Verdict{Class: resilience.Retriable, Category: resilience.Upstream,
				Scope: resilience.ScopeStream, Astray: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, err := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				if c.announce {
					w.Header().Set("Content-Length", fmt.Sprint(c.size))
				}
				w.WriteHeader(c.status)
				_, _ = io.CopyN(w, zeros{}, int64(c.size))
			}).get(t, t.Context())
			require.Equal(t, c.want, resilience.VerdictOf(err))
			if err == nil {
				require.Len(t, a.Body, c.size)
			}
			if e, ok := err.(*resilience.AnswerError); ok {
				require.LessOrEqual(t, len(e.Body), maxBody)
			}
		})
	}
}

// TestNoMoreIsReadThanTheBound: an answer without an end fills no memory.
func TestNoMoreIsReadThanTheBound(t *testing.T) {
	t.Parallel()
	endless := &counter{}
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, ContentLength: -1,
			Body: io.NopCloser(io.LimitReader(endless, 4*maxBody)), Request: r}, nil
	})
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://music.home/", nil)
	require.NoError(t, err)
	_, err = resilience.Call{Client: NewClient(&Transport{Base: base})}.Send(req, resilience.Endpoint{Name: "GET /"})
	require.Equal(t, &resilience.ContractError{Endpoint: "GET /", What: "an answer of more than 10 MiB"}, err)
	require.EqualValues(t, maxBody+1, endless.read)
}

type counter struct {
	zeros
	read int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.zeros.Read(p)
	c.read += n
	return n, err
}

// logged returns the attributes of the one line that u has logged.
func logged(t *testing.T, u *upstream, names ...string) (values []string) {
	t.Helper()
	var line map[string]any
	require.NoError(t, json.Unmarshal(u.log.Bytes(), &line), "one line per attempt: %s", u.log)
	for _, n := range names {
		values = append(values, fmt.Sprint(line[n]))
	}
	return values
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	return u
}
