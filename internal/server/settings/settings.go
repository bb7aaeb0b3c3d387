// Package settings answers for the pages of the settings that put several resources together: the list of the pages,
// the services, and a person's own account.
package settings

import (
	"context"
	"net/http"
	"slices"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/server/factors"
	"reprise/internal/server/people"
	"reprise/internal/server/sessions"
	"reprise/internal/server/tokens"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Options are what a Handler is made from: the resources that the pages show.
type Options struct {
	Core       *core.Core
	Statuses   *connections.Statuses
	People     *people.Users
	Accounts   *accounts.Accounts
	Tokens     *tokens.Handler
	Sessions   *sessions.Handler
	Factors    *factors.Handler
	Identities identities
}

// identities shows where else a user signs in; the part is nil where that is nowhere.
type identities interface {
	Part(ctx context.Context, user int64) (templ.Component, error)
}

// Handler answers for pages of the settings.
type Handler struct {
	core      *core.Core
	statuses  *connections.Statuses
	people    *people.Users
	accounts  *accounts.Accounts
	tokens    *tokens.Handler
	sessions  *sessions.Handler
	factors   *factors.Handler
	elsewhere identities
}

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{core: o.Core, statuses: o.Statuses, people: o.People, accounts: o.Accounts, tokens: o.Tokens,
		sessions: o.Sessions, factors: o.Factors, elsewhere: o.Identities}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/settings", h.index)
	g.GET("/settings/services", h.servicesPage)
	g.GET(accountPath, h.accountPage)
	g.POST(accountPath+"/name", h.nameForm)
	g.POST(accountPath+"/look", h.lookForm)
	g.POST(accountPath+"/password", h.passwordForm)
	g.POST(accountPath+"/sharing", h.sharingForm)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/account", h.accountAPI, core.Call{
		ID:      "getAccount",
		Summary: "Your own account",
		Answer:  "The account.",
	})
	core.Patch(a, "/account", h.changeAPI, core.Call{
		ID:       "changeAccount",
		Summary:  "Change your own name, language, time zone, theme, or who sees your listening; may be repeated",
		Answer:   "The account as it is now.",
		Refusals: map[int]string{http.StatusConflict: "Another account has the name."},
	})
}

// serverPath is the page of the server's settings.
const serverPath = "/settings/server"

// index lists the pages.
func (h *Handler) index(c echo.Context) error {
	ctx := c.Request().Context()
	all := core.Settings(ctx, core.UserOf(c))
	// Backups are a part of a page, but nobody should have to look for them.
	if i := slices.IndexFunc(all, func(e ui.Entry) bool { return e.URL == serverPath }); i >= 0 {
		all = slices.Insert(all, i+1, ui.Entry{Label: words.T(ctx, "setting.group.backups"),
			URL: serverPath + "#backups", Lead: words.T(ctx, "section.lead.backups")})
	}
	return h.core.Show(c, http.StatusOK, words.T(ctx, "section.title"), index(all))
}

// servicesPage shows the services that are connected, and those that can be.
func (h *Handler) servicesPage(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c)
	connected, err := h.statuses.All(ctx, user.ID)
	if err != nil {
		return err
	}
	v := servicesView{Admin: user.Role == accounts.Admin, Connected: connected, All: h.core.Registry.All()}
	return h.core.ShowSettings(c, http.StatusOK, words.T(ctx, "section.nav.services"), services(v.rows(ctx),
		[]ui.Entry{
			{Label: words.T(ctx, "service.import"), URL: "/imports", Lead: words.T(ctx, "service.import_lead")},
			{Label: words.T(ctx, "export.title"), URL: "/export", Lead: words.T(ctx, "service.export_lead")},
			{Label: words.T(ctx, "service.digest"), URL: "/digest", Lead: words.T(ctx, "service.digest_lead")},
			{Label: words.T(ctx, "service.health"), URL: "/health", Lead: words.T(ctx, "service.health_lead")},
		}))
}
