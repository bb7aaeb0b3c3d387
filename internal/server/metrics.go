package server

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// metrics answers a scrape of Prometheus.
func (s *Server) metrics(c echo.Context) error {
	if s.Metrics == nil {
		return httpProblem(http.StatusNotFound)
	}
	if !s.mayScrape(c.Request()) {
		return &problem{Status: http.StatusUnauthorized, Title: "Not for everybody", challenge: realm,
			Detail: "Metrics are read from this machine itself, by administrators who are signed in, or with the setting admin_token as a bearer token."}
	}
	s.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}
