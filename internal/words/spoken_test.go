package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// written are the words that documents, settings, the API's descriptions, help and logs avoid. Documents may say
// "dead letter" and "parked", which people don't read on pages.
var written = regexp.MustCompile(`(?i)\b(anew|whoever|whom|of which|from when on|is told|are told|was told|told of|` +
	`stands?|we|us|ours?|allows is|gives no|written down|is due to|goes on by itself|at present)\b|asks us`)

// quoted matches what isn't prose: code, links, and the title of a song that a table cites.
var quoted = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)|<https?://[^>]*>|U\\.S\\.|en-US|\\bUS\\b")

func TestDocumentsAreInPlainEnglish(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "web/openapi.yaml", "configs/reprise.yaml"}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, docs)
	for _, p := range docs {
		pages = append(pages, filepath.Join("docs", filepath.Base(p)))
	}
	for _, page := range pages {
		b, err := os.ReadFile(filepath.Join(root, page))
		require.NoError(t, err)
		text := string(b)
		if before, rest, ok := strings.Cut(text, "<!-- songs:"); ok { // their titles are others' words
			_, after, _ := strings.Cut(rest, "<!-- end of songs -->")
			text = before + after
		}
		code := false
		for n, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, "```") {
				code = !code
			}
			if word := written.FindString(quoted.ReplaceAllString(line, "")); word != "" && !code {
				t.Errorf("%s, near line %d, says %q: %s", page, n+1, word, strings.TrimSpace(line))
			}
		}
	}
}

// TestHelpAndLogsAreInPlainEnglish reads what a server prints and logs: the strings of the packages that print, and the
// messages of slog everywhere.
func TestHelpAndLogsAreInPlainEnglish(t *testing.T) {
	messages := 0
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			prints := map[string]bool{"cli": true, "doctor": true, "datadir": true, "main": true,
				"metrics": true}[file.Name.Name]
			ast.Inspect(file, func(n ast.Node) bool {
				text, ok := literal(n)
				if call, isCall := n.(*ast.CallExpr); isCall {
					text, ok = logged(call)
					if ok {
						messages++
					}
				} else if !prints {
					return true
				}
				if word := written.FindString(text); ok && word != "" {
					t.Errorf("%s says %q: %s", set.Position(n.Pos()), word, text)
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
	require.Greater(t, messages, 50)
}

// logged returns the message of a call that logs.
func logged(call *ast.CallExpr) (string, bool) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	at, logs := map[string]int{"Debug": 0, "Info": 0, "Warn": 0, "Error": 0, "DebugContext": 1, "InfoContext": 1,
		"WarnContext": 1, "ErrorContext": 1, "LogAttrs": 2}[f.Sel.Name]
	if !logs || len(call.Args) <= at {
		return "", false
	}
	return literal(call.Args[at])
}
