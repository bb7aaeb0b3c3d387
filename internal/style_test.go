package internal

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const (
	maxColumns  = 120
	maxTestName = 45
	tabWidth    = 4
)

// styled lists the file name endings that TestLineLengths reads.
var styled = []string{".go", ".templ", ".html", ".js", ".css", ".yaml", ".yml", ".sh", "Makefile", ".ci/run"}

// longLines is the number of lines over maxColumns that each directory may have. Lower a number when you shorten lines.
var longLines = map[string]int{}

// longNames is the number of test names over maxTestName that each directory may have.
var longNames = map[string]int{}

// inTag matches a field with what the description of the API says of it. A tag can't be broken.
var inTag = regexp.MustCompile("`(json|query|path|header|doc):\"[^`]*\"")

func TestLineLengths(t *testing.T) {
	found := map[string]int{}
	eachFile(t, styled, func(name string, b []byte) {
		for line := range strings.Lines(string(b)) {
			line = strings.TrimRight(line, "\r\n")
			if inTag.MatchString(line) || name == "web/openapi.yaml" {
				continue
			}
			if utf8.RuneCountInString(line)+strings.Count(line, "\t")*(tabWidth-1) > maxColumns {
				found[path.Dir(name)]++
			}
		}
	})
	requireRatchet(t, found, longLines, "lines over 120 columns")
}

func TestNamesOfTests(t *testing.T) {
	found := map[string]int{}
	eachFile(t, []string{"_test.go"}, func(name string, b []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), name, b, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && testName.MatchString(f.Name.Name) && len(f.Name.Name) > maxTestName {
				found[path.Dir(name)]++
			}
		}
	})
	requireRatchet(t, found, longNames, "test names over 45 letters")
}

var testName = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)`)

func TestPackageComments(t *testing.T) {
	commented := map[string]bool{}
	eachFile(t, []string{".go"}, func(name string, b []byte) {
		file, err := parser.ParseFile(token.NewFileSet(), name, b, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		text := file.Doc.Text()
		ok := strings.HasPrefix(text, "Package ") || strings.HasPrefix(text, "Command ")
		commented[path.Dir(name)] = commented[path.Dir(name)] || ok
	})
	for dir, ok := range commented {
		require.True(t, ok, "package %s has no comment", dir)
	}
}

func TestNoUnfinishedWork(t *testing.T) {
	mark := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b`)
	eachFile(t, append([]string{".md"}, styled...), func(name string, b []byte) {
		require.Empty(t, string(mark.Find(b)), "%s has a note about unfinished work", name)
	})
}

// A service is known to the rest of the program by what its description says. YouTube is the one whose name was needed
// most often elsewhere.
func TestOnlyItsFolderNamesYouTube(t *testing.T) {
	eachFile(t, []string{".go", ".templ"}, func(name string, b []byte) {
		dir := path.Dir(name)
		mayName := strings.HasSuffix(name, "_test.go") || strings.HasSuffix(dir, "test") ||
			strings.HasPrefix(dir, "internal/demo") ||
			dir == "internal/imports" || // its history comes as a file
			dir == "internal/providers/youtube" || dir == "internal/providers/registry"
		require.False(t, !mayName && bytes.Contains(bytes.ToLower(b), []byte("youtube")), "%s names YouTube", name)
	})
}

// An error that becomes part of another one is wrapped, so that callers can still ask what it is.
func TestErrorsKeepTheirType(t *testing.T) {
	eachFile(t, []string{".go"}, func(name string, b []byte) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, b, parser.SkipObjectResolution)
		require.NoError(t, err)
		for n := range ast.Preorder(file) {
			call, ok := n.(*ast.CallExpr)
			if !ok || !errorMakers[text(call.Fun)] {
				continue
			}
			verbs := verb.FindAllString(text(call.Args[0]), -1)
			for i, arg := range call.Args {
				wrapped := 0 < i && i <= len(verbs) && verbs[i-1] == "%w"
				require.False(t, errorText.MatchString(text(arg)) && !wrapped, "%s loses the type of %s",
					files.Position(n.Pos()), text(arg))
			}
		}
	})
}

var (
	errorMakers = map[string]bool{"fmt.Errorf": true, "errors.New": true}
	errorText   = regexp.MustCompile(`^(\w+\.)?(err|\w+Err)$|\.Error\(\)$|\.Problem$`)
	verb        = regexp.MustCompile(`%[-+# 0-9.]*[a-z]`)
)

// text returns an expression as it is written.
func text(e ast.Expr) string {
	var b strings.Builder
	_ = printer.Fprint(&b, token.NewFileSet(), e) // a builder takes everything
	return b.String()
}

// eachFile calls see with every file of the repository whose name has one of the endings. It leaves out testdata and
// hidden directories other than .ci.
func eachFile(t *testing.T, endings []string, see func(name string, b []byte)) {
	t.Helper()
	root, seen := os.DirFS(".."), 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") && name != "." && name != ".ci"
			if hidden || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "vendored" {
				return fs.SkipDir
			}
			return nil
		}
		if !slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(name, ending) }) {
			return nil
		}
		b, err := fs.ReadFile(root, name)
		if err == nil && !bytes.HasPrefix(b, []byte("// Code generated")) {
			see(name, b)
			seen++
		}
		return err
	})
	require.NoError(t, err)
	require.NotZero(t, seen)
}

// requireRatchet fails when a directory of the table has more than its number, or when there are more in all than the
// table allows. A directory that the table does not name may therefore take over what another one has lost, as happens
// when files move.
func requireRatchet(t *testing.T, found, allowed map[string]int, what string) {
	t.Helper()
	total, limit := 0, 0
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		total += found[dir]
		if most, ok := allowed[dir]; ok {
			require.LessOrEqual(t, found[dir], most, "%s has more %s than the table allows", dir, what)
		}
	}
	for _, n := range allowed {
		limit += n
	}
	if total > limit {
		for dir, n := range found {
			if _, ok := allowed[dir]; !ok {
				t.Logf("not in the table: %s with %d", dir, n)
			}
		}
	}
	require.LessOrEqual(t, total, limit, "the repository has more %s than the table allows", what)
}
