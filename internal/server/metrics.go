package server

import (
	"net"
	"net/http"

	"github.com/labstack/echo/v4"
)

// metrics answers a scrape of Prometheus.
func (s *Server) metrics(c echo.Context) error {
	if s.Metrics == nil {
		return httpProblem(http.StatusNotFound)
	}
	if !s.mayScrape(c.Request()) {
		c.Response().Header().Set("WWW-Authenticate", "Bearer")
		return &problem{Status: http.StatusUnauthorized, Title: "Not for everybody",
			Detail: "Metrics are read from this machine itself, or with the setting admin_token as a bearer token."}
	}
	s.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}

// mayScrape says whether a request may read the metrics.
func (s *Server) mayScrape(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback() && r.Header.Get("X-Forwarded-For") == "" && r.Header.Get("Forwarded") == ""
}
