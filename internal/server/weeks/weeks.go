// Package weeks serves the weekly report: a page for each week of a person, a card to share, and the switch that turns
// on the report by e-mail. Package weekly counts the week and writes the mail.
package weeks

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/channels"
	"reprise/internal/digest"
	"reprise/internal/notify"
	"reprise/internal/server/cards"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/weekly"
)

// Store is the part of the store that this package uses.
type Store interface {
	weekly.Store
	Digests(ctx context.Context, user int64) ([]digest.Digest, error)
}

// Options are what New needs.
type Options struct {
	Core    *core.Core
	Store   Store
	Rows    *music.Rows
	Cards   *cards.Cards
	Reports *weekly.Reports
	Courier *notify.Courier
	Digests *digest.Runner
}

// Handler serves the weekly report.
type Handler struct{ Options }

// New returns a Handler.
func New(o Options) *Handler { return &Handler{o} }

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/listening/weeks", h.latest)
	g.GET("/listening/weeks/:week", h.page)
	g.POST("/listening/weeks/:week/mail", h.switchForm)
	g.POST("/listening/weeks/:week/send", h.sendForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/stats/weeks/{week}", h.weekAPI, core.Call{
		ID:      "statsWeek",
		Summary: "What a week of the signed-in user was like",
		Answer:  "The week; of one that is under way, so far.",
	})
	for ending, kind := range map[string]string{"svg": "image/svg+xml", "png": "image/png"} {
		name := map[string]string{"svg": "SVG", "png": "PNG"}[ending]
		core.Get(a, "/stats/weeks/{week}/card."+ending, h.cardAPI, core.Call{
			ID:          "weekCard" + name,
			Summary:     "The card of a week of the signed-in user, as " + name,
			Description: "It has an `ETag`, and answers 304 to one that is still right.",
			Answer:      "The picture.",
			Also:        map[int]string{http.StatusNotModified: "It is still the same."},
			Types:       []string{kind},
		})
	}
	core.Put(a, "/channels/{id}/report", h.switchAPI, core.Call{
		ID:          "switchReport",
		Summary:     "Switch the weekly report on or off for an e-mail channel",
		Description: "It is sent on Monday from 7 o'clock on in your time zone, about the week that has just ended.",
		Answer:      "Done.",
		Refusals:    map[int]string{http.StatusUnprocessableEntity: ""},
	})
}

// requested counts the week of the user that a request names by its Monday. If the request names another day, moved is
// the address of the page of that day's week.
func (h *Handler) requested(c echo.Context) (w weekly.Week, moved string, err error) {
	now := time.Now().In(core.Zone(c))
	date, err := time.ParseInLocation(time.DateOnly, c.Param("week"), now.Location())
	if err != nil || date.Year() < 1900 || date.After(now) {
		return w, "", core.HTTPProblem(http.StatusNotFound)
	}
	if monday := weekly.Monday(date).Format(time.DateOnly); monday != c.Param("week") {
		return w, weekly.Path(monday), nil
	}
	w, err = weekly.Of(c.Request().Context(), h.Store, core.UserOf(c).ID, date, now)
	return w, "", err
}

// mailboxes returns the e-mail channels of a user.
func (h *Handler) mailboxes(ctx context.Context, user int64) (all []notify.Channel, err error) {
	have, err := h.Courier.All(ctx, user)
	for _, ch := range have {
		if ch.Kind == channels.Email {
			all = append(all, ch)
		}
	}
	return all, err
}
