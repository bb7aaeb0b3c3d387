package server

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/providers/providertest"
	"reprise/internal/providers/registry"
)

// unregistered makes Last.fm a service that an administrator has to set up first.
func (h *household) unregistered() {
	h.Registry.Replace(providertest.New(registry.Describe("lastfm")))
}

func TestMembersAskAdministrators(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, delivery.Options{})
	h.unregistered()
	ann := h.user
	ben, eve := h.other("Ben"), h.other("Eve")
	ask := func(status int) map[string]any {
		return h.call(http.MethodPost, "/asks", `{"provider":"lastfm"}`, status)
	}
	ask(http.StatusConflict) // an administrator
	h.as(ben)
	h.call(http.MethodPost, "/asks", `{"provider":"napster"}`, http.StatusNotFound)
	h.call(http.MethodPost, "/asks", `{"provider":"spotify"}`, http.StatusConflict)
	asked := ask(http.StatusCreated)
	require.Equal(t, "setup", asked["need"])
	require.Equal(t, asked, ask(http.StatusCreated), "once")
	require.Equal(t, []any{any(asked)}, h.call(http.MethodGet, "/asks", "", http.StatusOK)["asks"])
	require.Contains(t, h.page("/activity"), "Ben asked the administrators for Last.fm.")
	h.as(eve)
	require.Empty(t, h.call(http.MethodGet, "/asks", "", http.StatusOK)["asks"])
	h.submit("/ask/lastfm", http.StatusSeeOther)
	h.as(ann)
	open := h.call(http.MethodGet, "/notifications?open=true", "", http.StatusOK)["notifications"].([]any)
	require.Len(t, open, 1)
	require.Equal(t, "/setup/lastfm", open[0].(map[string]any)["action"].(map[string]any)["url"])
}

func TestAsksAreBounded(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, delivery.Options{})
	h.unregistered()
	h.as(h.other("Ben"))
	for range 12 {
		h.call(http.MethodPost, "/asks", `{"provider":"lastfm"}`, http.StatusCreated)
	}
	w := h.do(http.MethodPost, "/api/v1/asks", `{"provider":"lastfm"}`, "application/json")
	require.Equal(t, http.StatusTooManyRequests, w.Code)
	require.NotEmpty(t, w.Header().Get("Retry-After"))
}
