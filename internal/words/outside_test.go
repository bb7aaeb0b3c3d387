package words

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// speaking are the packages that put words before people, with those below them.
var speaking = []string{"internal/server", "web/ui", "internal/accounts", "internal/activity", "internal/alerts",
	"internal/art", "internal/asks", "internal/channels", "internal/delivery", "internal/digest", "internal/enrich",
	"internal/imports", "internal/library", "internal/notify", "internal/oauth", "internal/providers",
	"internal/removal", "internal/resilience", "internal/settings", "internal/store", "internal/sync"}

// outside are the sentences that rightly stand outside the catalogue, with the reason.
var outside = map[string]string{
	"This server has too many connections. Try again in a few seconds.\n": "said before a request is read, " +
		"so nobody knows the language",
	" <code>Authorization: Bearer …</code></p>": "a header, as programs send it",
	"Vous avez regardé ":                        "what Google writes before a title", "Has visto ": "the same",
	"Hai guardato ": "the same", "Assistiu a ": "the same",
	"Not found":           "what Fanart.tv answers",
	"The requested URL":   "how ListenBrainz begins an answer",
	"POST token endpoint": "the name of an endpoint in logs and metrics",
	"Liked videos":        "the name that YouTube gives a playlist",
	"Reprise wrote this to see whether it may. It can be deleted.\n": "a file that is deleted at once",
	"Copy both again from ": "the report of -check",
}

// aside matches files that nobody who uses Reprise reads: what shows each component to those who build pages, what
// shows how to write a provider, what tests are made of, and what a language model is asked.
var aside = regexp.MustCompile(
	`web/ui/gallery|digest/prompt.go|providers/example/|providertest/|servertest/|server/core/describe.go`)

var (
	// asSentence matches what begins like a sentence, or begins with a capital and ends like one.
	asSentence = regexp.MustCompile(`^[A-Z][\w'’-]*[,:]? [a-z'’]+([ ,.:;!?…]|$)|^[A-Z][^/]* .*[.!?]\s*$`)
	// inSQL matches queries.
	inSQL = regexp.MustCompile(`^(SELECT|JOIN|INSERT|UPDATE|DELETE|FROM|WHERE|WITH|ORDER|GROUP|CREATE|ALTER|DROP)\b`)
	// unread are the functions whose strings no person reads on a page: logs, and the causes of errors.
	unread = regexp.MustCompile(`^(Debug|Info|Warn|Error|Log|panic|Errorf|MustCompile)$`)
	// unshown are the fields of a provider's description that only the documents and -check show, and its name,
	// which has another field where it depends on the language.
	unshown = regexp.MustCompile(`^(Reading|Provider|Calls|Per|Identity|Source|RedirectAs|KeyName|DisplayName|Repeat)$`)
	// inTag matches tags in HTML, whole or cut off.
	inTag = regexp.MustCompile(`(^|<)[^<>]*(>|$)`)
	// aLabel matches an attribute that is read.
	aLabel = regexp.MustCompile(`(?:aria-label|title|alt|placeholder)="([^"]*)`)
	// aWord matches a word, other than the name of the program.
	aWord = regexp.MustCompile(`\pL{2,}`)
)

// What a person reads is in the catalogue, so that it is in both languages.
func TestNoSentenceOutsideTheCatalogue(t *testing.T) {
	root, used := filepath.Join("..", ".."), map[string]bool{}
	for _, dir := range speaking {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				aside.MatchString(filepath.ToSlash(path)) {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if ok && unread.MatchString(called(call)) || isNewError(call) {
					return false
				}
				if lit, ok := n.(*ast.CompositeLit); ok && ofAPI(lit) {
					return false
				}
				if field, ok := n.(*ast.KeyValueExpr); ok && unshown.MatchString(fmt.Sprint(field.Key)) {
					return false
				}
				text, ok := literal(n)
				if !ok {
					return true
				}
				used[text] = true
				if outside[text] == "" && !inSQL.MatchString(text) &&
					(asSentence.MatchString(text) || inHTML(path, text) != "") {
					t.Errorf("%s: %q is not in the catalogue", set.Position(n.Pos()), text)
				}
				return true
			})
			return nil
		})
		require.NoError(t, err)
	}
	for text := range outside {
		require.True(t, used[text], "%q is nowhere: take it off the list", text)
	}
}

// inHTML returns the words that a template has between its tags and in labels.
func inHTML(path, text string) string {
	if !strings.HasSuffix(path, "_templ.go") {
		return ""
	}
	var read strings.Builder
	read.WriteString(inTag.ReplaceAllString(text, ""))
	for _, label := range aLabel.FindAllStringSubmatch(text, -1) {
		read.WriteString(label[1])
	}
	return aWord.FindString(strings.ReplaceAll(read.String(), "Reprise", ""))
}

// ofAPI reports whether a value describes a call of the API. The description is in English only.
func ofAPI(lit *ast.CompositeLit) bool {
	s, ok := lit.Type.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Call"
}

// called returns the name of the function that is called, without that of its package.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// isNewError reports whether a call is one of errors.New.
func isNewError(call *ast.CallExpr) bool {
	if call == nil {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "New" {
		return false
	}
	pkg, ok := f.X.(*ast.Ident)
	return ok && pkg.Name == "errors"
}
