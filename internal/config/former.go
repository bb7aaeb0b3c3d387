package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// names says what settings are called now, by the path that they had before.
type names map[string]string

// former has the settings that got another name. They go on working under the old one, with a warning, for as long as
// docs/stability.md promises.
var former = names{}

// replaced returns stored settings under the names that they have now. What is stored under the new name wins.
func (n names) replaced(stored map[string]string) map[string]string {
	now := maps.Clone(stored)
	for was, is := range n {
		text, there := now[was]
		if _, both := now[is]; there && !both {
			now[is] = text
		}
		delete(now, was)
	}
	return now
}

// renamed returns the variables that are about settings, under the names that they have now.
func (in *source) renamed(environ []string) (given map[string]string, problems Problems) {
	given = map[string]string{}
	for _, pair := range environ {
		if name, text, _ := strings.Cut(pair, "="); strings.HasPrefix(name, envPrefix) {
			given[name] = text
		}
	}
	for _, path := range slices.Sorted(maps.Keys(in.former)) {
		for _, end := range []string{"", "_FILE"} {
			was, is := envName(path)+end, envName(in.former[path])+end
			text, there := given[was]
			if !there {
				continue
			}
			delete(given, was)
			if text != "" && given[is] != "" {
				problems = append(problems, fmt.Sprintf("%s is now called %s, and both are set. Keep %s.", was, is, is))
				continue
			}
			in.warnings = append(in.warnings, fmt.Sprintf("The environment variable %s is now called %s. It still "+
				"works; please rename it.", was, is))
			if text != "" {
				given[is] = text
			}
		}
	}
	return given, problems
}
