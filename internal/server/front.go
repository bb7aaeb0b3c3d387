package server

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"reprise/internal/server/core"
	"reprise/web/static"
)

// Front is what a server answers that does not lead.
type Front struct {
	base *core.Base
	door http.Handler
}

// NewFront returns a Front of a version of the program, which browsers reach at baseURL.
func NewFront(version, baseURL string) (Front, error) {
	base, err := core.NewBase(baseURL)
	if err != nil {
		return Front{}, err
	}
	e := echo.New()
	e.Use(core.Speak, func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			protect(c.Response().Header(), base.URL())
			return next(c)
		}
	})
	e.GET(static.Prefix+"*", echo.WrapHandler(static.Handler()))
	e.RouteNotFound("/*", core.Away(version, base))
	return Front{base, compressed(e)}, nil
}

// Has reports whether a path names a file that is the same at every server.
func (f Front) Has(path string) bool {
	return static.Exact(f.base.Local(&url.URL{Path: path}).Path)
}

// Protect sets the headers that every answer of a server has.
func (f Front) Protect(h http.Header) { protect(h, f.base.URL()) }

// ServeHTTP answers with that file, and otherwise says that another server is taking over.
func (f Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(r.Context())
	r.URL = f.base.Local(r.URL)
	f.door.ServeHTTP(w, r)
}
