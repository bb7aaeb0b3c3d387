package profile

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/export"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// feed answers with the latest listens as an Atom feed.
func (h *Handler) feed(c echo.Context) error {
	s, err := h.shared(c)
	if err != nil {
		return err
	}
	if !showing(s.Parts)[latest] {
		return gone()
	}
	ctx := c.Request().Context()
	p, err := h.gather(ctx, s, shown{latest: true}, mostLatest)
	if err != nil {
		return err
	}
	name, home := title(ctx, s.Name), h.address(s.Code)
	ids := map[string]int{}
	f := export.Feed{ID: home, Title: name, Language: words.From(ctx).Code(), Author: name, Home: home,
		Self: home + "/feed.atom", Updated: s.MadeAt, Entries: core.ViewAll(p.Latest, func(one song) export.FeedEntry {
			// The listen's id would reveal how many listens this server has.
			id := home + "#" + strconv.FormatInt(one.At.UnixMilli(), 10)
			if ids[id]++; ids[id] > 1 { // several listens at the same time
				id += "-" + strconv.Itoa(ids[id])
			}
			return export.FeedEntry{ID: id, URL: home, Title: one.Artist + " – " + one.Title, Summary: one.Album,
				At: one.At}
		})}
	text, err := f.Atom()
	if err != nil {
		return err
	}
	return c.Blob(http.StatusOK, "application/atom+xml; charset=utf-8", text)
}
