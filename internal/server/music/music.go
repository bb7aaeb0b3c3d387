// Package music answers for listens, for the artists, albums and tracks in them, and for the sources of facts
// about them.
package music

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
)

// Store is what this package reads of listens and of the music in them.
type Store interface {
	FindListens(ctx context.Context, f library.ListenFilter, before string,
		limit int) (page []library.StoredListen, next string, err error)
	LaterListens(ctx context.Context, f library.ListenFilter, after string,
		limit int) (page []library.StoredListen, more bool, err error)
	Columns(ctx context.Context, user int64) ([]*listening.Columns, error)
	Meanings(context.Context) (*listening.Music, error)
	Entities(ctx context.Context, ids []uint32) (map[uint32]library.Entity, error)
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	CountFound(ctx context.Context, f library.ListenFilter) (int, error)
	Outline(ctx context.Context, f library.ListenFilter, from, to time.Time,
		zone *time.Location) (*listening.Outline, error)
	Music(ctx context.Context, user int64, kind string, id int64) (enrich.Music, error)
	LinkStore
	LoveStore
}

// Handler answers for listens, and for the artists, albums and tracks in them.
type Handler struct {
	core       *core.Core
	store      Store
	enrichment *enrich.Runner
	rows       *Rows
}

// New returns a Handler. enrichment may be nil: there are no sources of facts then.
func New(k *core.Core, store Store, enrichment *enrich.Runner, rows *Rows) *Handler {
	return &Handler{core: k, store: store, enrichment: enrichment, rows: rows}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/listens", h.listensPage)
	g.GET("/music/:kind/:id", h.musicPage)
	g.GET("/art/:hash", h.picture)
	g.POST("/music/track/:id/love", h.loveForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	h.loves(a)
	core.Get(a, "/listens", h.listensAPI, core.Call{
		ID:      "listListens",
		Summary: "Listens, newest first",
		Answer:  "A page of listens.",
	})
	core.Get(a, "/music/{kind}/{id}", h.musicAPI, core.Call{
		ID:      "getMusic",
		Summary: "Facts about an artist, an album or a track that the signed-in user has heard, and their sources",
		Answer: "The facts. The id of something that turned out to be something else answers with that, under its " +
			"id.",
	})
	core.Get(a, "/artists/{id}", h.heardAPI(library.KindArtist), core.Call{
		ID:      "getArtist",
		Summary: "An artist that the signed-in user has heard, with the numbers on its page",
		Answer:  "The numbers and facts. The id of something that was merged or joined answers with what it is now.",
	})
	core.Get(a, "/albums/{id}", h.heardAPI(library.KindAlbum), core.Call{
		ID:      "getAlbum",
		Summary: "An album that the signed-in user has heard, with the numbers on its page",
		Answer:  "The numbers and facts. The id of something that was merged or joined answers with what it is now.",
	})
	core.Get(a, "/tracks/{id}", h.heardAPI(library.KindTrack), core.Call{
		ID:      "getTrack",
		Summary: "A track that the signed-in user has heard, with the numbers on its page",
		Answer:  "The numbers and facts. The id of something that was merged or joined answers with what it is now.",
	})
}

// loves adds the routes of the API that say whether a track is loved.
func (h *Handler) loves(a *core.API) {
	core.Put(a, "/tracks/{id}/love", h.loveAPI, core.Call{
		ID:      "loveTrack",
		Summary: "Love a track",
		Answer:  "Loved.",
	})
	core.Delete(a, "/tracks/{id}/love", h.unloveAPI, core.Call{
		ID:      "unloveTrack",
		Summary: "Take it back that a track is loved",
		Answer:  "Taken back.",
	})
}

// picture answers with a picture. Its name is a hash of its content, so browsers may keep it.
func (h *Handler) picture(c echo.Context) error { return h.rows.SendPicture(c, c.Param("hash")) }

func (h *Handler) music(c echo.Context) (Music, error) { return h.known(c, c.Param("kind")) }

// known returns the artist, the album or the track that a request names.
func (h *Handler) known(c echo.Context, kind string) (Music, error) {
	ctx := c.Request().Context()
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return Music{}, err
	}
	m, err := h.store.Music(ctx, core.UserOf(c).ID, kind, id)
	if err != nil {
		return Music{}, err
	}
	v := h.viewMusic(m)
	if m.Kind == library.KindArtist {
		return v, nil
	}
	links, err := h.rows.Links(ctx, library.Track{Title: m.Title, Artist: m.Artist, Album: m.Album})
	if err != nil {
		return v, err
	}
	v.ArtistID, v.AlbumID = links[0].Artist, links[0].Album
	if picture := links[0].Picture; v.Picture == nil && picture != "" { // the album's or the artist's
		address := "/art/" + picture
		v.Picture, v.Portrait = &address, links[0].Portrait
	}
	return v, nil
}

type getMusicRequest struct {
	core.ByID
	Kind string `path:"kind" enum:"artist,album,track"`
}

func (h *Handler) musicAPI(c echo.Context, _ *getMusicRequest) (out Music, _ error) {
	return h.music(c)
}

func (h *Handler) musicPage(c echo.Context) error {
	v, err := h.music(c)
	if err != nil {
		return err
	}
	if v.ID != c.Param("id") { // what was linked has joined it
		return c.Redirect(http.StatusFound, "/music/"+v.Kind+"/"+v.ID)
	}
	all, err := h.heard(c, v)
	if err != nil {
		return err
	}
	p := pageFor(c.Request().Context(), all.Music)
	if p.Heard, err = h.page(c.Request().Context(), all); err != nil {
		return err
	}
	if p.Listens, err = h.lately(c, all); err != nil {
		return err
	}
	if p.Love, err = h.loveButton(c, all.Music); err != nil {
		return err
	}
	p.Correct = correctionOf(c, "/music/"+v.Kind+"/"+v.ID)
	return h.core.Show(c, http.StatusOK, v.Name, musicArticle(p))
}
