// Package promtest helps test metrics: it parses scrapes and runs the programs of Prometheus.
package promtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tool returns the path of a program of Prometheus. It fails the test if the program is not installed, so that no
// test is skipped silently.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err, `%s is not installed; "make tools" installs it from Debian's package prometheus`, name)
	return path
}

// Promtool runs promtool, requires that it succeeds, and returns its output.
func Promtool(t testing.TB, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command(Tool(t, "promtool"), args...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %s: %s", args, out)
	return string(out)
}

// ConfigFile returns the absolute path of a file in the repository's directory configs.
func ConfigFile(t testing.TB, path ...string) string {
	t.Helper()
	root, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		require.NotEqual(t, root, filepath.Dir(root), "the test does not run inside the repository")
		root = filepath.Dir(root)
	}
	whole := filepath.Join(append([]string{root, "configs"}, path...)...)
	require.FileExists(t, whole)
	return whole
}

// ReadConfig returns the text of a file in the repository's directory configs.
func ReadConfig(t testing.TB, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(ConfigFile(t, path...))
	require.NoError(t, err)
	return string(b)
}

// Series maps the series of one scrape to their values. A key is the name, without the prefix reprise_, with its
// labels as Prometheus writes them.
type Series map[string]float64

// Parse returns the series of the server in the text of a scrape. It requires at least one.
func Parse(t testing.TB, text string) Series {
	t.Helper()
	all := Series{}
	for line := range strings.Lines(text) {
		line, ours := strings.CutPrefix(strings.TrimSpace(line), "reprise_")
		if !ours {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseFloat(line[at+1:], 64)
		require.NoError(t, err, line)
		all[line[:at]] = value
	}
	require.NotEmpty(t, all)
	return all
}

// Sum returns the sum of the series with a name and all these labels, each written as label="value".
func (s Series) Sum(name string, labels ...string) float64 {
	total := 0.0
next:
	for key, value := range s {
		if key != name && !strings.HasPrefix(key, name+"{") {
			continue
		}
		for _, label := range labels {
			if !strings.Contains(key, label) {
				continue next
			}
		}
		total += value
	}
	return total
}

// Labels returns the label names of each metric, separated by commas. The series of a histogram count as one metric.
func (s Series) Labels() map[string]string {
	all := map[string]string{}
	for key := range s {
		name, rest, _ := strings.Cut(key, "{")
		if strings.Contains(name, "_duration_seconds") {
			name = name[:strings.LastIndexByte(name, '_')]
		}
		var names []string
		for rest != "" && rest != "}" {
			var label, value string
			label, rest, _ = strings.Cut(rest, "=")
			value, _ = strconv.QuotedPrefix(rest)
			rest = strings.TrimPrefix(rest[len(value):], ",")
			if label != "le" {
				names = append(names, label)
			}
		}
		all[name] = strings.Join(names, ",")
	}
	return all
}
