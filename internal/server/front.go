package server

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"reprise/internal/server/core"
	"reprise/web/static"
)

// Front is what a server answers that does not lead.
type Front struct{ door http.Handler }

// NewFront returns a Front of a version of the program.
func NewFront(version string) Front {
	e := echo.New()
	e.JSONSerializer = core.JSON{}
	e.Use(core.Speak, func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			protect(c.Response().Header())
			return next(c)
		}
	})
	e.GET(static.Prefix+"*", echo.WrapHandler(static.Handler()))
	e.RouteNotFound("/*", core.Away(version))
	return Front{compressed(e)}
}

// Has reports whether a path names a file that is the same at every server.
func (f Front) Has(path string) bool { return static.Exact(path) }

// ServeHTTP answers with that file, and otherwise says that another server is taking over.
func (f Front) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.door.ServeHTTP(w, r) }
