package music

import (
	"context"

	"github.com/labstack/echo/v4"

	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// newest is how many listens the page of an artist, an album or a track shows.
const newest = 10

// lately holds the newest listens of an artist, an album or a track, and the link to all of them.
type lately struct {
	Title string
	Rows  []ui.Item
	All   ui.Link
}

// lately returns the newest listens of the subject of a page.
func (h *Handler) lately(c echo.Context, all HeardMusic) (lately, error) {
	rows, err := h.rows.Of(c.Request().Context(), core.UserOf(c).ID, all.newest)
	if err != nil || len(rows) == 0 {
		return lately{}, err
	}
	return latelyOf(c.Request().Context(), rows, all.Music), nil
}

// latelyOf returns the newest listens as rows of the page.
func latelyOf(ctx context.Context, rows []Row, v Music) lately {
	return lately{Title: words.T(ctx, "music.listens"), Rows: Items(ctx, rows),
		All: ui.Link{Label: words.T(ctx, "music.all_listens", "Count", v.Plays),
			URL: "/listens?" + v.Kind + "=" + v.ID}}
}
