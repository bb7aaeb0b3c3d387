package words

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/nicksnyder/go-i18n/v2/i18n"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/feature/plural"
)

// entry is a sentence of the catalogue, with where it is.
type entry struct {
	file  string
	forms map[string]string // by plural form; "other" alone without one
}

// catalogues are those that have been read.
var catalogues = map[*Language]map[string]entry{}

// catalogue reads all sentences of a language, by id.
func catalogue(t *testing.T, l *Language) map[string]entry {
	if catalogues[l] != nil {
		return catalogues[l]
	}
	all := map[string]entry{}
	paths, err := fs.Glob(files, l.Code()+"/*.toml")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		b, err := files.ReadFile(path)
		require.NoError(t, err)
		var raw map[string]any
		require.NoError(t, toml.Unmarshal(b, &raw), path)
		messages, err := i18n.ParseMessageFileBytes(b, l.Code()+".toml",
			map[string]i18n.UnmarshalFunc{"toml": toml.Unmarshal})
		require.NoError(t, err, path)
		for _, m := range messages.Messages {
			require.NotContains(t, all, m.ID, "%s has an id that another file has", path)
			forms := map[string]string{"zero": m.Zero, "one": m.One, "two": m.Two, "few": m.Few, "many": m.Many}
			maps.DeleteFunc(forms, func(_, form string) bool { return form == "" })
			forms["other"] = m.Other
			all[m.ID] = entry{file: filepath.Base(path), forms: forms}
		}
	}
	catalogues[l] = all
	return all
}

var placeholder = regexp.MustCompile(`{{\s*\.(\w+)\s*}}`)

// placeholders returns the names of a sentence's arguments, sorted.
func (e entry) placeholders() []string {
	names := map[string]bool{}
	for _, form := range e.forms {
		for _, m := range placeholder.FindAllStringSubmatch(form, -1) {
			names[m[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// others returns the languages beside English.
func others() []*Language { return Languages()[1:] }

// What a contributed language lacks is only listed: people read it in English until somebody has translated it.
func TestEveryLanguageSaysTheSame(t *testing.T) {
	english := catalogue(t, English)
	for id, e := range english {
		if slices.Contains(e.placeholders(), "Count") && e.forms["one"] == "" {
			t.Errorf("%s (%s) counts, so it needs the form \"one\"", id, e.file)
		}
	}
	for _, l := range others() {
		said := catalogue(t, l)
		for _, id := range slices.Sorted(maps.Keys(english)) {
			e := english[id]
			d, ok := said[id]
			switch {
			case !ok && l == German:
				t.Errorf("%s (%s) has no German", id, e.file)
				continue
			case !ok:
				t.Logf("%s lacks %s (%s): %v", l.Code(), id, e.file, e.forms)
				continue
			case l == German && e.file != d.file:
				t.Errorf("%s is in %s in English and in %s in German", id, e.file, d.file)
			}
			// "1 listen" may leave the number out.
			if a, b := without(e.placeholders(), "Count"), without(d.placeholders(), "Count"); !slices.Equal(a, b) {
				t.Errorf("%s has the arguments %v in English and %v in %s", id, a, b, l.Code())
			}
			want := []string{"other"}
			if e.forms["one"] != "" {
				want = pluralForms(l)
			}
			require.Equal(t, want, slices.Sorted(maps.Keys(d.forms)), "the plural forms of %s in %s", id, l.Code())
		}
		for id, d := range said {
			if _, ok := english[id]; !ok {
				t.Errorf("%s/%s: %s is no sentence of Reprise", l.Code(), d.file, id)
			}
		}
	}
}

// pluralForms returns the names of the forms that numbers take in a language, sorted.
func pluralForms(l *Language) []string {
	names := map[plural.Form]string{plural.Zero: "zero", plural.One: "one", plural.Two: "two", plural.Few: "few",
		plural.Many: "many"}
	forms := map[string]bool{"other": true}
	for n := range 1_000 {
		if name := names[l.form(n)]; name != "" {
			forms[name] = true
		}
	}
	return slices.Sorted(maps.Keys(forms))
}

// In French 0 takes the form "one", and in Russian 21 does, so that form says the number with its argument.
func TestAFormForSeveralNumbersSaysWhichOne(t *testing.T) {
	bare := regexp.MustCompile(`\b1\b`)
	for _, l := range others() {
		if l.form(0) != plural.One && l.form(21) != plural.One {
			continue
		}
		for id, e := range catalogue(t, l) {
			require.NotRegexp(t, bare, e.forms["one"], "%s in %s", id, l.Code())
		}
	}
}

// A contributed language is two files.
func TestAContributedLanguageIsTwoFiles(t *testing.T) {
	for _, l := range others()[1:] {
		var names []string
		folder, err := os.ReadDir(l.Code())
		require.NoError(t, err)
		for _, f := range folder {
			names = append(names, f.Name())
		}
		require.Equal(t, []string{"GLOSSARY.md", "words.toml"}, names, l.Code())
		require.NotEqual(t, English.Name(), l.Name(), "language.name is what %s calls itself", l.Code())
	}
}

// typography is what a language never has, by its code.
var typography = map[string]*regexp.Regexp{
	// A narrow no-break space before ; ! ? and between thousands; a no-break space before : and % and inside « ».
	"fr": regexp.MustCompile(`[^\x{202f}\x{a0}][;!?](?:\s|$)|[^\x{a0}"][:%](?:\s|$)|` +
		`«[^\x{a0}]|[^\x{a0}]»|[“”„]| [;!?»]`),
}

func TestTypography(t *testing.T) {
	for code, wrong := range typography {
		for id, e := range catalogue(t, ByCode(code)) {
			for _, form := range e.forms {
				require.NotRegexp(t, wrong, form, "%s in %s", id, code)
			}
		}
	}
}

func without(all []string, name string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == name })
}

// banned are words that nobody would say aloud, or that make Reprise speak of itself as "we".
var banned = map[*Language]*regexp.Regexp{
	English: regexp.MustCompile(`(?i)\b(anew|told|stands|whoever|whom|allows is|gives no|we|us|our|ours|` +
		`dead letters?|re-?drive|parked|written down|is due to|goes on by itself|at present)\b|` +
		`asks us|is used up for now`),
	ByCode("fr"): regexp.MustCompile(`(?i)(^|[^\pL-])(nous|notre|nos|vous|votre|vos|administrateurs?)([^\pL]|$)`),
	German: regexp.MustCompile(`(?i:\b(wir|unser\w*|erneut erneut|Dead Letters?|geparkt\w*|` +
		`Administration|Administratorin\w*)\b)|` +
		`\b(Ihnen|Ihre?\w*)\b`),
}

// spoken are sentences in which a banned word is right, by id.
var spoken = map[string]bool{}

func TestNoBannedWord(t *testing.T) {
	for l, words := range banned {
		for id, e := range catalogue(t, l) {
			for _, form := range e.forms {
				if word := words.FindString(form); word != "" && !spoken[id] {
					t.Errorf("%s/%s: %s says %q: %s", l.Code(), e.file, id, word, form)
				}
			}
		}
	}
}

// All languages have the straight apostrophe, which every keyboard has and a search finds.
func TestOneKindOfApostrophe(t *testing.T) {
	for _, l := range Languages() {
		for id, e := range catalogue(t, l) {
			for _, form := range e.forms {
				require.NotContains(t, form, "’", "%s in %s", id, l.Code())
			}
		}
	}
}

// sourceWords is what the source says of the catalogue.
type sourceWords struct {
	ids      map[string]string // those that calls name, with the place
	prefixes map[string]string // those of Each
	literals map[string]bool   // every string
}

func TestEverySentenceIsUsed(t *testing.T) {
	english, src := catalogue(t, English), readSource(t)
	for id, place := range src.ids {
		if _, ok := english[id]; !ok {
			t.Errorf("%s: there is no sentence %q", place, id)
		}
	}
	for prefix, place := range src.prefixes {
		found := false
		for id := range english {
			found = found || strings.HasPrefix(id, prefix)
		}
		if !found {
			t.Errorf("%s: no sentence begins with %q", place, prefix)
		}
	}
	for id, e := range english {
		used := src.literals[id]
		for prefix := range src.prefixes {
			used = used || strings.HasPrefix(id, prefix)
		}
		if !used && e.file != "date.toml" {
			t.Errorf("%s (%s) is used nowhere", id, e.file)
		}
	}
}

// readSource reads the Go source of the whole repository, tests excepted.
func readSource(t *testing.T) sourceWords {
	src := sourceWords{ids: map[string]string{}, prefixes: map[string]string{}, literals: map[string]bool{}}
	root := filepath.Join("..", "..")
	for _, dir := range []string{"internal", "web", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool { src.see(set, n); return true })
			return nil
		})
		require.NoError(t, err)
	}
	return src
}

func (s sourceWords) see(set *token.FileSet, n ast.Node) {
	if text, ok := literal(n); ok {
		s.literals[text] = true
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	if pkg, ok := f.X.(*ast.Ident); !ok || pkg.Name != "words" {
		return
	}
	place := fmt.Sprint(set.Position(call.Pos()))
	first := map[string]int{"T": 1, "New": 0, "Errorf": 0, "Each": 0}
	i, ok := first[f.Sel.Name]
	if !ok || i >= len(call.Args) {
		return
	}
	text, ok := literal(call.Args[i])
	switch {
	case !ok && f.Sel.Name == "Each":
		s.ids[place+" computes the prefix of Each"] = place
	case f.Sel.Name == "Each":
		s.prefixes[text] = place
	case ok:
		s.ids[text] = place
	}
}

func literal(n ast.Node) (string, bool) {
	l, ok := n.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(l.Value)
	return text, err == nil
}

// chosen are the families of sentences of which one is chosen by a value, so that each member has its own.
var chosen = regexp.MustCompile(`^(script|demo\.expect|setting\.label)\.|^problem\.\w+\.title$`)

// A sentence that is written twice is changed once.
func TestNoSentenceIsWrittenTwice(t *testing.T) {
	english, german := catalogue(t, English), catalogue(t, German)
	said := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(english)) {
		text := fmt.Sprint(english[id].forms, german[id].forms)
		if chosen.MatchString(id) || strings.Count(text, " ") < 8 { // labels of a word or three
			continue
		}
		require.Empty(t, said[text], "%s says the same as %s", id, said[text])
		said[text] = id
	}
}
