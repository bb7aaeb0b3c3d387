package admin

import (
	"context"
	"net/http"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/library"
	"reprise/internal/resilience/transport"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// Breakers answers for the breakers of endpoints.
type Breakers struct {
	core     *core.Core
	breakers *transport.Breakers
}

// NewBreakers returns Breakers.
func NewBreakers(k *core.Core, breakers *transport.Breakers) *Breakers {
	return &Breakers{core: k, breakers: breakers}
}

// Pages adds the routes of the pages.
func (h *Breakers) Pages(g *echo.Group) {
	g.POST("/settings/server/breakers/reset", h.resetForm, core.MustBeAdmin)
}

// API adds the routes of the API.
func (h *Breakers) API(g *echo.Group) {
	g.GET("/admin/breakers", h.list, core.MustBeAdmin)
	g.POST("/admin/breakers/:endpoint/reset", h.resetAPI, core.MustBeAdmin)
}

// BreakerView is a breaker in the API.
type BreakerView struct {
	Endpoint string  `json:"endpoint"`
	State    string  `json:"state"`
	Failures int     `json:"failures"`
	Since    *string `json:"since"`
	Until    *string `json:"until"`
}

// ViewBreaker returns the view of a breaker.
func ViewBreaker(b transport.BreakerStatus) BreakerView {
	return BreakerView{Endpoint: b.Endpoint, State: b.State.String(), Failures: b.Failures,
		Since: core.Moment(b.Since), Until: core.Moment(b.Until)}
}

// Part returns the breakers that are not closed as a part of a page.
func (h *Breakers) Part(context.Context) (templ.Component, error) {
	all := h.breakers.Status()
	var open []transport.BreakerStatus
	for _, b := range all {
		if b.State != transport.BreakerClosed {
			open = append(open, b)
		}
	}
	return breakersPart(open, len(all)), nil
}

func (h *Breakers) list(c echo.Context) error {
	return c.JSON(http.StatusOK, map[string]any{"breakers": core.ViewAll(h.breakers.Status(), ViewBreaker)})
}

var errNoBreaker = &core.Refusal{Status: http.StatusNotFound, Title: words.New("breaker.none.title"),
	Detail: words.New("breaker.none.text")}

// reset closes a breaker, and returns its state before.
func (h *Breakers) reset(c echo.Context, endpoint string) (transport.BreakerState, error) {
	previous, ok := h.breakers.Reset(endpoint)
	if !ok {
		return previous, errNoBreaker
	}
	if previous != transport.BreakerClosed {
		h.core.Note(c.Request().Context(), activity.Entry{Action: activity.BreakerReset,
			Connection: h.providerOf(endpoint), Subject: endpoint})
	}
	return previous, nil
}

// providerOf returns the service that an endpoint is of; empty when it is unknown.
func (h *Breakers) providerOf(endpoint string) library.ConnectionID {
	for _, b := range h.breakers.Status() {
		if b.Endpoint == endpoint {
			return library.ConnectionID(b.Provider)
		}
	}
	return ""
}

func (h *Breakers) resetAPI(c echo.Context) error {
	name, err := url.PathUnescape(c.Param("endpoint"))
	if err != nil {
		return errNoBreaker
	}
	previous, err := h.reset(c, name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]string{"previous_state": previous.String(),
		"new_state": transport.BreakerClosed.String()})
}

// resetForm answers the buttons on the page of the server and on the health page, which can be about several endpoints.
// One that is gone meanwhile matters only if all are.
func (h *Breakers) resetForm(c echo.Context) error {
	form, err := core.Form(c)
	if err != nil {
		return err
	}
	done, err := false, error(errNoBreaker)
	for _, endpoint := range form["endpoint"] {
		if _, err = h.reset(c, endpoint); err == nil {
			done = true
		}
	}
	if !done {
		return err
	}
	h.core.Sessions.Flash(c.Request().Context(), words.New("breaker.reset"))
	if h.core.CameFrom(c) == "/health" {
		return c.Redirect(http.StatusSeeOther, "/health")
	}
	return c.Redirect(http.StatusSeeOther, "/settings/server#endpoints")
}
