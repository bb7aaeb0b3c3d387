// Package uitest renders components in tests, and checks what holds of every page.
package uitest

import (
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

// Mark is in what a hostile name becomes on a page: [Hostile] would reorder what is around it.
const (
	Mark    = "אבג"
	Hostile = "\u2069\u202e" + Mark + "\u2067"
)

// HTML renders a component for a reader of a language.
func HTML(t testing.TB, l *words.Language, c templ.Component) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, c.Render(words.With(t.Context(), l), &b))
	return spaces.ReplaceAllString(b.String(), " ") // as a browser does
}

var (
	spaces   = regexp.MustCompile(`\s+`)
	isolated = regexp.MustCompile(`(?s)<bdi[^>]*>.*?</bdi>|\x{2068}[^\x{2069}]*\x{2069}`)
	named    = regexp.MustCompile(` (?:href="#|aria-labelledby="|aria-describedby="|for=")([^"]+)"`)
	untold   = regexp.MustCompile(`[>"][a-z]+(\.[a-z_]+)+[<"]`)
	inline   = regexp.MustCompile(`(?i)<(script|style)[ >]| on[a-z]+=| style=|javascript:`)
	// fields are what somebody typed, which stays as it is, and the scripts of files of our own.
	fields = regexp.MustCompile(`(<input [^>]*) value="[^"]*"|<script src="/static/[^"]*" type="module"></script>`)
	// glued are words with nothing between them but a tag.
	glued = regexp.MustCompile(`[\p{L}\d.,:](?:</bdi>)?<(?:bdi|span|strong|a|time)(?: [^>]*)?>[^ ]|` +
		`</(?:span|strong|a|time)>[\p{L}\d]`)
	overrides = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067"
)

// Sound checks a page in each language, of which render returns the component: every sentence is in the catalogue,
// what it points at is there, words are apart, nothing runs in it, and hostile names turn nothing around.
func Sound(t testing.TB, render func(l *words.Language) templ.Component) {
	t.Helper()
	for _, l := range words.Languages() {
		html := fields.ReplaceAllString(HTML(t, l, render(l)), "$1")
		require.NotRegexp(t, untold, html, l.Code())
		require.NotRegexp(t, inline, html, l.Code())
		if at := glued.FindStringIndex(html); at != nil {
			require.Fail(t, "glued words", "%s: %s", l.Code(), html[max(0, at[0]-60):min(len(html), at[1]+60)])
		}
		require.LessOrEqual(t, strings.Count(html, "<h1"), 1)
		for _, m := range named.FindAllStringSubmatch(html, -1) {
			for id := range strings.FieldsSeq(m[1]) {
				require.Equal(t, 1, strings.Count(html, ` id="`+id+`"`), "%s: %s", l.Code(), m[0])
			}
		}
		if i := strings.IndexAny(html, overrides); i >= 0 {
			require.Fail(t, "an override", "%s", html[max(0, i-80):i])
		}
		bare := isolated.ReplaceAllString(html, "")
		at := max(0, strings.Index(bare, Mark))
		require.NotContains(t, bare, Mark, "not isolated: %s", bare[max(0, at-80):min(len(bare), at+20)])
	}
}
