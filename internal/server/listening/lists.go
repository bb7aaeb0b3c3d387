package listening

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// tops fills in the top lists with their covers, and the tags of the top artists.
func (h *Handler) tops(c echo.Context, v *pageView, a *asked, found listening.Answer,
	names map[uint32]library.Entity) error {
	ctx := c.Request().Context()
	list := func(id, title string, rows []listening.Row, note func(listening.Row) string) (top, error) {
		items, err := h.items(ctx, a, rows, names, note)
		return top{id, title, items, a.csv(tableOf(id))}, err
	}
	tagged := core.ViewAll(found.Artists, func(r listening.Row) uint32 { return r.ID })
	for _, one := range []struct {
		to    *[]top
		id    string
		title string
		rows  []listening.Row
		note  func(listening.Row) string
	}{
		{&v.Tops, "artists", words.T(ctx, "listening.top_artists"), found.Artists, nil},
		{&v.Tops, "albums", words.T(ctx, "listening.top_albums"), found.Albums, nil},
		{&v.Tops, "tracks", words.T(ctx, "listening.top_tracks"), found.Tracks, nil},
		{&v.More, "new", words.T(ctx, "listening.discoveries"), a.discoveries(found), nil},
		{&v.More, "back", words.T(ctx, "listening.back"), found.Back[:min(5, len(found.Back))],
			func(r listening.Row) string {
				return words.T(ctx, "listening.away", "Count", int(r.Away.Hours()/24/365))
			}},
	} {
		if len(one.rows) == 0 {
			continue
		}
		all, err := list(one.id, one.title, one.rows, one.note)
		if err != nil {
			return err
		}
		*one.to = append(*one.to, all)
	}
	tags, err := h.store.TagsOf(ctx, tagged)
	if err != nil {
		return err
	}
	v.Tags = a.tags(found.Artists, tags)
	return nil
}

// tableOf returns the name of a list's table.
func tableOf(list string) string {
	if list == "new" {
		return "discoveries"
	}
	return list
}

// discoveries returns the artists first heard in the span. It returns none where every artist was new: they are the top
// artists.
func (a *asked) discoveries(found listening.Answer) []listening.Row {
	if a.Span.Name == listening.All || found.Totals.NewArtists == found.Totals.Artists {
		return nil
	}
	return found.New[:min(5, len(found.New))]
}

// mostTags caps the tags that the page offers.
const mostTags = 10

// tags returns the tags of the top artists, the most frequent first.
func (a *asked) tags(artists []listening.Row, tags map[uint32][]string) (chips []ui.Chip) {
	weight := map[string]int{}
	for _, r := range artists {
		for _, tag := range tags[r.ID] {
			weight[tag] += r.Listens
		}
	}
	var all []string
	for tag := range weight {
		all = append(all, tag)
	}
	slices.SortFunc(all, func(x, y string) int { return cmp.Or(weight[y]-weight[x], cmp.Compare(x, y)) })
	for _, tag := range all[:min(mostTags, len(all))] {
		chip := ui.Chip{Label: tag, URL: a.query("tag", tag), Current: tag == a.tag}
		if chip.Current {
			chip.URL = a.query("tag", "")
		}
		chips = append(chips, chip)
	}
	return chips
}

// items returns rows of artists, albums or tracks. The link of a row adds it to the page's filters.
func (h *Handler) items(ctx context.Context, a *asked, rows []listening.Row, names map[uint32]library.Entity,
	note func(listening.Row) string) ([]ui.Item, error) {
	tracks := core.ViewAll(rows, func(r listening.Row) library.Track { return names[r.ID].Pictured() })
	links, err := h.rows.Links(ctx, tracks...)
	if err != nil {
		return nil, err
	}
	items := make([]ui.Item, len(rows))
	for i, r := range rows {
		e := names[r.ID]
		picture := ui.Picture{Portrait: links[i].Portrait || e.Kind == library.KindArtist}
		if links[i].Picture != "" {
			picture.URL = "/art/" + links[i].Picture
		}
		item := ui.Item{Picture: &picture, Title: ui.Named{Text: title(e), URL: a.query(e.Kind,
			strconv.FormatUint(uint64(r.ID), 10))},
			Aside: ui.ShareOf(ui.Share{N: words.From(ctx).Number(r.Listens), Part: r.Listens * 100 / rows[0].Listens,
				Label: words.T(ctx, "listening.count", "Count", r.Listens), URL: a.page(e.Kind, r.ID)})}
		if e.Kind != library.KindArtist {
			item.By = []ui.Named{{Text: e.Artist}}
		}
		if note != nil {
			item.Note = note(r)
		}
		items[i] = item
	}
	return items, nil
}

// sources returns how many listens each connection reported. It returns an empty grid if there is only one.
func (h *Handler) sources(c echo.Context, a *asked, found listening.Answer) (ui.Grid, error) {
	ctx := c.Request().Context()
	if len(found.Sources) < 2 {
		return ui.Grid{}, nil
	}
	label, err := h.named(ctx, a)
	if err != nil {
		return ui.Grid{}, err
	}
	l := words.From(ctx)
	g := ui.Grid{Class: "sources-of", Columns: []string{words.T(ctx, "listening.source"),
		words.T(ctx, "listening.reported"), words.T(ctx, "listening.only")}}
	for _, s := range found.Sources {
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{
			ui.Linked(ui.Named{Text: label(s.Connection), URL: a.query("source", string(s.Connection))}),
			ui.Name(l.Number(s.Listens)), ui.Name(l.Number(s.Only))}})
	}
	return g, nil
}

// mostPlayers caps the players that the page lists.
const mostPlayers = 10

// players returns how many listens were played with each player; an empty grid if no source names any.
func (a *asked) players(ctx context.Context, found listening.Answer) (g ui.Grid) {
	g = ui.Grid{Class: "sources-of", Columns: []string{words.T(ctx, "listening.player"),
		words.T(ctx, "listening.played")}}
	for _, p := range found.Players[:min(mostPlayers, len(found.Players))] {
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{
			ui.Linked(ui.Named{Text: p.Name, URL: a.query("player", p.Name)}),
			ui.Name(words.From(ctx).Number(p.Listens))}})
	}
	return g
}
