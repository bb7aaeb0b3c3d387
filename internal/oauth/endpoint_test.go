package oauth_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/oauth"
	"reprise/internal/resilience"
)

const (
	retriable, fatal = resilience.Retriable, resilience.Fatal
	link, whole      = resilience.ScopeConnection, resilience.ScopeApp
	stream           = resilience.ScopeStream
)

// tokenAnswers says what each answer of a token endpoint means (resilience page, truth table).
var tokenAnswers = []struct {
	name     string
	status   int
	file     string
	header   http.Header
	class    resilience.Class
	category resilience.Category
	scope    resilience.Scope
	text     string // part of the error's
}{
	{"permission over", 400, "invalid_grant.json", nil, fatal, resilience.Auth, link, "Refresh token revoked"},
	{"permission over, bare", 400, "invalid_grant-bare.json", nil, fatal, resilience.Auth, link, "invalid_grant"},
	{"permission over, as 401", 401, "invalid_grant-bare.json", nil, fatal, resilience.Auth, link, "invalid_grant"},
	{"permission over, inside 200", 200, "invalid_grant.json", nil, fatal, resilience.Auth, link,
		"Refresh token revoked"},
	{"permission over, secrets repeated", 400, "invalid_grant-echo.json", nil, fatal, resilience.Auth, link,
		"No such token: … (client reprise, …)"},
	{"the same inside 200", 200, "invalid_grant-echo.json", nil, fatal, resilience.Auth, link,
		"No such token: [redacted] (client reprise, [redacted])"},
	{"401 without words", 401, "", nil, fatal, resilience.Auth, link, "401"},
	{"403 without words", 403, "", nil, fatal, resilience.Auth, link, "403"},
	{"wrong client", 400, "invalid_client.json", nil, fatal, resilience.Config, whole, "invalid_client"},
	{"wrong client, as 401", 401, "invalid_client.json", nil, fatal, resilience.Config, whole, "Invalid client secret"},
	{"wrong client, inside 200", 200, "invalid_client.json", nil, fatal, resilience.Config, whole, "invalid_client"},
	{"client may not", 400, "unauthorized_client.json", nil, fatal, resilience.Config, whole, "unauthorized_client"},
	{"no such address", 404, "", nil, fatal, resilience.Config, whole, "404"},
	{"outage", 503, "object.json", nil, retriable, resilience.Upstream, link, "503"},
	{"outage, in OAuth's words", 503, "temporarily_unavailable.json", nil, retriable, resilience.Upstream, link,
		"temporarily_unavailable"},
	{"outage said with 400", 400, "server_error.json", nil, retriable, resilience.Upstream, link, "server_error"},
	{"outage inside 200", 200, "temporarily_unavailable.json", nil, retriable, resilience.Upstream, link,
		"temporarily_unavailable"},
	{"outage said with 401", 401, "temporarily_unavailable.json", nil, retriable, resilience.Upstream, link,
		"temporarily_unavailable"},
	{"bad gateway", 502, "page.html", nil, retriable, resilience.Upstream, stream, "a page instead of data"},
	{"portal", 200, "page.html", nil, retriable, resilience.Upstream, stream, "a page instead of data"},
	{"portal's 400", 400, "page.html", nil, retriable, resilience.Upstream, stream, "a page instead of data"},
	{"portal's 401", 401, "page.html", nil, retriable, resilience.Upstream, stream, "a page instead of data"},
	{"portal's redirect", 302, "", http.Header{"Location": {"http://portal.example/"}}, retriable,
		resilience.Upstream, link, "302"},
	{"rate limit", 429, "", http.Header{"Retry-After": {"120"}}, retriable, resilience.RateLimit, whole, "429"},
	{"rate limit without end", 429, "", nil, retriable, resilience.RateLimit, link, "429"},
	{"no access token", 200, "no-access-token.json", nil, retriable, resilience.Contract, stream,
		"missing access_token"},
	{"no JSON", 200, "", nil, retriable, resilience.Contract, stream, "cannot parse"},
	{"another shape", 200, "wrong-shape.json", nil, retriable, resilience.Contract, stream, "cannot parse"},
}

func TestTokenEndpointAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range tokenAnswers {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			up := answers(t, tt.status, tt.header, tt.file)
			c := connection()
			store, p := storeWith(c), provider(up.URL)
			p.OAuth.ClientSecret = secret
			before := time.Now()
			token, err := oauth.NewTokens(store, onLoopback(t)).Fresh(t.Context(), resilience.Call{}, p, c, "")
			requireMeans(t, tt.class, tt.category, tt.scope, err)
			require.ErrorContains(t, err, "POST token endpoint")
			require.ErrorContains(t, err, tt.text)
			requireNoSecret(t, err, secret, "access-1", "access-2", "refresh-1", "refresh-2", up.URL)
			require.Empty(t, token)
			require.Equal(t, c.Credentials, store.credentials(), "a failure changes nothing")
			require.Len(t, up.calls(), 1)
			v := resilience.VerdictOf(err)
			require.Equal(t, tt.category == resilience.Contract, v.FatalAfter == 3,
				"a broken answer is fatal after three in a row")
			if tt.header.Get("Retry-After") != "" {
				require.WithinRange(t, v.NotBefore, before.Add(2*time.Minute), time.Now().Add(2*time.Minute))
			}
		})
	}
}

func TestTokenEndpointOutOfReach(t *testing.T) {
	t.Parallel()
	whole := golden(t, "renewed.json")
	for name, up := range map[string]*endpoint{
		"refused": func() *endpoint {
			e := answers(t, http.StatusOK, nil,
				"renewed.json")
			e.Close()
			return e
		}(),
		"cut before the answer": serves(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
		"cut in the middle of the answer": serves(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4096")
			say(w, http.StatusOK, nil, whole)
		}),
		"cut in the middle of a refusal": serves(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "4096")
			say(w, http.StatusBadRequest, nil, `{"error":"invalid_grant"}`)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := storeWith(connection())
			_, err := oauth.NewTokens(store, onLoopback(t)).Fresh(t.Context(), resilience.Call{},
				provider(up.URL+"/token"),
				connection(), "")
			requireMeans(t, resilience.Retriable, resilience.Network, resilience.ScopeConnection, err)
			requireNoSecret(t, err, "refresh-1", "refresh-2", "/token")
			require.Zero(t, store.saves)
		})
	}
}

func TestTokenEndpointNeverAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := storeWith(connection())
		tokens := oauth.NewTokens(store, client(inMemory(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})))
		start := time.Now()
		_, err := tokens.Fresh(t.Context(), resilience.Call{}, provider("https://accounts.example/token"),
			connection(), "")
		requireMeans(t, resilience.Retriable, resilience.Network, resilience.ScopeConnection, err)
		require.Equal(t, resilience.CallTimeout, time.Since(start))
	})
}
