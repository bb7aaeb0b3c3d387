package oauth_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/oauth"
	"reprise/internal/resilience"
)

// api is a provider's API that takes one access token, and remembers what it was sent, in order.
type api struct {
	*httptest.Server

	mu     sync.Mutex
	tokens []string
	bodies []string
}

func apiFor(t *testing.T, accepts string, refusal int, text string) *api {
	a := &api{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		a.mu.Lock()
		a.tokens, a.bodies = append(a.tokens, token), append(a.bodies, string(body))
		a.mu.Unlock()
		if token != accepts {
			say(w, refusal, nil, text)
			return
		}
		say(w, http.StatusOK, nil, `{}`)
	}))
	t.Cleanup(a.Close)
	return a
}

// seen returns the tokens of the calls since it was last asked.
func (a *api) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	tokens := a.tokens
	a.tokens = nil
	return tokens
}

func (a *api) sent() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.bodies
}

func call(t *testing.T, c resilience.Call, method, url string, body io.Reader) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	require.NoError(t, err)
	_, err = c.Send(req, resilience.Endpoint{Name: method + " /v1/me"})
	require.NotContains(t, req.Header, "Authorization", "the caller's request stays as it is")
	return err
}

const expired = `{"error":{"status":401,"message":"The access token expired"}}`

// Promise: A token is renewed once and the call repeated once: a second refusal is the answer.
func TestRefusedTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		accepts string
		fails   bool
	}{{"the new one does", "access-2", false}, {"so is the new one", "access-3", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			up := answers(t, http.StatusOK, nil, "renewed.json")
			upstream := apiFor(t, tt.accepts, http.StatusUnauthorized, expired)
			store := storeWith(valid())
			base := onLoopback(t)
			err := call(t, oauth.NewTokens(store, base).Authorize(resilience.Call{Client: base}, provider(up.URL),
				valid()), http.MethodGet,
				upstream.URL, nil)
			if tt.fails {
				requireMeans(t, resilience.Fatal, resilience.Auth, resilience.ScopeConnection, err)
				require.ErrorContains(t, err, "GET /v1/me answered 401")
				requireNoSecret(t, err, "access-1", "access-2", "refresh-1", "refresh-2")
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, []string{"access-1", "access-2"}, upstream.seen())
			require.Len(t, up.calls(), 1)
			require.Equal(t, "refresh-2", store.credentials()["refresh_token"])
		})
	}
}

func TestOtherRefusalsAreNotRenewed(t *testing.T) {
	t.Parallel()
	page := golden(t, "page.html")
	for _, tt := range []struct {
		name     string
		status   int
		text     string
		category resilience.Category
	}{
		{"forbidden", http.StatusForbidden, expired, resilience.Permission},
		{"rate limit", http.StatusTooManyRequests, expired, resilience.RateLimit},
		{"outage", http.StatusServiceUnavailable, expired, resilience.Upstream},
		{"a portal's 401", http.StatusUnauthorized, page, resilience.Upstream},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			up := answers(t, http.StatusOK, nil, "renewed.json")
			upstream := apiFor(t, "none", tt.status, tt.text)
			base := onLoopback(t)
			err := call(t, oauth.NewTokens(storeWith(valid()), base).Authorize(resilience.Call{Client: base},
				provider(up.URL), valid()),
				http.MethodGet, upstream.URL, nil)
			require.Equal(t, tt.category, resilience.VerdictOf(err).Category)
			require.Equal(t, []string{"access-1"}, upstream.seen())
			require.Empty(t, up.calls())
		})
	}
}

func TestFailedRenewalIsTheOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		file     string
		status   int
		class    resilience.Class
		category resilience.Category
	}{
		{"invalid_grant-bare.json", http.StatusBadRequest, resilience.Fatal, resilience.Auth},
		{"invalid_grant-bare.json", http.StatusUnauthorized, resilience.Fatal, resilience.Auth},
		{"invalid_client.json", http.StatusUnauthorized, resilience.Fatal, resilience.Config},
		{"object.json", http.StatusServiceUnavailable, resilience.Retriable, resilience.Upstream},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			up := answers(t, tt.status, nil, tt.file)
			upstream := apiFor(t, "none", http.StatusUnauthorized, expired)
			base := onLoopback(t)
			for _, c := range []struct {
				first string
				want  []string
			}{{"refused by the provider", []string{"access-1"}}, {"known to have ended", nil}} {
				conn := valid()
				if c.want == nil {
					conn = connection()
				}
				err := call(t, oauth.NewTokens(storeWith(conn), base).Authorize(resilience.Call{Client: base},
					provider(up.URL), conn),
					http.MethodGet, upstream.URL, nil)
				require.ErrorContains(t, err, "POST token endpoint answered", c.first)
				v := resilience.VerdictOf(err)
				require.Equal(t, []any{tt.class, tt.category}, []any{v.Class, v.Category}, c.first)
				require.Equal(t, c.want, upstream.seen(), c.first)
			}
			require.Len(t, up.calls(), 2)
		})
	}
}

// oneWay is a body that can be read once, and remembers whether it was closed.
type oneWay struct {
	io.Reader
	closed bool
}

func (b *oneWay) Close() error { b.closed = true; return nil }

func TestBodyIsRepeated(t *testing.T) {
	t.Parallel()
	const text = `{"name":"Road trip"}`
	once := &oneWay{Reader: strings.NewReader(text)}
	for name, body := range map[string]io.Reader{"that can be copied": strings.NewReader(text),
		"that can be read once": once} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := answers(t, http.StatusOK, nil, "renewed.json")
			upstream := apiFor(t, "access-2", http.StatusUnauthorized, expired)
			base := onLoopback(t)
			c := oauth.NewTokens(storeWith(valid()), base).Authorize(resilience.Call{Client: base}, provider(up.URL),
				valid())
			require.NoError(t, call(t, c, http.MethodPost, upstream.URL, body))
			require.Equal(t, []string{text, text}, upstream.sent())
			if body == once {
				require.True(t, once.closed)
			}
		})
	}
}

func TestPermissionThatIsNotStored(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, accepts string
	}{{"accepted", "access-1"}, {"refused", "access-2"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			upstream := apiFor(t, tt.accepts, http.StatusUnauthorized, expired)
			err := call(t, oauth.AuthorizeGrant(resilience.Call{Client: onLoopback(t)}, connection().Credentials),
				http.MethodGet, upstream.URL,
				nil)
			require.Equal(t, []string{"access-1"}, upstream.seen())
			if tt.name == "accepted" {
				require.NoError(t, err)
				return
			}
			requireMeans(t, resilience.Fatal, resilience.Auth, resilience.ScopeConnection, err)
			require.ErrorContains(t, err, "GET /v1/me answered 401")
		})
	}
}

func TestPermissionWithoutRefreshToken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, accepts string
	}{{"still good", "access-1"}, {"over", "none"}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			up := answers(t, http.StatusOK, nil, "renewed.json")
			upstream := apiFor(t, tt.accepts, http.StatusUnauthorized, expired)
			conn := connection()
			delete(conn.Credentials, "refresh_token")
			base := onLoopback(t)
			err := call(t, oauth.NewTokens(storeWith(conn), base).Authorize(resilience.Call{Client: base},
				provider(up.URL), conn),
				http.MethodGet, upstream.URL, nil)
			require.Equal(t, []string{"access-1"}, upstream.seen(), "the provider says whether it is over")
			require.Empty(t, up.calls())
			if tt.name == "over" {
				requireMeans(t, resilience.Fatal, resilience.Auth, resilience.ScopeConnection, err)
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestClientLeavesItsBaseAlone(t *testing.T) {
	t.Parallel()
	base := onLoopback(t)
	before := *base
	c := oauth.NewTokens(&memory{}, base).Authorize(resilience.Call{Client: base}, provider(""), valid())
	require.NotSame(t, base, c.Client)
	require.Same(t, before.Transport, base.Transport)
	require.NotNil(t, c.Client.CheckRedirect, "credentials stay with their host")
}
