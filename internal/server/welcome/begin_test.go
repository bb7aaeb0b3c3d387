package welcome_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/providers/providertest"
	registered "reprise/internal/providers/registry"
	"reprise/internal/server/servertest"
)

// A start page without a connection begins the first steps with its one main button, also for those who ended them.
func TestEmptyStartPageBeginsTheFirstSteps(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Unregistered()
	h.As(h.Other("Ben"))
	for range 2 {
		page := h.Page("/")
		require.Contains(t, page, `id="begin"`)
		require.Equal(t, 1, strings.Count(page, `class="button"`), "one main action")
		require.NotContains(t, page, `id="notice-first-steps"`)
		w := h.Do(http.MethodGet, "/welcome", "", "")
		require.Equal(t, "/welcome/services", w.Header().Get("Location"))
		h.Submit("/welcome/end", http.StatusSeeOther)
	}
}

// With a connection, a member asks there for each service that an administrator has to set up first.
func TestMemberAsksForAnotherService(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Call(http.MethodDelete, "/connections/lastfm", "", http.StatusNoContent)
	h.Unregistered()
	require.NotContains(t, h.Page("/"), "Ask for Last.fm", "she sets it up herself")
	h.User = h.Other("Ben")
	h.As(h.User)
	h.Connect("navidrome")
	page := h.Page("/")
	require.Contains(t, page, `action="/ask/lastfm"`)
	require.Contains(t, page, ">Ask for Last.fm</button>")
	require.NotContains(t, page, `id="begin"`)
	h.Submit("/ask/lastfm", http.StatusSeeOther)
	require.Len(t, h.Call(http.MethodGet, "/asks", "", http.StatusOK)["asks"], 1)
}

// What has to be set up first stands apart, for an administrator and for a member. A server has the names that its
// owners look for.
func TestServicesThatNeedASetupStandApart(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Registry.Replace(providertest.New(registered.Describe("navidrome")))
	h.Unregistered()
	apart := func(heading string) {
		ready, later, found := strings.Cut(h.Page("/welcome/services"), "<h2>"+heading+"</h2>")
		require.True(t, found, heading)
		require.Contains(t, ready, "Navidrome, gonic, supysonic, Airsonic")
		require.Contains(t, later, "Last.fm")
	}
	apart("These need a setup of a few minutes")
	h.As(h.Other("Ben"))
	apart("The administrator has to set these up first")
}

// A form may have led here, from which no browser goes on to another site by itself, and nobody has to go.
func TestTheFirstStepsAskBeforeTheyLeadAway(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Registry.Replace(providertest.New(registered.Describe("spotify"), "client_id", "client"))
	h.User = h.Other("Ben")
	h.As(h.User)
	h.Do(http.MethodGet, "/welcome", "", "")
	h.Submit("/welcome/services", http.StatusSeeOther, "service", "spotify")
	page := h.Page("/welcome")
	require.Contains(t, page, `href="/connect/spotify?return_to=%2Fwelcome"`)
	require.Contains(t, page, `action="/welcome/later/spotify"`)
	h.Submit("/welcome/later/spotify", http.StatusSeeOther)
	require.Equal(t, http.StatusSeeOther, h.Do(http.MethodGet, "/welcome", "", "").Code)
}

// Status leads back to the first steps until the last one is done, and then no longer mentions them.
func TestTheFirstStepsEndWithTheLastService(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.User = h.Other("Ben")
	h.As(h.User)
	h.Do(http.MethodGet, "/welcome", "", "")
	h.Submit("/welcome/services", http.StatusSeeOther, "service", "navidrome", "service", "listenbrainz")
	h.Connect("navidrome")
	require.Contains(t, h.Page("/"), `id="notice-first-steps"`)
	h.Submit("/welcome/later/listenbrainz", http.StatusSeeOther)
	require.NotContains(t, h.Page("/"), `id="notice-first-steps"`)
}
