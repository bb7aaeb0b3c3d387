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
	"reprise/internal/playrules"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
)

// Store is what this package reads.
type Store interface {
	FindListens(ctx context.Context, f library.ListenFilter, before string,
		limit int) (page []library.StoredListen, next string, err error)
	AddRuled(ctx context.Context, user int64, page []library.StoredListen) error
	IgnoredPlays(ctx context.Context, user int64, before string, limit int) (page []library.StoredListen, next string,
		err error)
	PlayRules(ctx context.Context, user int64) ([]playrules.Rule, error)
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	CountFound(ctx context.Context, f library.ListenFilter) (int, error)
	CountPlaylists(ctx context.Context, user int64) (int, error)
	PlaylistsPart(ctx context.Context, user int64, offset, limit int) ([]library.StoredPlaylist, error)
	PlaylistOnly(ctx context.Context, user, id int64) (library.StoredPlaylist, error)
	PlaylistTracks(ctx context.Context, user, id int64, offset, limit int) ([]library.Track, error)
	core.ShareStore
	Version(ctx context.Context, user, playlist int64, number int) (library.PlaylistVersion, []library.Track, error)
	AllSkipped(ctx context.Context, user int64) ([]library.Skipped, error)
	Corrections(ctx context.Context, user int64, before string, limit int) (page []library.Correction, next string,
		err error)
	Loves(ctx context.Context, f library.LoveFilter, offset, limit int) (page []library.Love, total int, err error)
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
	g.POST("/playlists/:id/address", h.addressForm)
	g.POST("/playlists/:id/address/end", h.endAddressForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	h.addressAPI(a)
	core.Get(a, "/export/"+export.JSONLines.Name, h.listens(export.JSONLines), core.Call{
		ID:      "exportJSONLines",
		Summary: "Your own listens as JSON Lines",
		Description: "One object of the schema Listen per line, newest first. Importing the file with " +
			"`provider=reprise` gives the same listens, with all their sources.",
		Answer: "The file, streamed.",
		Types:  []string{"application/x-ndjson"},
	})
	core.Get(a, "/export/"+export.CSV.Name, h.listens(export.CSV), core.Call{
		ID:      "exportCSV",
		Summary: "Your own listens as a table for spreadsheets",
		Description: "UTF-8 with a byte order mark. A cell that a spreadsheet would run as a formula (it begins " +
			"with =, +, -, @, a tab or a line break) has an apostrophe before it; an import into Reprise takes " +
			"it off.",
		Answer: "The file, streamed.",
		Types:  []string{"text/csv"},
	})
	core.Get(a, "/export/"+export.LastFM.Name, h.listens(export.LastFM), core.Call{
		ID:          "exportLastFM",
		Summary:     "Your own listens as a table like those of Last.fm exporters",
		Description: "Cells are escaped as in `listens.csv`.",
		Answer:      "The file, streamed.",
		Types:       []string{"text/csv"},
	})
	core.Get(a, "/export/"+export.Maloja.Name, h.listens(export.Maloja), core.Call{
		ID:      "exportMaloja",
		Summary: "Your own listens as Maloja exports and imports them",
		Answer:  "The file, streamed.",
		Types:   []string{echo.MIMEApplicationJSON},
	})
	core.Get(a, "/export/listenbrainz.zip", h.listenBrainz, core.Call{
		ID:          "exportListenBrainz",
		Summary:     "Your own listens as ListenBrainz exports and imports them",
		Description: "`listens/2026/11.jsonl` for each month.",
		Answer:      "The file, streamed.",
		Types:       []string{"application/zip"},
	})
	core.Get(a, "/export/playlists/{file}", h.playlist, core.Call{
		ID:      "exportPlaylist",
		Summary: "One of your playlists as a file",
		Answer:  "The file, streamed.",
		Types:   []string{"application/jspf+json", "application/xspf+xml", "audio/x-mpegurl", "text/csv"},
	})
	core.Get(a, "/export/corrections.jsonl", h.corrections, core.Call{
		ID:      "exportCorrections",
		Summary: "Your own corrections, one per line as GET /corrections lists them, newest first",
		Answer:  "The file, streamed.",
		Types:   []string{"application/x-ndjson"},
	})
	core.Get(a, "/export/all.zip", h.ownAPI, core.Call{
		ID:      "exportAccount",
		Summary: "Your own listens, playlists, rules, corrections and statistics as a file",
		Answer: "A ZIP file, streamed: `listens.jsonl` (one object of the schema Listen per line, newest first), " +
			"`ignored.jsonl` with the plays that your rules ignore, in the same form, `rules.json` with these rules, " +
			"`playlists/0001.jspf` for each playlist, `skipped.csv` with what services list but don't return, " +
			"`loved.jsonl`, `README.txt`, and `manifest.json` with the counts and checksums of all files. " +
			"Importing it with `provider=reprise` gives the same listens, rules and ignored plays.",
		Types: []string{"application/zip"},
	})
	core.Get(a, "/feed.atom", h.atom, core.Call{
		ID:        "atomFeed",
		Summary:   "Your newest 50 listens as an Atom feed",
		Answer:    "The feed.",
		Types:     []string{"application/atom+xml"},
		ByAddress: true,
	})
	core.Get(a, "/feed.json", h.json, core.Call{
		ID:        "jsonFeed",
		Summary:   "Your newest 50 listens as a JSON feed",
		Answer:    "The feed.",
		Types:     []string{"application/feed+json"},
		ByAddress: true,
	})
}

// How much is read from the database at once. Larger pages of listens are not faster, and take more memory.
const (
	listensAtOnce = 500
	listsAtOnce   = 250
	tracksAtOnce  = 500
)

// found returns the listens that a filter selects, newest first, and reads them as needed; with ruled, with what rules
// did to them.
func (h *Handler) found(ctx context.Context, f library.ListenFilter, ruled bool) iter.Seq2[library.StoredListen,
	error] {
	return export.Pages(func(next string) ([]library.StoredListen, string, error) {
		page, next, err := h.store.FindListens(ctx, f, next, listensAtOnce)
		if err == nil && ruled {
			err = h.store.AddRuled(ctx, f.User, page)
		}
		return page, next, err
	})
}

// listens returns the handler for listens in a format.
func (h *Handler) listens(f export.Form) core.Handle[exportRequest, core.Sent[core.None]] {
	return func(c echo.Context, _ *exportRequest) (out core.Sent[core.None], _ error) {
		filter, err := music.FilterOf(c, core.Zone(c))
		if err != nil {
			return out, err
		}
		return out, h.core.Download(c, f.Type, fileOf(c, f), func(w io.Writer) error {
			_, err := f.Write(w, h.found(c.Request().Context(), filter, f.Name == export.JSONLines.Name))
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

type exportRequest struct {
	core.MusicQuery
	core.ExportSpan
	core.ArtistOrName
}

// listenBrainz sends listens as the archive that ListenBrainz exports and imports.
func (h *Handler) listenBrainz(c echo.Context, _ *exportRequest) (out core.Sent[core.None], _ error) {
	filter, err := music.FilterOf(c, core.Zone(c))
	if err != nil {
		return out, err
	}
	file := "listenbrainz-" + nameOf(core.UserOf(c), time.Now().UTC()) + ".zip"
	return out, h.core.Download(c, "application/zip", file, func(w io.Writer) error {
		z := zip.NewWriter(w)
		if err := export.ListenBrainz.Months(z, h.found(c.Request().Context(), filter, false)); err != nil {
			return err
		}
		return z.Close()
	})
}

type exportPlaylistRequest struct {
	File    string `path:"file" doc:"A playlist's id and a form (jspf, xspf, m3u8 or csv), such as '12.jspf'."`
	Version int    `query:"version" minimum:"0" doc:"The number of an earlier version; left out, what the playlist is like now."`
}

// playlist sends a playlist in the format of the file name's extension.
func (h *Handler) playlist(c echo.Context, in *exportPlaylistRequest) (out core.Sent[core.None], _ error) {
	file := in.File
	ending := path.Ext(file)
	id, err := core.Number(strings.TrimSuffix(file, ending))
	if err != nil {
		return out, err
	}
	f, ok := listForm(ending)
	if !ok {
		return out, core.HTTPProblem(http.StatusNotFound)
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	p, err := h.store.PlaylistOnly(ctx, user, id)
	if err != nil {
		return out, err
	}
	tracks, day := h.tracks(ctx, user, p.ID), ""
	if in.Version != 0 {
		v, all, err := h.store.Version(ctx, user, p.ID, in.Version)
		if err != nil {
			return out, err
		}
		p.Name, tracks, day = v.Name, each(all), v.Until.In(core.Zone(c)).Format(" 2006-01-02")
	}
	return out, h.sendList(c, p, h.trackPage(p), p.Name+day, f, tracks)
}

// sendList sends a playlist as a file. page is the address of a track at its service, with {id} for its id.
func (h *Handler) sendList(c echo.Context, p library.StoredPlaylist, page, name string, f export.ListForm,
	tracks iter.Seq2[library.Track, error]) error {
	file := cmp.Or(export.FileName(name), "playlist") + f.Ending
	return h.core.Download(c, f.Type, file, func(w io.Writer) error {
		_, err := f.Write(w, p, page, tracks)
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

// each returns tracks one by one.
func each(all []library.Track) iter.Seq2[library.Track, error] {
	return func(yield func(library.Track, error) bool) {
		for _, t := range all {
			if !yield(t, nil) {
				return
			}
		}
	}
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

func (h *Handler) ownAPI(c echo.Context, _ *core.None) (out core.Sent[core.None], _ error) {
	return out, h.own(c)
}

// Send answers with everything that belongs to a person, as an archive.
func (h *Handler) Send(c echo.Context, u accounts.User) error {
	now := time.Now().In(core.Zone(c))
	return h.core.Download(c, "application/zip", "reprise-"+nameOf(u, now)+".zip", func(w io.Writer) error {
		return h.pack(c.Request().Context(), w, u, now)
	})
}
