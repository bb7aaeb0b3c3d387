package settings

import (
	"context"

	"reprise/internal/providers"
	"reprise/internal/server/connections"
	"reprise/internal/words"
	"reprise/web/ui"
)

// servicesView is what is known of the services.
type servicesView struct {
	Admin     bool // who looks at it
	Connected []connections.Connection
	All       []*providers.Provider
}

// serviceRow is a connection, or a service that can be connected.
type serviceRow struct {
	ID, Provider, Name, Account string
	State                       *ui.Mark
	Note                        string // what is to be done first
	Actions                     []ui.Action
}

// rows returns the services in the order of the registry, each with its connections.
func (v servicesView) rows(ctx context.Context) (all []serviceRow) {
	for _, p := range v.All {
		n := len(all)
		for _, c := range v.Connected {
			if c.Provider == p.Name {
				all = append(all, v.connected(ctx, c))
			}
		}
		if len(all) == n {
			all = append(all, v.offer(ctx, p))
		}
	}
	return all
}

// connected returns the row of a connection.
func (v servicesView) connected(ctx context.Context, c connections.Connection) serviceRow {
	label := "service-" + c.ID
	again := ui.Action{Label: words.T(ctx, "service.reconnect"), URL: "/connect/" + c.ID, DescribedBy: label}
	again.Main = c.State == "needs_reconnect"
	mark := connections.StateMark(ctx, c.State, v.Admin)
	return serviceRow{ID: label, Provider: c.Provider, Name: c.DisplayName, Account: c.Account,
		State: &mark, Actions: []ui.Action{
			{Label: words.T(ctx, "service.details"), URL: "/connections/" + c.ID, DescribedBy: label}, again}}
}

// offer returns the row of a service that is not connected.
func (v servicesView) offer(ctx context.Context, p *providers.Provider) serviceRow {
	r := serviceRow{ID: "service-" + p.Name, Provider: p.Name, Name: p.Called().T(ctx)}
	switch {
	case p.Registered():
		r.Actions = []ui.Action{{Label: words.T(ctx, "service.connect"), URL: "/connect/" + p.Name, DescribedBy: r.ID}}
	case v.Admin:
		r.Note = words.T(ctx, "service.set_up_first")
		r.Actions = []ui.Action{{Label: words.T(ctx, "service.set_up"), URL: "/connect/" + p.Name, DescribedBy: r.ID}}
	default:
		r.Note = words.T(ctx, "service.ask_first")
		r.Actions = []ui.Action{{Label: words.T(ctx, "service.ask"), Post: "/ask/" + p.Name, DescribedBy: r.ID,
			Fields: []ui.Hidden{{Name: "return_to", Value: "/settings/services"}}}}
	}
	return r
}
