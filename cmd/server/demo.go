package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"

	"reprise/internal/cli"
	"reprise/internal/config"
	"reprise/internal/demo"
	"reprise/internal/demo/household"
	"reprise/internal/server"
	"reprise/internal/server/edge"
)

// serveDemo serves simulated services and a household that has connected them until ctx ends, all rounds at the same
// address.
func serveDemo(ctx context.Context, o cli.Options, environ []string, console cli.Console) (err error) {
	c, err := start{layers: read(o.Config, environ, o.Settings())}.config()
	if err != nil {
		return err
	}
	if !o.OpenDemo && !config.OnLoopback(c.Listen) {
		return fmt.Errorf("the demo signs in everybody who reaches it, and others can reach %s. Add "+
			"-listen 127.0.0.1:8420 to let in this machine only, or -open-demo to let in everybody", c.Listen)
	}
	l, err := server.Listen(c.Listen)
	if err != nil {
		return err
	}
	listener := &edge.Lasting{TCPListener: l.(*net.TCPListener)}
	defer func() { err = errors.Join(err, listener.CloseForGood()) }()
	overrides := o.Settings()
	levelSet := func(line string) bool { return strings.HasPrefix(line, "REPRISE_LOG_LEVEL=") }
	if o.Config == "" && !slices.ContainsFunc(environ, levelSet) {
		overrides["log.level"] = "warn" // or attempts at simulated services would hide the link
	}
	rounds := household.Rounds{DataDir: o.DataDir,
		Serve: func(ctx context.Context, world *demo.World, settings map[string]string) error {
			given := maps.Clone(overrides)
			maps.Copy(given, settings)
			from := start{layers: read(o.Config, environ, given), world: world}
			from.furnish = func(ctx context.Context, a *app) (int64, error) {
				return a.program(world).Furnish(ctx, a.config.Providers)
			}
			err := serveOn(ctx, listener, from, console)
			console.Out = io.Discard // the link is the same
			return errors.Join(err, listener.Reopen())
		}}
	return rounds.Run(ctx)
}

// program returns what the demo's household uses.
func (a *app) program(world *demo.World) household.Program {
	return household.Program{World: world, Accounts: a.accounts, Registry: a.registry, Connections: a.connections,
		Syncer: a.server.Syncer, Deliveries: a.deliveries, Courier: a.server.Courier, Digests: a.digests,
		Reports: a.server.Reports, Store: a.store}
}
