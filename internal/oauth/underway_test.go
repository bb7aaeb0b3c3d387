package oauth_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/oauth"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// roundTripper answers without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAStoppedRunRenewsNothing: a run whose stream was stopped meanwhile does not ask for a new token. Another
// run that waited for the same renewal may, and does.
//
// Promise: A stopped run renews no token: it would send a refused credential.
func TestAStoppedRunRenewsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		renewals := 0
		far := roundTripper(func(req *http.Request) (*http.Response, error) {
			renewals++
			return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(`{"access_token":"access-2","refresh_token":"refresh-2"}`))}, nil
		})
		store := storeWith(connection())
		store.reading = func() { time.Sleep(time.Second) }
		tokens, p := oauth.NewTokens(store, client(far)), provider("https://accounts.example/token")
		manager := backoff.New(backoff.Options{})
		key := backoff.Key{User: user, Connection: "spotify", Provider: "spotify", Stream: "listens"}
		stopped, _, _ := manager.Acquire(key, 1)
		same := stopped
		key.Stream = "playlists"
		other, _, _ := manager.Acquire(key, 1)

		var errs [2]error
		var got string
		go func() {
			_, errs[0] = tokens.Fresh(t.Context(), resilience.Call{Permit: &stopped}, p, connection(), "")
		}()
		synctest.Wait()
		go func() {
			got, errs[1] = tokens.Fresh(t.Context(), resilience.Call{Permit: &other}, p, connection(), "")
		}()
		synctest.Wait()
		same.Done(resilience.Verdict{Class: resilience.Fatal, Category: resilience.Permission,
			Scope: resilience.ScopeStream})
		time.Sleep(5 * time.Second) // each reads twice
		synctest.Wait()
		var met *backoff.NotBeforeError
		require.ErrorAs(t, errs[0], &met)
		require.Equal(t, backoff.Stopped, met.State.Kind)
		require.NoError(t, errs[1])
		require.Equal(t, "access-2", got)
		require.Equal(t, 1, renewals)
	})
}

// TestAnExchangeIsRepeatedWhileConnecting: one 503 of a token endpoint is no error for the person who waits. A renewal
// is not repeated.
//
// Promise: Reads and writes differ where the HTTP method doesn't: a play sent twice counts twice.
func TestAnExchangeIsRepeatedWhileConnecting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		far := roundTripper(func(req *http.Request) (*http.Response, error) {
			text, err := io.ReadAll(req.Body)
			require.NoError(t, err)
			sent = append(sent, string(text))
			status, body := 503, ""
			if len(sent)%2 == 0 {
				status, body = 200, `{"access_token":"access-2","refresh_token":"refresh-2"}`
			}
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(body))}, nil
		})
		p := provider("https://accounts.example/token")
		f := oauth.NewFlow(&memory{}, client(far))
		r := request(p)
		g, err := f.Complete(t.Context(), r, consent(begin(t, f, r)))
		require.NoError(t, err)
		require.Equal(t, "access-2", g.Credentials["access_token"])
		require.Len(t, sent, 2)
		require.Equal(t, sent[0], sent[1], "with its whole form")
		_, err = oauth.NewTokens(storeWith(connection()), client(far)).Fresh(t.Context(),
			resilience.Call{Eager: true}, p,
			connection(), "")
		require.Error(t, err)
		require.Len(t, sent, 3)
	})
}
