package server

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

type settingsView struct {
	Providers []providerSetting
	Tokens    []tokenView
	Users     []userView    // for administrators
	Keys      []keyView     // for administrators: the installation's own, of all providers
	Open      []breakerView // for administrators: endpoints whose breaker is not closed
	Endpoints int           // for administrators: that have been called since the start
	// Enrichment are the sources of facts, for administrators.
	Enrichment []sourceView
	// What was sent and did not do: in which form, the problem with it, and what was typed.
	Form, Problem, Name, Role string
}

type providerSetting struct {
	Provider    *providers.Provider
	RedirectURI string   // where the person consents in the browser
	Missing     []string // the settings without which nobody can connect it
	Connection  *connectionView
}

func (s *Server) settingsPage(c echo.Context) error {
	return s.showSettings(c, http.StatusOK, settingsView{})
}

func (s *Server) showSettings(c echo.Context, status int, v settingsView) error {
	ctx, user := c.Request().Context(), userOf(c)
	all, err := s.statuses(ctx, user.ID)
	if err != nil {
		return err
	}
	for _, p := range s.Registry.All() {
		item := providerSetting{Provider: p}
		if p.InBrowser() {
			item.RedirectURI = s.RedirectURI(p.Name)
		}
		if !p.Registered() {
			item.Missing, _ = p.ToRegister()
		}
		if i := slices.IndexFunc(all, func(v connectionView) bool { return v.Provider == p.Name }); i >= 0 {
			item.Connection = &all[i]
		}
		v.Providers = append(v.Providers, item)
	}
	tokens, err := s.Store.Tokens(ctx, user.ID)
	if err != nil {
		return err
	}
	v.Tokens = viewAll(tokens, viewToken)
	if user.Role == accounts.Admin {
		users, err := s.Store.Users(ctx)
		if err != nil {
			return err
		}
		v.Users = viewAll(users, viewUser)
		breakers := s.Breakers.Status()
		v.Endpoints = len(breakers)
		for _, b := range breakers {
			if b.State != resilience.BreakerClosed {
				v.Open = append(v.Open, viewBreaker(b))
			}
		}
		if v.Enrichment, err = s.sources(ctx); err != nil {
			return err
		}
		v.Keys = s.keys()
	}
	return s.render(c, status, "settings", "Settings", v)
}

// Unconnected are the providers that are asked on behalf of the installation: sources of facts, and the language model.
func (c *Config) Unconnected() (all []*providers.Provider) {
	if c.Enrichment != nil {
		for _, source := range c.Enrichment.Sources() {
			all = append(all, source.Provider)
		}
	}
	if p := c.Digests.Provider(); p != nil {
		all = append(all, p)
	}
	return all
}
