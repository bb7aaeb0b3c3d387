package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"reprise/internal/providers"
	"reprise/internal/words"
)

// Value is the text of a setting and where it comes from.
type Value struct {
	Text   string
	Source Source
	From   string // the same in words: the name of a file, or of a variable
}

// Layers are the settings of the file, the environment and the command line, without those of a database. They do not
// change. Make them with Read.
type Layers struct {
	known    []providers.Description
	given    map[string]Value
	problems Problems // with what was read
	// Further, if set, returns what else is wrong with a Config that this package cannot know. It is set once, before
	// With is called.
	Further func(Config) []Fault
}

// Read reads all layers but the database; see Load.
func Read(file string, environ []string, overrides map[string]string, known []providers.Description) *Layers {
	l := &Layers{known: known, given: map[string]Value{}}
	var c Config
	table := append(c.settings(), c.providerSettings(known)...)
	in := &source{table: table, values: l.given}
	l.problems = append(in.fromFile(file), in.fromEnvironment(environ)...)
	for path, text := range overrides { // even an empty one: it resets the setting
		l.given[path] = Value{text, FromCommandLine, "the command line"}
	}
	return l
}

// Given returns the value that a layer above the database gives to a setting.
func (l *Layers) Given(path string) (Value, bool) {
	v, ok := l.given[path]
	return v, ok
}

// Fault is what is wrong with a setting, or with several together.
type Fault struct {
	Paths []string
	Text  words.Text // a sentence
}

// Result is the Config of all layers.
type Result struct {
	Config Config
	Values map[string]Value // of every setting
	// Faults are those of the database. The values that they are about are not used.
	Faults []Fault
	// Alone are the faults that are not the database's. With them the server does not start; With returns them as
	// Problems too.
	Alone []Fault
}

// With returns the settings of all layers. stored holds the texts of those of the database, by path. The error is a
// Problems: what is wrong in the other layers.
func (l *Layers) With(stored map[string]string) (Result, error) {
	use := maps.Clone(stored)
	var faults []Fault
	for {
		r := l.build(use)
		var bad []string
		for _, f := range r.Alone {
			theirs := slices.DeleteFunc(slices.Clone(f.Paths), func(path string) bool {
				return r.Values[path].Source != FromDatabase
			})
			if len(theirs) > 0 {
				faults, bad = append(faults, f), append(bad, theirs...)
			}
		}
		if len(bad) == 0 {
			r.Faults = append(faults, l.unknown(stored, r.Values)...)
			return r, l.problemsOf(r)
		}
		for _, path := range bad {
			delete(use, path)
		}
	}
}

// unknown returns the faults of stored settings that this version does not have.
func (l *Layers) unknown(stored map[string]string, values map[string]Value) (faults []Fault) {
	for _, path := range slices.Sorted(maps.Keys(stored)) {
		if _, known := values[path]; !known {
			faults = append(faults, Fault{[]string{path}, words.New("settings.wrong.unknown", "Path", path)})
		}
	}
	return faults
}

// build sets every field from the topmost layer that has a value. All faults are in Alone.
func (l *Layers) build(stored map[string]string) (r Result) {
	c := &r.Config
	r.Values = map[string]Value{}
	for _, s := range append(c.settings(), c.providerSettings(l.known)...) {
		v := Value{s.Default, FromDefault, "the default"}
		if text, ok := stored[s.Path]; ok {
			v = Value{text, FromDatabase, "the settings page"}
		}
		if above, ok := l.given[s.Path]; ok {
			v = above
		}
		r.Values[s.Path] = v
		if err := s.set(v.Text); err != nil {
			r.Alone = append(r.Alone, Fault{[]string{s.Path}, textOf(err)})
		}
	}
	r.Alone = append(append(r.Alone, c.validate()...), c.together(l.known)...)
	if l.Further != nil {
		r.Alone = append(r.Alone, l.Further(*c)...)
	}
	return r
}

func textOf(err error) words.Text {
	if e, ok := err.(*words.Error); ok {
		return e.Text
	}
	return words.Plain(err.Error())
}

// problemsOf returns what keeps the server from starting.
func (l *Layers) problemsOf(r Result) error {
	problems := slices.Clone(l.problems)
	for _, f := range r.Alone {
		problems = append(problems, f.Sentence(r.Values))
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// Sentence says in English what is wrong, and where it comes from: for the log and -check. values are those of the
// Result; nil for a fault of the database.
func (f Fault) Sentence(values map[string]Value) string {
	text := sentence(f.Text.String())
	if len(f.Paths) != 1 || f.Text.ID() == "settings.wrong.unknown" {
		return text
	}
	from := values[f.Paths[0]].From
	if values == nil {
		from = "the settings page"
	}
	if from == "" || strings.HasPrefix(text, f.Paths[0]) {
		return text
	}
	return fmt.Sprintf("%s (%s): %s", f.Paths[0], from, text)
}
