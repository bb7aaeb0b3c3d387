package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// keyed sends a call with an Idempotency-Key.
func keyed(h *servertest.Household, key, path, body string) *httptest.ResponseRecorder {
	h.T.Helper()
	r := httptest.NewRequestWithContext(h.T.Context(), http.MethodPost, "/api/v1"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A program whose answer was lost sends the call again, with the same key.
func TestACallWithAKeyIsDoneOnce(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		once := func(key, path, body string) *httptest.ResponseRecorder {
			first, again := keyed(h, key, path, body), keyed(h, key, path, body)
			require.Less(t, first.Code, 300, "%s: %s", path, first.Body)
			require.Empty(t, first.Header().Get("Idempotent-Replayed"))
			require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
			for _, name := range []string{"Content-Type", "Cache-Control"} {
				require.Equal(t, first.Header().Get(name), again.Header().Get(name))
			}
			require.Equal(t, []any{first.Code, first.Body.String()}, []any{again.Code, again.Body.String()})
			return first
		}
		listen := `{"track":"Glósóli","artist":"Sigur Rós","played_at":"1999-01-01T12:00:00Z"}`
		once("a", "/listens", listen)
		once("b", "/admin/invitations", `{"name":"Ada","role":"member"}`)
		token := once("c", "/tokens", `{"name":"script","scope":"read"}`)
		require.Contains(t, token.Body.String(), "reprise_", "it is shown again to the one who has the key")
		file := h.Do(http.MethodGet, "/api/v1/export/listens.csv", "", "").Body.String()
		once("d", "/imports?provider=reprise&name=x.csv", file)
		for path, list := range map[string]string{"/admin/invitations": "invitations", "/tokens": "tokens",
			"/imports": "imports", "/listens": "listens"} {
			require.Len(t, h.Call(http.MethodGet, path, "", http.StatusOK)[list], 1, path)
		}

		for path, body := range map[string]string{"/listens": strings.Replace(listen, "12:00", "13:00", 1),
			"/listens/delete": listen, "/listens?x=1": listen} {
			w := keyed(h, "a", path, body)
			require.Contains(t, []int{http.StatusUnprocessableEntity, http.StatusBadRequest}, w.Code, path)
		}
		require.Contains(t, keyed(h, "a", "/tokens", listen).Body.String(), "you've sent another call with this key")
		require.Equal(t, http.StatusBadRequest, keyed(h, strings.Repeat("k", 201), "/listens", listen).Code)

		// A refusal has done nothing, and may be mended.
		require.Equal(t, http.StatusUnprocessableEntity, keyed(h, "e", "/listens", `{"track":"Sæglópur"}`).Code)
		once("f", "/listens", strings.Replace(listen, "Glósóli", "Sæglópur", 1))

		ada := h.Other("Ada")
		h.As(ada)
		require.Equal(t, http.StatusCreated, keyed(h, "a", "/listens", listen).Code, "everybody has keys of their own")
		h.As(h.User)
		time.Sleep(24 * time.Hour)
		w := keyed(h, "b", "/admin/invitations", `{"name":"Ben","role":"member"}`)
		require.Equal(t, http.StatusCreated, w.Code, "a key may be used again after a day")
	})
}

func TestTwoCallsWithOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	var calls sync.WaitGroup
	answers := make([]*httptest.ResponseRecorder, 30)
	for i := range answers {
		calls.Go(func() {
			answers[i] = keyed(h, "a", "/admin/invitations", `{"name":"Ada","role":"member"}`)
		})
	}
	calls.Wait()
	done := ""
	for _, w := range answers {
		if w.Code == http.StatusConflict {
			require.Equal(t, "1", w.Header().Get("Retry-After"))
			continue
		}
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
		require.Contains(t, []string{"", w.Body.String()}, done)
		done = w.Body.String()
	}
	require.NotEmpty(t, done)
	require.Len(t, h.Call(http.MethodGet, "/admin/invitations", "", http.StatusOK)["invitations"], 1)
}
