package main

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tool is the path of a program of Prometheus. A machine without it fails the test, so that none is silently skipped.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err, `%s is not installed; "make tools" installs it from Debian's package prometheus`, name)
	return path
}

// promtool runs promtool and requires that it finds nothing to say against what it is given.
func promtool(t testing.TB, in string, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool(t, "promtool"), args...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %s: %s", args, out)
	return string(out)
}

// config is a file of configs.
func configFile(t testing.TB, path ...string) string {
	t.Helper()
	whole, err := filepath.Abs(filepath.Join(append([]string{"..", "..", "configs"}, path...)...))
	require.NoError(t, err)
	require.FileExists(t, whole)
	return whole
}

func readConfig(t testing.TB, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(configFile(t, path...))
	require.NoError(t, err)
	return string(b)
}

// series is what a scrape told: values by name and labels, as Prometheus writes them, without our prefix.
type series map[string]float64

// scrapeText asks a server's /metrics.
func (p *process) scrapeText() string {
	p.t.Helper()
	resp, err := http.Get(p.url + "/metrics")
	require.NoError(p.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	require.Equal(p.t, http.StatusOK, resp.StatusCode, "%s", b)
	return string(b)
}

func (a *app) scrapeText(t testing.TB) string {
	t.Helper()
	w := httptest.NewRecorder()
	a.server.Metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	return w.Body.String()
}

func (a *app) scrape(t testing.TB) series {
	t.Helper()
	return seriesOf(t, a.scrapeText(t))
}

func seriesOf(t testing.TB, text string) series {
	t.Helper()
	all := series{}
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

// sum adds up the series of a name that have all these labels, each written as in label="value".
func (s series) sum(name string, labels ...string) float64 {
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

// labels are the names of the labels of every metric, in their order; those that make a histogram are one.
func (s series) labels() map[string]string {
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

var quiet = slog.New(slog.DiscardHandler)
