package music_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

// Promise: A track is loved with one button, and the loved tracks are on a page.
func TestATrackIsLovedOnItsPage(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	require.Contains(t, h.Page("/loved"), "No loved tracks yet.")
	h.Call(http.MethodPost, "/listens",
		`{"track":"Svefn-g-englar","artist":"Sigur Rós","played_at":"2024-05-01T12:00:00Z"}`, http.StatusCreated)
	tracks := h.Call(http.MethodGet, "/search?q=englar", "", http.StatusOK)["tracks"].([]any)
	id := tracks[0].(map[string]any)["id"].(string)
	page := "/music/track/" + id
	require.Contains(t, h.Page(page), ">Love</button>")
	h.Submit(page+"/love", http.StatusSeeOther)
	require.Contains(t, h.Page(page), "Remove from loved tracks")
	require.Contains(t, h.Page("/loved"), "Svefn-g-englar")
	require.Contains(t, h.Page("/loved"), "1 track, the latest first.")
	loves := h.Call(http.MethodGet, "/loves", "", http.StatusOK)
	require.EqualValues(t, 1, loves["total"])
	h.Submit(page+"/love", http.StatusSeeOther, "no", "1")
	require.Contains(t, h.Page(page), ">Love</button>")
	h.Call(http.MethodPut, "/tracks/"+id+"/love", "", http.StatusNoContent)
	require.EqualValues(t, 1, h.Call(http.MethodGet, "/loves?limit=1", "", http.StatusOK)["total"])
	h.Call(http.MethodDelete, "/tracks/"+id+"/love", "", http.StatusNoContent)
	h.Call(http.MethodPut, "/tracks/99999/love", "", http.StatusNotFound)
}
