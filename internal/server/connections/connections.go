// Package connections answers for the connections of a user: the overview, the page of each, connecting,
// forwarding to them, and their runs.
package connections

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/oauth"
	"reprise/internal/resilience/transport"
	"reprise/internal/server/activity"
	"reprise/internal/server/core"
	"reprise/internal/server/deliveries"
	"reprise/internal/server/imports"
	"reprise/internal/server/music"
	syncer "reprise/internal/sync"
)

// Store is what this package reads.
type Store interface {
	StatusStore
	music.LinkStore
	Listens(ctx context.Context, user int64, before string,
		limit int) (page []library.StoredListen, next string, err error)
	CountListens(ctx context.Context, user int64) (int, error)
	FirstSteps(ctx context.Context, user int64) (accounts.FirstSteps, error)
	HeardSince(ctx context.Context, user int64, since time.Time) (map[library.ConnectionID]int, error)
	CountDeliveries(context.Context, delivery.Filter) (map[delivery.State]int, error)
	Copies(ctx context.Context, user int64, kind string) ([]delivery.Copy, error)
	Gaps(ctx context.Context, user int64, conn library.ConnectionID) ([]library.Gap, error)
	forwardStore
	runStore
	skippedStore
}

// forwardStore reads what is forwarded.
type forwardStore interface {
	ForwardingRules(ctx context.Context, user int64) ([]delivery.Rule, error)
	ForwardingCounts(ctx context.Context, user int64, conn library.ConnectionID) (delivery.ForwardingCounts, error)
	ForwardedListens(ctx context.Context, user int64, conn library.ConnectionID,
		limit int) ([]delivery.ForwardedListen, error)
}

// runStore reads runs.
type runStore interface {
	Runs(ctx context.Context, user int64, conn library.ConnectionID, since time.Time, before string,
		limit int) (page []library.Run, next string, err error)
	RunQuarters(ctx context.Context, user int64, conn library.ConnectionID,
		since time.Time) ([]library.RunQuarter, error)
}

// Options are what a Handler is made from.
type Options struct {
	Core        *core.Core
	Store       Store
	Connections *syncer.Connections
	Deliveries  *delivery.Deliveries
	Flow        *oauth.Flow
	Uplink      *transport.Uplink
	Statuses    *Statuses
	Names       *deliveries.Namer
	Rows        *music.Rows
	Imports     *imports.Handler
	Activity    *activity.Handler
	Asks        Asks
	Steps       Steps
	Settings    Settings
	Client      *http.Client // for trials of an installation's registration
}

// Handler answers for the connections of a user.
type Handler struct {
	core        *core.Core
	connections *syncer.Connections
	statuses    *Statuses
	overview    *overview
	page        *page
	connect     *connect
	forwarding  *forwarding
	runs        *runs
	skipped     *skipped
}

// New returns a Handler.
func New(o Options) *Handler {
	f := &forwarding{core: o.Core, store: o.Store, statuses: o.Statuses, deliveries: o.Deliveries, names: o.Names}
	r := &runs{core: o.Core, store: o.Store, statuses: o.Statuses}
	left := &skipped{core: o.Core, store: o.Store, connections: o.Connections, statuses: o.Statuses}
	return &Handler{
		core: o.Core, connections: o.Connections, statuses: o.Statuses, forwarding: f, runs: r, skipped: left,
		overview: &overview{core: o.Core, store: o.Store, statuses: o.Statuses, rows: o.Rows, uplink: o.Uplink},
		page: &page{core: o.Core, store: o.Store, connections: o.Connections, statuses: o.Statuses, forwarding: f,
			runs:    r,
			skipped: left,
			imports: o.Imports, activity: o.Activity},
		connect: &connect{core: o.Core, connections: o.Connections, statuses: o.Statuses, flow: o.Flow, asks: o.Asks,
			steps: o.Steps, register: &register{core: o.Core, settings: o.Settings, client: o.Client, asks: o.Asks,
				steps: o.Steps}},
	}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/", h.overview.page)
	g.GET("/connections/:id", h.page.show)
	g.GET("/connections/:id/runs", h.runs.page)
	g.POST("/connections/:id/forwarding", h.forwarding.form)
	g.POST("/connections/:id/name", h.renameForm)
	g.POST("/connections/:id/skipped/retry", h.skipped.retryForm)
	g.POST("/connections/:id/:action", h.actForm)
	g.GET("/connect/:id", h.connect.page)
	g.POST("/connect/:id", h.connect.form)
	g.GET("/connect/:id/callback", h.connect.callback)
	g.POST("/connect/:id/answer", h.connect.answer)
	g.GET("/connect/:id/choose", h.connect.showChoice)
	g.POST("/connect/:id/choose", h.connect.chooseForm)
	g.GET("/setup/:provider", h.connect.register.page, core.MustBeAdmin)
	g.POST("/setup/:provider", h.connect.register.save, core.MustBeAdmin)
}

// API adds the routes of the API.
func (h *Handler) API(g *echo.Group) {
	g.GET("/connections", h.list)
	g.GET("/connections/:id", h.oneAPI)
	g.GET("/connections/:id/runs", h.runs.api)
	g.GET("/connections/:id/skipped", h.skipped.api)
	g.POST("/connections/:id/skipped/retry", h.skipped.retryAPI)
	g.PUT("/connections/:id", h.connect.api)
	g.PATCH("/connections/:id", h.renameAPI)
	g.DELETE("/connections/:id", h.disconnectAPI)
	g.POST("/connections/:id/sync", h.actAPI)
	g.POST("/connections/:id/retry", h.actAPI)
	g.POST("/connections/:id/pause", h.actAPI)
	g.POST("/connections/:id/resume", h.actAPI)
	g.GET("/connections/:id/forwarding", h.forwarding.api)
	g.PUT("/connections/:id/forwarding", h.forwarding.startAPI)
	g.DELETE("/connections/:id/forwarding", h.forwarding.stopAPI)
}
