package server

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"reprise/internal/activity"
	"reprise/internal/resilience"
)

// breakerView is a breaker in the API and on the settings page.
type breakerView struct {
	Endpoint string  `json:"endpoint"`
	State    string  `json:"state"`
	Failures int     `json:"failures"`
	Since    *string `json:"since"`
	Until    *string `json:"until"`
}

func viewBreaker(b resilience.BreakerStatus) breakerView {
	return breakerView{Endpoint: b.Endpoint, State: b.State.String(), Failures: b.Failures, Since: moment(b.Since), Until: moment(b.Until)}
}

func (s *Server) breakersAPI(c echo.Context) error {
	return c.JSON(http.StatusOK, map[string]any{"breakers": viewAll(s.Breakers.Status(), viewBreaker)})
}

var errNoBreaker = &problem{Status: http.StatusNotFound, Title: "No such endpoint", Detail: "No endpoint of that name has been called since the start. " +
	"Names are as the list of breakers gives them, percent-encoded."}

// resetBreaker closes a breaker, and returns how it stood.
func (s *Server) resetBreaker(c echo.Context, endpoint string) (resilience.BreakerState, error) {
	previous, ok := s.Breakers.Reset(endpoint)
	if !ok {
		return previous, errNoBreaker
	}
	if previous != resilience.BreakerClosed {
		s.note(c.Request().Context(), activity.Entry{Action: activity.BreakerReset, Subject: endpoint})
	}
	return previous, nil
}

func (s *Server) resetBreakerAPI(c echo.Context) error {
	name, err := url.PathUnescape(c.Param("endpoint"))
	if err != nil {
		return errNoBreaker
	}
	previous, err := s.resetBreaker(c, name)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]string{"previous_state": previous.String(), "new_state": resilience.BreakerClosed.String()})
}

// resetBreakerForm is the button on the settings page and on the health page.
func (s *Server) resetBreakerForm(c echo.Context) error {
	if _, err := s.resetBreaker(c, c.FormValue("endpoint")); err != nil {
		return err
	}
	s.sessions.Put(c.Request().Context(), flashKey, "Calls go out there again.")
	if s.cameFrom(c) == "/health" {
		return c.Redirect(http.StatusSeeOther, "/health")
	}
	return c.Redirect(http.StatusSeeOther, "/settings#endpoints")
}
