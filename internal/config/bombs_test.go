package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bomb is a file whose aliases stand for a billion values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 9 {
		ten := strings.Repeat(fmt.Sprintf("*a%d, ", i), 10)
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(ten, ", "))
	}
	return b.String()
}

func TestAHostileSettingsFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"aliases":         bomb(),
		"lists":           "listen: " + strings.Repeat("[", 100_000),
		"sections":        "listen: " + strings.Repeat("{a: ", 50_000),
		"indented":        indented(700),
		"within limits":   "listen: " + strings.Repeat("{a: ", 60) + strings.Repeat("}", 60),
		"a long text":     "listen: " + strings.Repeat("x", 20<<20),
		"many settings":   strings.Repeat("a: 1\n", 10_000),
		"itself":          "a: &a {b: *a, c: *a}",
		"merges":          "a: &a {b: 1}\nc:\n" + strings.Repeat("  <<: *a\n", 1000),
		"aliases of maps": mapBomb(),
	} {
		file := filepath.Join(dir, "reprise.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := Load(file, nil, nil, nil)
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		t.Logf("%-16s %8s, %4d MiB allocated: %.80v", name, took.Round(time.Millisecond),
			(after.TotalAlloc-before.TotalAlloc)>>20, err)
		require.Error(t, err, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(256<<20), name)
	}
}

func indented(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func mapBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 {x: 1, y: 1}\n")
	for i := range 20 {
		fmt.Fprintf(&b, "a%d: &a%d {x: *a%d, y: *a%d}\n", i+1, i+1, i, i)
	}
	return b.String()
}

// FuzzSettings reads any text as a settings file.
func FuzzSettings(f *testing.F) {
	sample, err := os.ReadFile("../../configs/reprise.yaml")
	require.NoError(f, err)
	f.Add(sample)
	for _, text := range []string{
		"listen: :80\nsync:\n  listens_every: 5m\n", "providers: {spotify: {client_id: a}}", "a: &a {b: *a}",
		"- a\n- b", "log:\n  level: debug\n---\nlisten: x", "trusted_proxies: [127.0.0.1, ::1]",
		"listen: !!binary aGk=", "? a\n: b", "listen: |\n  a\n  b", "<<: {a: b}", "\ufefflisten: 0x10",
		"contact: \"\\ud800\"", "a: " + strings.Repeat("{b: ", 60),
		"a: " + strings.Repeat("{b: ", 20) + strings.Repeat("}", 20),
		"a: " + strings.Repeat("[", 20) + strings.Repeat("]", 20),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 16<<10 {
			return
		}
		var c Config
		table := c.settings()
		in := source{table: table, values: map[string]Value{}}
		for _, problem := range in.fromText("reprise.yaml", text) {
			require.NotEmpty(t, problem)
		}
		for _, s := range table {
			_ = s.set(in.values[s.Path].Text)
		}
	})
}
