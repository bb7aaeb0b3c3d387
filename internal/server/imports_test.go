package server

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/delivery"
	"reprise/internal/imports"
	"reprise/internal/library"
)

func TestConnectionPageShowsGaps(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		require.NotContains(t, h.page("/connections/spotify"), "When it was not read")
		at := func(hours int) time.Time { return time.Date(2026, 3, 3, hours, 0, 0, 0, time.UTC) }
		gap := func(g library.Gap) {
			_, err := h.db.SaveListens(t.Context(), library.Intake{User: h.user, Connection: "spotify", Gap: &g})
			require.NoError(t, err)
		}
		gap(library.Gap{From: at(0), To: at(5)})
		gap(library.Gap{From: at(10), To: at(50), LostTo: at(38)})
		page := h.page("/connections/spotify")
		require.Contains(t, page, "Spotify was not read: 0 listens were caught up, and nothing was lost.")
		require.Regexp(t, `no longer offered\.\s+<a href="#import">Fill it from Spotify's own export…</a>`, page)
		require.Contains(t, page, `action="/imports?provider=spotify"`)
		require.NotContains(t, h.page("/connections/navidrome"), `id="import"`, "nobody exports from there")

		v, err := h.db.AddImport(t.Context(), imports.Import{User: h.user, Connection: "spotify", Name: "<b>.zip",
			State: imports.Waiting, CreatedAt: time.Now()}, 3)
		require.NoError(t, err)
		v.State, v.Rows, v.BytesDone, v.BytesAll = imports.Running, 10, 100, 1000
		_, err = h.db.SaveImported(t.Context(), v,
			[]library.Listen{{Track: library.Track{Title: "T", Artist: "A"}, SourceID: "export/x:1",
				PlayedAt: at(20)}})
		require.NoError(t, err)
		page = h.page("/connections/spotify")
		require.Contains(t, page, "An import has brought 1 listen of it.")
		require.Contains(t, page, "&lt;b&gt;.zip")
		require.Contains(t, page, `value="10" max="100"`)
		one := h.call(http.MethodGet, "/imports", "", http.StatusOK)["imports"].([]any)[0].(map[string]any)
		require.InDelta(t, 100, one["rows_total"], 0.1)
		require.Equal(t, "running", one["state"])
	})
}

func TestOnlyImportsMayBeLarge(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		large := string(make([]byte, 300<<10))
		require.Equal(t, http.StatusRequestEntityTooLarge, h.do(http.MethodPost, "/api/v1/deliveries/redrive",
			large, "application/json").Code)
		require.Equal(t, http.StatusRequestEntityTooLarge, h.do(http.MethodPost, "/settings/password", large,
			"application/x-www-form-urlencoded").Code)
	})
}
