package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheMapNamesEveryPackage(t *testing.T) {
	t.Parallel()
	page := read(t, "architecture.md")
	dirs, err := os.ReadDir("../internal")
	require.NoError(t, err)
	for _, d := range dirs {
		name := d.Name()
		helps := strings.HasSuffix(name, "test") || name == "testdb" || name == "soak" || name == "bench"
		if d.IsDir() && !helps {
			named := strings.Contains(page, "`"+name+"`")
			require.True(t, named, "architecture.md has no place for internal/%s", name)
		}
	}
}

// question is how a page begins: its title, then who reads it, and what they want to know.
var question = regexp.MustCompile(`\A((?:<!--.*-->\n\n)?# .+\n)\n\*For .+: .+\?\*\n`)

func TestEachPageHasOneReaderAndOneQuestion(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	require.Greater(t, len(pages), 20)
	for _, page := range pages {
		if page != "README.md" { // which is the list of them
			require.Regexp(t, question, read(t, page), page)
		}
	}
}

var (
	emphasis = regexp.MustCompile(`\*{1,2}([^*]+)\*{1,2}`)
	// theirs are words of other programs' pages, and what is only stressed.
	theirs = []string{"Create app", "Redirect URIs", "User Management", "Hide recent listening information",
		"External", "Publish app", "testing", "OAuth client ID", "Web application", "Advanced", "Web API",
		"YouTube Data API v3", "Export data", "Extended streaming history", "Account data", "Export", "shared secret",
		"artist/album/title", "API key"}
)

// TestPagesAreNamedAsTheyAre looks for every word that a document takes from Reprise's pages in the catalogue.
func TestPagesAreNamedAsTheyAre(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../internal/words/en/*.toml")
	require.NoError(t, err)
	var all strings.Builder
	for _, file := range files {
		all.WriteString(strings.ReplaceAll(read(t, file), "{{.Name}}", "Spotify"))
	}
	shown := strings.ReplaceAll(all.String(), "{{.Service}}", "Spotify")
	for _, page := range []string{"first-steps.md", "services.md", "channels.md", "moving.md", "operating.md", "api.md",
		"../README.md"} {
		text := question.ReplaceAllString(fenced.ReplaceAllString(read(t, page), ""), "$1")
		for _, m := range emphasis.FindAllStringSubmatch(text, -1) {
			for name := range strings.SplitSeq(strings.Join(strings.Fields(m[1]), " "), " → ") {
				name = strings.ReplaceAll(name, "Last.fm", "Spotify")
				if !strings.Contains(strings.Join(theirs, "|")+"|", name+"|") {
					require.Contains(t, shown, name, "%s names something that no page has", page)
				}
			}
		}
	}
}
