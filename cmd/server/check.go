package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"reprise/internal/config"
	"reprise/internal/resilience"
)

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

// checkPatience is how long everything that goes over the network may take, all together.
const checkPatience = 20 * time.Second

// doctor looks at an installation from outside and changes nothing.
type doctor struct {
	c      config.Config
	base   *http.Client // as providers are called, without following redirects
	client *http.Client // as adapters call
	own    *http.Client // as browsers reach this server
	held   bool         // a server uses the data directory
	live   bool         // it answers where the settings say
}

func newDoctor(c config.Config) *doctor {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	base := newBase(c)
	d := &doctor{c: c, base: &http.Client{Transport: base, CheckRedirect: stay},
		client: resilience.NewClient(&resilience.Transport{Base: base, UserAgent: userAgent(c)}),
		own:    &http.Client{Transport: resilience.NewBase(nil), CheckRedirect: stay}}
	if d.c.BaseURL == "" {
		d.c.BaseURL = "http://" + config.LoopbackFor(c.Listen)
	}
	return d
}

// runCheck prints one line for every finding, in an order that is always the same, and is errProblems when there are
// problems. settings is what is wrong with the settings.
func runCheck(ctx context.Context, c config.Config, settings error, stdout io.Writer) error {
	if settings != nil {
		var all []finding
		each, _ := errors.AsType[config.Problems](settings)
		for _, sentence := range each {
			all = append(all, finding{problem, strings.ReplaceAll(sentence, "\n", "\n           ")}) // a place in a file takes more than a line
		}
		return report(append(all, found(off, "Everything else can be looked at when the settings can be read.")), stdout)
	}
	d := newDoctor(c)
	d.held = locked(c.DataDir)
	local := append([]finding{{fine, "The settings can be read."}, d.listening(ctx)}, d.local(ctx)...)

	within, cancel := context.WithTimeout(ctx, checkPatience)
	defer cancel()
	var page, keys []finding
	var hosts []reached
	var g errgroup.Group
	g.Go(func() error { page = d.page(within); return nil })
	g.Go(func() error { hosts = d.hosts(within); return nil })
	g.Go(func() error { keys = d.keys(within); return nil })
	_ = g.Wait() // findings are no errors
	if ctx.Err() != nil {
		return errors.New("stopped before everything was looked at")
	}
	all := append(append(local, page...), d.redirects()...)
	for _, h := range hosts {
		all = append(all, h.finding)
	}
	return report(append(append(all, clock(hosts)), keys...), stdout)
}

func report(all []finding, stdout io.Writer) error {
	count := map[level]int64{}
	for _, f := range all {
		count[f.level]++
		fmt.Fprintf(stdout, "%s %s\n", f.level, f.text)
	}
	warnings := ""
	if count[warn] > 0 {
		warnings = ", and " + counted(count[warn], "warning", "warnings")
	}
	if count[problem] > 0 {
		fmt.Fprintf(stdout, "\nThere is something to do: %s%s.\n", counted(count[problem], "problem", "problems"), warnings)
		return errProblems
	}
	fmt.Fprintf(stdout, "\nThere is no problem%s.\n", warnings)
	return nil
}
