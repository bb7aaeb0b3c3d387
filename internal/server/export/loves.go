package export

import (
	"context"
	"encoding/json"
	"io"

	"reprise/internal/library"
	"reprise/internal/server/loves"
)

// lovedFile is the file with the tracks that a person loves or hates.
const lovedFile = "loved.jsonl"

// lovesAtOnce is the page size for reading them.
const lovesAtOnce = 500

// writeLoves writes what a person thinks of tracks, one per line, the latest first, and returns their number.
func (h *Handler) writeLoves(ctx context.Context, w io.Writer, user int64) (n int, err error) {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for {
		page, _, err := h.store.Loves(ctx, library.LoveFilter{User: user}, n, lovesAtOnce)
		if err != nil || len(page) == 0 {
			return n, err
		}
		for _, v := range page {
			if err := e.Encode(loves.View(v)); err != nil {
				return n, err
			}
		}
		n += len(page)
	}
}
