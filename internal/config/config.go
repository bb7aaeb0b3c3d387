// Package config reads the settings: defaults, then the database, then a YAML file, then the environment, then the
// command line.
//
// settings.go lists every setting with its default and its check; those of the providers come from their descriptions.
// An empty value in the file or the environment is ignored. All problems are reported, not only the first. What the
// database holds cannot keep the server from starting: a wrong value there is reported, and its default used. Nothing
// here is global, and other packages take values, not the Config.
package config

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// Config holds all settings. configs/reprise.yaml explains each.
type Config struct {
	Listen          string
	BaseURL         string
	DataDir         string
	DatabaseURL     resilience.Secret // postgres://…; empty: SQLite in DataDir
	SecretKey       resilience.Secret
	AdminToken      resilience.Secret
	SecondStep      string // who needs one: nobody, administrators or everybody
	Contact         string
	UpdatesURL      string // lists releases; empty: nobody looks for newer ones
	LogLevel        slog.Level
	LogFormat       string
	ShutdownTimeout time.Duration
	AllowedHosts    []string // names; "*" for all
	TrustedProxies  []string

	Cluster      bool // several servers share the database
	ClusterDrain time.Duration

	ListensEvery   time.Duration
	PlaylistsEvery time.Duration
	NowPlaying     bool
	EnrichEvery    time.Duration
	Workers        int
	RunTimeout     time.Duration

	BackoffBase   time.Duration
	BackoffMax    time.Duration
	BackoffJitter float64

	BreakerFailures int
	BreakerCooldown time.Duration
	BreakerMaxOpen  time.Duration // at least BreakerCooldown

	DeliveryFirstDelay   time.Duration
	DeliveryMaxDelay     time.Duration
	DeliveryMaxAge       time.Duration
	DeliveryMaxAttempts  int // 0: as many as fit into DeliveryMaxAge
	DeliveryKeepDead     time.Duration
	DeliveryWorkers      int
	DeliveryBacklogWarn  int
	DeliveryBacklogLimit int

	NotifyURLs []resilience.Secret // one per channel

	ArtMaxMiB int

	Backup Backup
	MQTT   MQTT
	OpenID OpenID
	Proxy  Proxy

	AllowPrivateUpstreams bool
	AllowedUpstreams      []string // every member may read why these hosts do not answer

	Providers map[string]providers.Settings // by the provider's name, one for every description given to Load

	// Simulated are the addresses of the demo's services, each as host:port. They count as services on the internet,
	// and nothing else is called. It cannot be set; empty without the demo.
	Simulated []string
}

// Problems lists what is wrong with the settings, one sentence per problem.
type Problems []string

func (p Problems) Error() string { return strings.Join(p, "\n") }

// Load reads the settings, without those of a database. file may be empty; overrides holds the settings of the command
// line by path; known holds the providers, whose settings have the path providers.<name>.<setting>. The error is a
// Problems.
func Load(file string, environ []string, overrides map[string]string, known []providers.Description) (Config, error) {
	r, err := Read(file, environ, overrides, known).With(nil)
	return r.Config, err
}

func sentence(s string) string {
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func give(values map[string]Value, path string, v Value) {
	if strings.TrimSpace(v.Text) != "" {
		values[path] = v
	}
}

// source reads the file and the environment.
type source struct {
	table  []row
	values map[string]Value // of the settings that it has found
}

func (in *source) fromFile(file string) Problems {
	if file == "" {
		return nil
	}
	text, err := readBounded(file, maxFile)
	if err != nil {
		return Problems{fmt.Sprintf("The configuration file cannot be read: %v.", err)}
	}
	return in.fromText(file, text)
}

// fromText reads the text of a file.
func (in *source) fromText(file string, text []byte) (problems Problems) {
	if problem := hostile(text); problem != "" {
		return Problems{fmt.Sprintf("%s is not valid YAML for settings: %s.", file, problem)}
	}
	tree, problem := parse(file, text)
	if problem != "" {
		return Problems{problem}
	}
	flat := map[string]string{}
	flatten("", tree, flat)
	for _, path := range slices.Sorted(maps.Keys(flat)) {
		if flat[path] == "" && section(in.table, path) {
			continue
		}
		if !listed(in.table, path) {
			problems = append(problems, fmt.Sprintf("%s: there is no setting %q%s", file, path,
				didYouMean(path, paths(in.table))))
			continue
		}
		give(in.values, path, Value{flat[path], FromFile, file})
	}
	return problems
}

// node is a part of the file. It keeps the text as written, because a key of digits may begin with zeros.
type node struct {
	text     string
	items    []node
	children map[string]node
}

// UnmarshalYAML implements yaml.InterfaceUnmarshaler.
func (n *node) UnmarshalYAML(unmarshal func(any) error) error {
	if unmarshal(&n.children) == nil {
		return nil
	}
	if n.children = nil; unmarshal(&n.items) == nil {
		return nil
	}
	n.items = nil
	var written ast.Node
	if unmarshal(&written) == nil {
		if number, ok := written.(ast.ScalarNode); ok && written.Type() == ast.IntegerType {
			n.text = number.GetToken().Value
			return nil
		}
	}
	return unmarshal(&n.text)
}

// flatten turns nested settings into dotted paths, and lists into comma-separated text.
func flatten(prefix string, nodes map[string]node, out map[string]string) {
	for name, n := range nodes {
		switch {
		case n.children != nil:
			flatten(prefix+name+".", n.children, out)
		case n.items != nil:
			items := make([]string, len(n.items))
			for i, item := range n.items {
				items[i] = item.text
			}
			out[prefix+name] = strings.Join(items, ",")
		default:
			out[prefix+name] = n.text
		}
	}
}

const envPrefix = "REPRISE_"

// Variable returns the name of the environment variable of a setting.
func Variable(path string) string { return envName(path) }

func envName(path string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// fromEnvironment reads the variables with the settings' names, and those that end in _FILE for secrets.
func (in *source) fromEnvironment(environ []string) (problems Problems) {
	byName := map[string]row{}
	var known []string
	for _, s := range in.table {
		byName[envName(s.Path)] = s
		known = append(known, envName(s.Path))
		if s.Secret() {
			known = append(known, envName(s.Path)+"_FILE")
		}
	}
	given := map[string]string{}
	for _, pair := range environ {
		if name, text, _ := strings.Cut(pair, "="); strings.HasPrefix(name, envPrefix) {
			given[name] = text
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		text := given[name]
		if s, ok := byName[name]; ok {
			give(in.values, s.Path, Value{text, FromEnvironment, name})
			continue
		}
		plain, isFile := strings.CutSuffix(name, "_FILE")
		if s, ok := byName[plain]; !isFile || !ok || !s.Secret() {
			problems = append(problems, fmt.Sprintf("There is no setting for the environment variable %s%s", name,
				didYouMean(name, known)))
		} else if text != "" && given[plain] != "" {
			problems = append(problems, fmt.Sprintf("Both %s and %s are set. Keep one of them.", plain, name))
		} else if secret, err := secretFile(name, text); err != nil {
			problems = append(problems, err.Error())
		} else {
			give(in.values, s.Path, Value{secret, FromEnvironment, name})
		}
	}
	return problems
}

// secretFile reads the file that an environment variable names. It returns "" when file is empty.
func secretFile(variable, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	content, err := readBounded(file, maxFile)
	if err != nil {
		return "", Problems{fmt.Sprintf("%s names a file that cannot be read: %v.", variable, err)}
	}
	if strings.TrimSpace(string(content)) == "" {
		return "", Problems{fmt.Sprintf("%s names a file that is empty: %s.", variable, file)}
	}
	return string(content), nil
}

func listed(table []row, path string) bool {
	return slices.ContainsFunc(table, func(s row) bool { return s.Path == path })
}

// section reports whether a path is a section that contains settings.
func section(table []row, path string) bool {
	return slices.ContainsFunc(table, func(s row) bool { return strings.HasPrefix(s.Path, path+".") })
}

func paths(table []row) []string {
	all := make([]string, len(table))
	for i, s := range table {
		all[i] = s.Path
	}
	return all
}
