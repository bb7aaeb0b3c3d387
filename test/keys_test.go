package test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// tabTo presses the tabulator until the focus is on what matches a selector. Every stop on the way can be seen.
func tabTo(t *testing.T, tab context.Context, selector string) {
	t.Helper()
	const most = 150
	look := fmt.Sprintf(`(() => {
		const at = document.activeElement, ring = getComputedStyle(at);
		const stop = at.outerHTML.slice(0, 100);
		return { Found: at.matches(%q), Stop: stop,
			Seen: at === document.body || at.checkVisibility() && ring.outlineStyle !== "none" };
	})()`, selector)
	for range most {
		var at struct {
			Found, Seen bool
			Stop        string
		}
		do(t, tab, chromedp.KeyEvent("\t"), chromedp.Evaluate(look, &at))
		require.True(t, at.Seen, "the focus cannot be seen on %s", at.Stop)
		if at.Found {
			return
		}
	}
	require.FailNow(t, "the keyboard does not reach it", selector)
}

// Promise: Everything can be done with the keyboard alone.
func TestBrowserNeedsNoMouse(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p := start(t, t.TempDir())
	p.newcomer()
	tab := browser(t)
	linked := holds(`document.body?.dataset.linked === "yes"`)
	press := func(keys ...string) chromedp.Tasks {
		var all chromedp.Tasks
		for _, k := range keys {
			all = append(all, chromedp.KeyEvent(k))
		}
		return all
	}
	do(t, tab, chromedp.Navigate(p.url+"/login"), chromedp.WaitVisible("input[name=name]", byQuery), loaded,
		chromedp.Evaluate(`document.activeElement.blur(), 0`, nil))
	tabTo(t, tab, "input[name=name]")
	do(t, tab, press("Alice"))
	tabTo(t, tab, "input[name=password]")
	do(t, tab, press(password, "\r"), linked,
		press("g", "e"), holds(`location.pathname === "/settings"`), linked)
	tabTo(t, tab, `main a[href="/settings/account"]`)
	do(t, tab, press("\r"), holds(`location.pathname === "/settings/account"`), linked)
	tabTo(t, tab, "select[name=theme]")
	do(t, tab, press("d"), holds(`document.activeElement.value === "dark"`)) // by its first letter
	tabTo(t, tab, "#look button")
	saved := holds(`document.documentElement.dataset.theme === "dark" && document.activeElement.matches(".flash")`)
	do(t, tab, press("\r"), saved, linked,
		// The keys, and back to where the focus was. A page that cannot be filtered has no key for it.
		press("?"), sees("dialog[open] dd", "Settings"), sees("dialog[open] dd", "Status"),
		holds(`[...document.querySelectorAll("dialog dd")].every((does) => does.textContent.trim())`),
		holds(`document.activeElement.closest("dialog") !== null`),
		holds(`![...document.querySelectorAll("dialog kbd")].some((k) => k.textContent === "f")`),
		press("\x1b"), gone("dialog"), saved,
		press("f"), saved)

	do(t, tab, chromedp.Navigate(p.url+"/activity"), linked, press("?"),
		holds(`[...document.querySelectorAll("dialog kbd")].some((k) => k.textContent === "f")`), press("\x1b"),
		gone("dialog"), press("f"), holds(`document.activeElement.matches("#filter select")`))
}
