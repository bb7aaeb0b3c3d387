package test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// axe is the script that finds what is inaccessible on a page. .ci/tools puts it into the cache.
func axe(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	b, err := os.ReadFile(filepath.Join(cache, "reprise", "axe-core-4.14.1", "axe.min.js"))
	require.NoError(t, err, "axe has to be fetched: `make tools` does it")
	return string(b)
}

// look is how a page is looked at: the width and height of the screen, and its colours.
type look struct {
	width, height int64
	colours       string
}

func (l look) String() string { return fmt.Sprintf("%d px, %s", l.width, l.colours) }

var (
	everyLook = []look{{1280, 900, "light"}, {1280, 900, "dark"}, {390, 844, "light"}, {390, 844, "dark"}}
	twoLooks  = []look{{1280, 900, "dark"}, {390, 844, "light"}}
)

// barriers returns what axe finds on the page in a tab, one line for each element, and what is wider than the screen.
const barriers = `(async () => {
	const options = { rules: { "target-size": { enabled: true } }, resultTypes: ["violations"] };
	const found = (await axe.run(document, options)).violations.flatMap((v) => v.nodes.map((n) =>
		v.id + ": " + n.target.join(" ") + ": " + (n.any.concat(n.all, n.none)[0]?.message ?? v.help)));
	const root = document.scrollingElement;
	if (root.scrollWidth > innerWidth + 1) { // fractions of a pixel are rounded up
		const wide = [...document.querySelectorAll("body *")]
			.filter((e) => e.getBoundingClientRect().right > innerWidth + 1 || e.scrollWidth > innerWidth);
		found.push("wider than the screen: " + wide.slice(-3).map((e) => e.localName + "." + e.className).join(", "));
	}
	return found;
})()`

// examine returns what is inaccessible on a page.
func examine(t *testing.T, tab context.Context, script, address string, looks []look) (all []string) {
	t.Helper()
	do(t, tab, chromedp.Navigate(address), chromedp.WaitReady("main", byQuery))
	for _, l := range looks {
		var found []string
		do(t, tab,
			chromedp.EmulateViewport(l.width, l.height),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: l.colours}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
			chromedp.Evaluate(`globalThis.axe ? 0 : (`+"() => {"+script+"\n})(), 0", nil),
			chromedp.Evaluate(barriers, &found, awaiting))
		for _, f := range found {
			all = append(all, l.String()+": "+f)
		}
	}
	return all
}

var (
	hrefs = regexp.MustCompile(`href="(/[^"#]*)`)
	// ids matches what differs between pages of one kind.
	ids = regexp.MustCompile(`/([0-9]+|[0-9]{4}(?:-[0-9]{2})+|[0-9a-f-]{16,})(/|$)`)
	// elsewhere matches what is no page, or leads away from where it is looked at.
	elsewhere = regexp.MustCompile(`^/(static|api|art|account/export|manifest|logout|demo/(reset|state))|` +
		`/authorize|\.(zip|csv|jsonl)`)
)

// walk returns one address of each kind of page that links lead to, from the first page on.
func (v *person) walk() (pages []string) {
	v.t.Helper()
	seen := map[string]bool{}
	next := []string{"/", "/demo/components"} // the second one only in the demo
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		path, query, _ := strings.Cut(at, "?")
		kind := ids.ReplaceAllString(path, "/*$2")
		if strings.HasPrefix(path, "/help/") {
			kind = "/help/*"
		}
		if query != "" {
			kind += "?"
		}
		if seen[kind] || elsewhere.MatchString(at) {
			continue
		}
		seen[kind] = true
		resp, err := v.Get(v.base + at)
		require.NoError(v.t, err)
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.NoError(v.t, err)
		if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") ||
			resp.Request.URL.Host != strings.TrimPrefix(v.base, "http://") {
			continue
		}
		pages = append(pages, at)
		for _, m := range hrefs.FindAllStringSubmatch(string(b), -1) {
			next = append(next, strings.ReplaceAll(m[1], "&amp;", "&"))
		}
	}
	return pages
}

// everyPageIsAccessible looks at each page that a person in a tab can reach.
func everyPageIsAccessible(t *testing.T, tab context.Context, v *person, looks []look) {
	t.Helper()
	pages := v.walk()
	require.Greater(t, len(pages), 12, "%v", pages)
	require.False(t, slices.Contains(pages, "/login"), "somebody is signed in")
	areAccessible(t, tab, v, pages, looks)
}

// areAccessible looks at pages in a tab: at each in all looks with SOAK=all, else at the pages that SOAK picks, each in
// one look.
func areAccessible(t *testing.T, tab context.Context, v *person, pages []string, looks []look) {
	t.Helper()
	script := axe(t)
	wrong := map[string][]string{}
	picked := slices.DeleteFunc(slices.Clone(pages), func(at string) bool { return !soak.Part(t, at) })
	if len(picked) == 0 {
		picked = pages[:1]
	}
	for n, at := range picked {
		some := looks
		if !soak.All() {
			some = looks[n%len(looks):][:1] // one for each page, and all of them over the pages
		}
		for _, f := range examine(t, tab, script, v.base+at, some) {
			_, fault, _ := strings.Cut(f, ": ")
			if !slices.Contains(wrong[fault], at) {
				wrong[fault] = append(wrong[fault], at)
			}
		}
	}
	t.Logf("%d of %d pages: %v", len(picked), len(pages), picked)
	for fault, at := range wrong {
		t.Errorf("%s\n    on %s", fault, strings.Join(at, " "))
	}
}

// Promise: Nothing on any page of the demo's household keeps somebody out who sees, hears or points differently, when
// all is well and when much is broken.
func TestBrowserEveryPageIsAccessible(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p := startWith(t, []string{"-demo", "-listen", "127.0.0.1:0"})
	v := p.visitor()
	broken := map[string]demo.Mode{demo.Spotify: demo.Revoked, demo.ListenBrainz: demo.RateLimited,
		demo.Navidrome: demo.Unavailable}
	for provider := range broken {
		v.becomes(provider, "healthy")
	}
	tab := browser(t)
	do(t, tab, chromedp.Navigate(p.url+"/"), holds(`document.body.dataset.linked === "yes"`))
	everyPageIsAccessible(t, tab, v, everyLook)

	for provider, m := range broken {
		v.turn(provider, m)
	}
	v.becomes(demo.Spotify, "needs_reconnect")
	v.becomes(demo.ListenBrainz, "held")
	v.becomes(demo.Navidrome, "waiting")
	if soak.All() {
		everyPageIsAccessible(t, tab, v, twoLooks)
		return
	}
	areAccessible(t, tab, v, []string{"/", "/connections/spotify", "/connections/listenbrainz",
		"/connections/navidrome", "/connect/spotify", "/notifications", "/deliveries",
		"/health"}, twoLooks) // where it shows
}

// The same for somebody who has just begun, and for those who have not signed in yet.
func TestBrowserEmptyPagesAreAccessible(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p := start(t, t.TempDir())
	tab := browser(t)
	script := axe(t)
	for _, at := range []string{"/setup?code=" + p.code, "/", "/offline"} {
		require.Empty(t, examine(t, tab, script, p.url+at, everyLook), at)
	}
	v := p.newcomer()
	require.Empty(t, examine(t, tab, script, p.url+"/login", everyLook))
	do(t, tab,
		chromedp.SendKeys(`input[name=name]`, "alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery),
		holds(`document.body.dataset.linked === "yes"`))
	everyPageIsAccessible(t, tab, v, twoLooks)
}
