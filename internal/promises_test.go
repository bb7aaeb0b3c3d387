package internal

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/promises.md")

// aPromise begins the paragraph of a test's comment that says what the program promises.
const aPromise = "Promise: "

const promisesHead = `<!-- written by go test ./internal -update, from the comments of tests that say "Promise:" -->

# What is held, and by which test

*For contributors: what must a change keep, and which test says so?*

Each sentence is a promise, and the tests behind it fail when it is broken. A change that breaks one on purpose says so
in the changelog.
`

// held is where promises are kept: the folder, and what its tests are about.
var held = []struct{ folder, title string }{
	{"test", "The program as a whole"},
	{".", "The program as a whole"},
	{"internal/resilience", "Calls to services"},
	{"internal/sync", "Reading"},
	{"internal/delivery", "Sending"},
	{"internal/queue", "Sending"},
	{"cmd/server", "Sending"},
	{"internal/oauth", "Consent"},
	{"internal/providers", "Services"},
	{"internal/store", "The database"},
}

// titleOf returns the section for the tests of a package.
func titleOf(pkg string) string {
	for _, h := range held {
		if pkg == h.folder || strings.HasPrefix(pkg, h.folder+"/") {
			return h.title
		}
	}
	return "Everything else"
}

// The page of promises has what the comments of tests say.
func TestPromisesAreListed(t *testing.T) {
	sections := map[string]map[string][]string{} // by title, then by promise: tests
	root := ".."
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || file != root && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		pkg := filepath.ToSlash(rel)
		for _, decl := range parsed.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Doc == nil {
				continue
			}
			for _, promise := range promisesOf(f.Doc.Text()) {
				title := titleOf(pkg)
				if sections[title] == nil {
					sections[title] = map[string][]string{}
				}
				sections[title][promise] = append(sections[title][promise],
					"`"+named(pkg)+"."+f.Name.Name+"`")
			}
		}
		return err
	})
	require.NoError(t, err)
	page := pageOf(sections)
	if *update {
		require.NoError(t, os.WriteFile("../docs/promises.md", []byte(page), 0o600))
	}
	written, err := os.ReadFile("../docs/promises.md")
	require.NoError(t, err)
	require.Equal(t, string(written), page, "run go test ./internal -run TestPromisesAreListed -update")
	require.Greater(t, strings.Count(page, "\n- "), 150)
}

// named returns the name of a package below the root, and of the root's own.
func named(pkg string) string {
	if pkg == "." {
		return "reprise"
	}
	return pkg
}

// promisesOf returns the promises in a comment. Each is a paragraph.
func promisesOf(comment string) (all []string) {
	for paragraph := range strings.SplitSeq(comment, "\n\n") {
		if text, ok := strings.CutPrefix(strings.Join(strings.Fields(paragraph), " "), aPromise); ok {
			all = append(all, text)
		}
	}
	return all
}

func pageOf(sections map[string]map[string][]string) string {
	var page strings.Builder
	page.WriteString(promisesHead)
	var titles []string
	for _, h := range held {
		if !slices.Contains(titles, h.title) && sections[h.title] != nil {
			titles = append(titles, h.title)
		}
	}
	if sections["Everything else"] != nil {
		titles = append(titles, "Everything else")
	}
	for _, title := range titles {
		fmt.Fprintf(&page, "\n## %s\n\n", title)
		for _, promise := range slices.Sorted(maps.Keys(sections[title])) {
			fmt.Fprintf(&page, "- %s (%s)\n", promise, strings.Join(sections[title][promise], ", "))
		}
	}
	return page.String()
}
