package imports_test

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/demo"
	"reprise/internal/server/servertest"
)

func TestProgramsImportAFile(t *testing.T) {
	servertest.InBubble(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)))
		h := servertest.New(t, delivery.Options{})
		var file bytes.Buffer
		require.NoError(t, demo.WriteSpotifyExport(&file, 1, 10, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)))
		w := h.Do(http.MethodPost, "/api/v1/imports?provider=spotify&name=a.zip", file.String(), "application/zip")
		require.Equal(t, http.StatusCreated, w.Code, w.Body)
		id := h.Call(http.MethodGet, "/imports", "", http.StatusOK)["imports"].([]any)[0].(map[string]any)["id"]
		h.Call(http.MethodDelete, "/imports/"+id.(string), "", http.StatusNoContent)
	})
}
