package internal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// securityPages are the pages that name tests as evidence.
var securityPages = []string{"SECURITY.md", "docs/security.md", "docs/asvs.md", "docs/resilience.md"}

// levels has the level of each requirement of OWASP's Application Security Verification Standard 5.0.0, one digit each
// and in order, by section.
var levels = map[string]string{
	"1.1": "22", "1.2": "1111122223", "1.3": "112222222223", "1.4": "222", "1.5": "123",
	"2.1": "122", "2.2": "112", "2.3": "12223", "2.4": "23",
	"3.1": "3", "3.2": "113", "3.3": "12223", "3.4": "11222233", "3.5": "11122333", "3.6": "3", "3.7": "22333",
	"4.1": "12233", "4.2": "23333", "4.3": "22", "4.4": "1222",
	"5.1": "2", "5.2": "112333", "5.3": "113", "5.4": "222",
	"6.1": "122", "6.2": "111111112222", "6.3": "11223333", "6.4": "112233", "6.5": "22222333", "6.6": "2223",
	"6.7": "33", "6.8": "2222",
	"7.1": "222", "7.2": "1111", "7.3": "22", "7.4": "11222", "7.5": "223", "7.6": "22",
	"8.1": "1233", "8.2": "1123", "8.3": "133", "8.4": "23",
	"9.1": "111", "9.2": "1222",
	"10.1": "22", "10.2": "223", "10.3": "22223", "10.4": "1111122222233333", "10.5": "22222", "10.6": "22",
	"10.7": "222",
	"11.1": "2233", "11.2": "22233", "11.3": "11233", "11.4": "1222", "11.5": "23", "11.6": "23", "11.7": "33",
	"12.1": "12233", "12.2": "11", "12.3": "22223",
	"13.1": "2333", "13.2": "222223", "13.3": "2233", "13.4": "1222233",
	"14.1": "22", "14.2": "12223333", "14.3": "122",
	"15.1": "12233", "15.2": "12233", "15.3": "1222222", "15.4": "3333",
	"16.1": "2", "16.2": "22222", "16.3": "2222", "16.4": "222", "16.5": "2223",
	"17.1": "23", "17.2": "22223333", "17.3": "22",
}

var (
	requirement = regexp.MustCompile(`\b\d{1,2}\.\d\.\d{1,2}\b`)
	evidence    = regexp.MustCompile("`((?:cmd|internal|test|web)(?:/\\w+)*)\\.((?:Test|Fuzz)\\w+)`")
	link        = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading     = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

const (
	notMet     = "**Not met:** "
	notNeeded  = "- Does not apply: "
	leastWords = 15 // letters of a reason
)

// Each requirement of levels 1 and 2 is in docs/asvs.md once: with a test, with a reason, or as not met.
func TestSecurityTableIsComplete(t *testing.T) {
	page := readPage(t, "docs/asvs.md")
	head, rest, ok := strings.Cut(page, "\n## ")
	require.True(t, ok)
	_, summary, ok := strings.Cut(head, notMet)
	require.True(t, ok)
	seen, unmet, counts := map[string]int{}, []string{}, map[byte]int{}
	for line := range strings.Lines(rest) {
		line = strings.TrimSpace(line)
		if after, ok := strings.CutPrefix(line, notNeeded); ok {
			numbers, reason, _ := strings.Cut(after, ": ")
			require.GreaterOrEqual(t, len(reason), leastWords, line)
			for _, n := range requirement.FindAllString(numbers, -1) {
				seen[n]++
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		n := cells[0]
		if !strings.HasPrefix(line, "|") || requirement.FindString(n) != n || n == "" {
			continue
		}
		require.Len(t, cells, 4, line)
		seen[n]++
		require.Equal(t, level(n), cells[1], "the level of %s", n)
		shown := evidence.MatchString(cells[3]) || len(cells[3]) >= leastWords
		require.True(t, shown, "%s has no test and no reason", n)
		if strings.HasPrefix(cells[3], notMet) {
			unmet = append(unmet, n)
		}
	}
	for section, all := range levels {
		for i := range all {
			counts[all[i]]++
			n := section + "." + strconv.Itoa(i+1)
			want := 1
			if all[i] == '3' {
				want = 0
			}
			require.Equal(t, want, seen[n], "how often %s is in the table", n)
			delete(seen, n)
		}
	}
	require.Empty(t, seen, "there are no such requirements")
	require.Equal(t, map[byte]int{'1': 70, '2': 183, '3': 92}, counts, "the standard has so many of each level")
	require.ElementsMatch(t, unmet, requirement.FindAllString(summary, -1), "the list of what is not met, at the top")
}

// level returns the level of a requirement; empty if there is none.
func level(n string) string {
	section, last, _ := cutLast(n, ".")
	for i := range levels[section] {
		if strconv.Itoa(i+1) == last {
			return levels[section][i : i+1]
		}
	}
	return ""
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func TestSecurityPagesNameTestsThatExist(t *testing.T) {
	named, there := 0, map[string][]string{}
	for _, name := range securityPages {
		for _, m := range evidence.FindAllStringSubmatch(readPage(t, name), -1) {
			if named++; there[m[1]] == nil {
				there[m[1]] = testsIn(t, m[1])
			}
			require.True(t, slices.Contains(there[m[1]], m[2]), "%s names %s, which %s lacks", name, m[2], m[1])
		}
	}
	require.Greater(t, named, 100)
}

// TestLinksOfTheDocumentsResolve follows each link to its file and heading. Of those to other sites it only checks the
// form: no test asks the internet.
func TestLinksOfTheDocumentsResolve(t *testing.T) {
	eachFile(t, []string{".md"}, func(name string, b []byte) {
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			to, err := url.Parse(m[1])
			require.NoError(t, err, "%s links to %s", name, m[1])
			if to.Scheme != "" {
				require.True(t, to.Scheme == "https" && strings.Contains(to.Host, "."), "%s links to %s", name, m[1])
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			info, err := fs.Stat(os.DirFS(".."), target)
			require.NoError(t, err, "%s links to %s", name, m[1])
			if anchor != "" && !info.IsDir() {
				require.Contains(t, anchors(readPage(t, target)), anchor, "%s links to %s", name, m[1])
			}
		}
	})
}

// anchors returns the anchors of the headings of a page, as GitHub makes them.
func anchors(page string) (all []string) {
	drop := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		all = append(all, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(os.DirFS(".."), name)
	require.NoError(t, err)
	return string(b)
}

// testsIn returns the names of the tests in a directory of the repository.
func testsIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := fs.ReadDir(os.DirFS(".."), dir)
	require.NoError(t, err)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), "../"+dir+"/"+e.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && !slices.Contains(all, f.Name.Name) {
				all = append(all, f.Name.Name)
			}
		}
	}
	return all
}
