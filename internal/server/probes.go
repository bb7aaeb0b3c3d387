package server

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
)

// probeRoutes adds the routes for those who watch the process.
func (r *resources) probeRoutes(e *echo.Echo) {
	e.GET("/livez", func(c echo.Context) error { return c.String(http.StatusOK, "ok\n") })
	e.GET("/readyz", r.ready)
	e.GET("/metrics", r.metrics)
}

// ready says whether the server does its work: the database can be read and written, imports have room and the loops
// tick. A provider that is down does not matter here.
func (r *resources) ready(c echo.Context) error {
	if err := r.Store.Ping(c.Request().Context()); err != nil {
		return c.String(http.StatusServiceUnavailable, "database: "+r.core.Problem(c, err).Detail+"\n")
	}
	if why := r.Imports.AnyTrouble(); !why.IsZero() {
		return c.String(http.StatusServiceUnavailable, "imports: "+why.String()+"\n")
	}
	every := max(r.Syncer.Every(library.Listens), r.Syncer.Every(library.Playlists))
	if at := r.Syncer.TickedAt(); at.IsZero() || time.Since(at) > 3*every+time.Minute {
		return c.String(http.StatusServiceUnavailable, "loops: have not ticked\n")
	}
	return c.String(http.StatusOK, "ok\n")
}

// metrics answers a scrape of Prometheus.
func (r *resources) metrics(c echo.Context) error {
	if r.Metrics == nil {
		return core.HTTPProblem(http.StatusNotFound)
	}
	if !r.core.Access.MayScrape(c.Request(), c.RealIP()) {
		return core.ErrScrape
	}
	r.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}
