package oauth_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
)

const (
	user     = int64(7)
	secret   = "keep-this-secret"
	redirect = "http://127.0.0.1:8420/connect/spotify/callback"
)

// provider is Spotify with its token endpoint elsewhere.
func provider(tokenURL string) *providers.Provider {
	return &providers.Provider{
		Description: providers.Description{Name: "spotify", DisplayName: "Spotify",
			Settings:     []providers.Setting{{Name: "client_id", Required: true}},
			Registration: &providers.Registration{Page: "https://spotify.example/apps"}},
		OAuth: &providers.OAuth{ClientID: "reprise", AuthURL: "https://accounts.example/authorize",
			TokenURL: tokenURL, Scopes: []string{"user-read-recently-played", "playlist-read-private"},
			AuthParams: map[string]string{"show_dialog": "true"}, Months: 6},
	}
}

// client is the installation's, on a transport of its own.
func client(rt http.RoundTripper) *http.Client {
	return transport.NewClient(&transport.Transport{Base: rt})
}

// onLoopback is a client whose connections end with the test.
func onLoopback(t *testing.T) *http.Client {
	base := hosts.NewBase(nil)
	t.Cleanup(base.CloseIdleConnections)
	return client(base)
}

// connection is connected, with an access token that has ended.
func connection() library.Connection {
	return library.Connection{User: user, ID: "spotify", AccountID: "alice", Generation: 1,
		Credentials: ended("access-1", "refresh-1")}
}

func ended(access, refresh string) library.Credentials {
	return library.Credentials{"access_token": access, "refresh_token": refresh,
		"token_end": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}
}

// valid is a connection whose access token should still do.
func valid() library.Connection {
	c := connection()
	c.Credentials["token_end"] = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	return c
}

// memory is the store of both halves of the package.
type memory struct {
	reading func() // called before a connection is read, without the lock

	mu         sync.Mutex
	states     map[string]oauth.State
	connection *library.Connection
	claim      time.Time
	saves      int
	broken     error // what every write returns
}

func storeWith(c library.Connection) *memory { return &memory{connection: &c} }

func (m *memory) SaveState(_ context.Context, s oauth.State) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.states == nil {
		m.states = map[string]oauth.State{}
	}
	m.states[s.ID] = s
	return m.broken
}

func (m *memory) TakeState(_ context.Context, asked oauth.State) (oauth.State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.states[asked.ID]
	if m.broken != nil {
		return s, m.broken
	}
	if !ok || s.Session != asked.Session || s.User != asked.User {
		return oauth.State{}, library.ErrNotFound
	}
	delete(m.states, s.ID)
	return s, nil
}

func (m *memory) Connection(context.Context, int64, library.ConnectionID) (library.Connection, error) {
	if m.reading != nil {
		m.reading()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.connection == nil {
		return library.Connection{}, library.ErrNotFound
	}
	c := *m.connection
	c.Credentials = maps.Clone(c.Credentials)
	return c, nil
}

func (m *memory) ClaimRenewal(_ context.Context, c library.Connection, until time.Time) (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.connection == nil || m.connection.Generation != c.Generation {
		return time.Time{}, library.ErrNotFound
	}
	if m.broken == nil && m.claim.Before(time.Now()) {
		m.claim = until
		return time.Time{}, nil
	}
	return m.claim, m.broken
}

func (m *memory) SaveCredentials(_ context.Context, c library.Connection, claim time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return m.broken
	}
	if m.connection == nil || m.connection.Generation != c.Generation || !m.claim.Equal(claim) {
		return library.ErrNotFound
	}
	if !maps.Equal(c.Credentials, m.connection.Credentials) {
		m.saves++
	}
	m.claim = time.Time{}
	m.connection.Credentials = maps.Clone(c.Credentials)
	return nil
}

// set changes what is stored.
func (m *memory) set(c *library.Connection, broken error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.connection, m.broken = c, broken
}

func (m *memory) credentials() library.Credentials {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.connection.Credentials)
}

// endpoint is a token endpoint, and remembers the forms it was sent, in order.
type endpoint struct {
	*httptest.Server

	mu    sync.Mutex
	forms []url.Values
}

// answers starts a token endpoint that always says the same.
func answers(t *testing.T, status int, header http.Header, file string) *endpoint {
	text := golden(t, file)
	return serves(t, func(w http.ResponseWriter, _ *http.Request) { say(w, status, header, text) })
}

func serves(t *testing.T, answer http.HandlerFunc) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ParseForm() == nil {
			e.mu.Lock()
			e.forms = append(e.forms, r.PostForm)
			e.mu.Unlock()
		}
		answer(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) calls() []url.Values {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.forms
}

func say(w http.ResponseWriter, status int, header http.Header, text string) {
	kind := "application/json"
	if strings.HasPrefix(text, "<") {
		kind = "text/html; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	maps.Copy(w.Header(), header)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

func golden(t *testing.T, file string) string {
	t.Helper()
	if file == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join("testdata", "token", file))
	require.NoError(t, err)
	return string(text)
}

// inMemory is a network without sockets, for a bubble of fake time.
type inMemory func(*http.Request) (*http.Response, error)

func (f inMemory) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(text string) (*http.Response, error) {
	w := httptest.NewRecorder()
	say(w, http.StatusOK, nil, text)
	return w.Result(), nil
}

// requireMeans checks what an error means, but for its time.
func requireMeans(t *testing.T, class resilience.Class, category resilience.Category, scope resilience.Scope,
	err error) {
	t.Helper()
	require.Error(t, err)
	v := resilience.VerdictOf(err)
	require.Equal(t, [3]string{class.String(), category.String(), scope.String()},
		[3]string{v.Class.String(), v.Category.String(), v.Scope.String()}, err.Error())
}

// requireNoSecret checks that an error's text, in whatever form it is printed, holds none of the secrets.
func requireNoSecret(t *testing.T, err error, secrets ...string) {
	t.Helper()
	for ; err != nil; err = errors.Unwrap(err) {
		for _, s := range secrets {
			require.NotContains(t, err.Error(), s)
		}
	}
}
