package s3_test

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"testing"
	"time"

	"code.dny.dev/ssrf"
	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/s3"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/internal/s3test"
)

// real is a real server with a bucket "music", and a connection to it.
type real struct {
	*s3test.Server
	credentials library.Credentials
	client      *http.Client
	requests    *requests
}

func setupReal(t *testing.T, args ...string) *real {
	t.Helper()
	s := s3test.Start(t, args...)
	s.MakeBucket("music")
	base := hosts.NewBase(nil)
	t.Cleanup(base.CloseIdleConnections)
	r := &requests{next: base}
	return &real{
		Server: s, requests: r,
		client: transport.NewClient(&transport.Transport{Base: r, UserAgent: "Reprise/test"}),
		credentials: library.Credentials{
			"endpoint": s.URL, "bucket": "music", "access_key": s.AccessKey, "secret_key": s.SecretKey,
			"region": s.Region,
		},
	}
}

// open returns an adapter with some of the credentials changed.
func (r *real) open(changes ...string) providers.Adapter {
	c := maps.Clone(r.credentials)
	for i := 0; i < len(changes); i += 2 {
		c[changes[i]] = changes[i+1]
	}
	return providertest.New(s3.Describe()).Open(resilience.Call{Client: r.client}, c)
}

// requests counts what is sent, by method.
type requests struct {
	next http.RoundTripper
	sent []string
}

func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	r.sent = append(r.sent, req.Method)
	return r.next.RoundTrip(req)
}

func (r *requests) take() []string {
	sent := r.sent
	r.sent = nil
	return sent
}

func keep(ctx context.Context, a providers.Adapter, name, body string) (string, error) {
	return a.(providers.ObjectStore).Keep(ctx, name, "application/x-ndjson", []byte(body))
}

const (
	october  = `{"track":"Svefn-g-englar","artist":"Sigur Rós"}` + "\n"
	november = october + `{"track":"Roygbiv","artist":"Boards of Canada"}` + "\n"
)

func TestRealServerProves(t *testing.T) {
	t.Parallel()
	r := setupReal(t)
	account, err := r.open("region", "").Prove(t.Context())
	require.NoError(t, err)
	require.Equal(t, r.URL+"/music/reprise/", account.ID)
	require.Equal(t, r.Region, account.Learned["region"], "the server names it")
	require.Equal(t, []string{"PUT", "PUT", "GET", "DELETE"}, r.requests.take())
	require.Empty(t, r.Objects("music"), "the probe is gone")
}

func TestRealServerKeeps(t *testing.T) {
	t.Parallel()
	r := setupReal(t)
	a := r.open()
	etag, err := keep(t.Context(), a, "alice/2026-10.jsonl", october)
	require.NoError(t, err)
	require.NotEmpty(t, etag)
	require.Equal(t, []string{"HEAD", "PUT", "HEAD"}, r.requests.take(), "written and verified")
	require.Equal(t, map[string]string{"reprise/alice/2026-10.jsonl": october}, r.Objects("music"))

	again, err := keep(t.Context(), a, "alice/2026-10.jsonl", october)
	require.NoError(t, err)
	require.Equal(t, etag, again)
	require.Equal(t, []string{"HEAD"}, r.requests.take(), "not written again")

	longer, err := keep(t.Context(), r.open(), "alice/2026-10.jsonl", november)
	require.NoError(t, err)
	require.NotEqual(t, etag, longer)
	require.Equal(t, []string{"HEAD", "PUT", "HEAD"}, r.requests.take())
	require.Equal(t, map[string]string{"reprise/alice/2026-10.jsonl": november}, r.Objects("music"))

	_, err = keep(t.Context(), r.open("prefix", "/"), "empty.jsonl", "")
	require.NoError(t, err)
	require.Contains(t, r.Objects("music"), "empty.jsonl")
}

// TestRealServerConcurrentWrites changes the object between our read and our write. It is read before it is replaced.
func TestRealServerConcurrentWrites(t *testing.T) {
	t.Parallel()
	for name, there := range map[string]string{"where there was nothing": "", "over what was there": "old"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setupReal(t)
			if there != "" {
				_, err := keep(t.Context(), r.open(), "x", there)
				require.NoError(t, err)
			}
			r.requests.take()
			other, times := r.open(), 1
			meddling := roundTripper(func(req *http.Request) (*http.Response, error) {
				if req.Method == http.MethodPut && times > 0 {
					times--
					if _, err := keep(req.Context(), other, "x", "theirs"); err != nil {
						return nil, err
					}
					r.requests.take()
				}
				return r.requests.RoundTrip(req)
			})
			call := providertest.Call(meddling)
			a := providertest.New(s3.Describe()).Open(call, r.credentials)
			_, err := keep(t.Context(), a, "x", october)
			require.NoError(t, err)
			require.Equal(t, []string{"PUT", "HEAD", "PUT", "HEAD"}, r.requests.take(),
				"refused, looked again, written, verified")
			require.Equal(t, map[string]string{"reprise/x": october}, r.Objects("music"))
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestRealServerRefuses(t *testing.T) {
	t.Parallel()
	r := setupReal(t)
	for name, c := range map[string]struct {
		changes  []string
		code     string
		category resilience.Category
	}{
		"wrong secret":       {[]string{"secret_key", "wrong-horse-battery"}, "SignatureDoesNotMatch", resilience.Auth},
		"unknown access key": {[]string{"access_key", "nobody-access"}, "InvalidAccessKeyId", resilience.Auth},
		"missing bucket":     {[]string{"bucket", "nowhere"}, "NoSuchBucket", resilience.Config},
	} {
		t.Run(name, func(t *testing.T) {
			_, proof := r.open(c.changes...).Prove(t.Context())
			_, err := keep(t.Context(), r.open(c.changes...), "x", october)
			for _, err := range []error{proof, err} {
				requireRefused(t, err, c.code, resilience.Verdict{Class: resilience.Fatal, Category: c.category,
					Scope: resilience.ScopeConnection})
			}
		})
	}
	require.Empty(t, r.Objects("music"))
}

func requireRefused(t *testing.T, err error, code string, want resilience.Verdict) {
	t.Helper()
	e, ok := errors.AsType[*resilience.AnswerError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, code, e.Code, "%v", err)
	require.Equal(t, want, resilience.VerdictOf(err), "%v", err)
	require.NotEmpty(t, e.Meaning.Advice)
	for _, secret := range []string{"wrong-horse-battery", "nobody-access", "correct/horse+battery", "anna-access"} {
		require.NotContains(t, err.Error(), secret)
	}
}

func TestRealServerAllowsOnlyReading(t *testing.T) {
	t.Parallel()
	r := setupReal(t, "--readonly")
	notAllowed := resilience.Verdict{Class: resilience.Fatal, Category: resilience.Permission,
		Scope: resilience.ScopeConnection}
	_, err := r.open().Prove(t.Context())
	requireRefused(t, err, "AccessDenied", notAllowed)
	_, err = keep(t.Context(), r.open(), "x", october)
	requireRefused(t, err, "AccessDenied", notAllowed)
}

func TestRealServerGoneForAWhile(t *testing.T) {
	t.Parallel()
	r := setupReal(t)
	a := r.open()
	_, err := keep(t.Context(), a, "x", october)
	require.NoError(t, err)
	r.Stop()
	r.requests.take()
	for range 2 { // first on the open connection, then without one
		began := time.Now()
		_, err = keep(t.Context(), a, "x", november)
		requireNetwork(t, err)
		require.Len(t, r.requests.take(), 1, "no retry of its own")
		require.Less(t, time.Since(began), 20*time.Second)
	}
	_, err = a.Prove(t.Context())
	requireNetwork(t, err)
	r.Restart()
	_, err = keep(t.Context(), a, "x", november)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"reprise/x": november}, r.Objects("music"))
}

func requireNetwork(t *testing.T, err error) {
	t.Helper()
	require.Equal(t, resilience.Verdict{Class: resilience.Retriable, Category: resilience.Network,
		Scope: resilience.ScopeConnection}, resilience.VerdictOf(err), "%v", err)
	require.NotContains(t, err.Error(), "://")
	require.NotContains(t, err.Error(), "reprise/x")
}

// TestRealServerBehindTheDialGuard expects no connection when private addresses are not allowed.
func TestRealServerBehindTheDialGuard(t *testing.T) {
	t.Parallel()
	r := setupReal(t)
	dialer := &net.Dialer{Control: ssrf.New(ssrf.WithAnyPort()).Safe}
	base := hosts.NewBase(dialer.DialContext)
	t.Cleanup(base.CloseIdleConnections)
	a := providertest.New(s3.Describe()).Open(providertest.Call(base), r.credentials)
	_, err := keep(t.Context(), a, "x", october)
	require.ErrorIs(t, err, ssrf.ErrProhibitedIP)
	_, err = a.Prove(t.Context())
	require.ErrorIs(t, err, ssrf.ErrProhibitedIP)
	require.Empty(t, r.Objects("music"))
}
