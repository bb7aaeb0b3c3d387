package oauth_test

import (
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/openid/openidtest"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/internal/store"
	"reprise/internal/storetest"
)

// installation is Reprise's side of a real server: the database, and what is built on it.
type installation struct {
	db       *store.Store
	dir      string
	user     int64
	client   *http.Client
	provider *providers.Provider
	flow     *oauth.Flow
	tokens   *oauth.Tokens

	userinfo, revocation string
	exchanges            atomic.Int64 // calls of the token endpoint
}

func startInstallation(t *testing.T, program string, args ...string) *installation {
	t.Helper()
	issuer := openidtest.StartZitadel(t, program, redirect, args...)
	var found struct {
		Auth       string `json:"authorization_endpoint"`
		Token      string `json:"token_endpoint"`
		Userinfo   string `json:"userinfo_endpoint"`
		Revocation string `json:"revocation_endpoint"`
	}
	resp, err := http.Get(issuer + ".well-known/openid-configuration")
	require.NoError(t, err)
	defer resp.Body.Close()
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&found))

	in := &installation{dir: t.TempDir(), userinfo: found.Userinfo, revocation: found.Revocation}
	base := hosts.NewBase(nil)
	t.Cleanup(base.CloseIdleConnections)
	in.client = client(inMemory(func(r *http.Request) (*http.Response, error) {
		if strings.HasPrefix(r.URL.String(), found.Token) {
			in.exchanges.Add(1)
		}
		return base.RoundTrip(r)
	}))
	in.provider = &providers.Provider{Description: providers.Description{Name: "spotify", DisplayName: "Spotify"},
		OAuth: &providers.OAuth{ClientID: "reprise", AuthURL: found.Auth, TokenURL: found.Token,
			Scopes: []string{"openid", "profile", "offline_access"}, AuthParams: map[string]string{
				"prompt": "consent"}, Months: 6}}
	in.open(t)
	u, err := in.db.AddUser(t.Context(), accounts.User{Name: "Alice", PasswordHash: "-", Role: accounts.Admin,
		CreatedAt: time.Now()}, true)
	require.NoError(t, err)
	in.user = u.ID
	return in
}

func (in *installation) open(t *testing.T) {
	t.Helper()
	db := storetest.Open(t, in.dir)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	in.db, in.flow, in.tokens = db, oauth.NewFlow(db, in.client), oauth.NewTokens(db, in.client)
}

// restart is a new process on the same database.
func (in *installation) restart(t *testing.T) {
	t.Helper()
	require.NoError(t, in.db.Close())
	in.open(t)
}

var hidden = regexp.MustCompile(`<input type="hidden" name="id" value="([^"]+)">`)

// consent sends Alice's browser to the server, where she signs in, and returns the query with which it comes back.
func (in *installation) consent(t *testing.T) (oauth.Request, url.Values) {
	t.Helper()
	asked := oauth.Request{Provider: in.provider, User: in.user, Session: "alice's browser", RedirectURI: redirect,
		ReturnTo: "/connections"}
	to, err := in.flow.Begin(t.Context(), asked)
	require.NoError(t, err)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	browser := &http.Client{Jar: jar, Transport: in.client.Transport.(*transport.Transport).Base,
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.String(), redirect) {
				return http.ErrUseLastResponse
			}
			return nil
		}}
	page, err := browser.Get(to)
	require.NoError(t, err)
	text := read(t, page)
	id := hidden.FindStringSubmatch(text)
	require.Len(t, id, 2, text)
	back, err := browser.PostForm(page.Request.URL.String(), url.Values{"id": {html.UnescapeString(id[1])},
		"username": {"test-user@127.0.0.1"}, "password": {"verysecure"}})
	require.NoError(t, err)
	text = read(t, back)
	callback, err := back.Location()
	require.NoError(t, err, text)
	require.Equal(t, redirect, callback.Scheme+"://"+callback.Host+callback.Path)
	return asked, callback.Query()
}

func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

// connect is the whole way from the button to the stored connection.
func (in *installation) connect(t *testing.T) library.Connection {
	t.Helper()
	asked, callback := in.consent(t)
	grant, err := in.flow.Complete(t.Context(), asked, callback)
	require.NoError(t, err)
	require.Equal(t, "/connections", grant.ReturnTo)
	account, err := in.account(t.Context(), oauth.AuthorizeGrant(resilience.Call{Client: in.client}, grant.Credentials))
	require.NoError(t, err)
	c, err := in.db.SaveConnection(t.Context(), library.Connection{User: in.user,
		ID:        library.ConnectionID(in.provider.Name),
		AccountID: account, Account: "Alice",
		App: "reprise", Credentials: grant.Credentials, AuthorizedAt: grant.AuthorizedAt, ExpiresAt: grant.ExpiresAt,
		CreatedAt: time.Now()})
	require.NoError(t, err)
	return c
}

// account asks the server whose token it is, as a provider's Prove does.
func (in *installation) account(ctx context.Context, c resilience.Call) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.userinfo, nil)
	if err != nil {
		return "", err
	}
	got, err := c.Send(req, resilience.Endpoint{Name: "GET /userinfo"})
	if err != nil {
		return "", err
	}
	var body struct {
		Subject string `json:"sub"`
	}
	return body.Subject, json.Unmarshal(got.Body, &body)
}

// call makes one call in the name of the connection.
func (in *installation) call(ctx context.Context, c library.Connection) error {
	_, err := in.account(ctx, in.tokens.Authorize(resilience.Call{Client: in.client}, in.provider, c))
	return err
}

func (in *installation) stored(t *testing.T) library.Connection {
	t.Helper()
	c, err := in.db.Connection(t.Context(), in.user, library.ConnectionID(in.provider.Name))
	require.NoError(t, err)
	return c
}

// revoke takes a token back at the server (RFC 7009).
func (in *installation) revoke(t *testing.T, token string) {
	t.Helper()
	resp, err := http.PostForm(in.revocation, url.Values{"token": {token}, "client_id": {"reprise"}})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, read(t, resp))
}

func withCredentials(c library.Connection, credentials library.Credentials) library.Connection {
	c.Credentials = credentials
	return c
}

// thief is a store that does not know the verifiers.
type thief struct{ *store.Store }

func (s thief) TakeState(ctx context.Context, asked oauth.State) (oauth.State, error) {
	state, err := s.Store.TakeState(ctx, asked)
	state.Verifier = oauth2.GenerateVerifier()
	return state, err
}
