package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"reprise/internal/cli"
	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/demo"
	"reprise/internal/demo/household"
	"reprise/internal/server"
	"reprise/internal/server/edge"
)

// demoServer serves simulated services and a household that has connected them. When somebody presses "Reset
// everything" it begins again, at the same address.
type demoServer struct {
	options   cli.Options
	environ   []string
	overrides map[string]string
	console   cli.Console
	listener  *edge.Lasting // nil before the first round
	rounds    int           // that have ended
}

// errReset is why a round ends that another one follows.
var errReset = errors.New("the demo is reset")

func (d *demoServer) run(ctx context.Context) (err error) {
	defer func() {
		if d.listener != nil {
			err = errors.Join(err, d.listener.CloseForGood())
		}
	}()
	for again := true; again && err == nil; d.rounds++ {
		again, err = d.round(ctx)
		d.console.Out = io.Discard // the link is the same
	}
	return err
}

// round serves a new household until ctx ends or, with again, until somebody wants everything reset.
func (d *demoServer) round(ctx context.Context) (again bool, err error) {
	overrides, remove, err := d.folder()
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	round, end := context.WithCancelCause(ctx)
	defer end(nil)
	world, err := household.Start(func() { end(errReset) })
	if err != nil {
		return false, err
	}
	defer world.Close()
	maps.Copy(overrides, household.Settings(world))
	levelSet := func(line string) bool { return strings.HasPrefix(line, "REPRISE_LOG_LEVEL=") }
	if d.options.Config == "" && !slices.ContainsFunc(d.environ, levelSet) {
		overrides["log.level"] = "warn" // or attempts at simulated services would hide the link
	}
	from := start{layers: read(d.options.Config, d.environ, overrides), world: world}
	from.furnish = func(ctx context.Context, a *app) (int64, error) {
		program := a.program(world)
		alice, err := program.AddAlice(ctx)
		if err == nil {
			err = program.Complete(ctx, a.config.Providers)
		}
		return alice.ID, err
	}
	c, err := from.config()
	if err != nil {
		return false, err
	}
	if !d.options.OpenDemo && !config.OnLoopback(c.Listen) {
		return false, fmt.Errorf("the demo signs in everybody who reaches it, and others can reach %s. Add "+
			"-listen 127.0.0.1:8420 to let in this machine only, or -open-demo to let in everybody", c.Listen)
	}
	if err := d.listen(c.Listen); err != nil {
		return false, err
	}
	err = serveOn(round, d.listener, from, d.console)
	return context.Cause(round) == errReset, err
}

// folder returns the settings of a round with its own, empty data directory, and what removes that again. A directory
// that somebody chose stays, and what a reset leaves behind in it.
func (d *demoServer) folder() (overrides map[string]string, remove func() error, err error) {
	overrides, remove = maps.Clone(d.overrides), func() error { return nil }
	switch {
	case d.options.DataDir == "":
		overrides["data_dir"], remove, err = datadir.Temporary("reprise-demo-")
	case d.rounds > 0:
		overrides["data_dir"] = filepath.Join(d.options.DataDir, fmt.Sprintf("reset-%d", d.rounds))
	}
	return overrides, remove, err
}

// listen opens the address for the first round, and opens it again for the others.
func (d *demoServer) listen(address string) error {
	if d.listener != nil {
		return d.listener.Reopen()
	}
	l, err := server.Listen(address)
	if err == nil {
		d.listener = &edge.Lasting{TCPListener: l.(*net.TCPListener)}
	}
	return err
}

// program returns what the demo's household uses.
func (a *app) program(world *demo.World) household.Program {
	return household.Program{World: world, Accounts: a.accounts, Registry: a.registry, Connections: a.connections,
		Syncer: a.server.Syncer, Deliveries: a.deliveries, Courier: a.server.Courier, Digests: a.digests,
		Store: a.store}
}
