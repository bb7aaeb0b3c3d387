package help_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"reprise/docs"
	"reprise/internal/server/help"
)

func library(t *testing.T, files map[string]string) *help.Library {
	t.Helper()
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	l, err := help.Read(all, "/help/")
	require.NoError(t, err)
	return l
}

func TestADocumentHasSectionsAndLinks(t *testing.T) {
	t.Parallel()
	l := library(t, map[string]string{"a.md": "# All `keys`\n\nSee [the backup](b.md#a-copy), [below](#more), " +
		"[the site](https://example.org/) and [the *file*](../configs/reprise.yaml).\n\n## More\n\n" +
		"| key | what |\n| --- | --- |\n| `x` | <one> |\n"})
	p := l.Page("a")
	require.Nil(t, l.Page("b"))
	require.Equal(t, "All keys", p.Title)
	require.Equal(t, []string{"", "More"}, []string{p.Sections[0].Title, p.Sections[1].Title})
	require.Equal(t, "more", p.Sections[1].ID)
	require.NotContains(t, p.HTML, "<h1")
	require.Contains(t, p.HTML, `See <a href="/help/b#a-copy">the backup</a>, <a href="#more">below</a>, `+
		`<a href="https://example.org/">the site</a> and the <em>file</em>.`)
	require.Contains(t, p.HTML, `<h2 id="more">More</h2>`)
	require.Contains(t, p.HTML, "<td><code>x</code></td>")
	require.NotContains(t, p.HTML, "<one>")
}

func TestADocumentWithoutATitleIsRefused(t *testing.T) {
	t.Parallel()
	_, err := help.Read(fstest.MapFS{"a.md": {Data: []byte("Text.\n")}}, "/help/")
	require.ErrorContains(t, err, "a.md")
}

func TestSectionsAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Nothing of interest. ", 20)
	l := library(t, map[string]string{
		"copy.md": "# Backup\n\n" + long + "A copy of the database. " + long + "\n\n## Restore\n\nPut the copy back.\n",
		"key.md":  "# Keys\n\nA lost key.\n",
	})
	titles := func(query string) (all []string) {
		for _, f := range l.Find(query, "") {
			all = append(all, f.Page.Title+"/"+f.Section.Title)
		}
		return all
	}
	require.Equal(t, []string{"Backup/", "Backup/Restore"}, titles("Copy"))
	require.Equal(t, []string{"Backup/Restore"}, titles("backup rest"))
	require.Equal(t, []string{"Keys/"}, titles("lost KEY"))
	require.Empty(t, titles("lost copy"))
	require.Empty(t, titles(" ?! "))
	excerpt := l.Find("database", "")[0].Excerpt
	require.Contains(t, excerpt, "A copy of the database.")
	require.True(t, strings.HasPrefix(excerpt, "… ") && strings.HasSuffix(excerpt, " …"), excerpt)
	require.Less(t, len(excerpt), 200)
}

var address = regexp.MustCompile(`href="/help/([^"#]*)(?:#([^"]*))?"`)

func TestDocumentsLinkToWhatIsThere(t *testing.T) {
	t.Parallel()
	l, err := help.Read(docs.Files, "/help/")
	require.NoError(t, err)
	names, err := docs.Files.ReadDir(".")
	require.NoError(t, err)
	index := l.Page("README").HTML
	for _, f := range names {
		name := strings.TrimSuffix(f.Name(), ".md")
		p := l.Page(name)
		if name != "README" {
			require.Contains(t, index, `"/help/`+name+`"`, "the index names every document")
		}
		for _, m := range address.FindAllStringSubmatch(p.HTML, -1) {
			to := l.Page(m[1])
			require.NotNil(t, to, "%s links to %s", name, m[0])
			if m[2] != "" {
				require.Contains(t, to.HTML, `id="`+m[2]+`"`, "%s links to %s", name, m[0])
			}
		}
	}
}

func FuzzFind(f *testing.F) {
	l, err := help.Read(fstest.MapFS{"a.md": {Data: []byte("# İ\n\nSome İstanbul text ẞ.\n")}}, "/help/")
	require.NoError(f, err)
	f.Add("some")
	f.Add("i\u0307")
	f.Fuzz(func(t *testing.T, query string) {
		for _, found := range l.Find(query, "") {
			require.NotNil(t, found.Page)
		}
	})
}
