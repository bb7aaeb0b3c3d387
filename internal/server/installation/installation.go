// Package installation answers for what the whole installation is set to: the page "This server" and its API, for
// administrators. Other pages that ask for settings, such as the registration of a service, use its fields.
package installation

import (
	"context"
	"net/http"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/backups"
	"reprise/internal/config"
	"reprise/internal/server/core"
	"reprise/internal/settings"
	"reprise/internal/words"
)

// Settings are what the installation is set to. It is implemented by settings.Settings.
type Settings interface {
	All() []settings.Item
	One(path string) (settings.Item, bool)
	Check(changes map[string]*string) (config.Config, error)
	Change(ctx context.Context, changes map[string]*string) error
}

// Handler answers for the settings of the installation.
type Handler struct {
	core     *core.Core
	settings Settings
	// answers reports whether this server would answer to a host with these settings.
	answers func(c config.Config, host string) bool
	backups *backups.Backups
	signIn  Part
	parts   []Part
}

// Part is a part of the page that another resource answers for.
type Part func(context.Context) (templ.Component, error)

// New returns a Handler, with what the page shows above the settings of signing in, and below all settings.
func New(k *core.Core, s Settings, answers func(c config.Config, host string) bool, b *backups.Backups, signIn Part,
	parts ...Part) *Handler {
	return &Handler{core: k, settings: s, answers: answers, backups: b, signIn: signIn, parts: parts}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/settings/server", h.page, core.MustBeAdmin)
	g.POST("/settings/server", h.form, core.MustBeAdmin)
	g.POST("/settings/server/address", h.addressForm, core.MustBeAdmin)
	g.POST("/settings/server/backups", h.backupForm, core.MustBeAdmin)
	g.POST("/settings/server/backups/trial", h.trialForm, core.MustBeAdmin)
	g.GET("/settings/server/backups/:name", h.askDownload, core.MustBeAdmin, h.core.MustProve)
	g.POST("/settings/server/backups/:name", h.download, core.MustBeAdmin, h.core.MustProve)
}

// API adds the routes of the API.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/admin/settings", h.list, core.Call{
		ID:      "listSettings",
		Summary: "The settings of this server (administrators only)",
		Answer:  "All settings, in the order of the sample file.",
	})
	core.Patch(a, "/admin/settings", h.patch, core.Call{
		ID:       "changeSettings",
		Summary:  "Change settings by their paths, all or none; changes work at once (administrators only)",
		Answer:   "All settings, in the order of the sample file.",
		Refusals: map[int]string{http.StatusConflict: "", http.StatusUnprocessableEntity: ""},
	})
	core.Get(a, "/admin/backups", h.listBackups, core.Call{
		ID:      "listBackups",
		Summary: "The backups of the database, and how the latest ones went (administrators only)",
		Answer:  "What was known at the latest look, at most ten minutes ago.",
	})
	core.Post(a, "/admin/backups", h.makeBackup, core.Call{
		ID:       "makeBackup",
		Summary:  "Begin a backup of the database (administrators only)",
		Answer:   "The same as the list; `running` ends when it is done.",
		Refusals: map[int]string{http.StatusConflict: ""},
	})
}

// check returns what is wrong with a change: a *settings.Refused. A browser is not locked out by its own change.
func (h *Handler) check(c echo.Context, changes map[string]*string) error {
	next, err := h.settings.Check(changes)
	if err != nil {
		return err
	}
	origin, err := url.Parse(c.Request().Header.Get(echo.HeaderOrigin))
	if err != nil || origin.Host == "" { // a program
		return nil
	}
	refused := func(path string, why words.Text) error {
		return &settings.Refused{Fields: settings.Problems{path: why}}
	}
	base, err := url.Parse(next.BaseURL)
	if _, changed := changes["base_url"]; err == nil && changed && base.Scheme == "https" && origin.Scheme == "http" {
		return refused("base_url", words.New("settings.lockout.https", "Here", origin.String(), "There",
			next.BaseURL))
	}
	if host := c.Request().Host; !h.answers(next, host) {
		for _, path := range []string{"allowed_hosts", "base_url"} {
			if _, changed := changes[path]; changed {
				return refused(path, words.New("settings.lockout.host", "Host", host))
			}
		}
	}
	return nil
}

func (h *Handler) change(c echo.Context, changes map[string]*string) error {
	if err := h.check(c, changes); err != nil {
		return err
	}
	return h.settings.Change(c.Request().Context(), changes)
}

func (h *Handler) page(c echo.Context) error { return h.show(c, http.StatusOK, nil, nil) }
