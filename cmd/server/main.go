// Command server is Reprise: it pulls listens and playlists from the services that hold them, keeps them, and notifies
// people when something needs them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	_ "time/tzdata" // for the midnights at which quotas end, on machines without time zones

	"reprise/internal/channels"
	"reprise/internal/cli"
	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/doctor"
	"reprise/internal/providers/registry"
	"reprise/internal/server"
	"reprise/internal/upkeep"
	"reprise/internal/words"
)

// version is that of the next release while this is not one. make dist sets both for a release.
var version, commit = "0.1.0-dev", ""

// The exit codes beside 0.
const (
	exitProblems = 1 // -check found problems
	exitUsage    = 2 // the server cannot serve, or the command cannot be done, with what it was given
)

func main() {
	err := run(cli.UntilSignal(), os.Args[1:], os.Environ(), cli.Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	switch {
	case errors.Is(err, doctor.ErrProblems):
		os.Exit(exitProblems)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
}

func run(ctx context.Context, args, environ []string, console cli.Console) error {
	o, err := cli.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(console.Out, cli.Usage)
		return nil
	}
	if err != nil {
		return err
	}
	if o.Version {
		fmt.Fprintln(console.Out, cli.Version(version, commit))
		return nil
	}
	upkeep.LimitMemory()
	if o.Demo {
		return serveDemo(ctx, o, environ, console)
	}
	layers := read(o.Config, environ, o.Settings())
	given, err := layers.With(nil)
	c := given.Config
	if o.Health {
		return doctor.Health(ctx, c.Listen, err, console.Out)
	}
	if o.Check {
		return check(ctx, layers, given, err, console)
	}
	if err != nil {
		return fmt.Errorf("the settings cannot be used:\n%w", err)
	}
	if o.Command == "" {
		return serve(ctx, start{layers: layers}, console)
	}
	return o.Do(ctx, dataDir(c), console)
}

// read reads the settings of all layers but the database's, with what only other packages can check.
func read(file string, environ []string, overrides map[string]string) *config.Layers {
	layers := config.Read(file, environ, overrides, registry.Descriptions())
	layers.Further = func(c config.Config) (faults []config.Fault) {
		for i, text := range c.NotifyURLs {
			if _, _, err := channels.Parse(string(text), ""); err != nil {
				faults = append(faults, config.Fault{Paths: []string{"notify.urls"},
					Text: words.New("settings.wrong.channel", "Number", i+1, "Problem", channels.Problem(err))})
			}
		}
		return faults
	}
	return layers
}

// check looks at an installation with the settings of all layers, the database's included.
func check(ctx context.Context, layers *config.Layers, given config.Result, wrong error, console cli.Console) error {
	o := doctor.Options{Settings: wrong, Known: registry.Descriptions(), Listen: server.Listen}
	if wrong == nil {
		stored, err := dataDir(given.Config).Settings(ctx)
		if err == nil { // else the doctor says what is wrong with the database
			given, o.Settings = layers.With(stored)
			o.Stored, o.Faults = len(stored), given.Faults
		}
	}
	c := given.Config
	o.Config, o.Dir, o.Hosts, o.UserAgent = c, dataDir(c), c.Hosts(registry.Descriptions()), c.Agent(version)
	return doctor.Run(ctx, o, console.Out)
}

// dataDir returns the data directory of the settings.
func dataDir(c config.Config) datadir.Dir {
	return datadir.Dir{Path: c.DataDir, SecretKey: c.SecretKey, DatabaseURL: c.DatabaseURL}
}
