package test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/debugger"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// watched notes when each toast appears on a page, and lets the ten seconds of all toasts pass at once.
const watched = `(() => {
	const later = setTimeout, forget = clearTimeout, ten = new Map();
	window.setTimeout = (f, ms, ...more) => {
		const timer = later(f, ms, ...more);
		if (ms === 10000) ten.set(timer, f);
		return timer;
	};
	window.clearTimeout = (timer) => { ten.delete(timer); forget(timer); };
	window.tenSecondsPass = () => { for (const [timer, f] of ten) { clearTimeout(timer); f(); } };
	window.toasts = [];
	new MutationObserver((all) => {
		for (const added of all.flatMap((one) => [...one.addedNodes])) {
			if (added.classList?.contains("toast")) toasts.push({ text: added.innerText, at: Date.now() });
		}
	}).observe(document, { childList: true, subtree: true });
})()`

// watch opens a page in a tab whose toasts are noted from now on.
func watch(t *testing.T, tab context.Context, address string) {
	t.Helper()
	do(t, tab, chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(watched).Do(ctx)
		return err
	}), chromedp.Navigate(address), holds(`document.body?.dataset.linked === "yes"`))
}

// announced requires that a tab shows a number of toasts and has shown so many since its page was loaded, and returns
// when the last one appeared.
func announced(t *testing.T, tab context.Context, showing, ever int) time.Time {
	t.Helper()
	var seen struct{ Showing, Ever, At int64 }
	do(t, tab, chromedp.Evaluate(`({ Showing: document.querySelectorAll(".toast").length, Ever: toasts.length,
		At: toasts.at(-1)?.at ?? 0 })`, &seen))
	require.EqualValues(t, showing, seen.Showing)
	require.EqualValues(t, ever, seen.Ever)
	return time.UnixMilli(seen.At)
}

const (
	lineOfBanner = `[...document.querySelectorAll("#banners .banner")].filter((b) => b.checkVisibility()).length`
	rejected     = "Navidrome rejected the saved password"
)

// Promise: Tabs say the same of a service that stops, through restarts and stalls, and all of them say when it is
// back.
func TestBrowserBreaksAndRecoversInTwoTabs(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	dir := t.TempDir()
	p := start(t, dir, worldEnv(w)...)
	v := p.newcomer()
	v.call("PUT", "/connections/navidrome", navidromeOf(w, demo.Alice), 200)
	v.becomes("navidrome", "healthy")
	one := browser(t)
	signIn(t, one, p)
	two := another(t, one)
	watch(t, one, p.url+"/playlists")
	watch(t, two, p.url+"/listens")
	both := []context.Context{one, two}

	// It stops: a toast in each tab, within a second. The banner does not say the same meanwhile.
	require.NoError(t, w.Switch(demo.Navidrome, demo.Revoked))
	began, err := time.Parse(time.RFC3339, v.alerted()["created_at"].(string))
	require.NoError(t, err)
	most := 10 * time.Second // on a machine that does much else
	if soak.All() {
		most = time.Second
	}
	for _, tab := range both {
		do(t, tab, sees(".toast", rejected), sees(".toast .button", "Reconnect"), holds(lineOfBanner+` === 0`))
		took := announced(t, tab, 1, 1).Sub(began)
		t.Logf("announced after %s", took)
		require.Less(t, took, most)
	}
	// After ten seconds it is in the banner instead, in each tab on its own.
	for _, tab := range both {
		do(t, tab, chromedp.Evaluate(`tenSecondsPass()`, nil), gone(".toast"), sees("#banners .banner", rejected),
			holds(lineOfBanner+` === 1`))
	}
	// After a restart the tabs follow again. The banner is kept, and nothing is said twice.
	for _, tab := range both {
		do(t, tab, chromedp.Evaluate(`document.body.dataset.linked = "", 0`, nil))
	}
	require.NoError(t, p.stop(syscall.SIGTERM))
	startAt(t, dir, strings.TrimPrefix(p.url, "http://"), worldEnv(w)...)
	for _, tab := range both {
		do(t, tab, holds(`document.body.dataset.linked === "yes"`), holds(lineOfBanner+` === 1`))
		announced(t, tab, 0, 1)
	}
	// Reconnecting is one field. It works again in both tabs, and no banner is left.
	reconnect := func(from string) {
		do(t, one, chromedp.Click(from+" a.button", byQuery),
			chromedp.WaitVisible("#field-password", byQuery), loaded,
			chromedp.SendKeys("#field-password", w.Navidrome.Password(demo.Alice), byQuery),
			chromedp.Click("main form.fields > button", byQuery), sees(".flash", "Navidrome is connected"),
			holds(`document.querySelectorAll(".flash").length === 1`))
		for _, tab := range both {
			do(t, tab, gone("#banners .banner"), gone(".quieted"), gone(".toast"), gone("#bell .badge"))
		}
	}
	reconnect("#banners .banner")
	announced(t, one, 0, 0) // on its new page
	announced(t, two, 0, 1)
	v.becomes("navidrome", "healthy")

	// It stops again while the second tab stalls, which gets it when it goes on.
	stalled := make(chan struct{}, 1)
	chromedp.ListenTarget(two, func(ev any) {
		if _, ok := ev.(*debugger.EventPaused); ok {
			stalled <- struct{}{}
		}
	})
	do(t, two, chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := debugger.Enable().Do(ctx)
		return err
	}), debugger.Pause()) // at the next statement
	require.NoError(t, w.Switch(demo.Navidrome, demo.Revoked))
	do(t, one, sees(".toast", rejected))
	do(t, two, chromedp.ActionFunc(func(ctx context.Context) error {
		select {
		case <-stalled:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}), debugger.Disable(), sees(".toast", rejected)) // which lets it go on
	announced(t, two, 1, 2)
	// Dismissed in one tab, it is gone in the other as well. Both keep a small line about it.
	do(t, one, chromedp.Click(".toast button", byQuery))
	for _, tab := range both {
		do(t, tab, gone(".toast"), sees("#banners .quieted", "1 dismissed problem"), gone("#banners .banner"))
	}
	do(t, one, chromedp.Click(".quieted a", byQuery),
		holds(`location.hash.startsWith("#notification-") && document.querySelector(location.hash) !== null`))
	reconnect(`[id^="notification-"]:not(.resolved)`)
}
