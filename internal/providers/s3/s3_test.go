package s3_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/s3"
	"reprise/internal/resilience"
)

func verdict(c resilience.Class, g resilience.Category, s resilience.Scope) resilience.Verdict {
	return resilience.Verdict{Class: c, Category: g, Scope: s}
}

var (
	connection = resilience.ScopeConnection
	upstream   = verdict(resilience.Retriable, resilience.Upstream, resilience.ScopeStream)
	slow       = verdict(resilience.Retriable, resilience.RateLimit, connection)
	full       = verdict(resilience.Retriable, resilience.Quota, connection)
	auth       = verdict(resilience.Fatal, resilience.Auth, connection)
	permission = verdict(resilience.Fatal, resilience.Permission, connection)
	config     = verdict(resilience.Fatal, resilience.Config, connection)
	clock      = resilience.Verdict{Class: resilience.Fatal, Category: resilience.Config, Scope: connection,
		ForAdmin: true}
	onItem = verdict(resilience.Fatal, resilience.Item, resilience.ScopeItem)
)

func TestConformance(t *testing.T) {
	provider := providertest.New(s3.Describe())
	var opened atomic.Int64
	openReal := provider.Open
	provider.Open = func(client resilience.Call, c library.Credentials) providers.Adapter {
		c = with("access_key", c["access_key"]+fmt.Sprint(opened.Add(1))) // objects of its own
		return openReal(client, c)
	}
	deviations := map[int]resilience.Meaning{}
	stranger := upstream
	stranger.FatalAfter = 10
	for status, v := range map[int]resilience.Verdict{
		403: permission,
		404: stranger,
		409: upstream,
		412: upstream,
		413: onItem,
		507: full,
	} {
		deviations[status] = resilience.Meaning{Class: v.Class, Category: v.Category, Scope: v.Scope,
			FatalAfter: v.FatalAfter}
	}
	providertest.Run(t, providertest.Suite{
		Provider: provider, Credentials: geoff, Secrets: []string{"geoff-access-key"},
		Prove: providertest.Capability{Healthy: (&storage{}).respond, Statuses: deviations},
	})
}

// TestTable has a golden answer for each row, for each kind of request whose answer has a body.
func TestTable(t *testing.T) {
	t.Parallel()
	rows := []struct {
		code   string
		status int
		want   resilience.Verdict
		advice string // a part of it
	}{
		{"SlowDown", 503, slow, ""},
		{"SlowDownRead", 503, slow, ""},
		{"SlowDownWrite", 503, slow, ""},
		{"ServiceUnavailable", 503, upstream, ""},
		{"InternalError", 500, upstream, ""},
		{"RequestTimeout", 400, upstream, ""},
		{"IncompleteBody", 400, upstream, ""},
		{"BadDigest", 400, upstream, ""},
		{"XAmzContentSHA256Mismatch", 400, upstream, ""},
		{"TemporaryRedirect", 307, upstream, ""},
		{"InvalidAccessKeyId", 403, auth, "doesn't know this access key"},
		{"XAdminUserNotFound", 404, auth, "doesn't know this access key"},
		{"ExpiredToken", 400, auth, "doesn't know this access key"},
		{"InvalidToken", 400, auth, "doesn't know this access key"},
		{"SignatureDoesNotMatch", 403, auth, "secret key doesn't belong"},
		{"RequestTimeTooSkewed", 403, clock, "clock and the storage's disagree"},
		{"QuotaExceeded", 403, full, "storage is full"},
		{"XMinioStorageFull", 507, full, "storage is full"},
		{"AccessDenied", 403, permission, "must be able to read, write and delete"},
		{"NoSuchBucket", 404, config, "no such bucket"},
		{"InvalidBucketName", 400, config, "no such bucket"},
		{"PermanentRedirect", 301, config, "another region"},
		{"AuthorizationHeaderMalformed", 400, config, "another region"},
		{"InvalidRegion", 400, config, "another region"},
		{"IllegalLocationConstraintException", 400, config, "another region"},
		{"EntityTooLarge", 400, onItem, "larger than your storage accepts"},
		{"NoSuchKey", 404, upstream, "at the same time"},
		{"ConditionalRequestConflict", 409, upstream, "at the same time"},
		{"PreconditionFailed", 412, upstream, "at the same time"},
		{"NotImplemented", 501, upstream, ""},
		{"MethodNotAllowed", 405, verdict(resilience.Fatal, resilience.Contract, resilience.ScopeStream), ""},
	}
	met := []providers.Row{{Status: 403}, {Status: 404}, {Status: 413}} // without a body, as TestConformance sends them
	for _, row := range rows {
		met = append(met, providers.Row{Status: row.status, Code: row.code})
	}
	providertest.Rows(t, s3.Describe().Tables, met)
	files, err := os.ReadDir("testdata")
	require.NoError(t, err)
	require.Len(t, files, len(rows))
	for _, row := range rows {
		t.Run(row.code, func(t *testing.T) {
			t.Parallel()
			golden := providertest.Golden(t, row.code+".xml")
			for _, method := range []string{http.MethodPut, http.MethodGet, http.MethodDelete} {
				s := &storage{before: func(req *http.Request) (int, http.Header, string) {
					if req.Method == method {
						return row.status, http.Header{"Content-Type": {"application/xml"}}, golden
					}
					return 0, nil, ""
				}}
				_, err := s.open().Prove(t.Context())
				requireRow(t, err, row.code, row.status, row.want, row.advice)
				if method == http.MethodPut {
					_, err = keep(t.Context(), s.open(), "x", october)
					requireRow(t, err, row.code, row.status, row.want, row.advice)
				}
			}
		})
	}
}

func requireRow(t *testing.T, err error, code string, status int, want resilience.Verdict, advice string) {
	t.Helper()
	e, ok := errors.AsType[*resilience.AnswerError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, [2]any{code, status}, [2]any{e.Code, e.Status})
	require.Equal(t, want, resilience.VerdictOf(err), "%v", err)
	if advice != "" {
		require.Contains(t, e.Meaning.Advice.String(), advice)
	}
	requireNoSecret(t, err)
}

func requireNoSecret(t *testing.T, err error) {
	t.Helper()
	for _, secret := range []string{
		"geoff-access-key", "correct-horse-battery", "s3.example.org/", "reprise/x", "Signature=",
	} {
		require.NotContains(t, err.Error(), secret)
	}
}

// TestSecretsAreRedacted has a server that repeats the credentials in its message.
func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	const body = `<Error><Code>InvalidRequest</Code>` +
		`<Message>Key geoff-access-key and correct-horse-battery are not welcome.</Message></Error>`
	s := &storage{before: func(*http.Request) (int, http.Header, string) { return 400, nil, body }}
	_, err := s.open().Prove(t.Context())
	requireRow(t, err, "InvalidRequest", 400, onItem, "")
	require.Contains(t, err.Error(), "are not welcome")
}

// TestNoPauseAfterAFailure checks that the library neither waits nor retries.
func TestNoPauseAfterAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, answer := range []providertest.Respond{
			providertest.Always(503, refusal("SlowDown")), providertest.Always(500, ""),
			providertest.Always(429, ""), providertest.Always(408, ""),
			providertest.Always(200, "<!doctype html><html>"),
		} {
			calls := 0
			call := providertest.Call(providertest.Respond(func(req *http.Request) (int, http.Header, string) {
				calls++
				return answer(req)
			}))
			a := providertest.New(s3.Describe()).Open(call, geoff)
			began := time.Now()
			_, err := keep(t.Context(), a, "x", october)
			require.Equal(t, resilience.Retriable, resilience.VerdictOf(err).Class, "%v", err)
			require.Equal(t, 1, calls)
			require.Zero(t, time.Since(began))
		}
	})
}

// TestCancellation is not a failure of the storage; a deadline is.
func TestCancellation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := func() (resilience.Call, func() int) {
			calls := 0
			return providertest.Call(roundTripper(func(req *http.Request) (*http.Response, error) {
				calls++
				<-req.Context().Done()
				return nil, req.Context().Err()
			})), func() int { return calls }
		}
		call, calls := silent()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := keep(ctx, providertest.New(s3.Describe()).Open(call, geoff), "x", october)
		require.Equal(t, resilience.Verdict{Class: resilience.Canceled}, resilience.VerdictOf(err), "%v", err)
		_, err = keep(ctx, providertest.New(s3.Describe()).Open(call, geoff), "x", october)
		require.Equal(t, resilience.Verdict{Class: resilience.Canceled}, resilience.VerdictOf(err),
			"before the call: %v", err)
		require.Equal(t, 1, calls())

		call, calls = silent()
		_, err = keep(t.Context(), providertest.New(s3.Describe()).Open(call, geoff), "x", october)
		requireNetwork(t, err)
		require.Equal(t, 1, calls())
	})
}

// TestConnectionErrorsKeepTheirType includes EOF, which the library replaces by a text with the URL.
func TestConnectionErrorsKeepTheirType(t *testing.T) {
	t.Parallel()
	for _, end := range []error{
		errors.New("EOF"), errors.New("read tcp 10.0.0.1: connection reset by peer"),
		errors.New("http: server gave HTTP response to HTTPS client"),
	} {
		call := providertest.Call(roundTripper(func(*http.Request) (*http.Response, error) { return nil, end }))
		_, err := keep(t.Context(), providertest.New(s3.Describe()).Open(call, geoff), "x", october)
		requireNetwork(t, err)
		require.ErrorIs(t, err, end)
		requireNoSecret(t, err)
	}
}

func TestProveLearnsTheRegion(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func() (int, http.Header, string){
		"from the answer's words": func() (int, http.Header, string) {
			return 400, nil, golden("AuthorizationHeaderMalformed")
		},
		"from the answer's header": func() (int, http.Header, string) {
			return 400, http.Header{"X-Amz-Bucket-Region": {"eu-central-1"}}, ""
		},
		"from a redirect": func() (int, http.Header, string) {
			return 301, http.Header{"X-Amz-Bucket-Region": {"eu-central-1"}}, golden("PermanentRedirect")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &storage{}
			s.before = func(req *http.Request) (int, http.Header, string) {
				if strings.Contains(req.Header.Get("Authorization"), "/eu-central-1/") {
					return 0, nil, ""
				}
				return refuse()
			}
			account, err := s.open().Prove(t.Context())
			require.NoError(t, err)
			require.Equal(t, "eu-central-1", account.Learned["region"])
			require.Equal(t, []string{"PUT", "PUT", "GET", "DELETE"}, s.take())

			learned := maps.Clone(geoff)
			maps.Copy(learned, account.Learned)
			a := providertest.New(s3.Describe()).Open(providertest.Call(providertest.Respond(s.respond)), learned)
			_, err = keep(t.Context(), a, "x", october)
			require.NoError(t, err)
			again, err := a.Prove(t.Context())
			require.NoError(t, err)
			require.Equal(t, account, again, "the same account with learned credentials")
		})
	}
}

// TestProveComparesWhatItReads has a storage that answers from a stale cache.
func TestProveComparesWhatItReads(t *testing.T) {
	t.Parallel()
	stale := ""
	s := &storage{}
	s.before = func(req *http.Request) (int, http.Header, string) {
		if req.Method != http.MethodGet {
			return 0, nil, ""
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if o := s.objects[keyOf(req)]; stale == "" {
			stale = o.body
		}
		return http.StatusOK, http.Header{"Last-Modified": {"Sat, 21 Nov 2026 06:33:00 GMT"}}, stale
	}
	_, err := s.open().Prove(t.Context())
	require.NoError(t, err)
	_, err = s.open().Prove(t.Context())
	require.Equal(t, resilience.Contract, resilience.VerdictOf(err).Category, "%v", err)
}

// TestProveAcceptsEveryWayToSayRemoved includes servers that answer a removal with 200.
func TestProveAcceptsEveryWayToSayRemoved(t *testing.T) {
	t.Parallel()
	s := &storage{before: func(req *http.Request) (int, http.Header, string) {
		if req.Method == http.MethodDelete {
			return http.StatusOK, nil, ""
		}
		return 0, nil, ""
	}}
	_, err := s.open().Prove(t.Context())
	require.NoError(t, err)
}

func golden(code string) string {
	b, err := os.ReadFile("testdata/" + code + ".xml")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestProveAdvises connects to addresses without an S3 storage.
func TestProveAdvises(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		header http.Header
		body   string
		want   resilience.Class
		advice string
	}{
		"a web page": {200, http.Header{"Content-Type": {"text/html"}}, "<!doctype html><html>",
			resilience.Retriable, "no S3 storage at this address"},
		"nothing":    {200, nil, "", resilience.Retriable, "no S3 storage at this address"},
		"a stranger": {404, nil, `{"error":"not found"}`, resilience.Retriable, "no S3 storage at this address"},
		"a TLS port": {400, nil, "Client sent an HTTP request to an HTTPS server.",
			resilience.Fatal, "no S3 storage at this address"},
		"a redirect": {301, http.Header{"Location": {"https://storage.example.org/music/reprise/x?secret=1"}}, "",
			resilience.Retriable, "https://storage.example.org. If that"},
		"a redirect with us": {301, http.Header{"Location": {"/music"}}, "",
			resilience.Retriable, "no S3 storage at this address"},
		"no address redirect": {308, http.Header{"Location": {"http://%zz"}}, "",
			resilience.Retriable, "no S3 storage at this address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &storage{before: func(*http.Request) (int, http.Header, string) { return c.status, c.header, c.body }}
			_, err := s.open().Prove(t.Context())
			e, ok := errors.AsType[*resilience.AnswerError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, c.want, resilience.VerdictOf(err).Class)
			require.Contains(t, e.Meaning.Advice.String(), c.advice)
			require.NotContains(t, e.Meaning.Advice.String(), "secret")
		})
	}
	t.Run("an outage gets no advice", func(t *testing.T) {
		t.Parallel()
		s := &storage{before: func(*http.Request) (int, http.Header, string) { return 503, nil, "" }}
		_, err := s.open().Prove(t.Context())
		e, ok := errors.AsType[*resilience.AnswerError](err)
		require.True(t, ok)
		require.Nil(t, e.Meaning)
	})
}
