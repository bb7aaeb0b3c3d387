package lastfm

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// TestFormsThatReadAreRepeated: all calls are forms. Those that only read are repeated after a moment's trouble, and
// what writes is not.
//
// Promise: Reads and writes differ where the HTTP method doesn't: a play sent twice counts twice.
func TestFormsThatReadAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := map[string]int{}
		far := healthy(t)
		a := open(func(r *http.Request) (int, http.Header, string) {
			method := form(r).Get("method")
			if asked[method]++; asked[method] == 1 {
				return 503, nil, ""
			}
			return far(r)
		})
		a.call.Eager = true
		ctx := t.Context()
		_, err := a.Prove(ctx)
		require.NoError(t, err)
		for _, err := range a.Listens(ctx, library.Span{}) {
			require.NoError(t, err)
			break
		}
		_, err = a.Submit(ctx, plays(1))
		require.Error(t, err)
		_, err = a.session(ctx, a.call, "a-token")
		require.NoError(t, err, "while connecting")
		require.Equal(t, map[string]int{userInfo: 2, recentTracks: 2, scrobble: 1, getSession: 2}, asked)
	})
}
