package server

import (
	"net"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"reprise/web"
)

// contentPolicy allows nothing from elsewhere, and no script or style inside a page.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// maxBody is the most that a form or a call may send, unless it carries a file to be imported.
const maxBody = "256K"

func (s *Server) routes() (*echo.Echo, error) {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.answerError
	extract, err := ipExtractor(s.TrustedProxies)
	if err != nil {
		return nil, err
	}
	e.IPExtractor = extract
	protection := http.NewCrossOriginProtection()
	// Where a reverse proxy asks us by another name, this is the one by which browsers know us.
	if err := protection.AddTrustedOrigin(s.base.Scheme + "://" + s.base.Host); err != nil {
		return nil, err
	}
	e.Use(s.recoverPanic, s.secure(protection), middleware.BodyLimitWithConfig(middleware.BodyLimitConfig{Limit: maxBody, Skipper: takesFiles}))

	e.GET("/livez", func(c echo.Context) error { return c.String(http.StatusOK, "ok\n") })
	e.GET("/readyz", s.ready)
	e.GET("/metrics", s.metrics)
	e.GET("/static/*", echo.WrapHandler(http.StripPrefix("/static/", web.Static())))
	e.GET("/sw.js", serviceWorker)
	e.GET("/api/v1/openapi.yaml", func(c echo.Context) error { return c.Blob(http.StatusOK, "application/yaml", web.OpenAPI) })
	e.GET("/api/v1/events", s.websocket)
	e.GET("/api/v1/events/sse", s.serverSentEvents)

	session := e.Group("", s.withSession)
	s.openRoutes(session)
	s.pageRoutes(session.Group("", s.mustSignIn))
	s.apiRoutes(e.Group("/api/v1", s.mayCall))
	return e, nil
}

// serviceWorker serves the script that shows what is pushed to a browser. It stands at the root, so that it may open any
// page.
func serviceWorker(c echo.Context) error {
	c.Response().Header().Set("Cache-Control", "no-cache")
	http.ServeFileFS(c.Response(), c.Request(), web.Files(), "sw.js")
	return nil
}

// openRoutes are for people who are not signed in.
func (s *Server) openRoutes(g *echo.Group) {
	slow := s.slowDown()
	g.GET("/setup", s.setupPage)
	g.POST("/setup", s.setupForm, slow)
	g.GET("/login", s.loginPage)
	g.POST("/login", s.loginForm, slow)
	g.POST("/api/v1/setup", s.setupAPI, slow)
	g.POST("/api/v1/session", s.loginAPI, slow)
}

func (s *Server) pageRoutes(g *echo.Group) {
	g.GET("/", s.statusPage)
	g.GET("/connections/:provider", s.connectionPage)
	g.GET("/connections/:provider/runs", s.runsPage)
	g.GET("/health", s.healthPage)
	g.POST("/connections/:provider/forwarding", s.forwardingForm)
	g.POST("/connections/:provider/:action", s.connectionForm)
	g.GET("/connect/:provider", s.connectPage)
	g.POST("/connect/:provider", s.connectForm)
	g.GET("/connect/:provider/callback", s.callback)
	g.GET("/connect/:provider/choose", s.choosePage)
	g.POST("/connect/:provider/choose", s.chooseForm)
	g.GET("/listens", s.listensPage)
	g.GET("/music/:kind/:id", s.musicPage)
	g.GET("/art/:hash", s.picture)
	g.GET("/playlists", s.playlistsPage)
	g.GET("/playlists/:id", s.playlistPage)
	g.POST("/playlists/:id/copies/:provider", s.copyForm)
	g.GET("/deliveries", s.deliveriesPage)
	g.GET("/deliveries/redrive", s.redriveAllPage)
	g.POST("/deliveries/redrive", s.redriveAllForm)
	g.POST("/deliveries/:id/redrive", s.redriveForm)
	g.GET("/deliveries/:id/discard", s.discardPage)
	g.POST("/deliveries/:id/discard", s.discardForm)
	g.GET("/imports", s.importsPage)
	g.POST("/imports", s.importForm)
	g.POST("/imports/:id/cancel", s.cancelImportForm)
	g.GET("/digest", s.digestPage)
	g.POST("/digest", s.askDigestForm)
	g.POST("/digest/switch", s.switchDigestsForm)
	g.POST("/digest/retry", s.retryDigestForm, s.mustBeAdmin)
	g.GET("/digest/:id/delete", s.deleteDigestPage)
	g.POST("/digest/:id/delete", s.deleteDigestForm)
	g.GET("/notifications", s.notificationsPage)
	g.POST("/notifications/:id/ack", s.ackForm)
	g.GET("/channels", s.channelsPage)
	g.POST("/channels", s.addChannelForm)
	g.GET("/channels/:id", s.editChannelPage)
	g.POST("/channels/:id", s.editChannelForm)
	g.POST("/channels/:id/test", s.testChannelForm)
	g.GET("/channels/:id/remove", s.removeChannelPage)
	g.POST("/channels/:id/remove", s.removeChannelForm)
	g.GET("/settings", s.settingsPage)
	g.POST("/settings/password", s.passwordForm, s.slowDown())
	g.POST("/settings/users", s.userForm, s.mustBeAdmin)
	g.POST("/settings/tokens", s.tokenForm)
	g.GET("/settings/tokens/:id/revoke", s.revokeTokenPage)
	g.POST("/settings/tokens/:id/revoke", s.revokeTokenForm)
	g.GET("/settings/keys/:provider/:last4/reset", s.resetKeyPage, s.mustBeAdmin)
	g.POST("/settings/keys/:provider/:last4/reset", s.resetKeyForm, s.mustBeAdmin)
	g.GET("/activity", s.activityPage)
	g.POST("/settings/breakers/reset", s.resetBreakerForm, s.mustBeAdmin)
	g.POST("/settings/enrichment/:provider/retry", s.retryEnrichmentForm, s.mustBeAdmin)
	g.POST("/logout", s.logoutForm)
	if s.Demo != nil {
		g.Any("/demo/*", echo.WrapHandler(s.Demo))
		g.GET("/demo", func(c echo.Context) error { return c.Redirect(http.StatusSeeOther, "/demo/") })
	}
}

func (s *Server) apiRoutes(g *echo.Group) {
	g.DELETE("/session", s.logoutAPI)
	g.GET("/connections", s.connectionsAPI)
	g.GET("/connections/:provider", s.connectionAPI)
	g.GET("/connections/:provider/runs", s.runsAPI)
	g.PUT("/connections/:provider", s.connectAPI)
	g.DELETE("/connections/:provider", s.disconnectAPI)
	g.POST("/connections/:provider/sync", s.actAPI)
	g.POST("/connections/:provider/retry", s.actAPI)
	g.POST("/connections/:provider/pause", s.actAPI)
	g.POST("/connections/:provider/resume", s.actAPI)
	g.GET("/connections/:provider/forwarding", s.forwardingAPI)
	g.PUT("/connections/:provider/forwarding", s.forwardAPI)
	g.DELETE("/connections/:provider/forwarding", s.stopForwardingAPI)
	g.GET("/listens", s.listensAPI)
	g.GET("/enrichment", s.enrichmentAPI)
	g.GET("/music/:kind/:id", s.musicAPI)
	g.GET("/playlists", s.playlistsAPI)
	g.GET("/playlists/:id", s.playlistAPI)
	g.GET("/playlists/:id/copies/:provider", s.copyAPI)
	g.PUT("/playlists/:id/copies/:provider", s.writeCopyAPI)
	g.DELETE("/playlists/:id/copies/:provider", s.stopCopyAPI)
	g.GET("/deliveries", s.deliveriesAPI)
	g.POST("/deliveries/redrive", s.redriveAPI)
	g.POST("/deliveries/:id/redrive", s.redriveOneAPI)
	g.DELETE("/deliveries/:id", s.discardAPI)
	g.GET("/imports", s.importsAPI)
	g.POST("/imports", s.importAPI)
	g.DELETE("/imports/:id", s.cancelImportAPI)
	g.GET("/digests", s.digestsAPI)
	g.DELETE("/digests/:id", s.deleteDigestAPI)
	g.PUT("/digest", s.switchDigestsAPI)
	g.POST("/digest", s.askDigestAPI)
	g.GET("/notifications", s.notificationsAPI)
	g.POST("/notifications/:id/ack", s.ackAPI)
	g.GET("/channels", s.channelsAPI)
	g.POST("/channels", s.addChannelAPI)
	g.PATCH("/channels/:id", s.changeChannelAPI)
	g.DELETE("/channels/:id", s.removeChannelAPI)
	g.POST("/channels/:id/test", s.testChannelAPI)
	g.GET("/health", s.healthAPI)
	g.GET("/health/quarters", s.quartersAPI)
	g.GET("/activity", s.activityAPI)
	g.GET("/tokens", s.tokensAPI)
	g.POST("/tokens", s.makeTokenAPI)
	g.DELETE("/tokens/:id", s.revokeTokenAPI)
	g.GET("/admin/keys", s.keysAPI, s.mustBeAdmin)
	g.POST("/admin/keys/:provider/:last4/reset", s.resetKeyAPI, s.mustBeAdmin)
	g.GET("/admin/breakers", s.breakersAPI, s.mustBeAdmin)
	g.POST("/admin/breakers/:endpoint/reset", s.resetBreakerAPI, s.mustBeAdmin)
	g.GET("/admin/users", s.usersAPI, s.mustBeAdmin)
	g.POST("/admin/users", s.addUserAPI, s.mustBeAdmin)
}

// secure sets the headers that keep other sites out, and refuses requests that another site made a browser send.
func (s *Server) secure(protection *http.CrossOriginProtection) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			h := c.Response().Header()
			h.Set("Content-Security-Policy", contentPolicy)
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Referrer-Policy", "same-origin")
			h.Set("Cross-Origin-Opener-Policy", "same-origin")
			if s.base.Scheme == "https" {
				h.Set("Strict-Transport-Security", "max-age=31536000")
			}
			if err := protection.Check(c.Request()); err != nil {
				return &problem{Status: http.StatusForbidden, Title: "Not from here", Detail: "This request came from another site and was not carried out."}
			}
			if s.elsewhere(c.Request()) {
				return c.Redirect(http.StatusTemporaryRedirect, s.BaseURL+c.Request().URL.RequestURI())
			}
			return next(c)
		}
	}
}

// otherMethods are those that the address of a request takes, when it does not take the request's own.
func (s *Server) otherMethods(r *http.Request) (takes []string) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		c := s.echo.NewContext(r, nil)
		s.echo.Router().Find(method, echo.GetPath(r), c)
		if c.Path() != "" && !strings.HasSuffix(c.Path(), "*") {
			takes = append(takes, method)
		}
	}
	return takes
}

// elsewhere says whether a page was asked for by the name localhost while its address is a loopback IP: a session's
// cookie would not come back from a provider's consent page, which knows only the address.
func (s *Server) elsewhere(r *http.Request) bool {
	if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/static/") {
		return false
	}
	host, port, err := net.SplitHostPort(r.Host)
	ip := net.ParseIP(s.base.Hostname())
	return err == nil && host == "localhost" && port == s.base.Port() && ip != nil && ip.IsLoopback()
}

func ipExtractor(trusted []string) (echo.IPExtractor, error) {
	if len(trusted) == 0 {
		return echo.ExtractIPDirect(), nil
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, t := range trusted {
		_, network, err := net.ParseCIDR(t)
		if err != nil {
			return nil, err
		}
		options = append(options, echo.TrustIPRange(network))
	}
	return echo.ExtractIPFromXFFHeader(options...), nil
}
