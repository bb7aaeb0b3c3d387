// Package corrections answers for what people correct in their listens: what they delete, change and take back.
package corrections

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/art"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
)

// Store is what this package reads and changes.
type Store interface {
	CountSelected(ctx context.Context, v library.Selection) (n int, newest int64, err error)
	DeleteListens(ctx context.Context, v library.Selection) (library.Correction, error)
	Corrections(ctx context.Context, user int64, before string, limit int) (page []library.Correction, next string,
		err error)
	OneListen(ctx context.Context, user, id int64) (library.StoredListen, []library.Told, error)
	EditListen(ctx context.Context, user, id int64, v library.Change) (library.Correction, error)
	AddListen(ctx context.Context, user int64, l library.Listen) (c library.Correction, id int64, err error)
	SplitListen(ctx context.Context, user, id int64) (library.Correction, error)
	UndoCorrection(ctx context.Context, user, id int64) (library.Correction, error)
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	CountSources(ctx context.Context, v library.Selection) (map[library.ConnectionID]int, error)
	SuspectStore
	RuleStore
	PictureStore
}

// Handler answers for corrections.
type Handler struct {
	core     *core.Core
	store    Store
	rows     *music.Rows
	pictures *art.Cache // may be nil
	sender   Sender
}

// New returns a Handler. pictures may be nil.
func New(k *core.Core, store Store, rows *music.Rows, pictures *art.Cache, sender Sender) *Handler {
	return &Handler{k, store, rows, pictures, sender}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/listens/delete", h.deletePage)
	g.POST("/listens/delete", h.deleteForm)
	g.GET("/listens/new", h.newPage)
	g.POST("/listens/new", h.newForm)
	g.GET("/listens/:id", h.listenPage)
	g.POST("/listens/:id", h.editForm)
	g.POST("/listens/:id/split", h.splitForm)
	g.GET("/corrections", h.page)
	g.GET(suspiciousPath, h.suspiciousPage)
	g.POST(suspiciousPath+"/:id/keep", h.keepForm)
	g.POST(inventedPath, h.deleteInventedForm)
	g.POST("/corrections/:id/undo", h.undoForm)
	h.rulesPages(g)
}

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) {
	g.POST("/listens", h.addAPI)
	g.PATCH("/listens/:id", h.editAPI)
	g.DELETE("/listens/:id", h.deleteOneAPI)
	g.POST("/listens/:id/split", h.splitAPI)
	g.POST("/listens/delete", h.deleteAPI)
	g.GET("/corrections", h.list)
	g.GET("/listens/suspicious", h.suspiciousAPI)
	g.POST("/listens/suspicious/:id/keep", h.keepAPI)
	g.GET("/listens/invented", h.inventedAPI)
	g.POST("/listens/invented/delete", h.deleteInventedAPI)
	g.POST("/corrections/:id/undo", h.undoAPI)
	h.rulesAPI(g)
}

// Correction is a correction in the API.
type Correction struct {
	ID       string  `json:"id"`
	Kind     string  `json:"kind"`
	Listens  int     `json:"listens"`
	Track    *string `json:"track"`
	Artist   *string `json:"artist"`
	Becomes  *string `json:"becomes"`
	MadeAt   string  `json:"made_at"`
	UndoneAt *string `json:"undone_at"`
	// what services are asked to delete, too
	There []ThereView `json:"there"`
	// of an artist, an album or a track
	About  *string `json:"about"`
	Name   *string `json:"name"`
	MadeBy *string `json:"made_by"`
}

// View returns a correction as the API shows it.
func View(c library.Correction) Correction {
	v := Correction{ID: strconv.FormatInt(c.ID, 10), Kind: c.Kind, Listens: c.Listens, Track: core.Text(c.Title),
		Artist: core.Text(c.Artist), Becomes: core.Text(c.Becomes), MadeAt: library.Stamp(c.MadeAt),
		UndoneAt: core.Moment(c.UndoneAt), There: thereView(c.There), About: core.Text(c.About),
		MadeBy: core.Text(c.By)}
	if c.About != "" {
		v.Name = core.Text(nameOf(c))
	}
	if c.About == library.KindAlbum {
		v.Track = nil
	}
	return v
}

// nameOf returns the name that the artist, the album or the track of a correction had at that time.
func nameOf(c library.Correction) string {
	if c.About == library.KindArtist {
		return c.Artist
	}
	return c.Title
}

func (h *Handler) deleteOneAPI(c echo.Context) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	there, err := h.chosenThere(c, c.QueryParams()["there"])
	if err != nil {
		return err
	}
	made, err := h.store.DeleteListens(c.Request().Context(), library.Selection{
		ListenFilter: library.ListenFilter{User: core.UserOf(c).ID}, IDs: []int64{id}, There: there})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, View(made))
}

// mostIDs is how many listens a call or a page names one by one.
const mostIDs = 1000

// selected is which listens a call selects.
type selected struct {
	IDs    []string `json:"ids"`
	Artist string   `json:"artist"`
	From   string   `json:"from"`
	To     string   `json:"to"`
	There  []string `json:"there"`
	DryRun bool     `json:"dry_run"`
}

// selectionOf returns the listens that a call selects. One that selects none by a mistake would select all.
func selectionOf(c echo.Context, in selected) (v library.Selection, err error) {
	v.User = core.UserOf(c).ID
	if len(in.IDs) > mostIDs {
		return v, core.Check(words.New("corrections.problem.most", "Most", mostIDs))
	}
	for _, text := range in.IDs {
		id, err := core.Number(text)
		if err != nil {
			return v, err
		}
		v.IDs = append(v.IDs, id)
	}
	if v.ListenFilter, err = music.Bounded(v.User, in.Artist, in.From, in.To); err != nil {
		return v, err
	}
	one := len(v.IDs) > 0
	some := v.ListenFilter != library.ListenFilter{User: v.User}
	if one == some {
		return v, core.Check(words.New("corrections.problem.which"))
	}
	return v, nil
}

func (h *Handler) deleteAPI(c echo.Context) error {
	in, err := core.Body[selected](c)
	if err != nil {
		return err
	}
	v, err := selectionOf(c, in)
	if err != nil {
		return err
	}
	if v.There, err = h.chosenThere(c, in.There); err != nil {
		return err
	}
	ctx := c.Request().Context()
	held, err := h.holders(ctx, v)
	if err != nil {
		return err
	}
	heldBy := core.ViewAll(held, viewHolder)
	if in.DryRun {
		n, _, err := h.store.CountSelected(ctx, v)
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, map[string]any{"count": n, "correction": nil, "held_by": heldBy})
	}
	made, err := h.store.DeleteListens(ctx, v)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"count": made.Listens, "correction": View(made), "held_by": heldBy})
}

func (h *Handler) list(c echo.Context) error {
	page, next, err := h.all(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"corrections": core.ViewAll(page, View), "next": core.Text(next)})
}

// all returns the page of corrections that a request asks for.
func (h *Handler) all(c echo.Context) (page []library.Correction, next string, err error) {
	n, err := core.Limit(c)
	if err != nil {
		return nil, "", err
	}
	return h.store.Corrections(c.Request().Context(), core.UserOf(c).ID, c.QueryParam("before"), n)
}

func (h *Handler) undo(c echo.Context) (library.Correction, error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return library.Correction{}, err
	}
	v, err := h.store.UndoCorrection(c.Request().Context(), core.UserOf(c).ID, id)
	if errors.Is(err, library.ErrNotFound) {
		return h.undoRule(c, id)
	}
	return v, err
}

func (h *Handler) undoAPI(c echo.Context) error {
	v, err := h.undo(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, View(v))
}
