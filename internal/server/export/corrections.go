package export

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/server/core"
	"reprise/internal/server/corrections"
)

const (
	correctionsFile = "corrections.jsonl"
	correctionsPath = "/export/" + correctionsFile
)

// correctionsAtOnce is the page size for reading corrections.
const correctionsAtOnce = 500

// writeCorrections writes the corrections of a user, one per line in the form of the API, newest first, and returns
// their number.
func (h *Handler) writeCorrections(ctx context.Context, w io.Writer, user int64) (n int, err error) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for before := ""; ; {
		page, next, err := h.store.Corrections(ctx, user, before, correctionsAtOnce)
		if err != nil {
			return n, err
		}
		for _, c := range page {
			if err := e.Encode(corrections.View(c)); err != nil {
				return n, err
			}
		}
		n += len(page)
		if before = next; before == "" {
			return n, nil
		}
	}
}

// corrections sends the corrections of the user of a request.
func (h *Handler) corrections(c echo.Context, _ *core.None) (out core.Sent[core.None], _ error) {
	u := core.UserOf(c)
	file := "reprise-corrections-" + nameOf(u, time.Now().UTC()) + ".jsonl"
	return out, h.core.Download(c, "application/x-ndjson", file, func(w io.Writer) error {
		_, err := h.writeCorrections(c.Request().Context(), w, u.ID)
		return err
	})
}
