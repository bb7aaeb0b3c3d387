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

// History says how much of a person's history is here, in sentences.
type History interface {
	// Figure returns since when all of it is; empty while nothing says so.
	Figure(ctx context.Context, user int64) (string, error)
	// StandIns says, for each connection that hasn't been read for days, which one its plays come through.
	StandIns(ctx context.Context, user int64) (map[library.ConnectionID]string, error)
}

// Options are what a Handler is made from.
type Options struct {
	Core        *core.Core
	Store       Store
	Connections *syncer.Connections
	Deliveries  *delivery.Deliveries
	Flow        *oauth.Flow
	Uplink      Uplink
	Statuses    *Statuses
	Names       *deliveries.Namer
	Rows        *music.Rows
	Imports     *imports.Handler
	Activity    *activity.Handler
	Asks        Asks
	Players     Players
	History     History
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
		overview: &overview{core: o.Core, store: o.Store, statuses: o.Statuses, rows: o.Rows, uplink: o.Uplink,
			players: o.Players, history: o.History},
		page: &page{core: o.Core, store: o.Store, connections: o.Connections, statuses: o.Statuses, forwarding: f,
			runs:    r,
			skipped: left,
			imports: o.Imports, activity: o.Activity, history: o.History},
		connect: &connect{core: o.Core, connections: o.Connections, statuses: o.Statuses, flow: o.Flow, asks: o.Asks,
			steps: o.Steps, register: &register{core: o.Core, settings: o.Settings, client: o.Client, asks: o.Asks,
				steps: o.Steps}},
	}
}

// Pages adds the routes of the pages.
func (h *Handler) Pages(g *echo.Group) {
	g.GET("/", h.overview.page)
	g.GET(core.NowPath, h.overview.now)
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
func (h *Handler) API(a *core.API) {
	core.Get(a, "/connections", h.list, core.Call{
		ID:      "listConnections",
		Summary: "All connections of the signed-in user",
		Answer:  "The connections.",
	})
	core.Get(a, "/connections/{id}", h.oneAPI, core.Call{
		ID:      "getConnection",
		Summary: "One connection",
		Answer:  "The connection.",
	})
	core.Get(a, "/connections/{id}/runs", h.runs.api, core.Call{
		ID:      "listRuns",
		Summary: "The runs of the last 24 hours and their results, newest first",
		Answer:  "A page of runs. There are none for a provider that Reprise only writes to.",
	})
	core.Get(a, "/connections/{id}/skipped", h.skipped.api, core.Call{
		ID: "listSkipped",
		Summary: "What the service lists but doesn't let Reprise read, such as a private playlist; at most " +
			"1,000 items",
		Description: "Reprise tries each one again once a day. An item leaves the list when Reprise can read it, " +
			"or when the service no longer lists it. If the answer for a playlist broke off or was unusable, " +
			"Reprise tries it twice more first.",
		Answer: "Playlists first, then tracks; each sorted by name.",
	})
	core.Post(a, "/connections/{id}/skipped/retry", h.skipped.retryAPI, core.Call{
		ID:       "retrySkipped",
		Summary:  "Try everything again now that was skipped",
		Answer:   "Accepted.",
		Status:   http.StatusAccepted,
		Refusals: map[int]string{http.StatusConflict: ""},
	})
	core.Put(a, "/connections/{id}", h.connect.api, core.Call{
		ID:      "connect",
		Summary: "Connect, or reconnect, a provider with credentials that you type",
		Description: "Reprise stores nothing until a real call has proved the credentials. If they belong to " +
			"another account than before, the answer is 409 with `old_account` and `new_account`; send " +
			"`\"other_account\": \"accept\"` to switch to it, or, if the same server has a new address, " +
			"`\"moved\"`, which keeps everything. Services that ask for your consent are connected in a browser, " +
			"at `/connect/{provider}`.",
		Answer:   "Proved and stored.",
		Refusals: map[int]string{http.StatusUnprocessableEntity: ""},
	})
	core.Patch(a, "/connections/{id}", h.renameAPI, core.Call{
		ID:      "renameConnection",
		Summary: "Rename",
		Answer:  "The connection.",
	})
	core.Delete(a, "/connections/{id}", h.disconnectAPI, core.Call{
		ID:      "disconnect",
		Summary: "Disconnect",
		Answer:  "Disconnected.",
	})
	core.Post(a, "/connections/{id}/sync", h.syncAPI, core.Call{
		ID:       "syncConnection",
		Summary:  "Read now; if a sync is running, another one follows",
		Answer:   "A sync has started, or follows the one that is running.",
		Status:   http.StatusAccepted,
		Refusals: map[int]string{http.StatusConflict: ""},
	})
	core.Post(a, "/connections/{id}/retry", h.actAPI("retry"), core.Call{
		ID: "retryConnection",
		Summary: "Try again and send what is waiting; lifts a stop or a backoff, never a wait that the provider " +
			"demanded",
		Answer:   "Accepted.",
		Status:   http.StatusAccepted,
		Refusals: map[int]string{http.StatusConflict: ""},
	})
	core.Post(a, "/connections/{id}/pause", h.actAPI("pause"), core.Call{
		ID:      "pauseConnection",
		Summary: "Stop reading until resumed",
		Answer:  "Accepted.",
		Status:  http.StatusAccepted,
	})
	core.Post(a, "/connections/{id}/resume", h.actAPI("resume"), core.Call{
		ID:      "resumeConnection",
		Summary: "Resume reading",
		Answer:  "Accepted.",
		Status:  http.StatusAccepted,
	})
	core.Get(a, "/connections/{id}/forwarding", h.forwarding.api, core.Call{
		ID:       "getForwarding",
		Summary:  "Whether Reprise forwards listens to this connection, and what happened to them",
		Answer:   "Forwarding to this provider.",
		Refusals: map[int]string{http.StatusUnprocessableEntity: ""},
	})
	core.Put(a, "/connections/{id}/forwarding", h.forwarding.startAPI, core.Call{
		ID:       "startForwarding",
		Optional: true,
		Summary:  "Forward listens from now on",
		Description: "A listen never goes back to the provider it came from. With `earlier`, listens from before " +
			"go out, too, if the provider accepts them and doesn't have them yet. Asking twice changes nothing.",
		Answer: "Forwarding to this provider.",
		Refusals: map[int]string{
			http.StatusUnprocessableEntity: "",
			http.StatusTooManyRequests:     "Too much is waiting already; see Retry-After (seconds).",
		},
	})
	core.Delete(a, "/connections/{id}/forwarding", h.forwarding.stopAPI, core.Call{
		ID:      "stopForwarding",
		Summary: "Stop forwarding; what is already waiting still goes out",
		Answer:  "Stopped.",
	})
}
