package connections

import (
	"cmp"
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/players"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
)

// nowView is the page for a phone's screen.
type nowView struct {
	Playing  []ui.Item
	Headline headline
	Services []CardView // those that need a person first
	Latest   []ui.Item
}

// These are as many as fit beside the services on a small screen: of what is playing, and of the newest listens.
const (
	playingShown = 2
	latestShown  = 3
)

// now answers for the page for a phone's screen.
func (h *overview) now(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c)
	all, err := h.inOrder(ctx, user.ID)
	if err != nil {
		return err
	}
	open, err := h.core.Open(ctx, user.ID)
	if err != nil {
		return err
	}
	r := readerOf(user, core.NowPath, open)
	v := nowView{}
	if v.Headline, err = h.headline(ctx, all, r); err != nil {
		return err
	}
	for _, one := range all {
		v.Services = append(v.Services, newCard(ctx, one, r))
	}
	hears, err := h.players.Hears(c)
	if err != nil {
		return err
	}
	if v.Playing, err = h.playing(ctx, hears); err != nil {
		return err
	}
	if v.Latest, err = h.newest(ctx, user.ID, latestShown); err != nil {
		return err
	}
	return h.core.ShowSmall(c, words.T(ctx, "now.title"), nowPage(v))
}

// playing returns rows for what a person hears.
func (h *overview) playing(ctx context.Context, hears []players.Playing) ([]ui.Item, error) {
	hears = hears[:min(len(hears), playingShown)]
	links, err := h.rows.Links(ctx, core.ViewAll(hears, func(p players.Playing) library.Track { return p.Track })...)
	if err != nil {
		return nil, err
	}
	items := make([]ui.Item, len(hears))
	for i, p := range hears {
		row := music.Row{StoredListen: library.StoredListen{Listen: library.Listen{Track: p.Track}}, Links: links[i]}
		picture := row.Picture(ctx)
		items[i] = ui.Item{ID: "now-" + string(p.From), Picture: &picture, At: p.Since,
			Title: ui.Named{Text: cmp.Or(links[i].TrackName, p.Track.Title)},
			By:    []ui.Named{{Text: cmp.Or(links[i].ArtistName, p.Track.Artist)}, {Text: p.Name}}}
	}
	return items, nil
}

// inOrder returns a person's connections, those that need a person first.
func (h *overview) inOrder(ctx context.Context, user int64) ([]Connection, error) {
	all, err := h.statuses.All(ctx, user)
	slices.SortStableFunc(all, func(a, b Connection) int { return attention(b) - attention(a) })
	return all, err
}
