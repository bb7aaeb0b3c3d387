// Package playlists answers for playlists and for their copies at other providers.
package playlists

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/server/deliveries"
)

// Store is what this package reads of playlists and of their copies.
type Store interface {
	Playlists(ctx context.Context, user int64) ([]library.StoredPlaylist, error)
	Playlist(ctx context.Context, user, id int64) (library.StoredPlaylist, []library.Track, error)
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	Copy(ctx context.Context, user int64, conn library.ConnectionID, kind, ref string) (delivery.Copy, error)
	CopyDelivery(ctx context.Context, user int64, conn library.ConnectionID, kind, ref string) (delivery.Delivery,
		error)
}

// Handler answers for playlists and for their copies at other providers.
type Handler struct {
	core   *core.Core
	store  Store
	copies *copies
}

// New returns a Handler.
func New(k *core.Core, store Store, d *delivery.Deliveries, statuses *connections.Statuses,
	names *deliveries.Namer) *Handler {
	return &Handler{core: k, store: store, copies: &copies{
		core: k, store: store, deliveries: d, statuses: statuses, names: names,
	}}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/playlists", h.listPage)
	g.GET("/playlists/:id", h.onePage)
	g.POST("/playlists/:id/copies/:connection", h.copies.form)
}

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) {
	g.GET("/playlists", h.list)
	g.GET("/playlists/:id", h.oneAPI)
	g.GET("/playlists/:id/copies/:connection", h.copies.oneAPI)
	g.PUT("/playlists/:id/copies/:connection", h.copies.writeAPI)
	g.DELETE("/playlists/:id/copies/:connection", h.copies.stopAPI)
}

type view struct {
	ID         string      `json:"id"`
	Provider   string      `json:"provider"`
	Connection string      `json:"connection"`
	From       string      `json:"-"` // label of the connection
	SourceID   string      `json:"source_id"`
	Name       string      `json:"name"`
	TrackCount int         `json:"track_count"`
	Active     bool        `json:"active"`
	Tracks     []trackView `json:"tracks,omitempty"`
}

type trackView struct {
	Position   int     `json:"position"`
	Track      string  `json:"track"`
	Artist     string  `json:"artist"`
	Album      string  `json:"album"`
	DurationMS *int64  `json:"duration_ms"`
	ISRC       *string `json:"isrc"`
}

func viewOf(p library.StoredPlaylist, tracks []library.Track, label func(library.ConnectionID) string) view {
	v := view{ID: strconv.FormatInt(p.ID, 10), Provider: p.Connection.Provider(),
		Connection: string(p.Connection), From: label(p.Connection), SourceID: p.SourceID, Name: p.Name,
		TrackCount: p.TrackCount, Active: p.Active}
	for i, t := range tracks {
		v.Tracks = append(v.Tracks, trackView{Position: i + 1, Track: t.Title, Artist: t.Artist, Album: t.Album,
			DurationMS: known64(t.Duration.Milliseconds()), ISRC: core.Text(t.ISRC)})
	}
	return v
}

func known64(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

func (h *Handler) all(c echo.Context) ([]view, error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return nil, err
	}
	all, err := h.store.Playlists(ctx, user)
	views := make([]view, len(all))
	for i, p := range all {
		views[i] = viewOf(p, nil, label)
	}
	return views, err
}

func (h *Handler) list(c echo.Context) error {
	all, err := h.all(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"playlists": all})
}

func (h *Handler) listPage(c echo.Context) error {
	all, err := h.all(c)
	if err != nil {
		return err
	}
	return h.core.Render(c, http.StatusOK, "playlists", "Playlists", all)
}

func (h *Handler) one(c echo.Context) (view, error) {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return view{}, err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return view{}, err
	}
	p, tracks, err := h.store.Playlist(ctx, user, id)
	return viewOf(p, tracks, label), err
}

func (h *Handler) oneAPI(c echo.Context) error {
	p, err := h.one(c)
	if err != nil {
		return err
	}
	if p.Tracks == nil {
		p.Tracks = []trackView{}
	}
	return c.JSON(http.StatusOK, p)
}

func (h *Handler) onePage(c echo.Context) error {
	p, err := h.one(c)
	if err != nil {
		return err
	}
	copies, err := h.copies.all(c.Request().Context(), core.UserOf(c).ID, p.ID, library.ConnectionID(p.Connection))
	if err != nil {
		return err
	}
	return h.core.Render(c, http.StatusOK, "playlist", p.Name, struct {
		view
		Copies []copyView
	}{p, copies})
}
