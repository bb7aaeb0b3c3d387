package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
)

// A start page without a connection begins the first steps with its one main button, also for those who ended them.
func TestEmptyStartPageBeginsTheFirstSteps(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, delivery.Options{})
	h.unregistered()
	h.as(h.other("Ben"))
	for range 2 {
		page := h.page("/")
		require.Contains(t, page, `id="begin"`)
		require.Equal(t, 1, strings.Count(page, `class="button"`), "one main action")
		require.NotContains(t, page, `id="notice-first-steps"`)
		w := h.do(http.MethodGet, "/welcome", "", "")
		require.Equal(t, "/welcome/services", w.Header().Get("Location"))
		h.submit("/welcome/end", http.StatusSeeOther)
	}
}

// With a connection, a member asks there for each service that an administrator has to set up first.
func TestMemberAsksForAnotherService(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, delivery.Options{})
	h.call(http.MethodDelete, "/connections/lastfm", "", http.StatusNoContent)
	h.unregistered()
	require.NotContains(t, h.page("/"), "Ask for Last.fm", "she sets it up herself")
	h.user = h.other("Ben")
	h.as(h.user)
	h.connect("navidrome")
	page := h.page("/")
	require.Contains(t, page, `action="/ask/lastfm"`)
	require.Contains(t, page, ">Ask for Last.fm</button>")
	require.NotContains(t, page, `id="begin"`)
	h.submit("/ask/lastfm", http.StatusSeeOther)
	require.Len(t, h.call(http.MethodGet, "/asks", "", http.StatusOK)["asks"], 1)
}

// Status leads back to the first steps until the last one is done, and then no longer mentions them.
func TestTheFirstStepsEndWithTheLastService(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, delivery.Options{})
	h.user = h.other("Ben")
	h.as(h.user)
	h.do(http.MethodGet, "/welcome", "", "")
	h.submit("/welcome/services", http.StatusSeeOther, "service", "navidrome", "service", "listenbrainz")
	h.connect("navidrome")
	require.Contains(t, h.page("/"), `id="notice-first-steps"`)
	h.submit("/welcome/later/listenbrainz", http.StatusSeeOther)
	require.NotContains(t, h.page("/"), `id="notice-first-steps"`)
}
