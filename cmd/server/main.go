// Command server is Reprise: it pulls listens and playlists from the services that hold them, keeps them, and notifies
// people when something needs them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for the midnights at which quotas end, on machines without time zones

	"reprise/internal/cli"
	"reprise/internal/config"

	"reprise/internal/datadir"
	"reprise/internal/doctor"
	"reprise/internal/providers/registry"
	"reprise/internal/server"
	"reprise/internal/store"
)

// version is that of the next release while this is not one. make dist sets both for a release.
var version, commit = "0.1.0-dev", ""

// The exit codes beside 0.
const (
	exitProblems = 1   // -check found problems
	exitUsage    = 2   // the server cannot serve, or the command cannot be done, with what it was given
	exitSignal   = 128 // a second signal ended it; the signal's number is added, as shells do
)

func main() {
	err := run(untilSignal(), os.Args[1:], os.Environ(), console{os.Stdin, os.Stdout, os.Stderr})
	switch {
	case errors.Is(err, doctor.ErrProblems):
		os.Exit(exitProblems)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
}

// untilSignal returns a context that the first signal to stop cancels. The second one ends the process at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // both may arrive before the goroutine runs
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		second, _ := (<-signals).(syscall.Signal)
		os.Exit(exitSignal + int(second))
	}()
	return ctx
}

// console is where the program is read from and written to.
type console struct {
	in       io.Reader
	out, err io.Writer
}

func run(ctx context.Context, args, environ []string, at console) error {
	o, err := cli.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(at.out, cli.Usage)
		return nil
	}
	if err != nil {
		return err
	}
	if o.Version {
		fmt.Fprintln(at.out, cli.Version(version, commit))
		return nil
	}
	overrides := map[string]string{}
	if o.Listen != "" {
		overrides["listen"] = o.Listen
	}
	if o.DataDir != "" {
		overrides["data_dir"] = o.DataDir
	}
	limitMemory()
	if o.Demo {
		return runDemo(ctx, o, environ, overrides, at)
	}
	layers := read(o.Config, environ, overrides)
	given, err := layers.With(nil)
	c := given.Config
	if o.Health {
		return doctor.Health(ctx, c.Listen, err, at.out)
	}
	if o.Check {
		return check(ctx, layers, given, err, at)
	}
	if err != nil {
		return fmt.Errorf("the settings cannot be used:\n%w", err)
	}
	switch o.Command {
	case "":
		return serve(ctx, start{layers: layers}, at)
	case "backup":
		err = dataDir(c).Backup(ctx, o.Operand, at.out)
	case "restore":
		err = dataDir(c).Restore(ctx, o.Operand, at.out)
	case "new-key":
		fmt.Fprintln(at.out, store.NewSecret())
	case "rotate-key":
		err = dataDir(c).RotateKey(ctx, at.out)
	case "forget-secrets":
		sure := func() (bool, error) { return cli.Confirm("forget", at.in, at.out) }
		err = dataDir(c).ForgetSecrets(ctx, sure, at.out)
	case "copy-database":
		err = dataDir(c).CopyDatabase(ctx, o.Operand, o.Second, cli.Progress(at.out), at.out)
	case "recount":
		err = dataDir(c).Recount(ctx, at.out)
	case "reset-password":
		ask := func(account string) (string, error) { return cli.NewPassword(ctx, account, at.in, at.out) }
		err = dataDir(c).ResetPassword(ctx, o.Operand, ask, at.out)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s was stopped before it was done. Run it again", o.Command)
	}
	return err
}

// check looks at an installation with the settings of all layers, the database's included.
func check(ctx context.Context, layers *config.Layers, given config.Result, wrong error, at console) error {
	o := doctor.Options{Settings: wrong, Known: registry.Descriptions(), Listen: server.Listen}
	if wrong == nil {
		stored, err := dataDir(given.Config).Settings(ctx)
		if err == nil { // else the doctor says what is wrong with the database
			given, o.Settings = layers.With(stored)
			o.Stored, o.Faults = len(stored), given.Faults
		}
	}
	c := given.Config
	o.Config, o.Dir, o.Hosts, o.UserAgent = c, dataDir(c), hosts(c), userAgent(c)
	return doctor.Run(ctx, o, at.out)
}

// dataDir returns the data directory of the settings.
func dataDir(c config.Config) datadir.Dir {
	return datadir.Dir{Path: c.DataDir, SecretKey: c.SecretKey, DatabaseURL: c.DatabaseURL}
}
