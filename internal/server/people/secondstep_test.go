package people_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/server/servertest"
)

// stepped turns the second step of Bea on, and returns her ID.
func stepped(t *testing.T, h *servertest.Household) int64 {
	t.Helper()
	u, err := h.DB.UserByName(t.Context(), "Bea")
	require.NoError(t, err)
	codes := accounts.NewSecondStep(h.DB)
	key, err := codes.Begin(t.Context(), u, "Reprise")
	require.NoError(t, err)
	code, err := totp.GenerateCode(key.Secret(), time.Now())
	require.NoError(t, err)
	_, err = codes.Confirm(t.Context(), u.ID, code)
	require.NoError(t, err)
	return u.ID
}

// An administrator turns off the second step of somebody who has lost the phone; the person reads who did.
func TestAnAdministratorResetsASecondStep(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		h := servertest.Public(t)
		bea := stepped(t, h)
		page := fmt.Sprint("/settings/people/", bea)
		h.As(bea)
		require.Equal(t, http.StatusForbidden, h.Do(http.MethodPost, page+"/second-step", "", "").Code)
		h.As(h.User)
		require.Contains(t, h.Page(page), "Bea signs in with a password and a code.")
		require.Contains(t, h.Page(page+"/second-step"), "Make sure that it&#39;s Bea who asks.")
		h.Submit(page+"/second-step", http.StatusSeeOther)
		require.NotContains(t, h.Page(page), "with a password and a code")
		require.Contains(t, h.Page("/activity"), "Ann turned off the second step of Bea.")
		h.Call(http.MethodDelete, fmt.Sprintf("/admin/users/%d/second-step", bea), "", http.StatusNoContent)
		own := fmt.Sprintf("/admin/users/%d/second-step", h.User)
		h.Call(http.MethodDelete, own, "", http.StatusUnprocessableEntity)

		h.As(0)
		w := h.Submit("/login", http.StatusSeeOther, "name", "bea", "password", servertest.Password)
		require.Equal(t, "/", w.Header().Get("Location"))
		require.Contains(t, h.Page("/notifications"), "Ann turned it off.")
		require.Contains(t, h.Page("/activity"), "Ann turned off the second step of Bea.")
		h.Page("/settings/account")
		all := h.Call(http.MethodGet, "/notifications?open=true", "", http.StatusOK)["notifications"]
		require.Empty(t, all, "seen where it is about")
	})
}
