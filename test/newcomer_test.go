package test

import (
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
)

// signedIn opens the sign-in page in a browser, and signs Alice in.
func signedIn(t *testing.T, server *process) *hands {
	t.Helper()
	p := &hands{T: t, tab: browser(t)}
	do(t, p.tab, chromedp.Navigate(server.url+"/login"))
	p.types("input[name=name]", "Alice", "input[name=password]", password)
	p.click("main form button")
	do(t, p.tab, chromedp.WaitVisible("main", byQuery), holds(`location.pathname === "/"`))
	return p
}

// watchButton notes what the button of a form says while it can't be pressed.
const watchButton = `new MutationObserver(() => {
	const one = document.querySelector("main form.fields > button:disabled");
	if (one) sessionStorage.setItem("busy", one.textContent);
}).observe(document.querySelector("main"), { attributes: true, childList: true, characterData: true, subtree: true })`

// Promise: Until an address is said to be wrong, the button says that Reprise is connecting.
func TestBrowserSaysThatItConnects(t *testing.T) {
	takesLong(t)
	t.Parallel()
	server := start(t, t.TempDir())
	server.newcomer()
	p := signedIn(t, server)
	do(t, p.tab, chromedp.Navigate(server.url+"/connect/navidrome"))
	p.types("#field-url", "http://"+childtest.Address(t), "#field-username", "alice", "#field-password", "secret")
	do(t, p.tab, chromedp.Evaluate(watchButton, nil))
	p.click("main form.fields > button")
	do(t, p.tab, chromedp.WaitVisible("#problem", byQuery), holds(`sessionStorage.busy === "Connecting…"`),
		holds(`document.querySelector("main form.fields > button").textContent === "Connect"`))
}

// Promise: After a wrong password the cursor is in its field, which a screen reader reads with what is wrong.
func TestBrowserAsksForAWrongPasswordAgain(t *testing.T) {
	takesLong(t)
	t.Parallel()
	server := start(t, t.TempDir())
	server.newcomer()
	p := &hands{T: t, tab: browser(t)}
	do(t, p.tab, chromedp.Navigate(server.url+"/login"))
	p.types("input[name=name]", "Alice", "input[name=password]", "wrong")
	p.click("main form button")
	do(t, p.tab, chromedp.WaitVisible("#problem", byQuery), loaded, holds(`document.activeElement.name === "password" &&
		document.activeElement.getAttribute("aria-describedby") === "problem"`))
}

// Promise: The first run says from its first page on how many steps it has.
func TestTheFirstRunCountsItsSteps(t *testing.T) {
	t.Parallel()
	server := start(t, t.TempDir())
	v := server.visitor()
	require.Contains(t, v.page("/setup?code="+server.code, 200), "Step 1 of 5")
	v.submit("/setup", url.Values{"code": {server.code}, "name": {"Alice"}, "password": {password}}, 200)
	require.Contains(t, v.page("/welcome/contact", 200), "Step 2 of 5")
	require.Contains(t, v.submit("/welcome/contact", url.Values{"skip": {"yes"}}, 200), "Step 3 of 5")
	require.Contains(t, v.submit("/welcome/services", url.Values{"service": {"navidrome", "listenbrainz"}}, 200),
		"Step 4 of 5, service 1 of 2")
	require.Contains(t, v.page("/settings", 200), `href="/settings/server#backups"`)
	require.Contains(t, v.page("/welcome/done", 200), "Step 5 of 5")
}
