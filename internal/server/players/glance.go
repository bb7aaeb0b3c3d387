package players

import (
	"context"
	"net/url"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/words"
	"reprise/web/ui"
)

// Glance returns what a person hears now, and their players, for the start page; nil without either.
func (h *Handler) Glance(c echo.Context) (templ.Component, error) {
	all, err := h.all(c)
	if err != nil {
		return nil, err
	}
	now, err := h.playing(c)
	if err != nil || len(all) == 0 && len(now) == 0 {
		return nil, err
	}
	ctx, items, read := c.Request().Context(), make([]ui.Item, len(all)), []ui.Item(nil)
	for i, p := range all {
		items[i] = p.item(ctx, now)
	}
	for _, n := range now {
		if !slices.ContainsFunc(all, func(p Player) bool { return p.ID == n.Player }) {
			read = append(read, ui.Item{ID: "now-" + n.Player, By: []ui.Named{{Text: n.what()}}, At: n.Since.Time,
				Title: ui.Named{Text: n.Name, URL: "/connections/" + url.PathEscape(n.Player)}})
		}
	}
	return glance(read, items), nil
}

// item is a player as a row.
func (p Player) item(ctx context.Context, now []NowPlaying) ui.Item {
	i := ui.Item{ID: "glance-" + p.ID, Title: ui.Named{Text: p.Name, URL: pathOf(p.ID)}, At: p.LastPlayAt.Time,
		Note: p.mark(ctx).Word}
	at := slices.IndexFunc(now, func(n NowPlaying) bool { return n.Player == p.ID })
	switch {
	case at >= 0:
		i.By, i.Note = []ui.Named{{Text: now[at].what()}}, words.T(ctx, "players.now_short")
	case p.State == "waiting":
		i.Note = words.T(ctx, "players.waiting")
	case p.Silent:
		i.Note = words.T(ctx, "players.silent")
	}
	return i
}

// what is the track and who plays it.
func (n NowPlaying) what() string { return n.Track + " – " + n.Artist }
