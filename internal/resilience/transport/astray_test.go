package transport

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/backofftest"
)

// TestTheSecondStrayAnswerInARowIsTold: one page may be a proxy's while the server restarts.
//
// Promise: An answer astray needs somebody from the second in a row: one may be a proxy's.
func TestTheSecondStrayAnswerInARowIsTold(t *testing.T) {
	stray := backofftest.Unavailable
	stray.Astray, stray.Mendable = true, true
	backofftest.Bubble(t, func(t *testing.T, b backofftest.Manager) {
		first := b.Call(backofftest.Listens, stray)
		require.Equal(t, backoff.Began, first.Kind)
		require.True(t, first.Fault.Astray)
		require.False(t, first.Fault.Mendable)
		time.Sleep(time.Minute)
		require.Equal(t, backoff.Unchanged, b.Call(backofftest.Listens, backofftest.Unavailable).Kind,
			"another failure lies between")
		require.False(t, b.State(backofftest.Listens).Astray)
		time.Sleep(2 * time.Minute)
		require.Equal(t, backoff.Unchanged, b.Call(backofftest.Listens, stray).Kind)
		time.Sleep(5 * time.Minute)
		second := b.Call(backofftest.Listens, stray)
		require.Equal(t, backoff.WentAstray, second.Kind)
		require.Equal(t, backoff.Waiting, second.Fault.Kind, "it is tried again all the same")
		require.True(t, second.Fault.Mendable)
		time.Sleep(10 * time.Minute)
		require.Equal(t, backoff.Unchanged, b.Call(backofftest.Listens, stray).Kind, "it is told once")
		b.Retry(backoff.Key{User: backofftest.Listens.User, Connection: backofftest.Listens.Connection,
			Provider: backofftest.Listens.Provider})
		require.True(t, b.State(backofftest.Listens).Mendable, "nothing has shown that it is mended")
		require.Equal(t, backoff.Recovered, b.Call(backofftest.Listens, backofftest.Well).Kind)
		require.Equal(t, backoff.State{}, b.State(backofftest.Listens))
	})
}

func TestARedirectElsewhereNamesItsAddress(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 307, 308} {
		far := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "https://ada:secret@music.example.org/rest/ping.view?p=secret")
			w.WriteHeader(status)
		})
		_, err := far.get(t, t.Context())
		var e *resilience.AnswerError
		require.ErrorAs(t, err, &e)
		require.Equal(t, "https://music.example.org", e.MovedTo)
		require.True(t, e.Astray())
		astray := backofftest.Unavailable
		astray.Astray = true
		require.Equal(t, astray, resilience.VerdictOf(err))
	}
	for _, c := range []struct {
		e    resilience.AnswerError
		want bool
	}{
		{resilience.AnswerError{Status: 200, HTML: true}, true}, {resilience.AnswerError{Status: 404, HTML: true},
			true},
		{resilience.AnswerError{Status: 502, HTML: true}, false}, {resilience.AnswerError{Status: 429, HTML: true},
			false},
		{resilience.AnswerError{Status: 404}, false}, {resilience.AnswerError{Status: 304}, false},
	} {
		require.Equal(t, c.want, c.e.Astray(), c.e)
	}
}
