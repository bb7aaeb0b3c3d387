package ui

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

// html renders a component for a reader of a language.
func html(t *testing.T, l *words.Language, c templ.Component) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, c.Render(words.With(t.Context(), l), &b))
	return b.String()
}

func TestTheFrameSpeaksTheReadersLanguage(t *testing.T) {
	t.Parallel()
	f := Frame{Title: "T", Version: "1", Language: words.German, User: "Ann", Bell: Bell{Open: 2}}
	page := html(t, words.German, Page(f))
	require.Contains(t, page, `<html lang="de"`)
	require.Contains(t, page, "2 offene Benachrichtigungen")
	require.Contains(t, page, `type="module"`)
	f.User, f.Language = "", words.English
	require.NotContains(t, html(t, words.English, Page(f)), `type="module"`, "nobody is signed in")
}

func TestASentenceHasTimesAndLinks(t *testing.T) {
	t.Parallel()
	got := html(t, words.English, Say("Go to https://example.com/a?b=1. Again at 2026-11-22T14:05:00Z <b>\u202eevil"))
	require.Contains(t, got, `<a href="https://example.com/a?b=1" target="_blank" rel="noreferrer">`+
		`https://example.com/a?b=1</a>`)
	require.Contains(t, got, `<time datetime="2026-11-22T14:05:00Z" data-time="at"`)
	require.Contains(t, got, "&lt;b&gt;")
	require.NotContains(t, got, "\u202e")
	for _, example := range []string{"like https://example.org", "like https://example.org/music"} {
		require.Equal(t, example, html(t, words.English, Say(example)))
	}
}

func TestAStrangersNameDoesNotTurnThePage(t *testing.T) {
	t.Parallel()
	require.Equal(t, "<bdi>אבג</bdi>", html(t, words.English, Name("\u2069\u202eאבג")))
	require.Equal(t, "Sigur Rós", html(t, words.English, Name("Sigur Rós")))
	require.Contains(t, html(t, words.English, Page(Frame{Title: "\u202eאבג", Language: words.English})),
		"<title id=\"title\" data-part>\u2068אבג\u2069 · Reprise</title>")
}

func TestTimesAreReadableWithoutJavaScript(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	require.Contains(t, html(t, words.German, Time(at, Ago)), "22. November 2026, 14:05 UTC")
	require.Contains(t, html(t, words.English, Time(at, Date)), ">22 November 2026<")
	require.Empty(t, html(t, words.English, Time(time.Time{}, Ago)))
	var b bytes.Buffer
	zone := words.WithZone(t.Context(), time.FixedZone("Berlin", 3600))
	require.NoError(t, Time(at, At).Render(zone, &b))
	require.Contains(t, b.String(), ">22 November 2026, 15:05<", "in the zone that the reader has chosen")
}

func TestPagesThatBelongTogether(t *testing.T) {
	t.Parallel()
	c := Within(Area{Title: "Settings", URL: "/settings", Pages: []Link{
		{Label: "Services", URL: "/settings/services"},
		{Label: "People", URL: "/settings/people", Current: "page"}}})
	got := html(t, words.English, c)
	require.Contains(t, got, `<nav class="side" aria-label="Settings">`)
	require.Contains(t, got, `<a href="/settings/people" aria-current="page">People</a>`)
	require.Contains(t, got, `<a href="/settings">Settings</a>`, "the way back on a phone")
}

// Browsers hide what is typed there, password managers fill it in, and a script says how good a new one is.
func TestAPasswordIsHiddenAndFilledIn(t *testing.T) {
	t.Parallel()
	got := html(t, words.English, Fill(Form{Post: "/x", Submit: "Save", Username: "Ann", Fields: []Field{
		{Name: "new", Label: "New", Type: "password", Autocomplete: "new-password"}}}))
	require.Regexp(t, `<input id="new" name="new" type="password"[^>]* autocomplete="new-password"`, got)
	require.Contains(t, got, `name="username" value="Ann" autocomplete="username" hidden`)
	require.Contains(t, got, "/static/password.")
	require.NotContains(t, html(t, words.English, Fill(Form{Fields: []Field{{Name: "a"}}})), "/static/password.")
}

// inline matches code and style in a page, which the content policy forbids.
var inline = regexp.MustCompile(`(?i)<style|\sstyle=|<script(?:[^>]*)>[^<{@\s]|\son[a-z]+\s*=|javascript:`)

func TestTemplatesHaveNoInlineCode(t *testing.T) {
	t.Parallel()
	root, seen := os.DirFS("../.."), 0
	require.NoError(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		// A mail isn't a page: no content security policy applies to it, and mail programs only read inline styles.
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".templ") || d.Name() == "mail.templ" {
			return err
		}
		seen++
		b, err := fs.ReadFile(root, path)
		require.NotRegexp(t, inline, string(b), path)
		return err
	}))
	require.NotZero(t, seen)
	for _, bad := range []string{`<p style="x">`, `<style>`, `<a onclick="x">`, `<script>x`,
		`<a href="javascript:x">`} {
		require.Regexp(t, inline, bad)
	}
}
