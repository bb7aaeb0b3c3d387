// Package cli is the program on a terminal: its command line, its commands, what it asks, prints and logs.
//
// Every error is a sentence that says what to do.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"reprise/internal/words"
)

// Options are the flags, and the command with its operand.
type Options struct {
	Config, Listen, DataDir string
	Demo, Check, Version    bool
	Health, OpenDemo        bool
	Command, Operand        string // empty when the server is to serve
	Second                  string // operand, of the command that has two
}

// Settings returns the settings that the flags give, by path.
func (o Options) Settings() map[string]string {
	given := map[string]string{}
	if o.Listen != "" {
		given["listen"] = o.Listen
	}
	if o.DataDir != "" {
		given["data_dir"] = o.DataDir
	}
	return given
}

// Usage is the help text.
const Usage = `Reprise keeps a complete, live copy of your listening history.

  server                        start Reprise at http://127.0.0.1:8420
  server -demo                  start it with simulated services, to try it out; keeps nothing
  server -check                 check everything and say what to do; changes nothing
  server -health                ask the running server whether it works; exits with 1 if not
  server -version               print the version
  server backup FILE            copy the database; works while the server runs
  server restore FILE           put a copy of the database back; stop the server first
  server new-key                print a new secret key, for the setting secret_key; changes nothing
  server rotate-key             seal every stored secret with a new key; stop the server first
  server forget-secrets         start over without the stored secrets if their key is lost; stop the server first
  server copy-database FROM TO  move a database to Postgres or back; stop the servers first
  server recount                rebuild the statistics from the listens; works while the server runs
  server reset-password NAME    set a new password and turn the second step off

  -open-demo          with -demo: listen also where others reach it, and sign them in
  -config FILE        read settings from this YAML file; configs/reprise.yaml lists them all
  -listen ADDRESS     serve here instead of at 127.0.0.1:8420
  -data-dir FOLDER    keep everything here instead of in ./data
`

// commands are the words that may follow the program's name, each with the names of its operands.
var commands = map[string]string{"backup": "FILE", "restore": "FILE", "new-key": "", "rotate-key": "",
	"forget-secrets": "", "recount": "", "reset-password": "NAME", "copy-database": "FROM TO"}

const seeHelp = "\nRun server -help for a list of commands and flags"

// Parse reads the command line. Flags may precede and follow the command. The error is flag.ErrHelp when help is asked
// for; an error for something unknown names the nearest thing that is known.
func Parse(args []string) (o Options, err error) {
	set := flag.NewFlagSet("server", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&o.Config, "config", "", "")
	set.StringVar(&o.Listen, "listen", "", "")
	set.StringVar(&o.DataDir, "data-dir", "", "")
	set.BoolVar(&o.Demo, "demo", false, "")
	set.BoolVar(&o.OpenDemo, "open-demo", false, "")
	set.BoolVar(&o.Check, "check", false, "")
	set.BoolVar(&o.Health, "health", false, "")
	set.BoolVar(&o.Version, "version", false, "")
	var flags []string
	set.VisitAll(func(f *flag.Flag) { flags = append(flags, f.Name) })
	var words []string
	for rest := args; ; rest = set.Args()[1:] {
		err = set.Parse(rest)
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		if err != nil {
			return o, fmt.Errorf("%w%s"+seeHelp, err, nearestFlag(rest, flags))
		}
		if set.NArg() == 0 {
			break
		}
		words = append(words, set.Arg(0))
	}
	return o, o.take(words, flags)
}

// take reads the command and its operand.
func (o *Options) take(words, flags []string) error {
	if o.OpenDemo && !o.Demo {
		return errors.New("-open-demo goes with -demo only" + seeHelp)
	}
	modes := 0
	for _, set := range []bool{o.Demo, o.Check, o.Health, o.Version, len(words) > 0} {
		if set {
			modes++
		}
	}
	if len(words) == 0 {
		if modes > 1 {
			return errors.New("-demo, -check, -health and -version don't go together: use one of them" + seeHelp)
		}
		return nil
	}
	operand, ok := commands[words[0]]
	takes := len(strings.Fields(operand))
	switch {
	case !ok:
		return fmt.Errorf("there is no command %q%s"+seeHelp, words[0], nearestCommand(words[0], flags))
	case modes > 1:
		return fmt.Errorf("-demo, -check, -health and -version don't go with the command %s"+seeHelp, words[0])
	case operand == "" && len(words) > 1:
		return fmt.Errorf("nothing may follow %s, but there is %q"+seeHelp, words[0], words[1])
	case takes == 2 && len(words) != 3:
		return fmt.Errorf("%s needs two things: server %s %s"+seeHelp, words[0], words[0], operand)
	case takes == 1 && len(words) == 1:
		return fmt.Errorf("%s needs one more thing: server %s %s"+seeHelp, words[0], words[0], operand)
	case takes == 1 && len(words) > 2:
		return fmt.Errorf("%s takes one %s, but there is also %q. Put a name with spaces in quotation marks"+seeHelp,
			words[0], operand, words[2])
	}
	o.Command = words[0]
	if takes > 0 {
		o.Operand = words[1]
	}
	if takes > 1 {
		o.Second = words[2]
	}
	return nil
}

func nearestCommand(word string, flags []string) string {
	near := words.Nearest(word, append(slices.Sorted(maps.Keys(commands)), flags...))
	switch {
	case near == "":
		return ""
	case slices.Contains(flags, near):
		near = "-" + near
	}
	return fmt.Sprintf("; did you mean %s?", near)
}

func nearestFlag(args, flags []string) string {
	for _, a := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(a, "-"), "=")
		if near := words.Nearest(name, flags); strings.HasPrefix(a, "-") && near != "" && near != name {
			return fmt.Sprintf("; did you mean -%s?", near)
		}
	}
	return ""
}
