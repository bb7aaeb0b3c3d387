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

// Sided is a song of one side of a conflict.
type Sided struct {
	ListedTrack
	Only bool `json:"only" doc:"The other side doesn't have it."`
}

func viewSided(s delivery.Sided) Sided { return Sided{viewListed(s.Track), s.Only} }

type getConflictAnswer struct {
	Why   string  `json:"why" enum:",reordered,displaced,shrunk,unknown" doc:"Why the changes can't be merged: both sides were put into another order, one moved what the other removed, more than half would be gone, or nothing tells what they had in common. Empty once they can."`
	Here  []Sided `json:"here" doc:"The playlist."`
	There []Sided `json:"there" doc:"Its copy."`
}

func (h *copies) conflictAPI(c echo.Context, _ *getCopyRequest) (out getConflictAnswer, _ error) {
	id, to, err := h.writer(c)
	if err != nil {
		return out, err
	}
	v, err := h.deliveries.Dispute(c.Request().Context(), core.UserOf(c).ID, id, to.ID)
	return getConflictAnswer{string(v.Why), core.ViewAll(v.Here, viewSided), core.ViewAll(v.There, viewSided)}, err
}

type decideConflictRequest struct {
	core.ByID
	core.Target
	Body struct {
		Keep string `json:"keep" enum:"here,there,both" doc:"The playlist, its copy, or what either has."`
	}
}

func (h *copies) decideAPI(c echo.Context, in *decideConflictRequest) (out Copy, _ error) {
	return h.answer(c, func(ctx context.Context, user, playlist int64, conn library.ConnectionID) error {
		return h.decide(ctx, user, playlist, conn, in.Body.Keep)
	})
}

// decide ends a conflict.
func (h *copies) decide(ctx context.Context, user, playlist int64, conn library.ConnectionID, side string) error {
	if !slices.Contains(delivery.Sides, delivery.Side(side)) {
		refused := core.NotAChoice("keep", side, string(delivery.Here), string(delivery.There), string(delivery.Union))
		refused.Status = http.StatusUnprocessableEntity
		return refused
	}
	return h.deliveries.Decide(ctx, user, playlist, conn, delivery.Side(side))
}

// conflictView is the page on which a person decides what both sides of a playlist become.
type conflictView struct {
	Head   ui.Heading
	Why    string
	Decide []ui.Action
	Sides  []sideView
}

// sideView is one side.
type sideView struct {
	ID, Title string
	Lead      string // how many songs only it has
	Tracks    []ui.Item
	More      string // how many are not shown
}

// conflictPath returns the address of the page about a conflict.
func conflictPath(playlist string, c Copy) string { return copyPath(playlist, c) + "/conflict" }

func (h *copies) conflictPage(c echo.Context) error {
	id, to, err := h.writer(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	dispute, err := h.deliveries.Dispute(ctx, user, id, to.ID)
	if err != nil {
		return err
	}
	list, err := h.store.PlaylistOnly(ctx, user, id)
	if err != nil {
		return err
	}
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return err
	}
	back := "/playlists/" + strconv.FormatInt(id, 10)
	here, there := label(list.Connection), h.label(to)
	v := conflictView{Head: ui.Heading{Title: words.T(ctx, "playlists.both.title", "Playlist", list.Name),
		Lead: words.T(ctx, "playlists.both.lead"), Back: back, BackTo: words.T(ctx, "playlists.into.back")}}
	if dispute.Why != "" {
		v.Why = words.Each("playlists.both.why_", string(dispute.Why), "Here", here, "There", there).T(ctx)
	}
	for _, keep := range []struct {
		side  delivery.Side
		label string
	}{
		{delivery.Here, words.T(ctx, "playlists.both.keep", "Name", here)},
		{delivery.There, words.T(ctx, "playlists.both.keep", "Name", there)},
		{delivery.Union, words.T(ctx, "playlists.both.take")},
	} {
		v.Decide = append(v.Decide, ui.Action{Label: keep.label, Post: back + "/copies/" + string(to.ID),
			Fields: []ui.Hidden{{Name: "write", Value: "keep"}, {Name: "side", Value: string(keep.side)}}})
	}
	v.Sides = []sideView{sideOf(ctx, "here", here, dispute.Here), sideOf(ctx, "there", there, dispute.There)}
	return h.core.Show(c, http.StatusOK, v.Head.Title, conflict(v))
}

// sideOf returns one side of a conflict. Of a long one it shows the songs that only this side has first.
func sideOf(ctx context.Context, id, title string, all []delivery.Sided) sideView {
	only := 0
	for _, s := range all {
		if s.Only {
			only++
		}
	}
	v := sideView{ID: id, Title: title, Lead: words.T(ctx, "playlists.tracks", "Count", len(all)) + " · " +
		words.T(ctx, "playlists.both.only", "Count", only)}
	shown := slices.Clone(all)
	if len(shown) > atOnce {
		slices.SortStableFunc(shown, func(a, b delivery.Sided) int { return rank(b) - rank(a) })
		shown = shown[:atOnce]
		v.More = words.T(ctx, "playlists.both.more", "Count", len(all)-atOnce)
	}
	for _, s := range shown {
		item := ui.Item{Title: ui.Named{Text: s.Title}, By: []ui.Named{{Text: s.Artist}}}
		if s.Only {
			item.Note = words.T(ctx, "playlists.both.only_here")
		}
		v.Tracks = append(v.Tracks, item)
	}
	return v
}

func rank(s delivery.Sided) int {
	if s.Only {
		return 1
	}
	return 0
}
