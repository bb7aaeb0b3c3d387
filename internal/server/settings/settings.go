// Package settings answers for the settings page, and for those of its forms that come back to it.
package settings

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/providers"
	"reprise/internal/server/admin"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/server/music"
	"reprise/internal/server/people"
	"reprise/internal/server/sessions"
	"reprise/internal/server/tokens"
)

// Options are what a Handler is made from: the resources that the page shows.
type Options struct {
	Core     *core.Core
	Statuses *connections.Statuses
	People   *people.Users
	Tokens   *tokens.Handler
	Keys     *admin.Keys
	Sources  *music.Sources
	Breakers *admin.Breakers
	Sessions *sessions.Handler
}

// Handler answers for the settings page.
type Handler struct {
	core     *core.Core
	statuses *connections.Statuses
	people   *people.Users
	tokens   *tokens.Handler
	keys     *admin.Keys
	sources  *music.Sources
	breakers *admin.Breakers
	sessions *sessions.Handler
}

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{
		core: o.Core, statuses: o.Statuses, people: o.People, tokens: o.Tokens,
		keys: o.Keys, sources: o.Sources, breakers: o.Breakers,
		sessions: o.Sessions,
	}
}

// Pages adds the routes of the page and of those of its forms that come back to it with what was typed.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/settings", h.page)
	g.POST("/settings/password", h.passwordForm)
	g.POST("/settings/tokens", h.tokenForm)
}

// pageView is the settings page.
type pageView struct {
	Providers []providerSetting
	Tokens    []tokens.View
	Sessions  []sessions.View

	// For administrators.
	Keys       []admin.KeyView     // the installation's own, of all providers
	Open       []admin.BreakerView // of the endpoints whose breaker is not closed
	Endpoints  int                 // called since the start
	Enrichment []music.SourceView

	Form, Problem string // the form that failed, and why
	Name, Role    string // what was typed in it
}

// providerSetting is a provider on the settings page.
type providerSetting struct {
	Provider    *providers.Provider
	RedirectURI string   // where the person consents in the browser
	Missing     []string // the settings without which nobody can connect it
	Connections []connections.View
}

func (h *Handler) page(c echo.Context) error {
	return h.show(c, http.StatusOK, pageView{})
}

func (h *Handler) show(c echo.Context, status int, v pageView) error {
	ctx, user := c.Request().Context(), core.UserOf(c)
	all, err := h.statuses.All(ctx, user.ID)
	if err != nil {
		return err
	}
	for _, p := range h.core.Registry.All() {
		item := providerSetting{Provider: p}
		if p.InBrowser() {
			item.RedirectURI = connections.RedirectURI(h.core, p)
		}
		if !p.Registered() {
			item.Missing, _ = p.ToRegister()
		}
		for _, v := range all {
			if v.Provider == p.Name {
				item.Connections = append(item.Connections, v)
			}
		}
		v.Providers = append(v.Providers, item)
	}
	if v.Tokens, err = h.tokens.All(ctx, user.ID); err != nil {
		return err
	}
	if v.Sessions, err = h.sessions.All(ctx, user.ID); err != nil {
		return err
	}
	if user.Role == accounts.Admin {
		if err := h.addInstallation(ctx, &v); err != nil {
			return err
		}
	}
	return h.core.Render(c, status, "settings", "Settings", v)
}

// addInstallation fills in what only administrators see.
func (h *Handler) addInstallation(ctx context.Context, v *pageView) (err error) {
	v.Open, v.Endpoints = h.breakers.Open()
	v.Keys = h.keys.All()
	v.Enrichment, err = h.sources.All(ctx)
	return err
}
