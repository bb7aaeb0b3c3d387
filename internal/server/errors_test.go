package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/oauth"
)

func TestJoinedErrorHasOneTitle(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	c := s.echo.NewContext(r, httptest.NewRecorder())
	for range 50 {
		p := s.problemOf(c, errors.Join(library.ErrNotFound, accounts.ErrTaken, oauth.ErrState))
		require.Equal(t, "This link is no longer good", p.Title, "the most specific error wins")
	}
}
