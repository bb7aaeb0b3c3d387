// Command server is Reprise: it pulls listens and playlists from the services that hold them, keeps them, and tells a
// person when something needs them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // quotas end at midnight somewhere, also on a machine without time zones

	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/doctor"
	"reprise/internal/providers/registry"
	"reprise/internal/server"
)

// version is set by the linker for a release.
var version = "0.1.0"

// The exit codes beside 0.
const (
	exitProblems = 1   // -check found problems
	exitUsage    = 2   // the server cannot serve, or the command cannot be done, with what it was given
	exitSignal   = 128 // a second signal ended it; the signal's number is added, as shells do
)

func main() {
	err := run(untilSignal(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
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

// options are the flags, and the command with what it is about.
type options struct {
	config, listen, dataDir string
	demo, check, version    bool
	command, operand        string
}

func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return nil
	}
	if err != nil {
		return err
	}
	if o.version {
		fmt.Fprintf(stdout, "reprise %s, commit %s, %s\n", version, commit(), runtime.Version())
		return nil
	}
	overrides := map[string]string{}
	if o.listen != "" {
		overrides["listen"] = o.listen
	}
	if o.dataDir != "" {
		overrides["data_dir"] = o.dataDir
	}
	if o.demo {
		return runDemo(ctx, o, environ, overrides, stdout, stderr)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
	c, err := config.Load(o.config, environ, overrides, registry.Descriptions())
	if o.check {
		return doctor.Run(ctx, doctor.Options{Config: c, Settings: err, Dir: dataDir(c), Hosts: hosts(c), UserAgent: userAgent(c), Known: registry.Descriptions(),
			Listen: server.Listen}, stdout)
	}
	if err != nil {
		return fmt.Errorf("the settings cannot be used:\n%w", err)
	}
	switch o.command {
	case "":
		return serve(ctx, c, nil, stdout, stderr)
	case "backup":
		err = dataDir(c).Backup(ctx, o.operand, stdout)
	case "rotate-key":
		err = dataDir(c).RotateKey(ctx, stdout)
	case "reset-password":
		err = runResetPassword(ctx, c, o.operand, stdin, stdout)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("%s was stopped before it was done. Run it again", o.command)
	}
	return err
}

// dataDir is the data directory that the settings name.
func dataDir(c config.Config) datadir.Dir {
	return datadir.Dir{Path: c.DataDir, SecretKey: c.SecretKey, DatabaseURL: c.DatabaseURL}
}

// softMemory is from how many bytes on the garbage collector works harder rather than take more: the server shares a
// small machine with others. It is no limit to what may be needed.
const softMemory = 48 << 20

const usage = `Reprise keeps a whole copy of your listening history.

  server                        serve; the page is at http://127.0.0.1:8420
  server -demo                  serve with simulated services, to see it working; nothing is kept
  server -check                 say what is in order and what is not, and what to do; changes nothing
  server -version               print the version
  server backup FILE            copy the database, also while the server runs
  server rotate-key             seal every stored secret with a new key; the server must be stopped
  server reset-password NAME    give an account a new password, also while the server runs

  -config FILE        settings as YAML; configs/reprise.yaml lists them all
  -listen ADDRESS     where to serve, instead of 127.0.0.1:8420
  -data-dir FOLDER    where everything is kept, instead of ./data
`

// commands are the words that may follow the program's name, each with what it is about; empty when it is about nothing
// in particular.
var commands = map[string]string{"backup": "FILE", "rotate-key": "", "reset-password": "NAME"}

const seeHelp = "\nserver -help lists what there is"

// parse reads the command line. Flags may stand before and after the command. What is unknown is an error that names the
// nearest thing there is.
func parse(args []string) (o options, err error) {
	set := flag.NewFlagSet("server", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.config, "config", "", "")
	set.StringVar(&o.listen, "listen", "", "")
	set.StringVar(&o.dataDir, "data-dir", "", "")
	set.BoolVar(&o.demo, "demo", false, "")
	set.BoolVar(&o.check, "check", false, "")
	set.BoolVar(&o.version, "version", false, "")
	var names []string
	set.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	var words []string
	for rest := args; ; rest = set.Args()[1:] {
		err = set.Parse(rest)
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		if err != nil {
			return o, fmt.Errorf("%w%s"+seeHelp, err, suggestion(rest, names))
		}
		if set.NArg() == 0 {
			break
		}
		words = append(words, set.Arg(0))
	}
	return o, o.take(words, names)
}

// take reads the command and what it is about.
func (o *options) take(words, flags []string) error {
	modes := 0
	for _, set := range []bool{o.demo, o.check, o.version, len(words) > 0} {
		if set {
			modes++
		}
	}
	if len(words) == 0 {
		if modes > 1 {
			return errors.New("-demo, -check and -version are each for itself: give one of them" + seeHelp)
		}
		return nil
	}
	about, ok := commands[words[0]]
	switch {
	case !ok:
		return fmt.Errorf("there is no command %q%s"+seeHelp, words[0], nearestCommand(words[0], flags))
	case modes > 1:
		return fmt.Errorf("-demo, -check and -version do not go with the command %s"+seeHelp, words[0])
	case about == "" && len(words) > 1:
		return fmt.Errorf("%s takes nothing behind it, and there is %q"+seeHelp, words[0], words[1])
	case about != "" && len(words) == 1:
		return fmt.Errorf("%s wants one thing more: server %s %s"+seeHelp, words[0], words[0], about)
	case len(words) > 2:
		return fmt.Errorf("%s takes one %s, and there is also %q. One with spaces goes between quotation marks"+seeHelp, words[0], about, words[2])
	}
	o.command = words[0]
	if len(words) == 2 {
		o.operand = words[1]
	}
	return nil
}

func nearestCommand(word string, flags []string) string {
	near := config.Nearest(word, append(slices.Sorted(maps.Keys(commands)), flags...))
	switch {
	case near == "":
		return ""
	case slices.Contains(flags, near):
		near = "-" + near
	}
	return fmt.Sprintf("; did you mean %s?", near)
}

func suggestion(args, names []string) string {
	for _, a := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if near := config.Nearest(name, names); strings.HasPrefix(a, "-") && near != "" && near != name {
			return fmt.Sprintf("; did you mean -%s?", near)
		}
	}
	return ""
}

func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value[:min(len(s.Value), 12)]
		}
	}
	return "unknown"
}
