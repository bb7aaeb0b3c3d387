package main

import (
	"context"
	"net"
	"slices"
	"strings"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// screen returns what decides who may read why a server does not answer: administrators about all, and members about
// those that the settings list, or that an administrator has connected. The others are hidden, so that nobody can find
// out what listens in the network of this server.
func (b basics) screen(known *providers.Registry) *resilience.Screen {
	return &resilience.Screen{Log: b.log, Trusts: func(ctx context.Context, user int64, host string) bool {
		if listed(b.now.Load().AllowedUpstreams, host) {
			return true
		}
		if u, err := b.store.UserByID(ctx, user); err == nil && u.Role == accounts.Admin {
			return true
		}
		return b.connectedByAdmin(ctx, known, host)
	}}
}

// listed reports whether a host is in the setting allowed_upstreams, with its port or without.
func listed(allowed []string, host string) bool {
	host = strings.ToLower(host)
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	return slices.ContainsFunc(allowed, func(a string) bool {
		return a == "*" || a == host || strings.Trim(a, "[]") == name
	})
}

// connectedByAdmin reports whether an administrator has a connection to a host.
func (b basics) connectedByAdmin(ctx context.Context, known *providers.Registry, host string) bool {
	admins, err := b.store.Admins(ctx)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(admins, func(id int64) bool {
		all, err := b.store.UserConnections(ctx, id)
		return err == nil && slices.ContainsFunc(all, func(c library.Connection) bool {
			p := known.Get(c.Provider())
			return p != nil && strings.EqualFold(p.NamedHost(c.Credentials), host)
		})
	})
}
