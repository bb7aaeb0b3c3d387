package config

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"reprise/internal/providers/registry"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/stretchr/testify/require"
)

const sample = "../../configs/reprise.yaml"

// entry is a setting in the sample file.
type entry struct {
	path, value string
	commented   bool // in the lines right above it
}

func entries(t testing.TB, lines []string, prefix string, node ast.Node) (all []entry) {
	t.Helper()
	values := []*ast.MappingValueNode{}
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = append(values, n)
	}
	for _, v := range values {
		path := prefix + v.Key.String()
		switch child := v.Value.(type) {
		case *ast.MappingNode, *ast.MappingValueNode:
			if m, ok := child.(*ast.MappingNode); !ok || !m.IsFlowStyle {
				all = append(all, entries(t, lines, path+".", child)...)
				continue
			}
		}
		e := entry{path: path, value: v.Value.GetToken().Value}
		if s, ok := v.Value.(*ast.SequenceNode); ok {
			require.Empty(t, s.Values)
			e.value = ""
		}
		above := v.Key.GetToken().Position.Line - 2
		e.commented = above >= 0 && strings.HasPrefix(strings.TrimSpace(lines[above]), "#")
		all = append(all, e)
	}
	return all
}

func TestTheSampleFileListsEveryDefault(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(sample)
	require.NoError(t, err)
	file, err := parser.ParseBytes(text, 0)
	require.NoError(t, err)
	got := entries(t, strings.Split(string(text), "\n"), "", file.Docs[0].Body)
	var want []entry
	for _, s := range All(registry.Descriptions()) {
		want = append(want, entry{path: s.Path, value: s.Default, commented: true})
	}
	require.Equal(t, want, got)
}

var update = flag.Bool("update", false, "rewrite the sample file")

// sampleHead is the beginning of the sample file.
const sampleHead = `# Every setting of Reprise with its default. Copy what you want to change; anything missing or empty
# keeps its default. Administrators can change most of these in the browser, under Settings, This server; what is in
# this file wins.
#
# Each setting can also come from the environment: REPRISE_ and the path in capitals with _ between, such as
# REPRISE_SYNC_LISTENS_EVERY. Secrets can also come from a file: REPRISE_SECRET_KEY_FILE=/run/secrets/key. The
# environment overrides this file, and the command line overrides both. Write durations as 90s, 5m or 1h30m. In the
# environment, separate the items of a list with commas.
`

// TestTheSampleFileSaysWhatThePageSays expects each setting with the label and the help of the settings page. Run it
// with -update to rewrite the file.
func TestTheSampleFileSaysWhatThePageSays(t *testing.T) {
	t.Parallel()
	want, within := sampleHead, ""
	for _, s := range All(registry.Descriptions()) {
		parts := strings.Split(s.Path, ".")
		indent := strings.Repeat("  ", len(parts)-1)
		want += "\n"
		for depth := range parts[:len(parts)-1] {
			path := strings.Join(parts[:depth+1], ".") + "."
			if !strings.HasPrefix(within, path) {
				want += strings.Repeat("  ", depth) + parts[depth] + ":\n"
			}
		}
		within = s.Path
		want += comment(indent, s.Label().String()) + comment(indent, s.Help().String()+bounds(s))
		want += indent + parts[len(parts)-1] + ": " + valueIn(s) + "\n"
	}
	if *update {
		require.NoError(t, os.WriteFile(sample, []byte(want), 0o644))
		return
	}
	text, err := os.ReadFile(sample)
	require.NoError(t, err)
	require.Equal(t, want, string(text), "run go test ./internal/config -update")
}

// bounds says which values a setting takes, where its kind does not say it all.
func bounds(s Setting) string {
	switch {
	case s.Kind == Choice:
		return " One of: " + strings.Join(s.Choices, ", ") + "."
	case s.Kind == Fraction:
		return " From 0 to less than 1."
	case s.Most != "":
		return " From " + s.Least + " to " + s.Most + "."
	case s.Least != "":
		return " At least " + strings.Replace(s.Least, "m0s", "m", 1) + "."
	}
	return ""
}

// valueIn returns the default as YAML has it.
func valueIn(s Setting) string {
	switch s.Kind {
	case List, Secrets:
		return "[]"
	case Duration, Integer, Fraction, Boolean, Choice, Rate:
		return s.Default
	}
	return strconv.Quote(s.Default)
}

// comment returns the text as a comment, in lines of at most 120 columns.
func comment(indent, text string) (lines string) {
	line := indent + "#"
	for word := range strings.FieldsSeq(text) {
		if utf8.RuneCountInString(line+" "+word) > 120 {
			lines += line + "\n"
			line = indent + "#"
		}
		line += " " + word
	}
	return lines + line + "\n"
}

func TestTheSampleFileLoadsToTheDefaults(t *testing.T) {
	t.Parallel()
	c, err := load(sample, nil, nil)
	require.NoError(t, err)
	require.Equal(t, defaults(t), c)
}
