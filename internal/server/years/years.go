// Package years serves the year in review: a page for each year of a person, a card of it to share, and a link that
// shows parts of it to anyone who has the link. All numbers are counted by internal/listening.
package years

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/listening"
	"reprise/internal/review"
	"reprise/internal/server/cards"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/words"
)

// Store is the part of the store that this package uses.
type Store interface {
	review.Store
	core.ShareStore
}

// Handler serves the year in review.
type Handler struct {
	core  *core.Core
	store Store
	rows  *music.Rows
	cards *cards.Cards
}

// New returns a Handler.
func New(k *core.Core, store Store, rows *music.Rows, drawn *cards.Cards) *Handler {
	return &Handler{core: k, store: store, rows: rows, cards: drawn}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/listening/years", h.list)
	g.GET("/listening/years/:year", h.page)
	g.GET("/listening/years/:year/preview", h.preview)
	g.GET("/listening/years/:year/story", h.storyPage)
	g.GET("/listening/years/:year/link", h.linkPage)
	g.POST("/listening/years/:year/link", h.linkForm)
	g.POST("/listening/years/:year/link/delete", h.takeBackForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/stats/years", h.listAPI, core.Call{
		ID:      "statsYears",
		Summary: "The years in which the signed-in user heard something",
		Answer:  "The years, latest first.",
	})
	core.Get(a, "/stats/years/{year}", h.storyAPI, core.Call{
		ID:      "statsYear",
		Summary: "What a year of the signed-in user was like",
		Answer:  "The year; of one that is under way, so far.",
	})
	core.Get(a, "/stats/years/{year}/card.svg", h.cardAPI, core.Call{
		ID:          "yearCardSVG",
		Summary:     "The card of a year of the signed-in user, as SVG",
		Description: "It has an `ETag`, and answers 304 to one that is still right.",
		Answer:      "The picture.",
		Also:        map[int]string{http.StatusNotModified: "It is still the same."},
		Types:       []string{"image/svg+xml"},
	})
	core.Get(a, "/stats/years/{year}/card.png", h.cardAPI, core.Call{
		ID:          "yearCardPNG",
		Summary:     "The card of a year of the signed-in user, as PNG",
		Description: "It has an `ETag`, and answers 304 to one that is still right.",
		Answer:      "The picture.",
		Also:        map[int]string{http.StatusNotModified: "It is still the same."},
		Types:       []string{"image/png"},
	})
	core.Get(a, "/stats/years/{year}/link", h.linkAPI, core.Call{
		ID:      "yearLink",
		Summary: "The link that shows a year of the signed-in user to anyone who has it",
		Answer:  "The link.",
	})
	core.Put(a, "/stats/years/{year}/link", h.keepLinkAPI, core.Call{
		ID:       "shareYear",
		Summary:  "Create that link, or change what it shows",
		Answer:   "The link.",
		Refusals: map[int]string{http.StatusUnprocessableEntity: ""},
	})
	core.Delete(a, "/stats/years/{year}/link", h.takeBackAPI, core.Call{
		ID:      "unshareYear",
		Summary: "Delete the link",
		Answer:  "It no longer works.",
	})
}

// story is a year of a person, counted.
type story struct {
	review.Review
	year int
}

// yearOf returns the year in the address of a request.
func yearOf(c echo.Context, now time.Time) (int, error) {
	text := c.Param("year")
	year, err := strconv.Atoi(text)
	if err != nil || len(text) != 4 || year < 1900 || year > now.Year() {
		return 0, core.HTTPProblem(http.StatusNotFound)
	}
	return year, nil
}

// story counts a year of a person.
func (h *Handler) story(ctx context.Context, user int64, year int, now time.Time) (s story, err error) {
	span, err := listening.NewSpan(listening.Year, time.Date(year, 1, 1, 0, 0, 0, 0, now.Location()))
	if err != nil {
		return s, err
	}
	r, err := review.Count(ctx, h.store, user, span, now, true)
	return story{r, year}, err
}

// count answers a question about the listens of a user.
func (h *Handler) count(ctx context.Context, user int64, q listening.Question) (listening.Answer, error) {
	columns, err := h.store.Columns(ctx, user)
	if err != nil {
		return listening.Answer{}, err
	}
	meanings, err := h.store.Meanings(ctx)
	if err != nil {
		return listening.Answer{}, err
	}
	return listening.Count(columns, meanings, q), nil
}

// requested counts the user's year that a request is about.
func (h *Handler) requested(c echo.Context) (story, error) {
	now := time.Now().In(core.Zone(c))
	year, err := yearOf(c, now)
	if err != nil {
		return story{}, err
	}
	return h.story(c.Request().Context(), core.UserOf(c).ID, year, now)
}

// counted is a year and its number of listens.
type counted struct{ Year, Listens int }

// all returns the years that have listens, latest first.
func (h *Handler) all(c echo.Context) (years []counted, err error) {
	now := time.Now().In(core.Zone(c))
	span, err := listening.NewSpan(listening.All, now)
	if err != nil {
		return nil, err
	}
	found, err := h.count(c.Request().Context(), core.UserOf(c).ID, listening.Question{Span: span, Now: now, Most: 1})
	for _, p := range slices.Backward(found.Over) {
		if p.Listens == 0 {
			continue
		}
		if n := len(years); n == 0 || years[n-1].Year != p.From.Year() {
			years = append(years, counted{Year: p.From.Year()})
		}
		years[len(years)-1].Listens += p.Listens
	}
	return years, err
}

// The parts of a year that can be shown to others.
const (
	numbers = "numbers"
	artists = "artists"
	albums  = "albums"
	tracks  = "tracks"
	months  = "months"
)

// parts are all parts, in order.
var parts = []string{numbers, artists, albums, tracks, months}

// shown is a set of parts.
type shown map[string]bool

// everything returns all parts.
func everything() shown { return showing(parts) }

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

// labels returns the names of the parts for the reader.
func (s shown) labels(ctx context.Context) string {
	return strings.Join(core.ViewAll(s.list(), func(name string) string {
		return words.Each("year.part.", name).T(ctx)
	}), ", ")
}

// askedParts returns the parts in the parameter "show" of a request; all without it.
func askedParts(c echo.Context) (shown, error) {
	text := c.QueryParam("show")
	if text == "" {
		return everything(), nil
	}
	s := shown{}
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(parts, name) {
			return nil, core.BadRequest(words.New("problem.year.title"),
				words.New("problem.year.parts", "Parts", strings.Join(parts, ", ")))
		}
		s[name] = true
	}
	return s, nil
}

// ticked returns the parts that are ticked in a form.
func ticked(c echo.Context) shown {
	s := shown{}
	for _, name := range parts {
		if c.FormValue(name) == "yes" {
			s[name] = true
		}
	}
	return s
}
