// Package config reads the settings: defaults, then a YAML file, then the environment.
//
// Every setting stands once, in the table of settings.go, with its default and its check. Load reports everything that
// is wrong, not the first problem only. Nothing here is global; other packages take values, never the Config.
package config

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"reprise/internal/resilience"
)

// Config is every setting. See configs/reprise.yaml for what each means.
type Config struct {
	Listen          string
	BaseURL         string
	DataDir         string
	SecretKey       resilience.Secret
	Contact         string
	LogLevel        slog.Level
	LogFormat       string
	ShutdownTimeout time.Duration
	TrustedProxies  []string

	ListensEvery   time.Duration
	PlaylistsEvery time.Duration
	Workers        int
	RunTimeout     time.Duration

	BackoffBase   time.Duration
	BackoffMax    time.Duration
	BackoffJitter float64

	AllowPrivateUpstreams bool

	Spotify      Provider
	ListenBrainz Provider
}

// Provider are the settings of one provider.
type Provider struct {
	APIURL, AuthURL, TokenURL string
	ClientID                  string
	ClientSecret              resilience.Secret
}

// Problems is everything that is wrong with the settings, a sentence each.
type Problems []string

func (p Problems) Error() string { return strings.Join(p, "\n") }

// Load reads the settings. file may be empty; overrides are settings given on the command line, by path. The error is
// a Problems.
func Load(file string, environ []string, overrides map[string]string) (Config, error) {
	var c Config
	var problems Problems
	table := c.settings()
	values := map[string]value{}
	for _, s := range table {
		values[s.path] = value{s.def, "the default"}
	}
	problems = append(problems, fromFile(file, table, values)...)
	problems = append(problems, fromEnvironment(environ, table, values)...)
	for path, text := range overrides {
		values[path] = value{text, "the command line"}
	}
	for _, s := range table {
		v := values[s.path]
		if err := s.set(v.text); err != nil {
			problems = append(problems, fmt.Sprintf("%s (%s): %s", s.path, v.from, err))
		}
	}
	if len(problems) == 0 {
		problems = c.validate()
	}
	if len(problems) > 0 {
		return c, problems
	}
	return c, nil
}

// value is a setting's text and where it came from.
type value struct{ text, from string }

func fromFile(file string, table []setting, values map[string]value) (problems Problems) {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return Problems{fmt.Sprintf("The configuration file cannot be read: %v.", err)}
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return Problems{fmt.Sprintf("%s is not valid YAML:\n%s", file, strings.TrimSpace(yaml.FormatError(err, false, false)))}
	}
	flat := map[string]string{}
	flatten("", tree, flat)
	for _, path := range sortedKeys(flat) {
		if !known(table, path) {
			problems = append(problems, fmt.Sprintf("%s: there is no setting %q%s", file, path, nearest(path, paths(table))))
			continue
		}
		values[path] = value{flat[path], file}
	}
	return problems
}

// flatten turns nested settings into paths with dots; a list becomes a text with commas.
func flatten(prefix string, node any, out map[string]string) {
	switch v := node.(type) {
	case map[string]any:
		for name, child := range v {
			path := name
			if prefix != "" {
				path = prefix + "." + name
			}
			flatten(path, child, out)
		}
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = fmt.Sprint(item)
		}
		out[prefix] = strings.Join(items, ",")
	case nil: // a key without a value keeps its default
	default:
		out[prefix] = fmt.Sprint(v)
	}
}

const envPrefix = "REPRISE_"

func envName(path string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

func fromEnvironment(environ []string, table []setting, values map[string]value) (problems Problems) {
	byName := map[string]setting{}
	var names []string
	for _, s := range table {
		byName[envName(s.path)] = s
		names = append(names, envName(s.path))
		if s.secret {
			names = append(names, envName(s.path)+"_FILE")
		}
	}
	slices.Sort(environ)
	for _, pair := range environ {
		name, text, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, envPrefix) {
			continue
		}
		if s, ok := byName[name]; ok {
			values[s.path] = value{text, name}
			continue
		}
		s, ok := byName[strings.TrimSuffix(name, "_FILE")]
		if !ok || !s.secret || !strings.HasSuffix(name, "_FILE") {
			problems = append(problems, fmt.Sprintf("There is no setting for the environment variable %s%s", name, nearest(name, names)))
			continue
		}
		content, err := os.ReadFile(text)
		if err != nil {
			problems = append(problems, fmt.Sprintf("%s names a file that cannot be read: %v.", name, err))
			continue
		}
		values[s.path] = value{strings.TrimSpace(string(content)), name}
	}
	return problems
}

func known(table []setting, path string) bool {
	return slices.ContainsFunc(table, func(s setting) bool { return s.path == path })
}

func paths(table []setting) []string {
	all := make([]string, len(table))
	for i, s := range table {
		all[i] = s.path
	}
	return all
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
