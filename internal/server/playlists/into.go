package playlists

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// intoView is the page on which a person chooses an existing playlist for a copy.
type intoView struct {
	Head  ui.Heading
	Lists []ui.Item
}

// intoPages adds the routes of writing into an existing playlist.
func (h *copies) intoPages(g *echo.Group) {
	g.GET("/playlists/:id/copies/:connection/into", h.intoPage)
	g.GET("/playlists/:id/copies/:connection/into/:into", h.askIntoPage)
	g.POST("/playlists/:id/copies/:connection/into/:into", h.intoForm)
}

// intoPath returns the address of the page on which a person chooses an existing playlist.
func intoPath(playlist string, c Copy) string { return copyPath(playlist, c) + "/into" }

// candidates returns the playlists of a connection that can become a copy.
func (h *copies) candidates(ctx context.Context, to library.Connection) ([]library.StoredPlaylist, error) {
	all, err := h.store.ConnectionPlaylists(ctx, to.User, to.ID)
	if err != nil {
		return nil, err
	}
	copied, err := h.store.Copies(ctx, to.User, delivery.WritePlaylist)
	return slices.DeleteFunc(all, func(p library.StoredPlaylist) bool {
		return !delivery.MayBecomeCopy(p, copied)
	}), err
}

func (h *copies) intoPage(c echo.Context) error {
	id, to, err := h.writer(c)
	if err != nil {
		return err
	}
	ctx, name := c.Request().Context(), h.label(to)
	all, err := h.candidates(ctx, to)
	if err != nil {
		return err
	}
	back := "/playlists/" + strconv.FormatInt(id, 10)
	v := intoView{Head: ui.Heading{Title: words.T(ctx, "playlists.into.title", "Name", name),
		Lead: words.T(ctx, "playlists.into.lead"), Back: back, BackTo: words.T(ctx, "playlists.into.back")}}
	if len(all) == 0 {
		v.Head.Lead = words.T(ctx, "playlists.into.none", "Name", name)
	}
	for _, p := range all {
		number := strconv.FormatInt(p.ID, 10)
		v.Lists = append(v.Lists, ui.Item{ID: "into-" + number,
			Title: ui.Named{Text: p.Name, URL: back + "/copies/" + string(to.ID) + "/into/" + number},
			By:    []ui.Named{{Text: words.T(ctx, "playlists.tracks", "Count", p.TrackCount)}}})
	}
	return h.core.Show(c, http.StatusOK, v.Head.Title, intoExisting(v))
}

// into returns the two playlists that a request names: list, and the one that is to become a copy of it.
func (h *copies) into(c echo.Context) (list, into library.StoredPlaylist, err error) {
	id, to, err := h.writer(c)
	if err != nil {
		return list, into, err
	}
	number, err := core.Number(c.Param("into"))
	if err != nil {
		return list, into, err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	if list, err = h.store.PlaylistOnly(ctx, user, id); err != nil {
		return list, into, err
	}
	into, err = h.store.PlaylistOnly(ctx, user, number)
	if err == nil && into.Connection != to.ID {
		err = library.ErrNotFound
	}
	return list, into, err
}

// askIntoPage asks before a playlist loses its tracks.
func (h *copies) askIntoPage(c echo.Context) error {
	list, into, err := h.into(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	facts := []string{words.T(ctx, "playlists.into.ask_history")}
	if into.Name != list.Name {
		facts = append([]string{words.T(ctx, "playlists.into.ask_name", "List", list.Name)}, facts...)
	}
	at := "/playlists/" + c.Param("id") + "/copies/" + c.Param("connection") + "/into"
	return h.core.Confirm(c, core.Confirmation{
		Title:  words.T(ctx, "playlists.into.ask", "List", list.Name, "Into", into.Name),
		Lead:   words.T(ctx, "playlists.into.ask_lead", "Count", into.TrackCount),
		Facts:  facts,
		Action: at + "/" + c.Param("into"), Button: words.T(ctx, "playlists.into.do"), Warn: true, Back: at})
}

func (h *copies) intoForm(c echo.Context) error {
	list, into, err := h.into(c)
	if err == nil {
		err = h.deliveries.WriteInto(c.Request().Context(), core.UserOf(c).ID, list.ID, into.ID)
	}
	if err != nil {
		return err
	}
	return h.core.Done(c, "/playlists/"+c.Param("id"), words.New("playlists.into.done", "Into", into.Name))
}
