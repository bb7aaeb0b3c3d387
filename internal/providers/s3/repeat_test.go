package s3_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

// TestOne503WhileConnectingAStorage: the small object of the test is written again.
//
// Promise: Reads and writes differ where the HTTP method doesn't: a play sent twice counts twice.
func TestOne503WhileConnectingAStorage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := map[string]int{}
		s := &storage{objects: map[string]*stored{}}
		s.before = func(r *http.Request) (int, http.Header, string) {
			if asked[r.Method]++; asked[r.Method] == 1 {
				return 503, nil, ""
			}
			return 0, nil, ""
		}
		_, err := s.openFor(resilience.Call{Eager: true}).Prove(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2, asked["PUT"])
		require.Equal(t, 2, asked["GET"])
	})
}
