package doctor

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
	"reprise/internal/config"
)

func TestHealthSaysWhatTheServerSays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		status  int
		answer  string
		want    string
		healthy bool
	}{
		{"ready", http.StatusOK, "ok\n", "Reprise works at ADDRESS.", true},
		{"busy", http.StatusServiceUnavailable, "loops: have not ticked\n",
			"Reprise at ADDRESS is not ready: loops: have not ticked.", false},
		{"other", http.StatusOK, "<html>", "Something answers at ADDRESS, but it isn't Reprise.", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/readyz" {
					http.NotFound(w, r)
					return
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
			}))
			defer s.Close()
			var out strings.Builder
			at := s.Listener.Addr().String()
			err := Health(t.Context(), at, nil, &out)
			require.Equal(t, strings.ReplaceAll(c.want, "ADDRESS", at)+"\n", out.String())
			if c.healthy {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, ErrProblems)
			}
		})
	}
}

func TestHealthWithoutAServer(t *testing.T) {
	t.Parallel()
	at := childtest.Address(t)
	var out strings.Builder
	require.ErrorIs(t, Health(t.Context(), at, nil, &out), ErrProblems)
	require.Equal(t, "Reprise does not answer at "+at+": nothing is listening on that port of "+at+
		". Check the address, and whether that server is running.\n", out.String())

	out.Reset()
	require.ErrorIs(t, Health(t.Context(), at, config.Problems{"One is wrong."}, &out), ErrProblems)
	require.Equal(t, "The settings cannot be used:\nOne is wrong.\n", out.String())
}
