package core

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/words"
	"reprise/web/static"
	"reprise/web/ui"
)

// App adds the routes by which browsers install Reprise as an application. They are open to everybody and say nothing
// of anybody.
func (k *Core) App(e *echo.Echo) {
	e.GET("/sw.js", serviceWorker)
	e.GET("/manifest.webmanifest", manifest)
	e.GET("/offline", k.offline)
}

// serviceWorker serves the script that shows what is pushed to a browser and keeps pages for when there is no network.
// It is at the root, so that it may open any page.
func serviceWorker(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "no-cache")
	return c.Blob(http.StatusOK, "text/javascript; charset=utf-8", static.Worker())
}

func manifest(c echo.Context) error {
	ctx := c.Request().Context()
	c.Response().Header().Set("Cache-Control", "no-cache")
	return c.Blob(http.StatusOK, "application/manifest+json", static.Manifest(static.App{
		Language: words.From(ctx).Code(), Description: words.T(ctx, "app.about"),
		Share: strings.TrimPrefix(SharePath, "/"),
		Shortcuts: []static.Shortcut{
			{Name: words.T(ctx, "now.title"), Path: strings.TrimPrefix(NowPath, "/"), Icon: "icon-now.png"},
			{Name: words.T(ctx, "listens.title"), Path: "listens", Icon: "icon-listens.png"},
			{Name: words.T(ctx, "search.title"), Path: "search", Icon: "icon-search.png"},
		},
	}))
}

// offline serves the page for when a browser has no other. It is nobody's: browsers keep it.
func (k *Core) offline(c echo.Context) error {
	ctx := c.Request().Context()
	f := ui.Frame{Title: words.T(ctx, "app.offline"), Version: k.version, Language: words.From(ctx)}
	return k.write(c, http.StatusOK, f, offlinePage())
}
