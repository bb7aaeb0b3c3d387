// Package export serves what belongs to a person: listens and playlists in several formats, everything as one archive,
// and the newest listens as a feed.
package export

import (
	"archive/zip"
	"cmp"
	"context"
	"io"
	"iter"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
)

// Store is what this package reads.
type Store interface {
	FindListens(ctx context.Context, f library.ListenFilter, before string,
		limit int) (page []library.StoredListen, next string, err error)
	CountFound(ctx context.Context, f library.ListenFilter) (int, error)
	CountPlaylists(ctx context.Context, user int64) (int, error)
	PlaylistsPart(ctx context.Context, user int64, offset, limit int) ([]library.StoredPlaylist, error)
	PlaylistOnly(ctx context.Context, user, id int64) (library.StoredPlaylist, error)
	PlaylistTracks(ctx context.Context, user, id int64, offset, limit int) ([]library.Track, error)
	AllSkipped(ctx context.Context, user int64) ([]library.Skipped, error)
	Corrections(ctx context.Context, user int64, before string, limit int) (page []library.Correction, next string,
		err error)
}

// Statistics returns tables of everything that a person has heard.
type Statistics interface {
	Tables(ctx context.Context, user int64, now time.Time) ([]export.Sheet, error)
}

// Handler sends people what belongs to them.
type Handler struct {
	core  *core.Core
	store Store
	rows  *music.Rows
	stats Statistics
}

// New returns a Handler.
func New(k *core.Core, store Store, rows *music.Rows, stats Statistics) *Handler {
	return &Handler{core: k, store: store, rows: rows, stats: stats}
}

// allPath is the path of the archive with everything, within the API.
const allPath = "/export/all.zip"

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/export", h.page)
	g.GET("/settings/account/export", h.own)
}

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) {
	for _, f := range export.Forms {
		if f.Name != export.ListenBrainz.Name {
			g.GET("/export/"+f.Name, h.listens(f))
		}
	}
	g.GET("/export/listenbrainz.zip", h.listenBrainz)
	g.GET("/export/playlists/:file", h.playlist)
	g.GET(correctionsPath, h.corrections)
	g.GET(allPath, h.own)
	g.GET("/feed.atom", h.atom)
	g.GET("/feed.json", h.json)
}

// How much is read from the database at once. Larger pages of listens are not faster, and take more memory.
const (
	listensAtOnce = 500
	listsAtOnce   = 250
	tracksAtOnce  = 500
)

// found returns the listens that a filter selects, newest first, and reads them as needed.
func (h *Handler) found(ctx context.Context, f library.ListenFilter) iter.Seq2[library.StoredListen, error] {
	return export.Pages(func(next string) ([]library.StoredListen, string, error) {
		return h.store.FindListens(ctx, f, next, listensAtOnce)
	})
}

// listens returns the handler for listens in a format.
func (h *Handler) listens(f export.Form) echo.HandlerFunc {
	return func(c echo.Context) error {
		filter, err := music.FilterOf(c, core.Zone(c))
		if err != nil {
			return err
		}
		return h.core.Download(c, f.Type, fileOf(c, f), func(w io.Writer) error {
			_, err := f.Write(w, h.found(c.Request().Context(), filter))
			return err
		})
	}
}

// fileOf returns the file name of a download.
func fileOf(c echo.Context, f export.Form) string {
	now := time.Now().UTC()
	switch f.Name {
	case export.Maloja.Name:
		return "maloja_export_" + now.Format("20060102") + f.Ending // Maloja recognizes its export by this name
	case export.LastFM.Name:
		return "reprise-lastfm-" + nameOf(core.UserOf(c), now) + f.Ending
	}
	return "reprise-" + nameOf(core.UserOf(c), now) + f.Ending
}

// nameOf returns the part of a file name with the person's name and the day.
func nameOf(u accounts.User, now time.Time) string { return u.Name + "-" + now.Format(time.DateOnly) }

// listenBrainz sends listens as the archive that ListenBrainz exports and imports.
func (h *Handler) listenBrainz(c echo.Context) error {
	filter, err := music.FilterOf(c, core.Zone(c))
	if err != nil {
		return err
	}
	file := "listenbrainz-" + nameOf(core.UserOf(c), time.Now().UTC()) + ".zip"
	return h.core.Download(c, "application/zip", file, func(w io.Writer) error {
		z := zip.NewWriter(w)
		if err := export.ListenBrainz.Months(z, h.found(c.Request().Context(), filter)); err != nil {
			return err
		}
		return z.Close()
	})
}

// playlist sends a playlist in the format of the file name's extension.
func (h *Handler) playlist(c echo.Context) error {
	file := c.Param("file")
	ending := path.Ext(file)
	id, err := core.Number(strings.TrimSuffix(file, ending))
	if err != nil {
		return err
	}
	f, ok := listForm(ending)
	if !ok {
		return core.HTTPProblem(http.StatusNotFound)
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	p, err := h.store.PlaylistOnly(ctx, user, id)
	if err != nil {
		return err
	}
	return h.core.Download(c, f.Type, cmp.Or(export.FileName(p.Name), "playlist")+f.Ending, func(w io.Writer) error {
		_, err := f.Write(w, p, h.trackPage(p), h.tracks(ctx, user, p.ID))
		return err
	})
}

// trackPage returns the address of a track at the service of a playlist, with {id} for its id; empty if it has none.
func (h *Handler) trackPage(p library.StoredPlaylist) string {
	if from := h.core.Registry.Get(p.Connection.Provider()); from != nil {
		return from.Track
	}
	return ""
}

// listForm returns the format of playlists with a file name extension.
func listForm(ending string) (export.ListForm, bool) {
	for _, f := range export.ListForms {
		if f.Ending == ending {
			return f, true
		}
	}
	return export.ListForm{}, false
}

// tracks returns the tracks of a playlist as they are read.
func (h *Handler) tracks(ctx context.Context, user, playlist int64) iter.Seq2[library.Track, error] {
	return func(yield func(library.Track, error) bool) {
		for n := 0; ; {
			part, err := h.store.PlaylistTracks(ctx, user, playlist, n, tracksAtOnce)
			if err != nil {
				yield(library.Track{}, err)
			}
			if err != nil || len(part) == 0 {
				return
			}
			for _, t := range part {
				if !yield(t, nil) {
					return
				}
			}
			n += len(part)
		}
	}
}

// own sends the user everything that belongs to them.
func (h *Handler) own(c echo.Context) error { return h.Send(c, core.UserOf(c)) }

// Send answers with everything that belongs to a person, as an archive.
func (h *Handler) Send(c echo.Context, u accounts.User) error {
	now := time.Now().In(core.Zone(c))
	return h.core.Download(c, "application/zip", "reprise-"+nameOf(u, now)+".zip", func(w io.Writer) error {
		return h.pack(c.Request().Context(), w, u, now)
	})
}
