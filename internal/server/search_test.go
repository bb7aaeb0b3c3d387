package server

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
)

// names returns the names in a list of results.
func names(t *testing.T, answer map[string]any, list, field string) (all []string) {
	t.Helper()
	for _, one := range answer[list].([]any) {
		all = append(all, one.(map[string]any)[field].(string))
	}
	return all
}

func TestSearchFindsWhatWasHeardInAPageAndTheAPI(t *testing.T) {
	t.Parallel()
	h := newHousehold(t, delivery.Options{})
	h.heard("Hoppípolla", "Glósóli")
	h.playlist("Hopping", "Hoppípolla")
	all := h.call(http.MethodGet, "/search?q=HOPPIPOLA", "", http.StatusOK)
	require.Equal(t, []string{"Hoppípolla"}, names(t, all, "tracks", "name"))
	require.Equal(t, []string{"Hoppípolla"}, names(t, all, "listens", "track"))
	require.Empty(t, all["artists"])
	require.Empty(t, all["albums"])
	only := h.call(http.MethodGet, "/search?q=hop&kind=playlist", "", http.StatusOK)
	require.Equal(t, []string{"Hopping"}, names(t, only, "playlists", "name"))
	require.Empty(t, only["tracks"])
	require.Empty(t, h.call(http.MethodGet, "/search", "", http.StatusOK)["tracks"])
	h.call(http.MethodGet, "/search?q=a&kind=songs", "", http.StatusBadRequest)

	page := h.page("/search?q=hop")
	for _, text := range []string{"Hoppípolla", "Hopping", `href="/music/track/`, `href="/playlists/`, "3 results"} {
		require.Contains(t, page, text)
	}
	require.Contains(t, h.page("/search"), "Type a few letters")
	require.Contains(t, h.page("/search?q=%22+OR+%00*"), "Nothing found for")
	require.Contains(t, h.page("/listens"), `href="/search"`)

	other := h.other("Bob")
	h.as(other)
	require.Contains(t, h.page("/search?q=hop"), "Nothing found for")
}
