package asks_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestMembersAskAdministrators(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Unregistered()
	ann := h.User
	ben, eve := h.Other("Ben"), h.Other("Eve")
	ask := func(status int) map[string]any {
		return h.Call(http.MethodPost, "/asks", `{"provider":"lastfm"}`, status)
	}
	ask(http.StatusConflict) // an administrator
	h.As(ben)
	h.Call(http.MethodPost, "/asks", `{"provider":"napster"}`, http.StatusUnprocessableEntity)
	h.Call(http.MethodPost, "/asks", `{"provider":"spotify"}`, http.StatusConflict)
	asked := ask(http.StatusCreated)
	require.Equal(t, "setup", asked["need"])
	require.Equal(t, asked, ask(http.StatusCreated), "once")
	require.Equal(t, []any{any(asked)}, h.Call(http.MethodGet, "/asks", "", http.StatusOK)["asks"])
	require.Contains(t, h.Page("/activity"), "Ben asked the administrators for Last.fm.")
	h.As(eve)
	require.Empty(t, h.Call(http.MethodGet, "/asks", "", http.StatusOK)["asks"])
	h.Submit("/ask/lastfm", http.StatusSeeOther)
	h.As(ann)
	open := h.Call(http.MethodGet, "/notifications?open=true", "", http.StatusOK)["notifications"].([]any)
	require.Len(t, open, 1)
	require.Equal(t, "/setup/lastfm", open[0].(map[string]any)["action"].(map[string]any)["url"])
}

func TestAsksAreBounded(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Unregistered()
	h.As(h.Other("Ben"))
	for range 12 {
		h.Call(http.MethodPost, "/asks", `{"provider":"lastfm"}`, http.StatusCreated)
	}
	w := h.Do(http.MethodPost, "/api/v1/asks", `{"provider":"lastfm"}`, "application/json")
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
}
