package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/server/servertest"
)

// pausing is a body whose sender waits after the first byte until something has happened.
type pausing struct {
	begun bool
	first func()
	rest  io.Reader
}

func (p *pausing) Read(b []byte) (int, error) {
	if !p.begun {
		p.begun = true
		return p.rest.Read(b[:1])
	}
	if p.first != nil {
		p.first()
		p.first = nil
	}
	return p.rest.Read(b)
}

// slowly sends a request whose body arrives only after something has happened.
func slowly(b *servertest.Browser, method, path, body string, happens func(),
	headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(b.T.Context(), method, path,
		&pausing{first: happens, rest: strings.NewReader(body)})
	r.Header.Set("Content-Type", "application/json")
	if strings.Contains(body, "=") {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	r.RemoteAddr = b.Address + ":1"
	for _, c := range b.Cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

// Somebody who is about to lose a right keeps requests open, and finishes them afterwards.
func TestARequestFinishedTooLateIsRefused(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		ctx := t.Context()
		mal, err := h.Accounts.Create(ctx, "Mal", servertest.Password, accounts.Admin, false)
		require.NoError(t, err)
		role := func(to string) func() {
			return func() {
				_, err := h.Accounts.SetRole(ctx, mal.ID, to)
				require.NoError(t, err)
			}
		}
		b := h.Browser("192.0.2.1", servertest.Firefox, "Mal")
		for _, try := range [][3]string{
			{http.MethodPost, "/api/v1/admin/invitations", `{"role":"admin"}`},
			{http.MethodPatch, fmt.Sprint("/api/v1/admin/users/", mal.ID), `{"role":"admin"}`},
			{http.MethodPost, "/settings/people/1/reset", "a=b"},
			{http.MethodPost, fmt.Sprint("/settings/people/", mal.ID, "/role"), "role=admin"},
		} {
			role(accounts.Admin)()
			w := slowly(b, try[0], try[1], try[2], role(accounts.Member))
			require.Equal(t, http.StatusForbidden, w.Code, "%s: %s", try[1], w.Body)
		}
		invited, err := h.DB.Invitations(ctx)
		require.NoError(t, err)
		require.Empty(t, invited)
		u, err := h.DB.UserByID(ctx, mal.ID)
		require.NoError(t, err)
		require.Equal(t, accounts.Member, u.Role)

		_, secret, err := accounts.MakeToken(ctx, h.DB, u, accounts.TokenRequest{Name: "t", Scope: accounts.Operate})
		require.NoError(t, err)
		program := &servertest.Browser{Household: h, Address: "192.0.2.1"}
		w := slowly(program, http.MethodPost, "/api/v1/channels", `{"url":"ntfy://ntfy.sh/t"}`, func() {
			all, err := h.DB.Tokens(ctx, mal.ID)
			require.NoError(t, err)
			require.NoError(t, h.DB.DeleteToken(ctx, mal.ID, all[0].ID))
		}, "Authorization", "Bearer "+secret)
		require.Equal(t, http.StatusUnauthorized, w.Code, "its token was revoked meanwhile")
	})
}

func TestAnEndedSessionLeavesNothingBehind(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		owner := h.Browser("192.0.2.1", servertest.Firefox, "Bea")
		end := func() { require.Equal(t, http.StatusOK, owner.Ask(http.MethodDelete, "/api/v1/sessions", "").Code) }
		for _, try := range [][2]string{
			{"/api/v1/tokens", `{"name":"late","scope":"operate"}`},
			{"/settings/programs", "name=late&scope=operate"},
			{"/api/v1/imports?provider=spotify&name=Streaming_History_Audio_2023.json",
				`[{"ts":"2023-01-01T10:00:00Z","ms_played":200000}]`},
		} {
			thief := h.Browser("192.0.2.66", servertest.Firefox, "Bea")
			w := slowly(thief, http.MethodPost, try[0], try[1], end)
			require.Contains(t, []int{http.StatusUnauthorized, http.StatusSeeOther}, w.Code, "%s: %s", try[0], w.Body)
			require.False(t, thief.IsSignedIn())
		}
		bea, err := h.DB.UserByName(t.Context(), "Bea")
		require.NoError(t, err)
		tokens, err := h.DB.Tokens(t.Context(), bea.ID)
		require.NoError(t, err)
		require.Empty(t, tokens, "a new password would not end it")
		all, err := h.DB.Imports(t.Context(), bea.ID)
		require.NoError(t, err)
		require.Empty(t, all)
	})
}
