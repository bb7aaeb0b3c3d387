package players

import (
	"context"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/words"
	"reprise/web/ui"
)

// Glance returns a person's players for the start page, with what they play now; nil without any.
func (h *Handler) Glance(c echo.Context) (templ.Component, error) {
	all, err := h.all(c)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	now, items := h.playing(c), make([]ui.Item, len(all))
	for i, p := range all {
		items[i] = p.item(c.Request().Context(), now)
	}
	return glance(items), nil
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
