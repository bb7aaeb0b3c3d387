package server

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"

	"reprise/internal/enrich"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// keyView is what an administrator sees of a key. A key itself is never shown.
type keyView struct {
	Provider    string  `json:"provider"`
	DisplayName string  `json:"display_name"`
	Project     string  `json:"project,omitempty"`
	LastFour    string  `json:"last_four"`
	State       string  `json:"state"`
	Until       *string `json:"until"`            // when it is tried again, while it cools
	Why         string  `json:"reason,omitempty"` // why it cools, or was refused
	Failures    int     `json:"failures"`
}

func viewKey(p *providers.Provider, k resilience.KeyStatus) keyView {
	v := keyView{Provider: p.Name, DisplayName: p.DisplayName, Project: k.Project, LastFour: k.LastFour, State: k.State(), Until: moment(k.Until), Failures: k.Failures}
	switch {
	case k.Invalid && k.Category == resilience.Config:
		v.Why = "it may not be used for this"
	case k.Invalid:
		v.Why = "it is not valid"
	case k.Until.IsZero():
	case k.Category == resilience.Quota:
		v.Why = "its quota is used up"
	default:
		v.Why = "it was used too often"
	}
	return v
}

func (s *Server) keys() []keyView {
	all := []keyView{}
	for _, p := range s.services() {
		all = append(all, viewAll(p.Keys.Keys(), func(k resilience.KeyStatus) keyView { return viewKey(p, k) })...)
	}
	return all
}

func (s *Server) keysAPI(c echo.Context) error {
	return c.JSON(http.StatusOK, map[string]any{"keys": s.keys()})
}

var errNoKey = &problem{Status: http.StatusNotFound, Title: "No such key", Detail: "The settings name no key of that service which ends like this."}

// key returns the provider and the last four characters that a request's address names.
func (s *Server) key(c echo.Context) (*providers.Provider, string, error) {
	lastFour, err := url.PathUnescape(c.Param("last4"))
	all := s.services()
	i := slices.IndexFunc(all, func(p *providers.Provider) bool { return p.Name == c.Param("provider") })
	if err != nil || i < 0 {
		return nil, "", errNoKey
	}
	return all[i], lastFour, nil
}

// resetKey takes a key back into use, and has it used at once where something waits for it.
func (s *Server) resetKey(c echo.Context) (before resilience.KeyStatus, err error) {
	p, lastFour, err := s.key(c)
	if err != nil {
		return before, err
	}
	before, err = s.Connections.ResetKey(c.Request().Context(), p, lastFour)
	if errors.Is(err, library.ErrNotFound) {
		return before, errNoKey
	}
	if s.Enrichment != nil && slices.ContainsFunc(s.Enrichment.Sources(), func(e enrich.Source) bool { return e.Provider == p }) {
		s.Enrichment.Tick()
	}
	if s.Digests.Provider() == p {
		s.Digests.Look()
	}
	return before, err
}

func (s *Server) resetKeyAPI(c echo.Context) error {
	before, err := s.resetKey(c)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]string{"previous_state": before.State(), "new_state": resilience.KeyReady})
}

func (s *Server) resetKeyPage(c echo.Context) error {
	p, lastFour, err := s.key(c)
	if err != nil {
		return err
	}
	all := p.Keys.Keys()
	i := slices.IndexFunc(all, func(k resilience.KeyStatus) bool { return k.LastFour == lastFour })
	if i < 0 {
		return errNoKey
	}
	v := viewKey(p, all[i])
	lead := "It is ready, and used when its turn comes."
	switch {
	case v.State == resilience.KeyRefused:
		lead = p.DisplayName + " has refused it: " + v.Why + ". Try it again when you have put that right there; if nothing has changed, it is refused once more, and nothing else happens."
	case v.Until != nil:
		lead = p.DisplayName + " has asked us not to use it before " + *v.Until + ": " + v.Why + ". Try it earlier only when you know that this has changed, such as after you were given a larger quota; a service may take it amiss to be asked too soon."
	}
	address := "/settings/keys/" + p.Name + "/" + url.PathEscape(lastFour) + "/reset"
	return s.confirm(c, confirmView{Title: "Try the key …" + lastFour + " of " + p.DisplayName + " now?", Lead: lead, Action: address, Button: "Try now", Back: "/settings#keys"})
}

func (s *Server) resetKeyForm(c echo.Context) error {
	if _, err := s.resetKey(c); err != nil {
		return err
	}
	s.sessions.Put(c.Request().Context(), flashKey, "The key is in use again; its next call shows whether it works.")
	return c.Redirect(http.StatusSeeOther, "/settings#keys")
}
