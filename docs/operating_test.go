// Package docs_test keeps the documents true: what they list is all there is, their links lead somewhere, and their
// commands exist.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(b)
}

// source parses every Go file of the program, without its tests, package by package.
func source(t *testing.T, see func(dir string, files map[string]*ast.File)) {
	t.Helper()
	packages := map[string]map[string]*ast.File{}
	for _, root := range []string{"../internal", "../cmd", "../web"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			dir := filepath.Dir(path)
			if packages[dir] == nil {
				packages[dir] = map[string]*ast.File{}
			}
			packages[dir][path] = file
			return err
		})
		require.NoError(t, err)
	}
	for dir, files := range packages {
		see(dir, files)
	}
}

// levels are the methods of a logger that write at warn or error, or at a level that they are given.
var levels = map[string]int{"Warn": 0, "Error": 0, "WarnContext": 1, "ErrorContext": 1, "LogAttrs": 2}

// lines returns the messages that a package may log at warn or error: literals, constants of the package, and the
// beginning of what is put together.
func lines(t *testing.T, files map[string]*ast.File) map[string]string {
	constants, found := map[string]string{}, map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
				for i, name := range v.Names {
					constants[name.Name] = text(v.Values[i], nil)
				}
			}
			return true
		})
	}
	for path, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !strings.EqualFold(last(f.X), "log") && last(f.X) != "slog" {
				return true
			}
			at, logs := levels[f.Sel.Name]
			if !logs || len(call.Args) <= at {
				return true
			}
			if level := last(call.Args[max(at-1, 0)]); level == "LevelInfo" || level == "LevelDebug" {
				return true
			}
			message := text(call.Args[at], constants)
			require.NotEmpty(t, message, "%s logs something that this test can't read", path)
			found[message] = path
			return true
		})
	}
	return found
}

// last returns the last name of an expression such as r.c.Log.
func last(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// text returns what a string expression begins with.
func text(e ast.Expr, constants map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, _ := strconv.Unquote(e.Value)
		return s
	case *ast.Ident:
		return constants[e.Name]
	case *ast.BinaryExpr:
		return text(e.X, constants)
	}
	return ""
}

// cells are what the first column of a page's tables names in code.
func cells(page string) map[string]bool {
	all := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllStringSubmatch(page, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			all[strings.TrimSpace(strings.TrimSuffix(name[1], "…"))] = true
		}
	}
	return all
}

func TestTheOperatorsPageIsComplete(t *testing.T) {
	t.Parallel()
	listed := cells(read(t, "operating.md"))
	there := map[string]string{}
	source(t, func(dir string, files map[string]*ast.File) {
		for message, path := range lines(t, files) {
			there[strings.TrimSpace(message)] = path
		}
	})
	require.Greater(t, len(there), 50, "the log's lines are found")
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert string }
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "../configs/prometheus/alerts.yaml")), &rules))
	for _, r := range rules.Groups[0].Rules {
		there[r.Alert] = "alerts.yaml"
	}
	for name := range metrics(t) {
		there[name] = "help.go"
	}
	for name, path := range there {
		require.True(t, listed[name], "operating.md doesn't explain %q of %s", name, path)
	}
	for name := range listed {
		if !strings.Contains(name, "/") { // a file
			require.Contains(t, there, name, "operating.md explains %q, which isn't there", name)
		}
	}
}

// metrics returns the names of all metrics, without their prefix.
func metrics(t *testing.T) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), "../internal/metrics/help.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			names[text(kv.Key, nil)] = true
		}
		return true
	})
	require.Greater(t, len(names), 20)
	return names
}
