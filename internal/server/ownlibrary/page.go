package ownlibrary

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/server/reviews"
	"reprise/internal/words"
	"reprise/web/ui"
)

// pageView is the page.
type pageView struct {
	Head   ui.Heading
	Empty  string      // says why nothing is counted; empty when something is
	Next   []ui.Action // what to do then
	Lead   []string
	Years  ui.Bars
	Albums []ui.Item
	File   *ui.Action // nil without albums
}

// some is how many albums the page adds up, to say what a few would bring.
const some = 5

func (h *Handler) page(c echo.Context) error {
	ctx := c.Request().Context()
	v := pageView{Head: ui.Heading{Title: words.T(ctx, "ownlibrary.title"), Back: "/listening",
		BackTo: words.T(ctx, "listening.title")}}
	n, err := h.count(ctx, c, mostAlbums)
	switch {
	case err != nil:
		return err
	case n.songs == 0:
		err = h.nothing(c, &v)
	case n.Listens == 0:
		v.Empty = words.T(ctx, "ownlibrary.unheard")
		v.Next = []ui.Action{{Label: words.T(ctx, "listens.import"), URL: "/imports", Main: true}}
	default:
		err = h.show(ctx, &v, n)
	}
	if err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, v.Head.Title, ownPage(v))
}

// nothing says why no library has been read.
func (h *Handler) nothing(c echo.Context, v *pageView) error {
	ctx := c.Request().Context()
	v.Empty = words.T(ctx, "ownlibrary.none")
	v.Next = []ui.Action{{Label: words.T(ctx, "ownlibrary.connect"), URL: "/connect/navidrome", Main: true}}
	all, err := h.store.UserConnections(ctx, core.UserOf(c).ID)
	for _, conn := range all {
		p := h.core.Registry.Get(conn.Provider())
		if p == nil || !p.Pulls(library.Songs) {
			continue
		}
		read, err := h.store.Position(ctx, conn.User, conn.ID, library.Songs)
		if err != nil {
			return err
		}
		name := h.core.NameOf(ctx, conn.ID)
		switch read {
		case "":
			v.Empty = words.T(ctx, "ownlibrary.unread", "Name", name)
		case library.NotOffered:
			v.Empty = words.T(ctx, "ownlibrary.unlisted", "Name", name)
		default:
			v.Empty = words.T(ctx, "ownlibrary.empty", "Name", name)
		}
		v.Next = []ui.Action{{Label: words.T(ctx, "ownlibrary.look"), URL: "/connections/" + string(conn.ID),
			Main: true}}
	}
	return err
}

// show fills in what was counted.
func (h *Handler) show(ctx context.Context, v *pageView, n counted) error {
	v.Lead = []string{words.T(ctx, "ownlibrary.share", "Songs", words.T(ctx, "ownlibrary.songs", "Count", n.songs),
		"Part", n.Percent(), "Listens", words.T(ctx, "listening.count", "Count", n.Listens))}
	few := n.Albums[:min(len(n.Albums), some)]
	more := n.Overlap
	for _, a := range few {
		more.Shared += a.Listens
	}
	if more.Percent() > n.Percent() {
		v.Lead = append(v.Lead, words.T(ctx, "ownlibrary.would", "Count", len(few), "Part", more.Percent()))
	}
	v.Years = ui.Bars{ID: "years", Label: words.T(ctx, "ownlibrary.years")}
	for _, y := range n.Years {
		name := strconv.Itoa(y.Year)
		part := y.Percent()
		v.Years.Axis = append(v.Years.Axis, name)
		v.Years.All = append(v.Years.All, ui.Column{Title: ui.WithColon(ctx, name) +
			words.T(ctx, "ownlibrary.of_year", "Part", part, "Listens",
				words.T(ctx, "listening.count", "Count", y.Listens)),
			N: part, Height: part, URL: "/listening?at=" + name + "-01-01&span=year"})
	}
	if n.Shared == n.Listens {
		v.Lead = append(v.Lead, words.T(ctx, "ownlibrary.complete"))
	}
	if len(n.Albums) == 0 {
		return nil
	}
	v.File = &ui.Action{Label: words.T(ctx, "ownlibrary.file"), URL: "/api/v1/stats/library.csv"}
	tracks := core.ViewAll(n.Albums, func(a listening.Lacking) library.Track { return n.names[a.Album].Pictured() })
	links, err := h.rows.Links(ctx, tracks...)
	if err != nil {
		return err
	}
	for i, w := range n.wishes() {
		said := words.T(ctx, "listening.count", "Count", w.Listens)
		v.Albums = append(v.Albums, ui.Item{
			Title: ui.Named{Text: w.Album, URL: "/music/album/" + strconv.FormatInt(w.ID, 10)},
			By:    []ui.Named{{Text: w.Artist}}, Note: words.T(ctx, "ownlibrary.lacks", "Count", w.Tracks),
			Picture: &ui.Picture{URL: reviews.Art(links[i].Picture)},
			Aside:   reviews.Bar(strconv.Itoa(w.Listens), said, w.Listens*100/n.Albums[0].Listens)})
	}
	return nil
}
