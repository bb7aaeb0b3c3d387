package music

import (
	"context"
	"net/url"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// newest is how many listens the page of an artist, an album or a track shows.
const newest = 10

// lately are the newest listens of an artist, with the way to all of them.
type lately struct {
	Title string
	Rows  []ui.Item
	All   ui.Link
}

// lately returns what the person who asks has heard by an artist. own says that the page is the artist's.
func (h *Handler) lately(c echo.Context, artist string, own bool) (lately, error) {
	ctx, f := c.Request().Context(), library.ListenFilter{User: core.UserOf(c).ID, Artist: artist}
	page, _, err := h.store.FindListens(ctx, f, "", newest)
	if err != nil || len(page) == 0 {
		return lately{}, err
	}
	total, err := h.store.CountFound(ctx, f)
	if err != nil {
		return lately{}, err
	}
	rows, err := h.rows.Of(ctx, f.User, page)
	return latelyOf(ctx, rows, artist, total, own), err
}

// latelyOf puts the newest of total listens of an artist into words. own says that the page is the artist's.
func latelyOf(ctx context.Context, rows []Row, artist string, total int, own bool) lately {
	v := lately{Title: words.T(ctx, "music.listens"), Rows: Items(ctx, rows),
		All: ui.Link{Label: words.T(ctx, "music.all_listens", "Count", total, "Artist", artist),
			URL: listensOf(artist)}}
	if !own {
		v.Title = words.T(ctx, "music.listens_by", "Artist", artist)
	}
	return v
}

// listensOf returns the address of the listens of an artist.
func listensOf(artist string) string { return "/listens?artist=" + url.QueryEscape(artist) }
