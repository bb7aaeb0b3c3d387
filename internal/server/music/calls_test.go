package music_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/server/servertest"
)

func TestProgramsReadListensAndTheirMusic(t *testing.T) {
	t.Parallel()
	h := servertest.New(t, delivery.Options{})
	h.Call(http.MethodPost, "/listens",
		`{"track":"Ágætis byrjun","artist":"Sigur Rós","album":"( )","played_at":"2024-05-01T12:00:00Z"}`,
		http.StatusCreated)
	require.Len(t, h.Call(http.MethodGet, "/listens", "", http.StatusOK)["listens"], 1)
	for kind, name := range map[string]string{"artists": "Sigur Rós", "albums": "( )", "tracks": "Ágætis byrjun"} {
		found := h.Call(http.MethodGet, "/search?q="+url.QueryEscape("Sigur"), "", http.StatusOK)[kind].([]any)
		require.Len(t, found, 1, kind)
		id := found[0].(map[string]any)["id"].(string)
		require.Equal(t, name, h.Call(http.MethodGet, "/"+kind+"/"+id, "", http.StatusOK)["name"])
	}
}
