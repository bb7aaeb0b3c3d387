// Package search answers for the search over everything that a person has heard, and their playlists.
package search

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
)

// Store is what this package reads.
type Store interface {
	Search(context.Context, library.Search) (library.Found, error)
}

// Handler answers searches.
type Handler struct {
	core  *core.Core
	store Store
	rows  *music.Rows
}

// New returns a Handler.
func New(k *core.Core, store Store, rows *music.Rows) *Handler { return &Handler{k, store, rows} }

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) { g.GET("/search", h.page) }

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) { g.GET("/search", h.api) }

// kinds are the kinds of results, in the order of the page.
var kinds = []string{library.KindArtist, library.KindAlbum, library.KindTrack, library.KindPlaylist,
	library.KindListen}

// These are the most results of each kind: among others, and alone.
const (
	some = 6
	many = 50
)

// questionOf returns what a request asks for.
func questionOf(c echo.Context) (library.Search, error) {
	q := library.Search{User: core.UserOf(c).ID, Text: strings.TrimSpace(c.QueryParam("q")),
		Kind: c.QueryParam("kind"), Most: some}
	if q.Kind != "" {
		q.Most = many
		if !slices.Contains(kinds, q.Kind) {
			return q, core.NotAChoice("kind", q.Kind, kinds...)
		}
	}
	return q, nil
}

// hit is an artist, an album or a track in the API.
type hit struct {
	ID          string  `json:"id"`
	Kind        string  `json:"kind"`
	Name        string  `json:"name"`
	Artist      string  `json:"artist"`
	Album       *string `json:"album"`
	Plays       int     `json:"plays"`
	LastHeardAt *string `json:"last_heard_at"`
	Picture     *string `json:"picture"`
}

// list is a playlist in the API.
type list struct {
	ID         string               `json:"id"`
	Provider   string               `json:"provider"`
	Connection library.ConnectionID `json:"connection"`
	SourceID   string               `json:"source_id"`
	Name       string               `json:"name"`
	TrackCount int                  `json:"track_count"`
	Active     bool                 `json:"active"`
}

// found is the answer of the API.
type found struct {
	Artists   []hit                  `json:"artists"`
	Albums    []hit                  `json:"albums"`
	Tracks    []hit                  `json:"tracks"`
	Playlists []list                 `json:"playlists"`
	Listens   []library.ListenRecord `json:"listens"`
}

func (h *Handler) api(c echo.Context) error {
	ctx := c.Request().Context()
	q, err := questionOf(c)
	if err != nil {
		return err
	}
	f, err := h.store.Search(ctx, q)
	if err != nil {
		return err
	}
	pictures, err := h.pictures(ctx, f)
	if err != nil {
		return err
	}
	view := func(one library.Heard) hit {
		v := hit{ID: strconv.FormatInt(one.ID, 10), Kind: one.Kind, Name: one.Name(), Artist: one.Artist,
			Album: core.Text(one.Album), Plays: one.Plays, LastHeardAt: core.Moment(one.LastHeard)}
		if p := pictures[one.ID]; p.URL != "" {
			v.Picture = &p.URL
		}
		return v
	}
	return c.JSON(http.StatusOK, found{
		Artists: core.ViewAll(f.Artists, view), Albums: core.ViewAll(f.Albums, view),
		Tracks: core.ViewAll(f.Tracks, view), Playlists: core.ViewAll(f.Playlists, viewPlaylist),
		Listens: core.ViewAll(f.Listens, library.StoredListen.Record),
	})
}

func viewPlaylist(p library.StoredPlaylist) list {
	return list{ID: strconv.FormatInt(p.ID, 10), Provider: p.Connection.Provider(), Connection: p.Connection,
		SourceID: p.SourceID, Name: p.Name, TrackCount: p.TrackCount, Active: p.Active}
}

func (h *Handler) page(c echo.Context) error {
	ctx := c.Request().Context()
	q, err := questionOf(c)
	if err != nil {
		return err
	}
	asked := q
	asked.Most++ // to know whether there is more
	f, err := h.store.Search(ctx, asked)
	if err != nil {
		return err
	}
	p := pageFor(q)
	if err := h.fill(ctx, &p, q, f); err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "search.title"), searchPage(p))
}
