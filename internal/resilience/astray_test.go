package resilience

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheSecondStrayAnswerInARowIsTold: one page may be a proxy's while the server restarts.
func TestTheSecondStrayAnswerInARowIsTold(t *testing.T) {
	stray := unavailable
	stray.Astray, stray.Mendable = true, true
	bubble(t, func(t *testing.T, b manager) {
		first := b.call(listens, stray)
		require.Equal(t, Began, first.Kind)
		require.True(t, first.State.Astray)
		require.False(t, first.State.Mendable)
		time.Sleep(time.Minute)
		require.Equal(t, Unchanged, b.call(listens, unavailable).Kind, "another failure lies between")
		require.False(t, b.State(listens).Astray)
		time.Sleep(2 * time.Minute)
		require.Equal(t, Unchanged, b.call(listens, stray).Kind)
		time.Sleep(5 * time.Minute)
		second := b.call(listens, stray)
		require.Equal(t, WentAstray, second.Kind)
		require.Equal(t, Waiting, second.State.Kind, "it is tried again all the same")
		require.True(t, second.State.Mendable)
		time.Sleep(10 * time.Minute)
		require.Equal(t, Unchanged, b.call(listens, stray).Kind, "it is told once")
		b.Retry(Key{User: listens.User, Connection: listens.Connection, Provider: listens.Provider})
		require.True(t, b.State(listens).Mendable, "nothing has shown that it is mended")
		require.Equal(t, Recovered, b.call(listens, well).Kind)
		require.Equal(t, State{}, b.State(listens))
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
		var e *AnswerError
		require.ErrorAs(t, err, &e)
		require.Equal(t, "https://music.example.org", e.MovedTo)
		require.True(t, e.Astray())
		astray := unavailable
		astray.Astray = true
		require.Equal(t, astray, VerdictOf(err))
	}
	for _, c := range []struct {
		e    AnswerError
		want bool
	}{
		{AnswerError{Status: 200, HTML: true}, true}, {AnswerError{Status: 404, HTML: true}, true},
		{AnswerError{Status: 502, HTML: true}, false}, {AnswerError{Status: 429, HTML: true}, false},
		{AnswerError{Status: 404}, false}, {AnswerError{Status: 304}, false},
	} {
		require.Equal(t, c.want, c.e.Astray(), c.e)
	}
}
