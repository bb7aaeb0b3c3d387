// Package profile serves the public profile of a person to anybody who has its address: a page, a card, a badge for
// other sites and a feed. There is no profile until the person makes one. It shows only what they chose, and they can
// delete or replace its address at any time. It never includes what their play rules keep from being sent anywhere, not
// even in its numbers.
package profile

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/players"
	"reprise/internal/playrules"
	"reprise/internal/server/cards"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
)

// Store is the part of the store that this package uses.
type Store interface {
	SentColumns(ctx context.Context, user int64, from, to time.Time) ([]*listening.Columns, error)
	SentListens(ctx context.Context, user int64, limit int) ([]library.StoredListen, error)
	Meanings(context.Context) (*listening.Music, error)
	Entities(ctx context.Context, ids []uint32) (map[uint32]library.Entity, error)
	Loves(ctx context.Context, f library.LoveFilter, offset, limit int) (page []library.Love, total int, err error)
	PlayRules(ctx context.Context, user int64) ([]playrules.Rule, error)
	core.ShareStore
}

// Now says what people are playing.
type Now interface {
	Of(user int64) []players.Playing
}

// Handler serves the public profile.
type Handler struct {
	core  *core.Core
	store Store
	now   Now
	rows  *music.Rows
	cards *cards.Cards
}

// New returns a Handler.
func New(k *core.Core, store Store, now Now, rows *music.Rows, drawn *cards.Cards) *Handler {
	return &Handler{core: k, store: store, now: now, rows: rows, cards: drawn}
}

// own is the path of the page on which a person sets up their profile.
const own = "/settings/profile"

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET(own, h.page)
	g.GET(own+"/preview", h.preview)
	g.POST(own, h.form)
	g.POST(own+"/delete", h.takeBackForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/profile", h.profileAPI, core.Call{
		ID:      "getProfile",
		Summary: "The public profile of the signed-in user",
		Answer:  "The profile, or that there is none.",
	})
	core.Put(a, "/profile", h.keepAPI, core.Call{
		ID:      "makeProfile",
		Summary: "Make that profile public, or change what it shows",
		Description: "Anybody who has the address sees what the profile shows. `/card.png`, `/card.svg`, " +
			"`/badge.svg` and `/feed.atom` after the address are a picture of it, a badge for other sites and a " +
			"feed of listens.",
		Answer:   "The profile.",
		Refusals: map[int]string{http.StatusUnprocessableEntity: ""},
	})
	core.Delete(a, "/profile", h.takeBackAPI, core.Call{
		ID:       "deleteProfile",
		Summary:  "Delete that profile",
		Answer:   "Its address no longer works.",
		Refusals: map[int]string{http.StatusNotFound: "There is none."},
	})
}

// The parts of a profile.
const (
	playing = "now"
	numbers = "numbers"
	artists = "artists"
	albums  = "albums"
	tracks  = "tracks"
	latest  = "latest"
	loved   = "loved"
)

// parts are all parts, in order.
var parts = []string{playing, numbers, artists, albums, tracks, latest, loved}

// shown is a set of parts.
type shown map[string]bool

// showing returns the set of these parts, without unknown names.
func showing(names []string) shown {
	s := shown{}
	for _, name := range names {
		if slices.Contains(parts, name) {
			s[name] = true
		}
	}
	return s
}

// list returns the parts in order.
func (s shown) list() []string {
	all := []string{}
	for _, name := range parts {
		if s[name] {
			all = append(all, name)
		}
	}
	return all
}

// spanned reports whether one of the parts is about a span of time.
func (s shown) spanned() bool { return s[numbers] || s.topped() }

// topped reports whether one of the parts is a list of what was heard most.
func (s shown) topped() bool { return s[artists] || s[albums] || s[tracks] }

// badged reports whether there is a badge, which needs one of these parts.
func (s shown) badged() bool { return s[playing] || s[latest] }
