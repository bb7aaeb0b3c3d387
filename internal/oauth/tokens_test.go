package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Promise: A token is renewed once and the call repeated once: a second refusal is the answer.
func TestFiftyAskAndOneRenews(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"for an hour":    golden(t, "renewed.json"),
		"for 20 seconds": `{"access_token":"access-2","refresh_token":"refresh-2","expires_in":20}`,
		"without end":    `{"access_token":"access-2","refresh_token":"refresh-2"}`,
		"odd end":        `{"access_token":"access-2","refresh_token":"refresh-2","expires_in":-1}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := serves(t, func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, nil, text) })
			tokens, p := oauth.NewTokens(storeWith(connection()), onLoopback(t)), provider(up.URL)
			got := make([]string, 50)
			var wg sync.WaitGroup
			for i := range got {
				wg.Go(func() {
					stale := []string{"", "access-1"}[i%2]
					got[i], _ = tokens.Fresh(t.Context(), resilience.Call{}, p, connection(), stale)
				})
			}
			wg.Wait()
			for _, token := range got {
				require.Equal(t, "access-2", token)
			}
			require.Len(t, up.calls(), 1)
			form := up.calls()[0]
			require.Equal(t, []string{"refresh_token", "refresh-1", "reprise"},
				[]string{form.Get("grant_type"), form.Get("refresh_token"), form.Get("client_id")})
		})
	}
}

func TestRenewedTokenIsStoredBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	up := answers(t, http.StatusOK, nil, "renewed.json")
	store := storeWith(connection())
	used := make(chan [2]string, 1)
	upstream := serves(t, func(w http.ResponseWriter, r *http.Request) {
		used <- [2]string{r.Header.Get("Authorization"), "Bearer " + store.credentials()["access_token"]}
		say(w, http.StatusOK, nil, `{}`)
	})
	base := onLoopback(t)
	require.NoError(t, call(t, oauth.NewTokens(store, base).Authorize(resilience.Call{Client: base}, provider(up.URL),
		connection()),
		http.MethodGet, upstream.URL, nil))
	require.Equal(t, [2]string{"Bearer access-2", "Bearer access-2"}, <-used)
}

func TestRefreshTokenAfterRenewal(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"renewed.json": "refresh-2",
		"renewed-without-refresh.json": "refresh-1"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			up := answers(t, http.StatusOK, nil, file)
			store := storeWith(connection())
			before := time.Now()
			_, err := oauth.NewTokens(store, onLoopback(t)).Fresh(t.Context(), resilience.Call{}, provider(up.URL),
				connection(), "")
			require.NoError(t, err)
			c := store.credentials()
			require.Equal(t, []string{"access-2", want}, []string{c["access_token"], c["refresh_token"]})
			renewAt, err := time.Parse(time.RFC3339, c["token_end"])
			require.NoError(t, err)
			require.WithinRange(t, renewAt, before.Add(59*time.Minute), time.Now().Add(59*time.Minute))
		})
	}
}

func TestTokenIsRenewedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		text  string
		good  time.Duration // since the first renewal
		again time.Duration
	}{
		{"an hour", `{"access_token":"access-2","expires_in":3600}`, 59*time.Minute - time.Second, 59 * time.Minute},
		{"half a minute", `{"access_token":"access-2","expires_in":30}`, 14 * time.Second, 15 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				store := storeWith(connection())
				tokens := oauth.NewTokens(store, client(
					inMemory(func(*http.Request) (*http.Response, error) { calls++; return answer(tt.text) })))
				ask := func() {
					c, err := store.Connection(t.Context(), user, "spotify")
					require.NoError(t, err)
					_, err = tokens.Fresh(t.Context(), resilience.Call{}, provider("https://accounts.example/token"),
						c, "")
					require.NoError(t, err)
				}
				start := time.Now()
				ask()
				time.Sleep(tt.good)
				ask()
				require.Equal(t, 1, calls)
				time.Sleep(tt.again - time.Since(start))
				ask()
				require.Equal(t, 2, calls)
			})
		})
	}
}

func TestReplacedConnection(t *testing.T) {
	t.Parallel()
	same := valid()
	same.Generation, same.Credentials = 2, library.Credentials{"access_token": "access-9", "refresh_token": "refresh-9"}
	other := same
	other.AccountID = "bob"
	for _, tt := range []struct {
		name   string
		now    *library.Connection
		during bool // while the provider answers
		want   string
	}{
		{"by the same account", &same, false, "access-9"},
		{"by another account", &other, false, ""},
		{"by the same account during the renewal", &same, true, ""},
		{"by another account during the renewal", &other, true, ""},
		{"removed", nil, false, ""},
		{"removed during the renewal", nil, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, text := storeWith(connection()), golden(t, "renewed.json")
			up := serves(t, func(w http.ResponseWriter, _ *http.Request) {
				store.set(tt.now, nil)
				say(w, http.StatusOK, nil, text)
			})
			if !tt.during {
				store.set(tt.now, nil)
			}
			token, err := oauth.NewTokens(store, onLoopback(t)).Fresh(t.Context(), resilience.Call{},
				provider(up.URL), connection(), "")
			require.Equal(t, tt.want, token)
			if tt.want == "" {
				requireMeans(t, resilience.Canceled, resilience.None, resilience.ScopeNone, err)
			} else {
				require.NoError(t, err)
			}
			if !tt.during {
				require.Empty(t, up.calls(), "a credential that was replaced is not sent again")
			}
			require.Zero(t, store.saves)
			require.Same(t, tt.now, store.connection)
		})
	}
}

func TestCallerEndsDuringRenewal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	text := golden(t, "renewed.json")
	up := serves(t, func(w http.ResponseWriter, _ *http.Request) {
		cancel()
		say(w, http.StatusOK, nil, text)
	})
	store := storeWith(connection())
	base := onLoopback(t)
	upstream := apiFor(t, "access-2", http.StatusUnauthorized, expired)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, upstream.URL, nil)
	require.NoError(t, err)
	authorized := oauth.NewTokens(store, base).Authorize(resilience.Call{Client: base}, provider(up.URL), connection())
	_, err = authorized.Send(req, resilience.Endpoint{Name: "GET /v1/me"})
	requireMeans(t, resilience.Canceled, resilience.None, resilience.ScopeNone, err)
	require.Empty(t, upstream.seen())
	c := store.credentials()
	require.Equal(t, []string{"access-2", "refresh-2"}, []string{c["access_token"], c["refresh_token"]})
}

func TestNextProcessUsesTheRenewedToken(t *testing.T) {
	t.Parallel()
	up := answers(t, http.StatusOK, nil, "renewed.json")
	store, p := storeWith(connection()), provider(up.URL)
	_, err := oauth.NewTokens(store, onLoopback(t)).Fresh(t.Context(), resilience.Call{}, p, connection(), "")
	require.NoError(t, err)
	next := oauth.NewTokens(store, onLoopback(t)) // the process was killed before it used the token
	c, err := store.Connection(t.Context(), user, "spotify")
	require.NoError(t, err)
	for name, c := range map[string]library.Connection{"as it is stored": c, "as it was read before": connection()} {
		token, err := next.Fresh(t.Context(), resilience.Call{}, p, c, "")
		require.NoError(t, err, name)
		require.Equal(t, "access-2", token, name)
	}
	require.Len(t, up.calls(), 1)
}

func TestStoreThatCannotTakeARenewedToken(t *testing.T) {
	t.Parallel()
	full := &resilience.LocalError{Problem: words.Plain("The disk is full."), Err: errors.New("disk full")}
	stored := connection()
	store, text := storeWith(stored), golden(t, "renewed.json")
	var fills sync.Once
	up := serves(t, func(w http.ResponseWriter, _ *http.Request) {
		fills.Do(func() { store.set(&stored, full) })
		say(w, http.StatusOK, nil, text)
	})
	p := provider(up.URL)
	tokens := oauth.NewTokens(store, onLoopback(t))
	for range 3 {
		token, err := tokens.Fresh(t.Context(), resilience.Call{}, p, connection(), "")
		require.ErrorIs(t, err, full)
		require.Empty(t, token, "what is not stored is not used")
	}
	require.Len(t, up.calls(), 1, "the old refresh token is spent")
	store.set(&stored, nil)
	token, err := tokens.Fresh(t.Context(), resilience.Call{}, p, connection(), "")
	require.NoError(t, err)
	require.Equal(t, "access-2", token)
	require.Equal(t, "refresh-2", store.credentials()["refresh_token"])
	require.Len(t, up.calls(), 1)

	later := connection() // once stored, the store is asked again
	later.Credentials = ended("access-2", "refresh-2")
	store.set(&later, nil)
	_, err = tokens.Fresh(t.Context(), resilience.Call{}, p, later, "access-2")
	require.NoError(t, err)
	require.Equal(t, "refresh-2", up.calls()[1].Get("refresh_token"))
}

func TestReplacedWhileATokenIsUnsaved(t *testing.T) {
	t.Parallel()
	stored := connection()
	store, text := storeWith(stored), golden(t, "renewed.json")
	up := serves(t, func(w http.ResponseWriter, _ *http.Request) {
		store.set(&stored, errors.New("disk full"))
		say(w, http.StatusOK, nil, text)
	})
	p := provider(up.URL)
	tokens := oauth.NewTokens(store, onLoopback(t))
	_, err := tokens.Fresh(t.Context(), resilience.Call{}, p, connection(), "")
	require.ErrorContains(t, err, "disk full")
	next := valid()
	next.Generation, next.Credentials = 2, library.Credentials{"access_token": "access-9", "refresh_token": "refresh-9"}
	store.set(&next, nil)
	token, err := tokens.Fresh(t.Context(), resilience.Call{}, p, connection(), "")
	require.NoError(t, err)
	require.Equal(t, "access-9", token)
	require.Zero(t, store.saves)
}

// Somebody who was refused joins somebody who was not, and whom the store can still help.
func TestARefusedTokenIsNotTakenFromARenewal(t *testing.T) {
	t.Parallel()
	text := `{"access_token":"access-3","expires_in":3600}`
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		stored := valid()
		stored.Credentials["access_token"] = "access-2"
		store, goOn := storeWith(stored), make(chan struct{})
		store.reading = func() { <-goOn }
		tokens := oauth.NewTokens(store, client(inMemory(
			func(*http.Request) (*http.Response, error) { calls++; return answer(text) })))
		p := provider("https://accounts.example/token")
		var first, second string
		var wg sync.WaitGroup
		wg.Go(func() { first, _ = tokens.Fresh(t.Context(), resilience.Call{}, p, connection(), "") })
		synctest.Wait()
		wg.Go(func() { second, _ = tokens.Fresh(t.Context(), resilience.Call{}, p, connection(), "access-2") })
		synctest.Wait()
		close(goOn)
		wg.Wait()
		require.Equal(t, []string{"access-2", "access-3"}, []string{first, second})
		require.Equal(t, 1, calls)
	})
}
