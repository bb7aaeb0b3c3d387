package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/resilience"
	"reprise/internal/server/core"
	"reprise/internal/server/servertest"
	"reprise/internal/words"
)

// broken is a store of sessions whose database cannot be used.
type broken struct {
	core.SessionStore
	find, commit error
}

func (b *broken) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	if b.find != nil {
		return nil, false, b.find
	}
	return b.SessionStore.FindCtx(ctx, token)
}

func (b *broken) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	if b.commit != nil {
		return b.commit
	}
	return b.SessionStore.CommitCtx(ctx, token, data, expiry)
}

// The error has the database's own words and a link to try again. It replaces a page that was ready.
func TestEveryPageSaysThatTheDatabaseFails(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		require.Contains(t, h.Page("/listens"), "<h1>Listens</h1>")
		sessions := &broken{SessionStore: h.DB.Sessions()}
		h.Sessions = sessions
		h.Restart()
		full := &resilience.LocalError{Problem: words.Plain("The disk is full. Make room on it."),
			Err: context.DeadlineExceeded}
		for _, what := range []string{"looked up", "kept"} {
			*sessions = broken{SessionStore: h.DB.Sessions()}
			if what == "looked up" {
				sessions.find = full
			} else {
				sessions.commit = full
				h.Session = nil // so that there is a new one to be kept
			}
			w := h.Do(http.MethodGet, "/listens?before=x%26y", "", "")
			require.Equal(t, http.StatusServiceUnavailable, w.Code, what)
			require.NotEmpty(t, w.Header().Get("Retry-After"), what)
			require.Contains(t, w.Header().Get("Content-Type"), "text/html", what)
			require.NotEmpty(t, w.Header().Get("Content-Security-Policy"), what)
			require.Empty(t, w.Header().Get("Set-Cookie"), what)
			page := w.Body.String()
			require.Equal(t, 1, strings.Count(page, "<!doctype html>"), what)
			require.Contains(t, page, full.Problem.String(), what)
			require.Contains(t, page, `href="/listens?before=x%26y">Try again</a>`, what)
			require.NotContains(t, page, "<h1>Listens</h1>", what)

			w = h.Submit("/connections/spotify/pause", http.StatusServiceUnavailable)
			require.Empty(t, w.Header().Get("Location"), what)
			require.Equal(t, 1, strings.Count(w.Body.String(), full.Problem.String()), what)

			require.Equal(t, full.Problem.String(),
				h.Call(http.MethodGet, "/listens", "", http.StatusServiceUnavailable)["detail"], what)
			w = h.Do(http.MethodGet, "/api/v1/connections", "", "")
			require.NotEmpty(t, w.Header().Get("Retry-After"), what)
			require.Equal(t, 1, strings.Count(w.Body.String(), `"status"`), what)
		}
		*sessions = broken{SessionStore: h.DB.Sessions()}
		require.Contains(t, h.Page("/listens"), "<h1>Listens</h1>")
	})
}
