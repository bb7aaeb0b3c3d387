package search_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
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
	h := servertest.New(t, delivery.Options{})
	h.Heard("Hoppípolla", "Glósóli")
	h.Playlist("Hopping", "Hoppípolla")
	all := h.Call(http.MethodGet, "/search?q=HOPPIPOLA", "", http.StatusOK)
	require.Equal(t, []string{"Hoppípolla"}, names(t, all, "tracks", "name"))
	require.Equal(t, []string{"Hoppípolla"}, names(t, all, "listens", "track"))
	require.Empty(t, all["artists"])
	require.Empty(t, all["albums"])
	only := h.Call(http.MethodGet, "/search?q=hop&kind=playlist", "", http.StatusOK)
	require.Equal(t, []string{"Hopping"}, names(t, only, "playlists", "name"))
	require.Empty(t, only["tracks"])
	require.Empty(t, h.Call(http.MethodGet, "/search", "", http.StatusOK)["tracks"])
	h.Call(http.MethodGet, "/search?q=a&kind=songs", "", http.StatusBadRequest)

	page := h.Page("/search?q=hop")
	for _, text := range []string{"Hoppípolla", "Hopping", `href="/music/track/`, `href="/playlists/`, "3 results"} {
		require.Contains(t, page, text)
	}
	require.Contains(t, h.Page("/search"), "Type a few letters")
	require.Contains(t, h.Page("/search?q=%22+OR+%00*"), "Nothing found for")
	require.Contains(t, h.Page("/listens"), `href="/search"`)

	other := h.Other("Bob")
	h.As(other)
	require.Contains(t, h.Page("/search?q=hop"), "Nothing found for")
}
