package words

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite docs/messages.md")

// told are the areas of the catalogue whose sentences all appear on the page; unless is what they have beside sentences
// about what went wrong.
var (
	told = []string{"alert", "astray", "alerts", "ask", "copy", "message", "refused", "problem", "trouble", "reach",
		"delivery", "field", "host", "provider", "import.refused", "import.why", "import.stopped", "import.expected",
		"import.row", "import.failed", "players.silence", "channels.problem", "input", "update",
		"backup.notice", "ledger.alert", "loves.alert", "playlists.alert", "told"}
	unless = regexp.MustCompile(`^(alert\.action\..*|alert\.every_months|message\.took\..*|` +
		`reach\.(name|shown)\..*|ask\.(sent|unknown)|ask\.(yourself|nothing)(_text)?|` +
		`provider\.(either|numbered|openai|s3|hook|your_server)|problem\.service|\w+\.purpose|\w+\.field\..*|` +
		`astray\.(lead|admin)|copy\.(rewrite|leave)|import\.open|backup\.notice\.open|` +
		`players\.silence\.open|told\.look|(ledger|playlists)\.alert\.look)$`)
	known = map[string]string{"spotify": "Spotify", "lastfm": "Last.fm", "listenbrainz": "ListenBrainz",
		"youtube": "YouTube", "navidrome": "Navidrome and other Subsonic servers", "s3": "S3 storage",
		"hook":        "Webhooks",
		"musicbrainz": "MusicBrainz", "fanarttv": "Fanart.tv", "openai": "Language model"}
)

// instead has better words for what varies than the names of arguments.
var instead = map[string]string{"until": "time", "since": "time", "at": "time", "every": "six months",
	"count": "number", "most": "number", "limit": "number", "ref": "name", "known": "list", "took": "two hours",
	"what": "26 listens", "rest": "3 listens", "waiting": "37 listens are waiting",
	"own": "version"}

// page fills the places of testdata/messages.md.
type page struct {
	all  map[string]entry
	used map[string]bool
}

// say returns a sentence in Markdown, with the names of what varies in italics.
func (p page) say(id string) string {
	e, ok := p.all[id]
	if !ok {
		return "NO SUCH SENTENCE: " + id
	}
	p.used[id] = true
	text := placeholder.ReplaceAllStringFunc(e.forms["other"], func(m string) string {
		name := strings.ToLower(placeholder.FindStringSubmatch(m)[1])
		return "*" + cmp.Or(instead[name], name) + "*"
	})
	if begin, rest, ok := strings.Cut(text, "*"); ok && begin == "" {
		text = "*" + strings.ToUpper(rest[:1]) + rest[1:]
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", "\\|"), "<", "&lt;")
}

// under returns the ids of an area that the page has not used yet.
func (p page) under(area string) []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(p.all)) {
		if (id == area || strings.HasPrefix(id, area+".")) && !p.used[id] && !unless.MatchString(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (p page) list(area string) string {
	var b strings.Builder
	for _, id := range p.under(area) {
		fmt.Fprintf(&b, "- %s\n", p.say(id))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// services returns the areas of providers: those that say what a provider is for.
func (p page) services() (areas []string) {
	for _, id := range slices.Sorted(maps.Keys(p.all)) {
		if area, ok := strings.CutSuffix(id, ".purpose"); ok && area != "example" {
			areas = append(areas, area)
		}
	}
	return areas
}

func (p page) ofServices() string {
	var b strings.Builder
	for _, area := range p.services() {
		if list := p.list(area); list != "" {
			fmt.Fprintf(&b, "**%s**\n\n%s\n\n", cmp.Or(known[area], "NO SUCH SERVICE: "+area), list)
		}
	}
	return strings.TrimSpace(b.String())
}

// titles are titles of their own among the details of others. elsewhere says where the details of a title are.
var (
	titles = regexp.MustCompile(`(\.title|^problem\.(input\.sent|json\.shape|not_found\.page|status))$`)
	where  = map[string]string{"problem.export.title": "see [Importing a file](#importing-a-file)",
		"problem.room.title":  "see [Importing a file](#importing-a-file)",
		"problem.local.title": "see [the administrator's list](#the-administrator-has-to-do-something)"}
)

// problems returns a table: a title, and what may be below it.
func (p page) problems() string {
	var b strings.Builder
	b.WriteString("| title | details |\n| --- | --- |\n")
	for _, id := range p.under("problem") {
		group := id[:strings.LastIndex(id, ".")]
		title, own := group+".title", strings.TrimSuffix(id, "_text")
		switch {
		case group == "problem.unknown", p.all[id+"_text"].forms != nil:
			continue
		case titles.MatchString(id):
			if more := where[id]; more != "" || id != title {
				fmt.Fprintf(&b, "| %s | %s |\n", p.say(id), more)
			}
			continue
		case own != id && p.all[own].forms != nil:
			title = own
		}
		fmt.Fprintf(&b, "| %s | %s |\n", p.say(title), p.say(id))
	}
	fmt.Fprintf(&b, "| %s | %s |\n", p.say("problem.busy.title"), p.say("problem.tries.seconds"))
	return strings.TrimSpace(b.String())
}

// TestThePageOfMessagesIsComplete compares docs/messages.md with the catalogue. Run with -update to rewrite it.
func TestThePageOfMessagesIsComplete(t *testing.T) {
	p := page{catalogue(t, English), map[string]bool{}}
	b, err := os.ReadFile("testdata/messages.md")
	require.NoError(t, err)
	text := regexp.MustCompile(`{{([^}]+)}}`).ReplaceAllStringFunc(string(b), func(m string) string {
		id := strings.Trim(m, "{}")
		area, listed := strings.CutPrefix(id, "* ")
		switch {
		case listed:
			return p.list(area)
		case id == "services":
			return p.ofServices()
		case id == "problems":
			return p.problems()
		}
		return p.say(id)
	})
	require.NotContains(t, text, "NO SUCH", "a place in testdata/messages.md, or a name in known")
	text = "<!-- written by go test ./internal/words -update, from testdata/messages.md there -->\n\n" + text
	for _, area := range append(told, p.services()...) {
		require.Empty(t, p.under(area), "testdata/messages.md doesn't explain these")
	}
	const golden = "../../docs/messages.md"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), text, "run go test ./internal/words -update")
}

// TestEveryNotificationIsOnThePage finds the areas that the files use in which notifications are made.
func TestEveryNotificationIsOnThePage(t *testing.T) {
	used := regexp.MustCompile(`words\.(?:New|Each)\(\s*"(\w+)\.(\w+)`)
	made := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && path == "../demo" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), "Notification{") || !strings.Contains(string(b), "Title") {
			return err
		}
		for _, m := range used.FindAllStringSubmatch(string(b), -1) {
			made++
			id := m[1] + "." + m[2]
			on := slices.ContainsFunc(told, func(area string) bool { return strings.HasPrefix(id, area) })
			require.True(t, on || unless.MatchString(id), "%s says %s, which docs/messages.md lacks", path, id)
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, made, 20)
}
