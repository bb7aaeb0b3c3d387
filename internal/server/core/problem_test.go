package core

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/oauth"
)

func TestJoinedErrorHasOneTitle(t *testing.T) {
	t.Parallel()
	k, err := New(Options{BaseURL: "http://127.0.0.1:8420", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	c := echo.New().NewContext(r, httptest.NewRecorder())
	for range 50 {
		p := k.Problem(c, errors.Join(library.ErrNotFound, accounts.ErrTaken, oauth.ErrState))
		require.Equal(t, "This link no longer works", p.Title, "the most specific error wins")
	}
}
