package people_test

import (
	"fmt"
	"net/http"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestProgramsManagePeople(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.New(t, delivery.Options{})
		codeOf := func(link map[string]any) string { return path.Base(link["url"].(string)) }
		invited := h.Call(http.MethodPost, "/admin/invitations", `{"name":"Carol"}`, http.StatusCreated)
		h.Call(http.MethodPost, "/invitation",
			fmt.Sprintf(`{"code":%q,"name":"Carol","password":"a good password"}`, codeOf(invited)), http.StatusCreated)
		ben, err := h.Accounts.Create(t.Context(), "Ben", "the first password", accounts.Member, false)
		require.NoError(t, err)
		reset := h.Call(http.MethodPost, fmt.Sprintf("/admin/users/%d/reset", ben.ID), "", http.StatusCreated)
		h.Call(http.MethodPost, "/reset",
			fmt.Sprintf(`{"code":%q,"password":"the second password"}`, codeOf(reset)), http.StatusNoContent)

		require.Equal(t, "Benjamin", h.Call(http.MethodPatch, "/admin/users/ben", `{"name":"Benjamin"}`,
			http.StatusOK)["name"])
		h.Call(http.MethodDelete, "/admin/users/Benjamin/sessions", "", http.StatusOK)

		h.Call(http.MethodPost, "/admin/invitations", `{"name":"Dora"}`, http.StatusCreated)
		open := h.Call(http.MethodGet, "/admin/invitations", "", http.StatusOK)["invitations"].([]any)
		require.Len(t, open, 1, "the first one was accepted")
		h.Call(http.MethodDelete, "/admin/invitations/"+open[0].(map[string]any)["id"].(string), "",
			http.StatusOK)

		h.As(ben.ID)
		h.Call(http.MethodDelete, "/session", "", http.StatusNoContent)
		h.Call(http.MethodDelete, "/account", `{"password":"the second password"}`, http.StatusAccepted)
	})
}
