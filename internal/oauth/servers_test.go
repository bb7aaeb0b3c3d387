package oauth_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/resilience"
)

const tokenURL = "https://accounts.example/token"

// Promise: Of several servers one renews a token at a time.
func TestTwoServersRenewATokenOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, calls, answers := storeWith(connection()), 0, make(chan struct{})
		provides := client(inMemory(func(*http.Request) (*http.Response, error) {
			calls++
			<-answers
			return answer(`{"access_token":"access-2","refresh_token":"refresh-2","expires_in":3600}`)
		}))
		got := make([]string, 2)
		var wg sync.WaitGroup
		for i := range got {
			server := oauth.NewTokens(store, provides)
			wg.Go(func() {
				var err error
				got[i], err = server.Fresh(t.Context(), resilience.Call{}, provider(tokenURL), connection(), "")
				require.NoError(t, err)
			})
			synctest.Wait()
		}
		time.Sleep(5 * time.Second)
		close(answers)
		wg.Wait()
		require.Equal(t, []string{"access-2", "access-2"}, got)
		require.Equal(t, 1, calls)
	})
}

func TestAServerIsKilledWhileItRenews(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := storeWith(connection())
		killed := time.Now().Add(resilience.CallTimeout)
		_, err := store.ClaimRenewal(t.Context(), connection(), killed)
		require.NoError(t, err)
		tokens := oauth.NewTokens(store, client(inMemory(func(*http.Request) (*http.Response, error) {
			require.True(t, time.Now().After(killed), "the other server may still have been at it")
			return answer(`{"access_token":"access-2","expires_in":3600}`)
		})))
		token, err := tokens.Fresh(t.Context(), resilience.Call{}, provider(tokenURL), connection(), "")
		require.NoError(t, err)
		require.Equal(t, "access-2", token)
	})
}

// A server that was cut from the database gets an answer, and its claim has ended when it is back. The token that is
// stored stays, because it was issued later.
func TestATokenThatComesTooLateIsNotStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := storeWith(connection())
		tokens := oauth.NewTokens(store, client(inMemory(func(*http.Request) (*http.Response, error) {
			other := time.Now().Add(2 * time.Hour)
			store.claim = time.Time{} // it ended
			_, err := store.ClaimRenewal(t.Context(), connection(), other)
			require.NoError(t, err)
			later := valid()
			later.Credentials["access_token"] = "access-3"
			require.NoError(t, store.SaveCredentials(t.Context(), later, other))
			return answer(`{"access_token":"access-2","expires_in":3600}`)
		})))
		_, err := tokens.Fresh(t.Context(), resilience.Call{}, provider(tokenURL), connection(), "")
		requireMeans(t, resilience.Canceled, resilience.None, resilience.ScopeNone, err)
		require.Equal(t, "access-3", store.credentials()["access_token"])
	})
}

func TestARefusedRenewalIsTriedAgainAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, calls, began := storeWith(connection()), 0, time.Now()
		tokens := oauth.NewTokens(store, client(inMemory(func(*http.Request) (*http.Response, error) {
			calls++
			return nil, http.ErrServerClosed
		})))
		for range 2 {
			_, err := tokens.Fresh(t.Context(), resilience.Call{}, provider(tokenURL), connection(), "")
			require.Error(t, err)
		}
		require.Equal(t, 2, calls)
		require.Zero(t, time.Since(began))
		require.Equal(t, library.Credentials(connection().Credentials), store.credentials())
	})
}
