// Package playlists answers for playlists and for their copies at other providers.
package playlists

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/delivery"
	"reprise/internal/export"
	"reprise/internal/library"
	"reprise/internal/recipes"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/server/deliveries"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Store is what this package reads of playlists and of their copies.
type Store interface {
	VersionStore
	LibraryStore
	recipes.Store
	PlaylistsPart(ctx context.Context, user int64, offset, limit int) ([]library.StoredPlaylist, error)
	CountPlaylists(ctx context.Context, user int64) (int, error)
	PlaylistStarts(ctx context.Context, user int64, ids []int64, first int) (map[int64]library.PlaylistStart, error)
	PlaylistOnly(ctx context.Context, user, id int64) (library.StoredPlaylist, error)
	PlaylistTracks(ctx context.Context, user, id int64, offset, limit int) ([]library.Track, error)
	Videos(ctx context.Context, ids []string) (map[string]library.StoredVideo, error)
	UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	ConnectionPlaylists(ctx context.Context, user int64, conn library.ConnectionID) ([]library.StoredPlaylist, error)
	Share(ctx context.Context, user int64, kind, subject string) (library.Share, error)
	Copies(ctx context.Context, user int64, kind string) ([]delivery.Copy, error)
	Copy(ctx context.Context, user int64, conn library.ConnectionID, kind, ref string) (delivery.Copy, error)
	CopyDelivery(ctx context.Context, user int64, conn library.ConnectionID, kind, ref string) (delivery.Delivery,
		error)
}

// Handler answers for playlists and for their copies at other providers.
type Handler struct {
	core   *core.Core
	store  Store
	rows   *music.Rows
	copies *copies
	teller Teller
	maker  *recipes.Maker
}

// New returns a Handler.
func New(k *core.Core, store Store, rows *music.Rows, d *delivery.Deliveries, teller Teller,
	statuses *connections.Statuses, names *deliveries.Namer) *Handler {
	return &Handler{core: k, store: store, rows: rows, teller: teller, maker: recipes.New(store, k.Log),
		copies: &copies{core: k, store: store, deliveries: d, statuses: statuses, names: names}}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/playlists", h.listPage)
	g.GET("/playlists/:id", h.onePage)
	g.POST("/playlists/:id/copies/:connection", h.copies.form)
	g.GET("/playlists/missing/:id", h.missingPage)
	h.copies.intoPages(g)
	g.GET("/playlists/:id/copies/:connection/conflict", h.copies.conflictPage)
	h.historyPages(g)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/playlists", h.list, core.Call{
		ID:      "listPlaylists",
		Summary: "All playlists, without their tracks",
		Answer:  "The playlists.",
	})
	core.Get(a, "/playlists/{id}", h.oneAPI, core.Call{
		ID:      "getPlaylist",
		Summary: "One playlist with its tracks",
		Answer:  "The playlist.",
	})
	core.Get(a, "/playlists/{id}/copies/{connection}", h.copies.oneAPI, core.Call{
		ID:       "getCopy",
		Summary:  "A provider's copy of a playlist, and the result of writing it",
		Answer:   "The copy; `enabled` is false when nobody wants one.",
		Refusals: map[int]string{http.StatusUnprocessableEntity: ""},
	})
	core.Put(a, "/playlists/{id}/copies/{connection}", h.copies.writeAPI, core.Call{
		ID:      "startCopy",
		Summary: "Write a playlist to a provider, and again whenever it changes",
		Answer:  "Stored. Reprise writes it as soon as the provider allows.",
		Status:  http.StatusAccepted,
		Refusals: map[int]string{
			http.StatusUnprocessableEntity: "",
			http.StatusTooManyRequests:     "Too much is waiting already; see Retry-After (seconds).",
		},
	})
	core.Patch(a, "/playlists/{id}/copies/{connection}", h.copies.chooseAPI, core.Call{
		ID:      "chooseForCopy",
		Summary: "Choose what happens when somebody deletes or changes the copy there",
		Answer:  "The copy.",
		Refusals: map[int]string{http.StatusConflict: "The person has not yet allowed Reprise to change the playlist.",
			http.StatusUnprocessableEntity: ""},
	})
	core.Get(a, "/playlists/{id}/copies/{connection}/conflict", h.copies.conflictAPI, core.Call{
		ID:      "getConflict",
		Summary: "Both sides of a playlist that is kept equal both ways, when their changes can't be merged",
		Answer:  "Both sides.",
		Refusals: map[int]string{
			http.StatusConflict:            "There is nothing to decide.",
			http.StatusUnprocessableEntity: "",
		},
	})
	core.Post(a, "/playlists/{id}/copies/{connection}/conflict", h.copies.decideAPI, core.Call{
		ID:      "decideConflict",
		Summary: "Decide what both sides become",
		Answer:  "The copy. Reprise writes it as soon as the providers allow.",
		Refusals: map[int]string{
			http.StatusConflict:            "There is nothing to decide.",
			http.StatusUnprocessableEntity: "",
		},
	})
	core.Delete(a, "/playlists/{id}/copies/{connection}", h.copies.stopAPI, core.Call{
		ID:      "stopCopy",
		Summary: "Stop writing it; the copy stays as it is",
		Answer:  "Stopped.",
	})
	h.historyAPI(a)
	h.missingAPI(a)
}

type Playlist struct {
	ID         string  `json:"id"`
	Provider   string  `json:"provider"`
	Connection string  `json:"connection" doc:"Its provider, and from the second connection on, a number; 'recipe' for a playlist of your own history."`
	From       string  `json:"-"` // label of the connection
	SourceID   string  `json:"source_id"`
	Name       string  `json:"name"`
	TrackCount int     `json:"track_count"`
	Active     bool    `json:"active" doc:"false once it is gone at its provider."`
	CopyOf     *string `json:"copy_of" doc:"The id of the playlist that Reprise writes this one from; null if it is not a copy."`
	CopyName   string  `json:"-"`
}

// ListedTrack is what a playlist says of a track.
type ListedTrack struct {
	Track      string  `json:"track"`
	Artist     string  `json:"artist"`
	Album      string  `json:"album"`
	DurationMS *int64  `json:"duration_ms"`
	ISRC       *string `json:"isrc"`
}

func viewListed(t library.Track) ListedTrack {
	return ListedTrack{Track: t.Title, Artist: t.Artist, Album: t.Album, DurationMS: known64(t.Duration.Milliseconds()),
		ISRC: core.Text(t.ISRC)}
}

type Track struct {
	Position int `json:"position" minimum:"1"`
	ListedTrack
	// Video is nil for a track that is no video, or of whose video nothing is known yet.
	Video *Video `json:"video"`
	Why   string `json:"why" doc:"Why the recipe chose it; empty in other playlists."`
}

// reasons returns what says why a track is in the playlist of a recipe; nothing is said in another playlist.
func (h *Handler) reasons(c echo.Context, p Playlist) (func(library.Track) string, error) {
	none := func(library.Track) string { return "" }
	id, err := strconv.ParseInt(p.SourceID, 10, 64)
	if p.Connection != string(library.Recipes) || err != nil {
		return none, nil
	}
	ctx := c.Request().Context()
	r, err := h.store.Recipe(ctx, core.UserOf(c).ID, id)
	if errors.Is(err, library.ErrNotFound) {
		return none, nil
	}
	if err != nil {
		return nil, err
	}
	songs, err := h.maker.Renewal(ctx, r)
	type names struct{ title, artist string }
	zone, why := core.Zone(c), map[names]recipes.Song{}
	for _, s := range songs {
		why[names{s.Title, s.Artist}] = s.Song
	}
	return func(t library.Track) string {
		if s, ok := why[names{t.Title, t.Artist}]; ok {
			return r.Why(s, zone).T(ctx)
		}
		return ""
	}, err
}

func viewOf(p library.StoredPlaylist, label func(library.ConnectionID) string) Playlist {
	v := Playlist{ID: strconv.FormatInt(p.ID, 10), Provider: p.Connection.Provider(),
		Connection: string(p.Connection), From: label(p.Connection), SourceID: p.SourceID, Name: p.Name,
		TrackCount: p.TrackCount, Active: p.Active, CopyName: p.CopyName}
	if p.CopyOf != 0 {
		v.CopyOf = core.Text(strconv.FormatInt(p.CopyOf, 10))
	}
	return v
}

// tracks returns a part of a playlist's tracks, with what is known of their videos, and why they are there.
func (h *Handler) tracks(ctx context.Context, user, id int64, offset int, why func(library.Track) string) (
	[]Track, error) {
	tracks, err := h.store.PlaylistTracks(ctx, user, id, offset, atOnce)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(tracks))
	for _, t := range tracks {
		ids = append(ids, t.SourceID)
	}
	videos, err := h.store.Videos(ctx, ids)
	all := make([]Track, len(tracks))
	for i, t := range tracks {
		all[i] = Track{Position: offset + i + 1, ListedTrack: viewListed(t), Video: viewVideo(videos[t.SourceID]),
			Why: why(t)}
	}
	return all, err
}

func known64(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// atOnce is how many playlists, or tracks of one, are read at once, and how many a page shows: with the longest names
// there can be that is less than 2 MiB.
const atOnce = 250

type listPlaylistsAnswer struct {
	Playlists []Playlist `json:"playlists"`
}

type getPlaylistAnswer struct {
	Playlist
	Tracks []Track `json:"tracks"`
}

// list answers with all playlists. They are written as they are read, so that their number does not matter.
func (h *Handler) list(c echo.Context, _ *core.None) (out core.Sent[listPlaylistsAnswer], _ error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return out, err
	}
	return out, h.core.Stream(c, `{"playlists":[`, `]}`, func(offset int) ([]any, error) {
		part, err := h.store.PlaylistsPart(ctx, user, offset, atOnce)
		return core.ViewAll(part, func(p library.StoredPlaylist) any { return viewOf(p, label) }), err
	})
}

func (h *Handler) listPage(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return err
	}
	total, err := h.store.CountPlaylists(ctx, user)
	if err != nil {
		return err
	}
	pager, err := core.PagerOf(c, total, atOnce)
	if err != nil {
		return err
	}
	part, err := h.store.PlaylistsPart(ctx, user, pager.Offset(), atOnce)
	if err != nil {
		return err
	}
	views := core.ViewAll(part, func(p library.StoredPlaylist) Playlist { return viewOf(p, label) })
	v := overviewOf(ctx, views, pagesOf(pager))
	if len(views) == 0 {
		connected, err := h.store.UserConnections(ctx, user)
		if err != nil {
			return err
		}
		if len(connected) > 0 {
			v.Next = nil // what there is will appear by itself
		}
	}
	if err := h.illustrate(ctx, user, part, v.Playlists); err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "playlists.title"), listPlaylists(v))
}

// firstTracks is how many tracks of a playlist are looked at for pictures.
const firstTracks = 8

// illustrate adds the lengths of playlists to their rows, and the pictures with which they begin.
func (h *Handler) illustrate(ctx context.Context, user int64, all []library.StoredPlaylist, rows []ui.Item) error {
	ids := core.ViewAll(all, func(p library.StoredPlaylist) int64 { return p.ID })
	starts, err := h.store.PlaylistStarts(ctx, user, ids, firstTracks)
	if err != nil {
		return err
	}
	var tracks []library.Track
	for _, id := range ids {
		tracks = append(tracks, starts[id].Tracks...)
	}
	links, err := h.rows.Links(ctx, tracks...)
	if err != nil {
		return err
	}
	for i, id := range ids {
		rows[i].Mosaic = []string{}
		for _, l := range links[:len(starts[id].Tracks)] {
			if url := "/art/" + l.Picture; l.Picture != "" && !slices.Contains(rows[i].Mosaic, url) {
				rows[i].Mosaic = append(rows[i].Mosaic, url)
			}
		}
		links = links[len(starts[id].Tracks):]
		if length := starts[id].Length; length > 0 {
			rows[i].By = append(rows[i].By, ui.Named{Text: music.Length(ctx, length)})
		}
	}
	return nil
}

// address returns the part of a playlist's page about its addresses.
func (h *Handler) address(ctx context.Context, user int64, playlist string) (v addressView, err error) {
	s, err := h.store.Share(ctx, user, library.SharePlaylist, playlist)
	if errors.Is(err, library.ErrNotFound) {
		return v, nil
	}
	v.MadeAt = s.MadeAt
	if s.Code == "" {
		return v, err
	}
	for _, f := range []export.ListForm{export.M3U8, export.XSPF, export.JSPF} {
		v.Forms = append(v.Forms,
			ui.Link{Label: strings.ToUpper(f.Ending[1:]), URL: h.core.ListAddress(s.Code, f.Ending)})
	}
	return v, err
}

// one returns the playlist that a request names, without its tracks.
func (h *Handler) one(c echo.Context) (v Playlist, id int64, err error) {
	if id, err = core.Number(c.Param("id")); err != nil {
		return Playlist{}, 0, err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return Playlist{}, 0, err
	}
	p, err := h.store.PlaylistOnly(ctx, user, id)
	return viewOf(p, label), id, err
}

// oneAPI answers with a playlist and all its tracks, which are written as they are read.
func (h *Handler) oneAPI(c echo.Context, _ *core.ByID) (out core.Sent[getPlaylistAnswer], _ error) {
	p, id, err := h.one(c)
	if err != nil {
		return out, err
	}
	head, err := json.Marshal(p)
	if err != nil {
		return out, err
	}
	why, err := h.reasons(c, p)
	if err != nil {
		return out, err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	begin := string(head[:len(head)-1]) + `,"tracks":[`
	return out, h.core.Stream(c, begin, `]}`, func(offset int) ([]any, error) {
		tracks, err := h.tracks(ctx, user, id, offset, why)
		return core.ViewAll(tracks, func(t Track) any { return t }), err
	})
}

func (h *Handler) onePage(c echo.Context) error {
	p, id, err := h.one(c)
	if err != nil {
		return err
	}
	pager, err := core.PagerOf(c, p.TrackCount, atOnce)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	why, err := h.reasons(c, p)
	if err != nil {
		return err
	}
	tracks, err := h.tracks(ctx, user, id, pager.Offset(), why)
	if err != nil {
		return err
	}
	var copies []Copy
	if p.CopyOf == nil { // nobody means to copy a copy
		if copies, err = h.copies.all(ctx, user, p.ID, library.ConnectionID(p.Connection)); err != nil {
			return err
		}
	}
	v := pageOf(ctx, p, tracks, copies)
	v.Pages = pagesOf(pager)
	if v.Address, err = h.address(ctx, user, p.ID); err != nil {
		return err
	}
	return h.core.Show(c, http.StatusOK, p.Name, onePlaylist(v))
}
