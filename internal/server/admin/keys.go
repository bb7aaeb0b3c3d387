// Package admin answers for what only administrators change: API keys and breakers.
package admin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/digest"
	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience/keys"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// Keys answers for the installation's own API keys.
type Keys struct {
	core        *core.Core
	connections *syncer.Connections
	enrichment  *enrich.Runner
	digests     *digest.Runner
}

// NewKeys returns Keys. enrichment may be nil.
func NewKeys(k *core.Core, connections *syncer.Connections, enrichment *enrich.Runner,
	digests *digest.Runner) *Keys {
	return &Keys{core: k, connections: connections, enrichment: enrichment, digests: digests}
}

// Pages adds the routes of the pages.
func (h *Keys) Pages(g *echo.Group) {
	g.GET("/settings/server/keys/:provider/:last4/reset", h.resetPage, core.MustBeAdmin)
	g.POST("/settings/server/keys/:provider/:last4/reset", h.resetForm, core.MustBeAdmin)
}

// API adds the routes of the API.
func (h *Keys) API(a *core.API) {
	core.Get(a, "/admin/keys", h.list, core.Call{
		ID:      "listKeys",
		Summary: "This server's API keys, by their last four characters (administrators only)",
		Answer:  "In the order of the settings.",
	})
	core.Post(a, "/admin/keys/{provider}/{last4}/reset", h.resetAPI, core.Call{
		ID:      "resetKey",
		Summary: "Use a cooling or refused key again at once (administrators only); may be repeated",
		Answer:  "The state before and after.",
	})
}

// Key is a key without its secret part, for administrators.
type Key struct {
	Provider    string         `json:"provider"`
	DisplayName string         `json:"display_name"`
	Project     string         `json:"project,omitempty"`
	LastFour    string         `json:"last_four"`
	State       string         `json:"state" enum:"KeyState"`
	Until       core.MaybeTime `json:"until"`            // the end of its cooldown
	Why         string         `json:"reason,omitempty"` // of its cooldown, or of the provider's refusal
	Failures    int            `json:"failures" doc:"Recent ones."`
}

func viewKey(ctx context.Context, p *providers.Provider, k keys.Status) Key {
	return Key{Provider: p.Name, DisplayName: p.DisplayName, Project: k.Project, LastFour: k.LastFour,
		State: k.State(), Until: core.Moment(k.Until), Why: why(k).T(ctx), Failures: k.Failures}
}

type listKeysAnswer struct {
	Keys []Key `json:"keys"`
}

func (h *Keys) list(c echo.Context, _ *core.None) (out listKeysAnswer, _ error) {
	ctx := c.Request().Context()
	all := []Key{}
	for _, p := range h.core.Services() {
		all = append(all,
			core.ViewAll(p.Keys.Keys(), func(k keys.Status) Key { return viewKey(ctx, p, k) })...)
	}
	return listKeysAnswer{Keys: all}, nil
}

var errNoKey = &core.Refusal{Status: http.StatusNotFound, Title: words.New("key.none.title"),
	Detail: words.New("key.none.text")}

// one returns the provider of the key that a request's path names, and the last four characters of the key.
func (h *Keys) one(c echo.Context) (*providers.Provider, string, error) {
	lastFour, err := url.PathUnescape(c.Param("last4"))
	all := h.core.Services()
	i := slices.IndexFunc(all, func(p *providers.Provider) bool { return p.Name == c.Param("provider") })
	if err != nil || i < 0 {
		return nil, "", errNoKey
	}
	return all[i], lastFour, nil
}

// reset takes a key back into use, and wakes up what may be waiting for it.
func (h *Keys) reset(c echo.Context) (before keys.Status, err error) {
	p, lastFour, err := h.one(c)
	if err != nil {
		return before, err
	}
	before, err = h.connections.ResetKey(c.Request().Context(), p, lastFour)
	if errors.Is(err, library.ErrNotFound) {
		return before, errNoKey
	}
	if h.enrichment != nil && slices.ContainsFunc(h.enrichment.Sources(),
		func(e enrich.Source) bool { return e.Provider == p }) {
		h.enrichment.Tick()
	}
	if h.digests.Provider() == p {
		h.digests.Look()
	}
	return before, err
}

type resetKeyRequest struct {
	core.Provider
	Last4 string `path:"last4" doc:"The last four characters of the key."`
}

type resetKeyAnswer struct {
	PreviousState string `json:"previous_state" enum:"KeyState"`
	NewState      string `json:"new_state" enum:"KeyState"`
}

func (h *Keys) resetAPI(c echo.Context, _ *resetKeyRequest) (out resetKeyAnswer, _ error) {
	before, err := h.reset(c)
	if err != nil {
		return out, err
	}
	return resetKeyAnswer{PreviousState: before.State(), NewState: keys.Ready}, nil
}

func (h *Keys) resetPage(c echo.Context) error {
	p, lastFour, err := h.one(c)
	if err != nil {
		return err
	}
	all := p.Keys.Keys()
	i := slices.IndexFunc(all, func(k keys.Status) bool { return k.LastFour == lastFour })
	if i < 0 {
		return errNoKey
	}
	ctx := c.Request().Context()
	address := "/settings/server/keys/" + p.Name + "/" + url.PathEscape(lastFour) + "/reset"
	return h.core.Confirm(c, core.Confirmation{
		Title: words.T(ctx, "key.try_title", "Key", "…"+lastFour, "Service", p.Called()),
		Lead:  lead(p.DisplayName, all[i]).T(ctx), Action: address, Button: words.T(ctx, "key.try_now"),
		Back: "/settings/server#keys"})
}

func (h *Keys) resetForm(c echo.Context) error {
	if _, err := h.reset(c); err != nil {
		return err
	}
	return h.core.Done(c, "/settings/server#keys", words.New("key.in_use"))
}

// Part returns the keys of all providers as a part of a page; nothing if there are none.
func (h *Keys) Part(ctx context.Context) (templ.Component, error) {
	var all []key
	for _, p := range h.core.Services() {
		for _, k := range p.Keys.Keys() {
			all = append(all, key{k, p.Name, p.Called().T(ctx)})
		}
	}
	return keysPart(all), nil
}
