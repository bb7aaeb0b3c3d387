// Package site tells administrators when the address by which they opened Reprise is not the one that links and the
// sign-in pages of services lead to, and changes that.
package site

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Handler answers for the address of this server.
type Handler struct {
	core     *core.Core
	settings connections.Settings // nil where nothing can be set
}

// New returns a Handler.
func New(k *core.Core, set connections.Settings) *Handler {
	h := &Handler{core: k, settings: set}
	if set != nil {
		k.AddNotice(h.notice)
	}
	return h
}

// Pages adds the routes of the forms.
func (h *Handler) Pages(g *echo.Group) {
	g.POST("/address/use", h.use, core.MustBeAdmin)
	g.POST("/address/keep", h.keep, core.MustBeAdmin)
}

// API adds no routes: programs change the setting base_url.
func (h *Handler) API(*core.API) {}

// path is that of the setting.
const path = "base_url"

// kept is the cookie that says at which address the notice was dismissed.
const kept = "reprise_address"

// notice says that the address does not fit; nil if it does.
func (h *Handler) notice(c echo.Context) (*ui.Notice, error) {
	here := h.here(c.Request())
	base, err := url.Parse(h.core.BaseURL())
	if err != nil || core.UserOf(c).Role != accounts.Admin || fits(base, here) {
		return nil, nil
	}
	if cookie, err := c.Cookie(kept); err == nil && cookie.Value == here.Host {
		return nil, nil
	}
	ctx := c.Request().Context()
	n := &ui.Notice{ID: "address", Text: words.T(ctx, "address.unfit", "Base", base.String(), "Here", here.String())}
	item, _ := h.settings.One(path)
	if item.Fixed.IsZero() {
		n.Actions = append(n.Actions, ui.Action{ID: "use-address", Label: words.T(ctx, "address.use"),
			Post: "/address/use", Main: true})
	} else {
		n.Text += " " + item.Fixed.T(ctx)
	}
	n.Actions = append(n.Actions, ui.Action{ID: "keep-address", Label: words.T(ctx, "address.keep"),
		Post: "/address/keep"})
	return n, nil
}

// Here returns the address by which a browser asks, as far as the server can tell.
func Here(r *http.Request) *url.URL {
	u := &url.URL{Scheme: "http", Host: r.Host}
	// It is only proposed to the person whose browser this is, so it need not come from a trusted proxy.
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		u.Scheme = "https"
	}
	return u
}

// here is Here with the path below which the pages are.
func (h *Handler) here(r *http.Request) *url.URL {
	u := Here(r)
	u.Path = h.core.Path()
	return u
}

// fits says whether base is right for a browser that is here. On the machine itself every address is.
func fits(base, here *url.URL) bool {
	return here.Host == "" || core.Loopback(here.Hostname()) || strings.EqualFold(plain(base), plain(here))
}

// plain returns host and port, without the port that goes without saying.
func plain(u *url.URL) string {
	if u.Port() == "" || u.Port() == "80" && u.Scheme == "http" || u.Port() == "443" && u.Scheme == "https" {
		return u.Hostname()
	}
	return net.JoinHostPort(u.Hostname(), u.Port())
}

// use makes the address of the browser that of the server.
func (h *Handler) use(c echo.Context) error {
	if h.settings == nil {
		return core.HTTPProblem(http.StatusNotFound)
	}
	here := h.here(c.Request())
	// The browser knows whether it came by TLS, also behind a proxy that does not say so.
	if o, err := url.Parse(c.Request().Header.Get("Origin")); err == nil && strings.EqualFold(o.Host, here.Host) {
		here.Scheme = o.Scheme
	}
	to := here.String()
	if err := h.settings.Change(c.Request().Context(), map[string]*string{path: &to}); err != nil {
		return err
	}
	return h.core.Done(c, h.core.CameFrom(c), words.New("address.used", "Here", to))
}

// keep dismisses the notice in this browser.
func (h *Handler) keep(c echo.Context) error {
	r := c.Request()
	c.SetCookie(&http.Cookie{Name: kept, Value: r.Host, Path: "/", MaxAge: int((365 * 24 * time.Hour).Seconds()),
		HttpOnly: true, Secure: Here(r).Scheme == "https", SameSite: http.SameSiteLaxMode})
	return c.Redirect(http.StatusSeeOther, h.core.CameFrom(c))
}
