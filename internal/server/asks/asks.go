// Package asks answers for what members ask the administrators for.
package asks

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/asks"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/throttle"
	"reprise/internal/words"
)

// rate is how often a person may ask: for every service at once, and then now and again.
var rate = throttle.Rate{Burst: 12, Every: 5 * time.Minute}

// Handler answers for what members ask for.
type Handler struct {
	core *core.Core
	asks *asks.Asks
	rate *throttle.Throttle
}

// New returns a Handler.
func New(k *core.Core, a *asks.Asks) *Handler {
	return &Handler{core: k, asks: a, rate: throttle.New(rate)}
}

// Pages adds the routes of the forms.
func (h *Handler) Pages(g *echo.Group) { g.POST("/ask/:provider", h.form) }

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/asks", h.list, core.Call{
		ID:      "listAsks",
		Summary: "What the user has asked the administrators for, as long as it is open",
		Answer:  "In the order of the services.",
	})
	core.Post(a, "/asks", h.ask, core.Call{
		ID:      "ask",
		Choices: map[string][]string{"provider": h.core.ProviderNames()},
		Summary: "Ask the administrators for a service that they have to set up or repair first",
		Description: "Each administrator gets one notification about the service, however many people ask. When " +
			"the service is ready, it closes, and everybody who asked gets a notification. Asking again returns " +
			"the first request.",
		Answer: "The administrators know.",
		Status: http.StatusCreated,
		Refusals: map[int]string{
			http.StatusNotFound:        "",
			http.StatusConflict:        "The service is ready already, or the user is an administrator.",
			http.StatusTooManyRequests: "Asked too often; `Retry-After` says when to ask again.",
		},
	})
}

// Ask is what a person asked for.
type Ask struct {
	Provider string    `json:"provider"`
	Need     string    `json:"need" enum:"setup,keys,app" doc:"What has to happen: set the service up, give it a key that is neither used up nor refused, or make the service accept this server's app again."`
	AskedAt  core.Time `json:"asked_at"`
}

func viewOf(a asks.Ask) Ask {
	return Ask{Provider: a.Provider, Need: string(a.Need), AskedAt: core.Stamp(a.AskedAt)}
}

type listAsksAnswer struct {
	Asks []Ask `json:"asks"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listAsksAnswer, _ error) {
	mine, err := h.asks.Of(c.Request().Context(), core.UserOf(c).ID)
	if err != nil {
		return out, err
	}
	all := []Ask{}
	for _, p := range h.core.Registry.All() {
		if a, ok := mine[p.Name]; ok {
			all = append(all, viewOf(a))
		}
	}
	return listAsksAnswer{Asks: all}, nil
}

// Put asks for a service on behalf of the user of a request. Administrators, who would ask themselves, are refused.
func (h *Handler) Put(c echo.Context, provider string) (asks.Ask, *providers.Provider, error) {
	ctx, u := c.Request().Context(), core.UserOf(c)
	p := h.core.Registry.Get(provider)
	if p == nil {
		return asks.Ask{}, nil, core.NotFound(words.New("ask.unknown"))
	}
	if u.Role == accounts.Admin {
		return asks.Ask{}, p, &core.Refusal{Status: http.StatusConflict, Title: words.New("ask.yourself"),
			Detail: words.New("ask.yourself_text", "Service", p.DisplayName)}
	}
	if wait := h.rate.Take(u.Name); wait > 0 {
		return asks.Ask{}, p, core.Wait(wait)
	}
	a, err := h.asks.Ask(ctx, u.ID, p)
	if errors.Is(err, asks.ErrNothing) {
		err = &core.Refusal{Status: http.StatusConflict, Title: words.New("ask.nothing"),
			Detail: words.New("ask.nothing_text", "Service", p.DisplayName)}
	}
	return a, p, err
}

type askRequest struct {
	core.IdempotencyKey
	Body struct {
		Provider string `json:"provider"`
	}
}

func (h *Handler) ask(c echo.Context, in *askRequest) (out Ask, _ error) {
	a, _, err := h.Put(c, in.Body.Provider)
	if err != nil {
		return out, err
	}
	return viewOf(a), nil
}

func (h *Handler) form(c echo.Context) error {
	_, _, err := h.Put(c, c.Param("provider"))
	if err != nil {
		return err
	}
	to := core.LocalPath(c.FormValue("return_to"))
	if to == "/" {
		to = h.core.CameFrom(c)
	}
	return h.core.Done(c, to, words.New("ask.sent"))
}

// Needs returns what the services need from an administrator, by name; those that need nothing are missing.
func (h *Handler) Needs() map[string]asks.Need {
	needs := map[string]asks.Need{}
	for _, p := range h.core.Registry.All() {
		if n := h.asks.NeedOf(p); n != asks.None {
			needs[p.Name] = n
		}
	}
	return needs
}

// Asked returns when a person asked for a service; the zero time if they did not.
func (h *Handler) Asked(ctx context.Context, user int64, provider string) (time.Time, error) {
	mine, err := h.asks.Of(ctx, user)
	return mine[provider].AskedAt, err
}
