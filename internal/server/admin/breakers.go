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

// Endpoints are the breakers of all endpoints that are called; see [transport.Breakers].
type Endpoints interface {
	Status() []transport.BreakerStatus
	Reset(endpoint string) (before transport.BreakerState, ok bool)
}

// Breakers answers for the breakers of endpoints.
type Breakers struct {
	core     *core.Core
	breakers Endpoints
}

// NewBreakers returns Breakers.
func NewBreakers(k *core.Core, breakers Endpoints) *Breakers {
	return &Breakers{core: k, breakers: breakers}
}

// Pages adds the routes of the pages.
func (h *Breakers) Pages(g *echo.Group) {
	g.POST("/settings/server/breakers/reset", h.resetForm, core.MustBeAdmin)
}

// API adds the routes of the API.
func (h *Breakers) API(a *core.API) {
	core.Get(a, "/admin/breakers", h.list, core.Call{
		ID:      "listBreakers",
		Summary: "The breakers of all endpoints called since the start (administrators only)",
		Answer:  "Those with problems first.",
	})
	core.Post(a, "/admin/breakers/{endpoint}/reset", h.resetAPI, core.Call{
		ID:      "resetBreaker",
		Summary: "Close a breaker, so that calls go out again at once (administrators only); may be repeated",
		Answer:  "The state before and after.",
	})
}

// Breaker is a breaker in the API.
type Breaker struct {
	Endpoint string         `json:"endpoint" doc:"Method, host and route template: \"GET api.spotify.com/v1/me\"."`
	State    string         `json:"state" enum:"BreakerState"`
	Failures int            `json:"failures" doc:"In a row."`
	Since    core.MaybeTime `json:"since"`
	Until    core.MaybeTime `json:"until"`
}

// ViewBreaker returns the view of a breaker.
func ViewBreaker(b transport.BreakerStatus) Breaker {
	return Breaker{Endpoint: b.Endpoint, State: b.State.String(), Failures: b.Failures,
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

type listBreakersAnswer struct {
	Breakers []Breaker `json:"breakers"`
}

func (h *Breakers) list(c echo.Context, _ *core.None) (out listBreakersAnswer, _ error) {
	return listBreakersAnswer{Breakers: core.ViewAll(h.breakers.Status(), ViewBreaker)}, nil
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

type resetBreakerRequest struct {
	Endpoint string `path:"endpoint" doc:"As in the list, percent-encoded."`
}

type resetBreakerAnswer struct {
	PreviousState string `json:"previous_state" enum:"BreakerState"`
	NewState      string `json:"new_state" enum:"BreakerState"`
}

func (h *Breakers) resetAPI(c echo.Context, in *resetBreakerRequest) (out resetBreakerAnswer, _ error) {
	name, err := url.PathUnescape(in.Endpoint)
	if err != nil {
		return out, errNoBreaker
	}
	previous, err := h.reset(c, name)
	if err != nil {
		return out, err
	}
	return resetBreakerAnswer{PreviousState: previous.String(), NewState: transport.BreakerClosed.String()}, nil
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
