package test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// firstPage is how much the first page may be over the wire, in bytes, without covers.
const firstPage = 45_000

// wire counts what a tab asks for.
type wire struct {
	mu    sync.Mutex
	kinds map[network.RequestID]network.ResourceType
	pages []string  // that were loaded
	asked []string  // by a script
	bytes float64   // of the rest, without covers
	fresh []float64 // the bytes of each answer to a script
}

func listenTo(tab context.Context) *wire {
	w := &wire{kinds: map[network.RequestID]network.ResourceType{}}
	chromedp.ListenTarget(tab, func(ev any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch ev := ev.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.Contains(ev.Request.URL, "/art/") {
				w.kinds[ev.RequestID] = ev.Type
			}
			switch ev.Type {
			case network.ResourceTypeDocument:
				w.pages = append(w.pages, ev.Request.URL)
			case network.ResourceTypeFetch:
				w.asked = append(w.asked, ev.Request.URL)
			}
		case *network.EventLoadingFinished:
			kind, counts := w.kinds[ev.RequestID]
			switch {
			case kind == network.ResourceTypeFetch:
				w.fresh = append(w.fresh, ev.EncodedDataLength)
			case counts:
				w.bytes += ev.EncodedDataLength
			}
		}
	})
	return w
}

// Promise: A page is light, and so is what brings it up to date: the row of a new listen is put in, and no other is
// touched.
func TestBrowserPagesAreLightAndLoadedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 300})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.consent(agree(), 200)
	v.becomes("spotify", "healthy")
	tab := browser(t) // which has loaded nothing yet
	at, err := url.Parse(p.url)
	require.NoError(t, err)
	for _, c := range v.Jar.Cookies(at) {
		do(t, tab, network.SetCookie(c.Name, c.Value).WithURL(p.url))
	}

	seen := listenTo(tab)
	do(t, tab, network.Enable(), chromedp.Navigate(p.url+"/"), holds(`document.body.dataset.linked === "yes"`))
	seen.mu.Lock()
	require.Less(t, seen.bytes, float64(firstPage))
	require.Greater(t, seen.bytes, 5000.0)
	t.Logf("the first page is %.1f KiB", seen.bytes/1024)
	seen.mu.Unlock()
	var blocking []string
	var painted float64
	do(t, tab, chromedp.Evaluate(`performance.getEntriesByType("resource").filter((e) => `+
		`e.renderBlockingStatus === "blocking").map((e) => e.name)`, &blocking),
		chromedp.Evaluate(`performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0`, &painted))
	require.LessOrEqual(t, len(blocking), 3, "%v", blocking)
	t.Logf("%d files keep the first page from being painted, which took %.0f ms", len(blocking), painted)

	do(t, tab, chromedp.Navigate(p.url+"/listens"), holds(`document.body.dataset.linked === "yes"`),
		chromedp.Evaluate(`document.querySelectorAll("[id^=listen-]").forEach((row) => row.wasHere = true), 0`, nil))
	played := w.Play()
	do(t, tab, sees("[id^=listen-]:first-child", played.Title))
	var kept int
	do(t, tab,
		chromedp.Evaluate(`[...document.querySelectorAll("[id^=listen-]")].filter((r) => r.wasHere).length`, &kept))
	require.GreaterOrEqual(t, kept, 49, "the other rows are the same elements")
	seen.mu.Lock()
	defer seen.mu.Unlock()
	require.Equal(t, []string{p.url + "/", p.url + "/listens"}, seen.pages, "no page is loaded twice")
	require.NotEmpty(t, seen.fresh)
	for i, bytes := range seen.fresh {
		t.Logf("%s is brought up to date with %.1f KiB", seen.asked[i], bytes/1024)
		require.Less(t, bytes, float64(firstPage)/4)
	}
}

// signIn signs the newcomer in, in a browser.
func signIn(t *testing.T, tab context.Context, p *process) {
	t.Helper()
	do(t, tab,
		chromedp.Navigate(p.url+"/login"),
		chromedp.SendKeys(`input[name=name]`, "alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery),
		holds(`document.body.dataset.linked === "yes"`))
}

func TestBrowserIsUsedByKeys(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "REPRISE_CONTACT=test@example.org")
	p.newcomer()
	tab := browser(t)
	signIn(t, tab, p)
	do(t, tab,
		chromedp.KeyEvent("?"), sees("dialog[open] dd", "Listening"), sees("dialog[open] kbd", "g"),
		chromedp.KeyEvent("\x1b"), gone("dialog"),
		chromedp.KeyEvent("g"), chromedp.KeyEvent("p"), holds(`location.pathname === "/playlists"`),
		holds(`document.body.dataset.linked === "yes"`),
		chromedp.KeyEvent("g"), chromedp.KeyEvent("s"), holds(`location.pathname === "/"`),
		holds(`document.body.dataset.linked === "yes"`),
		// The first stop leads past the navigation.
		chromedp.KeyEvent("\t"), holds(`document.activeElement.matches(".skip")`),
		chromedp.KeyEvent("\r"), holds(`location.hash === "#main"`))
	// Letters that are typed stay letters.
	do(t, tab, chromedp.Navigate(p.url+"/connect/listenbrainz"), holds(`document.body.dataset.linked === "yes"`),
		chromedp.SendKeys(`input[name=token]`, "g?/gs", byQuery),
		holds(`document.querySelector("input[name=token]").value === "g?/gs"`), gone("dialog"))
}

// covered returns the buttons and states that something lies over, of those that are above the strip of toasts.
const covered = `(() => {
	const top = document.getElementById("toasts").getBoundingClientRect().top || innerHeight;
	return [...document.querySelectorAll("main button, main .button, main .state, header a, #banners .button")]
		.filter((el) => {
			const r = el.getBoundingClientRect();
			const x = r.left + r.width / 2, y = r.top + r.height / 2;
			if (!r.width || y < 0 || y >= top) return false;
			const hit = document.elementFromPoint(x, y);
			return !hit || !(el.contains(hit) || hit.contains(el));
		}).map((el) => el.textContent.trim());
})()`

// Promise: What is new is said in a strip that lies over no button and no state; afterwards it is in the banner, which
// cuts no sentence and leaves most of a phone's screen to the page.
func TestBrowserToastsCoverNothing(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.consent(agree(), 200)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("spotify", "healthy")
	v.becomes("listenbrainz", "healthy")
	tab := browser(t)
	signIn(t, tab, p)
	do(t, tab, chromedp.Navigate(p.url+"/settings/services"), chromedp.EmulateViewport(390, 844))
	require.NoError(t, w.Switch(demo.Spotify, demo.Revoked))
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Revoked))
	do(t, tab, holds(`document.querySelectorAll(".toast").length === 2`))
	var over []string
	for _, size := range [][2]int64{{390, 844}, {1280, 900}} {
		do(t, tab, chromedp.EmulateViewport(size[0], size[1]), chromedp.Evaluate(covered, &over))
		require.Empty(t, over)
		do(t, tab, chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight), 0`, nil),
			chromedp.Evaluate(covered, &over))
		require.Empty(t, over)
		// The end of the page can be read above the strip.
		do(t, tab, holds(`document.querySelector("footer").getBoundingClientRect().bottom <=
			document.getElementById("toasts").getBoundingClientRect().top + 1`),
			chromedp.Evaluate(`scrollTo(0, 0), 0`, nil))
	}
	// The banner says it afterwards, and not meanwhile.
	shown := `[...document.querySelectorAll("#banners .banner")].filter((b) => b.checkVisibility()).length`
	do(t, tab, holds(shown+` === 0`), chromedp.EmulateViewport(390, 844), holds(shown+` === 2`), gone(".toast"),
		holds(`document.getElementById("banners").getBoundingClientRect().height <= innerHeight / 4`))
	whole := `[...document.querySelectorAll("#banners, #banners p")].every((el) =>
		el.scrollWidth <= el.clientWidth && el.scrollHeight <= el.clientHeight)`
	do(t, tab, holds(whole), chromedp.EmulateViewport(1280, 900), holds(whole),
		sees("#banners", "Reconnect to continue"))
}

// Promise: Without a server, Status and Now playing are shown as they were, and say so. No other page is kept, and
// nothing of somebody whose session has ended.
func TestBrowserShowsTheLastStateOffline(t *testing.T) {
	takesLong(t)
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	alice := p.newcomer()
	tab := browser(t)
	kept := func(want string) chromedp.Action {
		return holds(`caches.open("status").then((all) => all.keys()).then((all) =>
			document.body.dataset.kept = all.map((page) => new URL(page.url).pathname)),
			document.body.dataset.kept === "` + want + `"`)
	}
	signIn(t, tab, p)
	do(t, tab, holds(`navigator.serviceWorker.controller !== null`),
		chromedp.Navigate(p.url+"/settings"), holds(`document.body.dataset.linked === "yes"`), kept(""),
		chromedp.Navigate(p.url+"/"), holds(`document.body.dataset.linked === "yes"`), kept("/"),
		chromedp.Navigate(p.url+"/now"), holds(`document.body.dataset.linked === "yes"`), kept("/,/now"))
	require.Error(t, p.stop(9))
	do(t, tab, chromedp.Navigate(p.url+"/"), sees("#link", "Reprise can't be reached"),
		chromedp.Navigate(p.url+"/now"), sees("#link", "Reprise can't be reached"),
		chromedp.Navigate(p.url+"/settings"), sees("h1", "You're offline"))

	p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"))
	signedOut := chromedp.WaitVisible(`input[name=password]`, byQuery)
	do(t, tab, chromedp.Navigate(p.url+"/"), holds(`document.body.dataset.linked === "yes"`), kept("/,/now"))
	alice.call("DELETE", "/sessions", nil, http.StatusOK) // from elsewhere
	do(t, tab, signedOut, kept(""))
	signIn(t, tab, p)
	do(t, tab, kept("/"), chromedp.Click(`header form button`, byQuery), signedOut, kept(""))
	require.Error(t, p.stop(9))
	do(t, tab, chromedp.Navigate(p.url+"/"), sees("h1", "You're offline"))
}
