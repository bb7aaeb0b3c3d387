package config

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"reprise/internal/providers"
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

var update = flag.Bool("update", false, "rewrite the providers in the sample file")

// TestTheSampleFileListsTheProviders expects the settings of the providers' descriptions at the end of the file. Run it
// with -update to rewrite them.
func TestTheSampleFileListsTheProviders(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(sample)
	require.NoError(t, err)
	const head = "\nproviders:\n"
	before, _, ok := strings.Cut(string(text), head)
	require.True(t, ok)
	want := before + head
	for _, d := range registry.Descriptions() {
		for i, s := range d.Settings {
			if i == 0 {
				want += "  " + d.Name + ":\n"
			}
			value := strconv.Quote(s.Default)
			switch {
			case s.List():
				value = "[]"
			case s.Kind == providers.Rate:
				value = s.Default
			}
			want += comment(s.Help) + "    " + s.Name + ": " + value + "\n\n"
		}
	}
	want = strings.TrimSuffix(want, "\n")
	if *update {
		require.NoError(t, os.WriteFile(sample, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(text), "run go test ./internal/config -update")
}

// comment returns the text as a comment above a provider's setting, in lines of at most 120 columns.
func comment(text string) (lines string) {
	line := "    #"
	for word := range strings.FieldsSeq(text) {
		if utf8.RuneCountInString(line+" "+word) > 120 {
			lines += line + "\n"
			line = "    #"
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
