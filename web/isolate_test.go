package web

import (
	"html/template"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostile is a name that would reorder what is around it: it overrides the direction, closes every isolation, is
// written from right to left, and has a pile of marks. Only mark is looked for in the pages.
const (
	mark    = "אבג"
	hostile = "\u2069\u202e" + mark + "\u2067" + "a" +
		"\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u030d\u030e"
)

// chosen are the fields of the pages' data that hold what strangers chose.
var chosen = []string{"Name", "Title", "Track", "Artist", "Album", "Account", "DisplayName", "Subject", "Message",
	"Detail", "Reason", "Note", "Text", "Words", "Label", "Source", "Owner", "File", "Old", "New", "Problem",
	"Description",
	"Answer", "Comment"}

// spoiled returns a copy of a page's data in which strangers have chosen hostile names.
func spoiled(v any) any {
	switch v := v.(type) {
	case object:
		out := object{}
		for name, value := range v {
			text, ok := value.(string)
			if ok && text != "" && slices.Contains(chosen, name) && !strings.Contains(text, "://") {
				out[name] = text + hostile
			} else {
				out[name] = spoiled(value)
			}
		}
		return out
	case []object:
		out := make([]object, len(v))
		for i := range v {
			out[i] = spoiled(v[i]).(object)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = spoiled(v[i])
		}
		return out
	}
	return v
}

var (
	bdi    = regexp.MustCompile(`(?s)<bdi[^>]*>.*?</bdi>|<title>.*?</title>`)
	tags   = regexp.MustCompile(`(?s)<[^>]*>`)
	titled = regexp.MustCompile(`(?s) (title|alt|aria-label)="[^"]*` + mark + `[^"]*"|<title>[^<]*` + mark + `[^<]*`)
	piled  = regexp.MustCompile(`\p{Mn}{7}`)
)

// No template can forget it: the places where a value is shown are found by html/template.
func TestForeignNamesAreIsolated(t *testing.T) {
	t.Parallel()
	seen, shown := 0, 0
	for name, all := range layouts() {
		for _, page := range all {
			html, err := spoiledPage(t, name, spoiled(page))
			if err != nil { // that a page cannot be shown, TestEveryPageRenders says
				continue
			}
			shown++
			seen += strings.Count(html, mark)
			require.NotRegexp(t, piled, tags.ReplaceAllString(html, ""), name)
			for _, m := range titled.FindAllString(html, -1) {
				require.Contains(t, m, "\u2068", "%s: %s", name, m)
			}
			text := tags.ReplaceAllString(bdi.ReplaceAllString(html, ""), "|")
			at := strings.Index(text, mark)
			require.Less(t, at, 0, "%s: not isolated: %s", name, text[max(at-80, 0):max(at+20, 0)])
		}
	}
	require.Greater(t, shown, 2)
	require.Greater(t, seen, 3)
	t.Logf("%d pages, %d foreign names", shown, seen)
}

// spoiledPage renders a page for a person with such a name.
func spoiledPage(t *testing.T, name string, page any) (string, error) {
	t.Helper()
	pages, err := Load(func(provider string) string { return "Service " + provider })
	require.NoError(t, err)
	var b strings.Builder
	err = pages.Render(&b, name, object{"Title": "Title" + hostile, "User": object{"Name": "Ann" + hostile,
		"Role": "admin"}, "Flash": "", "Version": "1", "Page": page, "Nav": []object{}, "Bell": "", "Open": 0,
		"Urgent": false, "Banners": nil, "Dead": 0})
	html := b.String()
	for _, r := range []string{"\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067"} {
		require.NotContains(t, tags.ReplaceAllString(html, ""), r, name)
	}
	return html, err
}

func TestIsolationOfValues(t *testing.T) {
	t.Parallel()
	text := "שלום"
	for _, c := range []struct{ in, text, plain any }{
		{"Sigur Rós", "Sigur Rós", "Sigur Rós"},
		{"<b>", "<b>", "<b>"},
		{"שלום", template.HTML("<bdi>שלום</bdi>"), "\u2068שלום\u2069"},
		{&text, template.HTML("<bdi>שלום</bdi>"), "\u2068שלום\u2069"},
		{"<שלום>", template.HTML("<bdi>&lt;שלום&gt;</bdi>"), "\u2068<שלום>\u2069"},
		{"a\u202eb", template.HTML("<bdi>ab</bdi>"), "\u2068ab\u2069"},
		{template.HTML("<p>a\u202eb שלום</p>"), template.HTML(`<bdi dir="ltr"><p>ab שלום</p></bdi>`),
			"\u2068<p>ab שלום</p>\u2069"},
		{7, 7, 7},
		{nil, nil, nil},
		{(*string)(nil), (*string)(nil), (*string)(nil)},
	} {
		require.Equal(t, c.text, isolated(c.in), c.in)
		require.Equal(t, c.plain, isolatedPlain(c.in), c.in)
	}
	clean, _ := readable("Z" + strings.Repeat("\u0301", 50) + "a" + strings.Repeat("\u0302", 6))
	require.Equal(t, "Z"+strings.Repeat("\u0301", 6)+"a"+strings.Repeat("\u0302", 6), clean)
	require.Equal(t, reflect.String, reflect.TypeOf(isolatedPlain("שלום")).Kind())
}
