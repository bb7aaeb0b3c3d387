package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThePartsOfTheStoreStaySmall: each subject of the store is a package that can be read at once.
func TestThePartsOfTheStoreStaySmall(t *testing.T) {
	t.Parallel()
	const mostLines, mostMethods = 2_500, 40
	lines, methods := map[string]int{}, map[string]int{}
	files, err := filepath.Glob("store/*/*.go")
	require.NoError(t, err)
	top, err := filepath.Glob("store/*.go")
	require.NoError(t, err)
	for _, file := range append(files, top...) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		pkg := filepath.Dir(file)
		lines[pkg] += strings.Count(string(source), "\n")
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				of := f.Recv.List[0].Type
				if pointer, ok := of.(*ast.StarExpr); ok {
					of = pointer.X
				}
				methods[pkg+"."+of.(*ast.Ident).Name]++
			}
		}
	}
	require.Greater(t, len(lines), 15)
	for pkg, n := range lines {
		require.LessOrEqual(t, n, mostLines, "lines of %s", pkg)
	}
	for name, n := range methods {
		require.LessOrEqual(t, n, mostMethods, "methods of %s", name)
	}
}
