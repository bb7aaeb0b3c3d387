package core

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/words"
	"reprise/web/ui"
)

// area is a page of the settings.
type area struct {
	name  string // of its sentences, and the last part of its address
	admin bool   // only administrators have it
}

// areas are the pages of the settings, in their order.
var areas = []area{
	{name: "services"}, {name: "notifications"}, {name: "account"}, {name: "profile"}, {name: "people", admin: true},
	{name: "server", admin: true}, {name: "programs"},
}

// ShowSettings answers with a page of the settings, with links to the others beside it.
func (k *Core) ShowSettings(c echo.Context, status int, title string, page templ.Component) error {
	ctx := c.Request().Context()
	around := ui.Area{Title: words.T(ctx, "section.title"), URL: "/settings"}
	for _, e := range Settings(ctx, UserOf(c)) {
		around.Pages = append(around.Pages, ui.Link{Label: e.Label, URL: e.URL,
			Current: current(k.pathOf(c), e.URL, e.URL)})
	}
	return k.Show(c, status, title, framed(ui.Within(around), page))
}

// Settings returns the pages of the settings that a person has.
func Settings(ctx context.Context, u accounts.User) (all []ui.Entry) {
	for _, a := range areas {
		if !a.admin || u.Role == accounts.Admin {
			all = append(all, ui.Entry{Label: words.Each("section.nav.", a.name).T(ctx), URL: "/settings/" + a.name,
				Lead: words.Each("section.lead.", a.name).T(ctx)})
		}
	}
	return all
}

// framed returns a component that has another as its child.
func framed(frame, child templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return frame.Render(templ.WithChildren(ctx, child), w)
	})
}

// Moved redirects from a page's old address to its new one, which has the same parameters.
func Moved(g *echo.Group, from, to string) {
	g.GET(from, func(c echo.Context) error {
		now := to
		for _, name := range c.ParamNames() {
			now = strings.Replace(now, ":"+name, url.PathEscape(c.Param(name)), 1)
		}
		if query := c.Request().URL.RawQuery; query != "" {
			now += "?" + query
		}
		return c.Redirect(http.StatusMovedPermanently, now)
	})
}
