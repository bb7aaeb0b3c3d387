// Package openidtest is an issuer of OpenID Connect that does what a test tells it, also what no honest one does.
package openidtest

import (
	"cmp"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// The client that the issuer knows.
const (
	ClientID = "reprise"
	Secret   = "of the client"
)

// Issuer is the issuer. Change its fields between requests only.
type Issuer struct {
	*httptest.Server
	Subject string
	Claims  map[string]any                     // of the ID token, beside the usual ones; they count more than those
	Info    map[string]any                     // what the UserInfo endpoint adds, or says otherwise
	Says    url.Values                         // what it adds to its answer to the browser, or says otherwise
	Down    bool                               // whether it answers with errors
	Unnamed bool                               // whether its answers to the browser leave out who it is
	Forge   func(claims map[string]any) string // makes the ID token; nil: signed as it should be
	SignOut bool                               // whether sessions can end there
	Refuses string                             // the code with which it refuses to renew; empty: it doesn't
	Slim    bool                               // whether it renews without an ID token
	Locked  int                                // the status with which UserInfo refuses; 0: it doesn't
	Renewed int                                // how often it has renewed

	t     testing.TB
	key   *rsa.PrivateKey
	mu    sync.Mutex
	codes map[string]url.Values // what was asked for, by code; each is good once
	fresh map[string]url.Values // what was asked for, by refresh token; each is good once
}

var keys = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// New returns an issuer that knows one person.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{Subject: "248289761001", t: t, key: keys(), codes: map[string]url.Values{},
		fresh: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.describe)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /userinfo", i.userinfo)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if i.Down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (i *Issuer) describe(w http.ResponseWriter, _ *http.Request) {
	about := map[string]any{"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize",
		"token_endpoint": i.URL + "/token", "userinfo_endpoint": i.URL + "/userinfo", "jwks_uri": i.URL + "/keys",
		"id_token_signing_alg_values_supported":          []string{"RS256", "none"},
		"response_types_supported":                       []string{"code"},
		"subject_types_supported":                        []string{"public"},
		"authorization_response_iss_parameter_supported": !i.Unnamed}
	if i.SignOut {
		about["end_session_endpoint"] = i.URL + "/end"
	}
	answer(w, about)
}

func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: "1", Algorithm: "RS256",
		Use: "sig"}}})
}

// Allow is what happens when somebody allows what an address of the issuer asks for: it returns the address that their
// browser goes on to.
func (i *Issuer) Allow(address string) string {
	u, err := url.Parse(address)
	require.NoError(i.t, err)
	require.Equal(i.t, "/authorize", u.Path)
	asked := u.Query()
	require.Equal(i.t, ClientID, asked.Get("client_id"))
	require.Equal(i.t, "S256", asked.Get("code_challenge_method"))
	require.Contains(i.t, asked.Get("scope"), "openid")
	code := rand.Text()
	i.mu.Lock()
	i.codes[code] = asked
	i.mu.Unlock()
	to, err := url.Parse(asked.Get("redirect_uri"))
	require.NoError(i.t, err)
	q := to.Query()
	q.Set("state", asked.Get("state"))
	q.Set("code", code)
	if !i.Unnamed {
		q.Set("iss", i.URL)
	}
	maps.Copy(q, i.Says)
	to.RawQuery = q.Encode()
	return to.String()
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": "as a test wants it"})
	}
	id, secret, _ := r.BasicAuth()
	if id != ClientID || secret != url.QueryEscape(Secret) {
		refuse("invalid_client")
		return
	}
	if r.FormValue("grant_type") == "refresh_token" {
		i.mu.Lock()
		asked, ok := i.fresh[r.FormValue("refresh_token")]
		delete(i.fresh, r.FormValue("refresh_token"))
		i.mu.Unlock()
		if code := cmp.Or(i.Refuses, "invalid_grant"); !ok || i.Refuses != "" {
			refuse(code)
			return
		}
		i.Renewed++
		i.give(w, asked, !i.Slim)
		return
	}
	i.mu.Lock()
	asked, ok := i.codes[r.FormValue("code")]
	delete(i.codes, r.FormValue("code"))
	i.mu.Unlock()
	sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") ||
		r.FormValue("redirect_uri") != asked.Get("redirect_uri") {
		refuse("invalid_grant")
		return
	}
	i.give(w, asked, true)
}

// give answers with tokens: with an ID token, and with one to renew them if offline_access was asked for.
func (i *Issuer) give(w http.ResponseWriter, asked url.Values, signed bool) {
	now := time.Now()
	claims := map[string]any{"iss": i.URL, "sub": i.Subject, "aud": ClientID, "iat": now.Unix(),
		"exp": now.Add(time.Minute).Unix(), "nonce": asked.Get("nonce"), "auth_time": now.Unix()}
	maps.Copy(claims, i.Claims)
	make := i.Sign
	if i.Forge != nil {
		make = i.Forge
	}
	tokens := map[string]any{"access_token": "of " + i.Subject, "token_type": "Bearer", "expires_in": 60}
	if signed {
		tokens["id_token"] = make(claims)
	}
	if slices.Contains(strings.Fields(asked.Get("scope")), "offline_access") {
		next := rand.Text()
		i.mu.Lock()
		i.fresh[next] = asked
		i.mu.Unlock()
		tokens["refresh_token"] = next
	}
	answer(w, tokens)
}

func (i *Issuer) userinfo(w http.ResponseWriter, _ *http.Request) {
	if i.Locked != 0 {
		http.Error(w, "refused", i.Locked)
		return
	}
	all := map[string]any{"sub": i.Subject}
	maps.Copy(all, i.Info)
	answer(w, all)
}

// Sign returns a token with these claims.
func (i *Issuer) Sign(claims map[string]any) string { return i.sign(claims, i.key) }

// SignAs returns a token with these claims that another issuer has signed.
func (i *Issuer) SignAs(claims map[string]any) string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(i.t, err)
	return i.sign(claims, key)
}

func (i *Issuer) sign(claims map[string]any, key *rsa.PrivateKey) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: "1"}},
		nil)
	require.NoError(i.t, err)
	text, err := json.Marshal(claims)
	require.NoError(i.t, err)
	signed, err := signer.Sign(text)
	require.NoError(i.t, err)
	token, err := signed.CompactSerialize()
	require.NoError(i.t, err)
	return token
}

// Unsigned returns a token with these claims and the algorithm "none".
func (i *Issuer) Unsigned(claims map[string]any) string {
	text, err := json.Marshal(claims)
	require.NoError(i.t, err)
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + part(text) + "."
}
