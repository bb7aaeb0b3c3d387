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
	shareStore
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
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/search", h.page)
	g.GET(core.SharePath, h.share)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/search", h.api, core.Call{
		ID:      "search",
		Summary: "What the signed-in user has heard, and their playlists, by name",
		Description: "Each list has the best results first. Accents, capital letters and apostrophes make no " +
			"difference, the last word may be unfinished, and each word may have one slip.",
		Answer: "What was found.",
	})
}

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

// FoundMusic is an artist, an album or a track in the API.
type FoundMusic struct {
	ID          string         `json:"id" doc:"As in /music."`
	Kind        string         `json:"kind" enum:"artist,album,track"`
	Name        string         `json:"name"`
	Artist      string         `json:"artist"`
	Album       *string        `json:"album" doc:"That a track was played from."`
	Plays       int            `json:"plays" minimum:"1" doc:"How often the signed-in user has heard it."`
	LastHeardAt core.MaybeTime `json:"last_heard_at"`
	Picture     *string        `json:"picture" doc:"Address on this server."`
}

// FoundPlaylist is a playlist in the API.
type FoundPlaylist struct {
	ID         string               `json:"id"`
	Provider   string               `json:"provider"`
	Connection library.ConnectionID `json:"connection" doc:"Its provider, and from the second connection on, a number."`
	SourceID   string               `json:"source_id"`
	Name       string               `json:"name"`
	TrackCount int                  `json:"track_count"`
	Active     bool                 `json:"active" doc:"false once it is gone at its provider."`
}

// found is the answer of the API.
type found struct {
	Artists   []FoundMusic    `json:"artists"`
	Albums    []FoundMusic    `json:"albums"`
	Tracks    []FoundMusic    `json:"tracks"`
	Playlists []FoundPlaylist `json:"playlists"`
	Listens   []music.Listen  `json:"listens" doc:"The latest listen of each track that was found, newest first."`
}

type searchRequest struct {
	Q    string `query:"q" doc:"What somebody types; any text."`
	Kind string `query:"kind" enum:"artist,album,track,playlist,listen" doc:"Only results of this kind, up to 50. Without it, there are up to 6 of each."`
}

func (h *Handler) api(c echo.Context, _ *searchRequest) (out found, _ error) {
	ctx := c.Request().Context()
	q, err := questionOf(c)
	if err != nil {
		return out, err
	}
	f, err := h.store.Search(ctx, q)
	if err != nil {
		return out, err
	}
	pictures, err := h.pictures(ctx, f)
	if err != nil {
		return out, err
	}
	listens, err := h.rows.Listens(ctx, q.User, f.Listens...)
	if err != nil {
		return out, err
	}
	view := func(one library.Heard) FoundMusic {
		v := FoundMusic{ID: strconv.FormatInt(one.ID, 10), Kind: one.Kind, Name: one.Name(), Artist: one.Artist,
			Album: core.Text(one.Album), Plays: one.Plays, LastHeardAt: core.Moment(one.LastHeard)}
		if p := pictures[one.ID]; p.URL != "" {
			v.Picture = &p.URL
		}
		return v
	}
	return found{
		Artists: core.ViewAll(f.Artists, view), Albums: core.ViewAll(f.Albums, view),
		Tracks: core.ViewAll(f.Tracks, view), Playlists: core.ViewAll(f.Playlists, viewPlaylist),
		Listens: listens,
	}, nil
}

func viewPlaylist(p library.StoredPlaylist) FoundPlaylist {
	return FoundPlaylist{ID: strconv.FormatInt(p.ID, 10), Provider: p.Connection.Provider(), Connection: p.Connection,
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
