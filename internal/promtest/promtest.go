// Package promtest helps tests that read metrics: it parses a scrape, and runs the programs of Prometheus.
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

// Tool returns the path of one of Prometheus' programs. It fails the test when it is not installed, so that no test is
// skipped silently.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err, `%s is not installed; "make tools" installs it from Debian's package prometheus`, name)
	return path
}

// Promtool runs promtool and requires that it has no complaint. It returns what promtool printed.
func Promtool(t testing.TB, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command(Tool(t, "promtool"), args...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %s: %s", args, out)
	return string(out)
}

// ConfigFile returns the path of a file in the repository's directory configs.
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

// Series are the values of one scrape by name and labels, as Prometheus writes them, without the prefix reprise_.
type Series map[string]float64

// Parse reads the series of the server in the text of a scrape; it needs at least one.
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

// Sum adds up the series of a name that have all these labels, each written as in label="value".
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

// Labels returns the names of every metric's labels, separated by commas. The series of a histogram are one metric.
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
