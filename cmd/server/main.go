// Command server is Reprise: it pulls listens and playlists from the services that hold them, keeps them, and tells a
// person when something needs them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	_ "time/tzdata" // quotas end at midnight somewhere, also on a machine without time zones

	"reprise/internal/config"
)

// version is set by the linker for a release.
var version = "0.1.0"

// exitUsage is the exit code when the server cannot serve with what it was given.
const exitUsage = 2

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the default is back: a second one stops at once.
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
}

// options are the flags.
type options struct {
	config, listen, dataDir string
	demo, version           bool
}

func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
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
	c, err := config.Load(o.config, environ, overrides)
	if err != nil {
		return fmt.Errorf("the settings cannot be used:\n%w", err)
	}
	return serve(ctx, c, nil, stdout, stderr)
}

// softMemory is from how many bytes on the garbage collector works harder rather than take more: the server shares a
// small machine with others. It is no limit to what may be needed.
const softMemory = 48 << 20

const usage = `Reprise keeps a whole copy of your listening history.

  server              serve; the page is at http://127.0.0.1:8420
  server -demo        serve with simulated services, to see it working; nothing is kept
  server -version     print the version

  -config FILE        settings as YAML; configs/reprise.yaml lists them all
  -listen ADDRESS     where to serve, instead of 127.0.0.1:8420
  -data-dir FOLDER    where everything is kept, instead of ./data
`

// parse reads the command line. An unknown flag is an error that names the nearest one.
func parse(args []string) (o options, err error) {
	set := flag.NewFlagSet("server", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.config, "config", "", "")
	set.StringVar(&o.listen, "listen", "", "")
	set.StringVar(&o.dataDir, "data-dir", "", "")
	set.BoolVar(&o.demo, "demo", false, "")
	set.BoolVar(&o.version, "version", false, "")
	var names []string
	set.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	err = set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w%s\nserver -help lists what there is", err, suggestion(args, names))
	case set.NArg() > 0:
		return o, fmt.Errorf("there is no command %q\nserver -help lists what there is", set.Arg(0))
	}
	return o, nil
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

// listenOn opens the address, or says what stands in the way.
func listenOn(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program. Stop it, or choose another address with -listen", address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen on %s. Ports below 1024 need special rights; choose another with -listen", address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	return l, nil
}
