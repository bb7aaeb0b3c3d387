package server

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"reprise/internal/server/core"
	"reprise/internal/server/corrections"
	"reprise/internal/server/edge"
	"reprise/internal/server/help"
	"reprise/internal/server/imports"
	"reprise/internal/words"
	"reprise/web/static"
	"reprise/web/ui"
)

// contentPolicy allows nothing from elsewhere, and no script or style inside a page.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; " +
	"manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// permissions takes from the pages what none of them needs.
const permissions = "accelerometer=(), autoplay=(), camera=(), display-capture=(), encrypted-media=(), " +
	"fullscreen=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), local-fonts=(), magnetometer=(), " +
	"microphone=(), midi=(), payment=(), picture-in-picture=(), " +
	"publickey-credentials-create=(self), publickey-credentials-get=(self), " +
	"screen-wake-lock=(), serial=(), storage-access=(), usb=(), window-management=(), xr-spatial-tracking=()"

// maxBody is the most that a form or a call may send, unless it carries a file to import.
const maxBody = "256K"

func (r *resources) routes() (*echo.Echo, error) {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = r.core.AnswerError
	e.IPExtractor = func(req *http.Request) string { return r.reach.Load().extract(req) }
	limit := middleware.BodyLimitWithConfig(middleware.BodyLimitConfig{Limit: maxBody,
		Skipper: func(c echo.Context) bool { return imports.TakesFiles(c) || corrections.TakesPictures(c) }})
	pictures := middleware.BodyLimitWithConfig(middleware.BodyLimitConfig{Limit: corrections.MaxBody,
		Skipper: func(c echo.Context) bool { return !corrections.TakesPictures(c) }})
	e.Use(core.Speak, r.core.RecoverPanic, r.secure, limit, pictures)

	r.probeRoutes(e)
	e.GET(static.Prefix+"*", echo.WrapHandler(static.Handler()))
	r.core.App(e)
	r.years.Open(e)
	r.profile.Open(e)
	r.listening.Open(e)
	r.exports.Open(e)

	session := e.Group("", r.core.Sessions.With)
	open := core.NewAPI(e, e.Group("/api/v1"), r.core.Access)
	r.feed.API(open)
	r.people.Open(session)
	r.people.OpenAPI(open.On(session.Group("/api/v1")))
	r.factors.OpenAPI(open.On(session.Group("/api/v1")))
	help.New(r.core).Open(session.Group("", r.core.Sessions.MaySignIn))
	session.POST("/language", r.core.SpeakFrom)
	r.redeemer.Open(session)
	r.signin.Open(session)
	r.signin.BackChannel(e)
	r.redeemer.OpenAPI(open.On(session.Group("/api/v1")))
	whole := r.core.WaitForBody(imports.TakesFiles)
	pages := session.Group("", r.core.Sessions.MustSignIn, whole)
	api := open.On(e.Group("/api/v1", r.core.Access.MayCall, whole, core.ForAdministrators, r.core.Once))
	for _, one := range r.resources {
		one.Pages(pages)
		one.API(api)
	}
	r.settings.Pages(pages)
	r.settings.API(api)
	core.Get(open, "/openapi.yaml", r.openAPI, core.Call{
		ID:      "getDescription",
		Summary: "This description",
		Open:    true,
		Answer:  "OpenAPI 3.1.",
		Types:   []string{"application/yaml"},
	})
	r.described, r.handlers = open.Describe(), open.Handlers()
	if r.Demo != nil {
		pages.Any("/demo/*", r.demo)
		pages.GET("/demo/components", func(c echo.Context) error {
			marked := []string{"another"}
			for _, p := range slices.Concat(r.Registry.All(), r.Services.All()) {
				marked = append(marked, p.Name)
			}
			return r.core.Show(c, http.StatusOK, "Components", ui.Gallery(marked))
		})
		pages.GET("/demo", func(c echo.Context) error { return c.Redirect(http.StatusSeeOther, "/demo/") })
	}
	r.core.Below(e.Routes())
	return e, nil
}

// demo answers for the page of the demo.
func (r *resources) demo(c echo.Context) (err error) {
	title := words.T(c.Request().Context(), "frame.nav.demo")
	r.Demo(func(_ http.ResponseWriter, _ *http.Request, page templ.Component) {
		err = r.core.Show(c, http.StatusOK, title, page)
	}).ServeHTTP(c.Response(), c.Request())
	return err
}

// openAPI sends the description of the API.
func (r *resources) openAPI(c echo.Context, _ *core.None) (out core.Sent[core.None], _ error) {
	text, err := r.described()
	if err != nil {
		return out, err
	}
	return out, c.Blob(http.StatusOK, "application/yaml", text)
}

// secure is middleware that sets the headers that keep other sites out, and refuses requests that another site
// made a
// browser send.
func (r *resources) secure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		now := r.reach.Load()
		base := now.base
		h := c.Response().Header()
		c.Response().Before(func() {
			r.core.Point(h)
			if method := c.Request().Method; r.Flush != nil && method != http.MethodGet && method != http.MethodHead {
				r.Flush(c.Request().Context())
			}
		})
		protect(h, base)
		if !now.hosts.Allow(c.Request().Host) {
			return wrongHost(c.Request().Host)
		}
		if now.foreign(c.Request()) {
			return &core.Refusal{Status: http.StatusForbidden, Title: words.New("problem.site.title"),
				Detail: words.New("problem.site.text")}
		}
		name, forged, err := now.named(c.Request())
		if err != nil {
			return err
		}
		if forged {
			r.Counters.Forged()
		}
		if name != "" {
			c.SetRequest(c.Request().WithContext(core.WithProxied(c.Request().Context(), name)))
		}
		if elsewhere(base, c.Request()) {
			return c.Redirect(http.StatusTemporaryRedirect, base.String()+c.Request().URL.RequestURI())
		}
		return next(c)
	}
}

// protect sets the headers of every answer: they keep other sites and search engines out, and caches from keeping what
// doesn't say that it may be kept. base is where browsers reach this server.
func protect(h http.Header, base *url.URL) {
	if base.Scheme == "https" {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("Permissions-Policy", permissions)
}

// longestHost is how much of a wrong name is shown, in bytes.
const longestHost = 100

// wrongHost returns the problem of a request that names a host which is not ours.
func wrongHost(host string) *core.Refusal {
	host = strings.ToValidUTF8(host[:min(len(host), longestHost)], "")
	return &core.Refusal{Status: http.StatusMisdirectedRequest, Title: words.New("problem.host.title"),
		Detail: words.New("problem.host.text", "Host", host)}
}

// elsewhere says whether a page was asked for by the name localhost while base is a loopback IP: a session's
// cookie would
// not come back from a provider's consent page, which knows only the address.
func elsewhere(base *url.URL, r *http.Request) bool {
	if r.Method != http.MethodGet || r.URL.Opaque != "" || strings.HasPrefix(r.URL.Path, "/api/") ||
		strings.HasPrefix(r.URL.Path, "/static/") {
		return false
	}
	host, port, err := net.SplitHostPort(r.Host)
	ip := net.ParseIP(base.Hostname())
	return err == nil && host == "localhost" && port == base.Port() && ip != nil && ip.IsLoopback()
}

func ipExtractor(trusted []string) (echo.IPExtractor, error) {
	if len(trusted) == 0 {
		return echo.ExtractIPDirect(), nil
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false),
		echo.TrustPrivateNet(false)}
	for _, t := range trusted {
		_, network, err := net.ParseCIDR(t)
		if err != nil {
			return nil, err
		}
		options = append(options, echo.TrustIPRange(network))
	}
	return echo.ExtractIPFromXFFHeader(options...), nil
}

// prefixes returns networks, which ipExtractor has read before, as the edge takes them.
func prefixes(networks []string) (all []netip.Prefix) {
	for _, n := range networks {
		if p, err := netip.ParsePrefix(n); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// patterns returns the hosts of our own pages as a websocket's handshake compares them.
func patterns(base string, allowed []string) []string {
	all := []string{base}
	for _, name := range allowed {
		if name != edge.AnyHost {
			all = append(all, name, name+":*")
		}
	}
	return all
}
