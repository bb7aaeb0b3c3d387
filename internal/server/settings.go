package server

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/providers"
)

type settingsView struct {
	Providers []providerSetting
	Users     []userView // for administrators
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
	for _, p := range s.Registry {
		item := providerSetting{Provider: p}
		if p.InBrowser() {
			item.RedirectURI = s.RedirectURI(p.Name)
		}
		if !p.Registered() {
			item.Missing, _ = p.Registration()
		}
		if i := slices.IndexFunc(all, func(v connectionView) bool { return v.Provider == p.Name }); i >= 0 {
			item.Connection = &all[i]
		}
		v.Providers = append(v.Providers, item)
	}
	if user.Role == accounts.Admin {
		users, err := s.Store.Users(ctx)
		if err != nil {
			return err
		}
		v.Users = viewAll(users, viewUser)
	}
	return s.render(c, status, "settings", "Settings", v)
}
