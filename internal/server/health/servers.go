package health

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/cluster"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// ServerStore lists the servers that share the database.
type ServerStore interface {
	// Servers returns them, the leader first; none if the server is alone.
	Servers(context.Context) ([]cluster.Server, error)
}

// Server is a server in the API.
type Server struct {
	ID        string    `json:"id" doc:"Of the process."`
	Name      string    `json:"name" doc:"Of the machine."`
	Address   string    `json:"address" doc:"Host and port where the other servers reach it."`
	Version   string    `json:"version"`
	State     string    `json:"state" enum:"leads,answers,silent" doc:"Leads also does what is not shared out, answers is any other that is there, silent has not been heard of lately."`
	Calls     []string  `json:"calls" doc:"The services that it calls, servers of people with their addresses."`
	StartedAt core.Time `json:"started_at"`
	SeenAt    core.Time `json:"seen_at"`
}

type listServersAnswer struct {
	Servers []Server `json:"servers"`
}

func (h *Handler) listServers(c echo.Context, _ *core.None) (out listServersAnswer, _ error) {
	all, err := h.Servers.Servers(c.Request().Context())
	if err != nil {
		return out, err
	}
	now, views := time.Now(), []Server{}
	for _, s := range all {
		views = append(views, Server{ID: s.ID, Name: s.Name, Address: s.Address, Version: s.Version,
			State: string(s.State(now)), Calls: core.ViewAll(s.Apps, h.called), StartedAt: core.Stamp(s.Started),
			SeenAt: core.Stamp(s.Seen)})
	}
	return listServersAnswer{Servers: views}, nil
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
			ui.Name(s.Name + " (" + s.Address + ")"),
			ui.State(ui.Mark{Shape: marks[state], Word: words.Each("health.servers.", string(state)).T(ctx)}),
			ui.Name(strings.Join(core.ViewAll(s.Apps, h.called), ", ")),
			ui.Name(s.Version), ui.Time(s.Started, ui.Ago), ui.Time(s.Seen, heard)}})
	}
	return g
}
