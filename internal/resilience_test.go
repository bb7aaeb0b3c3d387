package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestResilienceExportsFewNames: what every adapter and caller has to know of calls and verdicts fits on a page. What
// only some need is in a package below.
func TestResilienceExportsFewNames(t *testing.T) {
	t.Parallel()
	const most = 60
	files, err := filepath.Glob("resilience/*.go")
	require.NoError(t, err)
	var names []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			names = append(names, exported(d)...)
		}
	}
	require.Contains(t, names, "VerdictOf")
	require.LessOrEqual(t, len(names), most, "%v", names)
}

// exported returns the exported names that a declaration adds to its package.
func exported(d ast.Decl) (names []string) {
	var all []*ast.Ident
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			all = append(all, d.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				all = append(all, s.Name)
			case *ast.ValueSpec:
				all = append(all, s.Names...)
			}
		}
	}
	for _, name := range all {
		if name.IsExported() {
			names = append(names, name.Name)
		}
	}
	return names
}
