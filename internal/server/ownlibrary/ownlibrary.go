// Package ownlibrary serves the page that says how much of what a person has heard their own library could play, and
// what to get first.
package ownlibrary

import (
	"context"
	"io"
	"strconv"

	"github.com/labstack/echo/v4"

	"reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
)

// Store is the part of the store that this package uses.
type Store interface {
	Columns(ctx context.Context, user int64) ([]*listening.Columns, error)
	Meanings(context.Context) (*listening.Music, error)
	// OwnTracks returns the ids of the tracks that a library of a person has; any of them without a connection.
	OwnTracks(ctx context.Context, user int64, conn library.ConnectionID) (map[uint32]bool, error)
	// LibrarySongs returns how many songs the libraries of a person have.
	LibrarySongs(ctx context.Context, user int64) (int, error)
	// Position returns how far a stream has been read; empty for not at all, library.NotOffered where that can't be.
	Position(ctx context.Context, user int64, conn library.ConnectionID, stream string) (string, error)
	Entities(ctx context.Context, ids []uint32) (map[uint32]library.Entity, error)
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
}

// Handler serves that page.
type Handler struct {
	core  *core.Core
	store Store
	rows  *music.Rows
}

// New returns a Handler.
func New(k *core.Core, store Store, rows *music.Rows) *Handler { return &Handler{k, store, rows} }

const path = "/listening/library"

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) { g.GET(path, h.page) }

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/stats/library", h.shareAPI, core.Call{
		ID:      "statsLibrary",
		Summary: "How much of what the signed-in user has heard their own library could play, and what to get first",
		Answer:  "The share, by year and in all, and the albums that would add the most.",
	})
	core.Get(a, "/stats/library.csv", h.albumsCSV, core.Call{
		ID:      "exportLibraryWishes",
		Summary: "Those albums as a table, all of them",
		Answer:  "The file.",
		Types:   []string{"text/csv"},
	})
}

// mostAlbums is how many albums the page and the API list.
const mostAlbums = 50

// Share is a number of listens, and how many of them a library could play.
type Share struct {
	Listens int `json:"listens" minimum:"0"`
	Own     int `json:"own" minimum:"0" doc:"Of them, those of tracks that your library has."`
}

func shareOf(o listening.Overlap) Share { return Share{o.Listens, o.Shared} }

// YearShare is that of a year.
type YearShare struct {
	Year int `json:"year"`
	Share
}

// Wish is an album that a library lacks, in part or whole.
type Wish struct {
	ID      int64  `json:"id" doc:"The id of the album."`
	Album   string `json:"album"`
	Artist  string `json:"artist"`
	Listens int    `json:"listens" minimum:"1" doc:"Your listens of tracks of it that your library lacks."`
	Tracks  int    `json:"tracks" minimum:"1" doc:"How many tracks these are."`
}

type shareAnswer struct {
	Songs int `json:"songs" minimum:"0" doc:"How many songs your libraries have. Without any, nothing is counted."`
	Share
	Years  []YearShare `json:"years"`
	Albums []Wish      `json:"albums" maxItems:"50" doc:"Those that would add the most listens first."`
}

// counted is what was counted for a person.
type counted struct {
	listening.Own
	songs int
	names map[uint32]library.Entity // of the first albums
}

// count counts what the libraries of a person could play, and names at most so many albums.
func (h *Handler) count(ctx context.Context, c echo.Context, most int) (n counted, err error) {
	user := core.UserOf(c).ID
	if n.songs, err = h.store.LibrarySongs(ctx, user); err != nil || n.songs == 0 {
		return n, err
	}
	all, err := h.store.Columns(ctx, user)
	if err != nil {
		return n, err
	}
	means, err := h.store.Meanings(ctx)
	if err != nil {
		return n, err
	}
	own, err := h.store.OwnTracks(ctx, user, "")
	if err != nil {
		return n, err
	}
	n.Own = listening.CountOwn(all, means, own, core.Zone(c))
	n.Albums = n.Albums[:min(len(n.Albums), most)]
	ids := core.ViewAll(n.Albums, func(a listening.Lacking) uint32 { return a.Album })
	n.names, err = h.store.Entities(ctx, ids)
	return n, err
}

// wishes returns the albums as programs read them.
func (n *counted) wishes() []Wish {
	return core.ViewAll(n.Albums, func(a listening.Lacking) Wish {
		e := n.names[a.Album]
		return Wish{ID: int64(a.Album), Album: e.Title, Artist: e.Artist, Listens: a.Listens, Tracks: a.Tracks}
	})
}

func (h *Handler) shareAPI(c echo.Context, _ *struct{}) (out shareAnswer, _ error) {
	n, err := h.count(c.Request().Context(), c, mostAlbums)
	return shareAnswer{Songs: n.songs, Share: shareOf(n.Overlap), Albums: n.wishes(),
		Years: core.ViewAll(n.Years, func(y listening.YearShare) YearShare {
			return YearShare{y.Year, shareOf(y.Overlap)}
		})}, err
}

// mostRows bounds the table.
const mostRows = 100_000

func (h *Handler) albumsCSV(c echo.Context, _ *struct{}) (out core.Sent[core.None], _ error) {
	n, err := h.count(c.Request().Context(), c, mostRows)
	if err != nil {
		return out, err
	}
	sheet := export.Sheet{Name: "library", Heading: []string{"artist", "album", "tracks", "listens"},
		Rows: func(yield func([]string, error) bool) {
			for _, w := range n.wishes() {
				if !yield([]string{w.Artist, w.Album, strconv.Itoa(w.Tracks), strconv.Itoa(w.Listens)}, nil) {
					return
				}
			}
		}}
	return out, h.core.Download(c, export.SheetType, "library.csv", func(w io.Writer) error {
		_, err := sheet.Write(w)
		return err
	})
}
