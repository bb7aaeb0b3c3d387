package sync

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience/hosts"
)

// ScreenOptions are what NewScreen needs. All are required.
type ScreenOptions struct {
	Store interface {
		Admins(context.Context) ([]int64, error)
		UserConnections(ctx context.Context, user int64) ([]library.Connection, error)
	}
	Registry *providers.Registry
	// Allowed reports whether the settings list a host.
	Allowed func(host string) bool
	Log     *slog.Logger
}

// NewScreen returns what decides who may read why a server does not answer: administrators about all, and members about
// those that the settings list, or that an administrator has connected. The others are hidden, so that nobody can find
// out what listens in the network of this server.
func NewScreen(o ScreenOptions) *hosts.Screen {
	return &hosts.Screen{Log: o.Log, Trusts: func(ctx context.Context, user int64, host string) bool {
		if o.Allowed(host) {
			return true
		}
		admins, err := o.Store.Admins(ctx)
		return err == nil && (slices.Contains(admins, user) || o.connected(ctx, admins, host))
	}}
}

// connected reports whether one of these people has a connection to a host.
func (o ScreenOptions) connected(ctx context.Context, people []int64, host string) bool {
	return slices.ContainsFunc(people, func(id int64) bool {
		all, err := o.Store.UserConnections(ctx, id)
		return err == nil && slices.ContainsFunc(all, func(c library.Connection) bool {
			p := o.Registry.Get(c.Provider())
			return p != nil && strings.EqualFold(p.NamedHost(c.Credentials), host)
		})
	})
}
