package health

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/cluster"
	"reprise/internal/leases"
	"reprise/internal/providers"
	"reprise/internal/queue"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// ServerStore lists the servers that share the database, and what they have to do.
type ServerStore interface {
	// Servers returns them, the leader first; none if the server is alone.
	Servers(context.Context) ([]cluster.Server, error)
	// Backlogs returns the jobs that wait or run, by kind; see queue.Backlogs.
	Backlogs(ctx context.Context, servers []string) ([]queue.Backlog, error)
}

// Server is a server in the API.
type Server struct {
	ID        string    `json:"id" doc:"Of the process."`
	Name      string    `json:"name" doc:"Of the machine."`
	Version   string    `json:"version"`
	State     string    `json:"state" enum:"leads,answers,silent" doc:"Leads also does what is not shared out, answers is any other that is there, silent has not been heard of lately."`
	Calls     []string  `json:"calls" doc:"The services that it calls, servers of people with their addresses, and its part of the imports of files."`
	StartedAt core.Time `json:"started_at"`
	SeenAt    core.Time `json:"seen_at"`
}

// Jobs are the jobs of a kind in the API.
type Jobs struct {
	Kind     string    `json:"kind" doc:"send (whatever is sent to one connection or channel), import, enrich (facts about music), digest; others may come."`
	Waiting  int       `json:"waiting"`
	Running  int       `json:"running"`
	OldestAt core.Time `json:"oldest_at" doc:"When the oldest of them came up."`
}

type listServersAnswer struct {
	Servers []Server `json:"servers"`
	Jobs    []Jobs   `json:"jobs" doc:"What waits or is under way at the moment, on all servers together; also of a server that is alone. What is due later is not among them."`
}

func (h *Handler) listServers(c echo.Context, _ *core.None) (out listServersAnswer, _ error) {
	all, err := h.Servers.Servers(c.Request().Context())
	if err != nil {
		return out, err
	}
	now, views := time.Now(), []Server{}
	for _, s := range all {
		views = append(views, Server{ID: s.ID, Name: s.Name, Version: s.Version,
			State: string(s.State(now)), Calls: h.calls(c.Request().Context(), s.Apps),
			StartedAt: core.Stamp(s.Started), SeenAt: core.Stamp(s.Seen)})
	}
	backlogs, err := h.backlogs(c.Request().Context(), all, now)
	return listServersAnswer{Servers: views, Jobs: core.ViewAll(backlogs, func(b queue.Backlog) Jobs {
		return Jobs{Kind: b.Kind, Waiting: b.Waiting, Running: b.Running, OldestAt: core.Stamp(b.Oldest)}
	})}, err
}

// backlogs returns the jobs of the servers that are there.
func (h *Handler) backlogs(ctx context.Context, all []cluster.Server, now time.Time) ([]queue.Backlog, error) {
	var there []string
	for _, s := range all {
		if s.State(now) != cluster.Silent {
			there = append(there, s.ID)
		}
	}
	return h.Servers.Backlogs(ctx, there)
}

// calls returns the names of the apps that a server calls, and its part of the imports.
func (h *Handler) calls(ctx context.Context, apps []string) []string {
	names, shares := []string{}, 0
	for _, app := range apps {
		if leases.OfImports(app) {
			shares++
		} else {
			names = append(names, h.called(app))
		}
	}
	if shares > 0 {
		names = append(names, words.T(ctx, "health.servers.imports", "Share", shares, "All", len(leases.Imports())))
	}
	return names
}

// called returns the name of an app that a server calls; see leases.App.
func (h *Handler) called(app string) string {
	name, of, _ := strings.Cut(app, " ")
	p := h.core.Registry.Get(name)
	switch {
	case p == nil:
		return app
	case of == "" || p.Owner != providers.OwnServer:
		return p.DisplayName
	}
	return p.DisplayName + " (" + of + ")"
}

// marks are the shapes of servers' states.
var marks = map[cluster.State]string{cluster.Leads: "healthy", cluster.Answers: "healthy", cluster.Silent: "dead"}

// serversTable returns the servers for a page, those that are gone last; nil if there is only this one.
func (h *Handler) serversTable(ctx context.Context, all []cluster.Server, now time.Time) *ui.Grid {
	if len(all) == 0 {
		return nil
	}
	g := &ui.Grid{Class: "servers", Columns: []string{words.T(ctx, "health.servers.name"),
		words.T(ctx, "health.servers.state"), words.T(ctx, "health.servers.calls"),
		words.T(ctx, "health.servers.version"),
		words.T(ctx, "health.servers.since"), words.T(ctx, "health.servers.seen")}}
	place := func(s cluster.Server) int { return slices.Index(cluster.States, s.State(now)) }
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b cluster.Server) int { return place(a) - place(b) })
	for _, s := range all {
		state, heard := s.State(now), ui.Ago
		if state == cluster.Silent {
			heard = ui.At // "just now" would be no news
		}
		g.Rows = append(g.Rows, ui.Line{ID: "server-" + s.ID, Cells: []templ.Component{
			ui.Name(s.Name),
			ui.State(ui.Mark{Shape: marks[state], Word: words.Each("health.servers.", string(state)).T(ctx)}),
			ui.Name(strings.Join(h.calls(ctx, s.Apps), ", ")),
			ui.Name(s.Version), ui.Time(s.Started, ui.Ago), ui.Time(s.Seen, heard)}})
	}
	return g
}

// kindsOfJobs are those that have a name on the page; a server of a later version may have others.
var kindsOfJobs = []string{"send", "import", "enrich", "digest"}

// jobsTable returns the jobs for a page; nil if there are none.
func jobsTable(l *words.Language, all []queue.Backlog) *ui.Grid {
	if len(all) == 0 {
		return nil
	}
	t := func(name string) string { return words.Each("health.jobs.", name).In(l) }
	g := &ui.Grid{Class: "jobs", Columns: []string{t("kind"), t("waiting"), t("running"), t("oldest")}}
	for _, b := range all {
		kind := b.Kind
		if slices.Contains(kindsOfJobs, kind) {
			kind = t(kind)
		}
		g.Rows = append(g.Rows, ui.Line{Cells: []templ.Component{ui.Name(kind), ui.Name(l.Number(b.Waiting)),
			ui.Name(l.Number(b.Running)), ui.Time(b.Oldest, ui.Ago)}})
	}
	return g
}
