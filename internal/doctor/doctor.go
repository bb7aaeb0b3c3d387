// Package doctor looks at an installation from outside and says what is in order, what is not, and what to do about it.
// It changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/config"
	"reprise/internal/datadir"
	"reprise/internal/providers"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/transport"
	"reprise/web"
)

// ErrProblems says that there are problems, which Run has printed.
var ErrProblems = errors.New("there are problems")

// Options say what to look at.
type Options struct {
	Config   config.Config
	Settings error // what is wrong with the settings, as config.Load returned it
	// Stored is how many settings the database has, and Faults what is wrong with them; their values are not in
	// Config.
	Stored    int
	Faults    []config.Fault
	Dir       datadir.Dir
	Hosts     hosts.Policy
	Known     []providers.Description
	UserAgent string
	Listen    func(address string) (net.Listener, error) // as the server opens its address
}

// level is what a finding asks of a person, with its shape and its word.
type level string

const (
	fine    level = "✓ ok      "
	off     level = "– off     " // not set up, or not tried
	warn    level = "! warn    "
	problem level = "✗ problem "
)

// finding is one thing that was found, with what to do about it.
type finding struct {
	level level
	text  string
}

func found(l level, format string, args ...any) finding {
	return finding{l, fmt.Sprintf(format, args...)}
}

// networkTimeout limits all checks over the network together.
const networkTimeout = 20 * time.Second

// doctor is one look at an installation.
type doctor struct {
	Options
	c      config.Config // with its BaseURL filled in
	base   *http.Client  // calls as providers are called, and follows no redirect
	client *http.Client  // calls as adapters do
	own    *http.Client  // reaches this server as browsers do
	held   bool          // a server uses the data directory
	live   bool          // it answers where the settings say
}

func newDoctor(o Options) *doctor {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	base := o.Hosts.NewBase()
	d := &doctor{Options: o, c: o.Config, held: o.Dir.InUse(), base: &http.Client{Transport: base, CheckRedirect: stay},
		client: transport.NewClient(&transport.Transport{Base: base, UserAgent: o.UserAgent}),
		own:    &http.Client{Transport: hosts.NewBase(nil), CheckRedirect: stay}}
	if d.c.BaseURL == "" {
		d.c.BaseURL = "http://" + config.LoopbackFor(d.c.Listen)
	}
	return d
}

// Run writes one line for every finding to out, always in the same order. It returns ErrProblems if there are problems.
func Run(ctx context.Context, o Options, out io.Writer) error {
	if o.Settings != nil {
		var all []finding
		each, _ := errors.AsType[config.Problems](o.Settings)
		for _, sentence := range each { // a place in a file takes more than a line
			all = append(all, finding{problem, strings.ReplaceAll(sentence, "\n", "\n           ")})
		}
		return report(append(all, found(off, "Reprise checks the rest once it can read the settings.")), out)
	}
	d := newDoctor(o)
	local := append([]finding{{fine, "Reprise can read the settings."}}, d.stored()...)
	local = append(local, d.listening(ctx), d.names())
	local = append(local, d.local(ctx)...)

	within, cancel := context.WithTimeout(ctx, networkTimeout)
	defer cancel()
	var page, keys []finding
	var answered []reached
	var g errgroup.Group
	g.Go(func() error { page = d.page(within); return nil })
	g.Go(func() error { answered = d.hosts(within); return nil })
	g.Go(func() error { keys = d.keys(within); return nil })
	_ = g.Wait() // findings are no errors
	if ctx.Err() != nil {
		return errors.New("stopped before the check was complete")
	}
	all := append(append(local, page...), d.redirects()...)
	for _, h := range answered {
		all = append(all, h.finding)
	}
	return report(append(append(all, clock(answered)), keys...), out)
}

// stored says what was set in the browser.
func (d *doctor) stored() (all []finding) {
	if n := d.Stored - len(d.Faults); n > 0 {
		all = append(all, found(fine, "%s set in the browser and stored in the database.",
			web.Count(n, "setting is", "settings are")))
	}
	for _, f := range d.Faults {
		all = append(all, found(warn,
			"Reprise ignores a setting in the database. Change it under Settings, This server. %s", f.Sentence(nil)))
	}
	return all
}

func report(all []finding, out io.Writer) error {
	count := map[level]int{}
	for _, f := range all {
		count[f.level]++
		fmt.Fprintf(out, "%s %s\n", f.level, f.text)
	}
	warnings := ""
	if count[warn] > 0 {
		warnings = ", and " + web.Count(count[warn], "warning", "warnings")
	}
	if count[problem] > 0 {
		fmt.Fprintf(out, "\nFound %s%s.\n", web.Count(count[problem], "problem", "problems"),
			warnings)
		return ErrProblems
	}
	fmt.Fprintf(out, "\nNo problems%s.\n", warnings)
	return nil
}
