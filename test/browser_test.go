package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"reprise/internal/browsertest"
	"reprise/internal/demo"
)

// The browsers of all tests: the full one is for notifications, which the other cannot show.
var (
	chromium      = &browsertest.Engine{Name: browsertest.Headless}
	wholeChromium = &browsertest.Engine{Name: browsertest.Whole}
)

// browser opens a tab that shares no cookie with the tabs of other tests.
func browser(t *testing.T) context.Context {
	t.Helper()
	return chromium.Tab(t)
}

// another opens a second tab beside one, in the same session.
func another(t *testing.T, tab context.Context) context.Context {
	t.Helper()
	return browsertest.Another(t, tab)
}

// complaints collects the errors in a tab's console.
type complaints struct {
	mu   sync.Mutex
	said []string
}

func (c *complaints) listen(ctx context.Context) {
	chromedp.ListenTarget(ctx, func(ev any) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			// This doesn't come from our scripts: Chromium reports it for a view transition if the second page
			// redirects at once, or was shown before the transition was ready.
			said := ev.ExceptionDetails.Error()
			if !strings.Contains(said, "ViewTransition opt-in disabled") &&
				!strings.Contains(said, "Page already revealed") {
				c.said = append(c.said, said)
			}
		case *log.EventEntryAdded:
			if ev.Entry.Level == log.LevelError && !strings.Contains(ev.Entry.URL, "favicon") {
				c.said = append(c.said, ev.Entry.Text)
			}
		}
	})
}

func (c *complaints) none(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Empty(t, c.said, "the console is silent")
}

// do carries out what a person does in a tab, within the test's patience.
func do(t *testing.T, tab context.Context, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	for i, a := range actions {
		actions[i] = finding(a)
	}
	if err := chromedp.Run(ctx, actions...); err != nil {
		var where, text string
		look, done := context.WithTimeout(tab, patience)
		defer done()
		_ = chromedp.Run(look, chromedp.Location(&where), chromedp.Evaluate("document.body.innerText", &text))
		require.NoError(t, err, "at %s:\n%s", where, text)
	}
}

// finding carries an action out again when its element was found and could not be used: while a page loads, Chromium
// numbers its elements once more, and what was found before has no number any more. Nothing has been pressed by then.
// It also loads a page again that Chromium gave up, as it does while it makes a download of what was loading before.
func finding(a chromedp.Action) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			err := a.Do(ctx)
			e, ok := errors.AsType[*cdproto.Error](err)
			again := ok && e.Message == "Could not find node with given id" ||
				err != nil && err.Error() == "page load error net::ERR_ABORTED"
			if !again {
				return err
			}
			if err := chromedp.Sleep(20 * time.Millisecond).Do(ctx); err != nil {
				return err
			}
		}
	})
}

// holds waits until an expression is true in the page, even while the tab loads another page. The page polls itself,
// which is much cheaper than polling it from here. If it cannot, because it runs no scripts or is being left, it is
// polled from here.
func holds(expression string) chromedp.Action {
	awaited := fmt.Sprintf(`new Promise((done) => { (function look(left) {
		let yes = false;
		try { yes = %s } catch {}
		yes || !left ? done(!!yes) : setTimeout(look, 20, left - 1);
	})(20) })`, expression)
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			var yes bool
			if err := chromedp.Evaluate(expression, &yes).Do(ctx); err == nil && yes {
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("%s: %w", expression, ctx.Err())
			}
			while, cancel := context.WithTimeout(ctx, time.Second)
			err := chromedp.Evaluate(awaited, &yes, awaiting).Do(while)
			cancel()
			if err == nil && yes {
				return nil
			}
			if err != nil { // the tab is loading another page
				_ = chromedp.Sleep(20 * time.Millisecond).Do(ctx)
			}
		}
	})
}

// awaiting makes an evaluation wait for the promise that the expression returns.
func awaiting(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// byQuery finds the first element of a selector, and polls less often than chromedp does.
func byQuery(s *chromedp.Selector) {
	chromedp.ByQuery(s)
	chromedp.RetryInterval(30 * time.Millisecond)(s)
}

// sees waits until one of a selector's elements contains a text.
func sees(selector, text string) chromedp.Action {
	return holds(fmt.Sprintf(`[...document.querySelectorAll(%q)].some(e => e.innerText.includes(%q))`, selector, text))
}

// gone waits until no element matches a selector.
func gone(selector string) chromedp.Action {
	return holds(fmt.Sprintf(`!document.querySelector(%q)`, selector))
}

// sameDays says whether listens stand under the day on which they were played where the browser is.
const sameDays = `[...document.querySelectorAll("#listens .day")].every((day) =>
	[...day.querySelectorAll("time")].every((at) =>
		day.querySelector("h2").id === "day-" + new Date(at.dateTime).toLocaleDateString("sv")))`

// Promise: From the first account to a reconnected service, a person needs nothing but the browser.
func TestBrowserFromSetupToReconnect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 300})
	p := start(t, t.TempDir(), worldEnv(w)...)
	one := browser(t)
	said := &complaints{}
	said.listen(one)

	// The first account, by the link that the server printed.
	do(t, one,
		chromedp.Navigate(p.url+"/setup?code="+p.code),
		chromedp.SendKeys(`input[name=name]`, "Alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery),
		chromedp.WaitVisible("input[name=contact], ul.uses", byQuery), // the first steps
		chromedp.Navigate(p.url+"/"), sees("main", "Connect the first service"),
	)
	// Connect Spotify: over to its own page, consent, and back.
	do(t, one, chromedp.Navigate(p.url+"/settings/services"),
		chromedp.Click(`a[href="/connect/spotify"]`, byQuery),
		chromedp.WaitVisible(`button[value=agree]`, byQuery),
		chromedp.Click(`button[value=agree]`, byQuery),
		sees(".flash", "Spotify is connected"),
		chromedp.Navigate(p.url+"/"), sees("#overview", "50 listens"),
	)
	// A second tab, on another page. Listens arrive in it without reloading.
	two := another(t, one)
	// That tab is elsewhere, where it is another day than here. Although the server did not know when the page was
	// asked for, the page has the days of that zone.
	zone := "Etc/GMT+12"
	if time.Now().UTC().Hour() >= 11 {
		zone = "Pacific/Kiritimati"
	}
	do(t, two, emulation.SetTimezoneOverride(zone), network.DeleteCookies("reprise_zone").WithURL(p.url),
		chromedp.Navigate(p.url+"/listens"), sees("#listens", "50 listens"), holds(sameDays))
	said.listen(two)
	played := w.Play()
	do(t, two, sees("#listens", "51 listens"), sees(".listens li:first-child", played.Title))
	// It is found from any page, while it is typed, in capitals and with a letter missing.
	typed := strings.ToUpper(played.Artist[:2] + played.Artist[3:])
	do(t, two, holds(`document.body.dataset.linked === "yes"`), chromedp.KeyEvent("/"),
		holds(`document.activeElement?.matches("#search input") && document.body.dataset.linked === "yes"`),
		chromedp.KeyEvent(typed), holds(fmt.Sprintf(`new URLSearchParams(location.search).get("q") === %q`, typed)),
		sees("#found", played.Artist), sees("#found-count", "result"), // of all that was typed
		chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent("\r"),
		sees("main h1", played.Artist), chromedp.NavigateBack(), sees("#found", played.Artist),
		chromedp.Navigate(p.url+"/listens"), sees("#listens", "51 listens"))

	// The permission is taken back: in both tabs a toast with a button, and a bell with a count. Then Status says it on
	// the card, and every other page in a banner.
	const revoked = "Spotify access has expired or was revoked"
	require.NoError(t, w.Switch(demo.Spotify, demo.Revoked))
	for _, tab := range []context.Context{one, two} {
		do(t, tab, sees(".toast", revoked), sees(".toast .button", "Reconnect"), sees("#bell .badge", "1"))
	}
	do(t, one, sees("#connection-spotify", revoked), sees("#connection-spotify .button", "Reconnect"),
		holds(`!document.querySelector("#banners .banner").checkVisibility()`))
	do(t, two, sees("#banners .banner", revoked))
	// Reconnect from the toast in the second tab: consent, and back to where it was.
	var back string
	do(t, two,
		chromedp.Click(`.toast a.button`, byQuery),
		chromedp.WaitVisible(`button[value=agree]`, byQuery),
		chromedp.Click(`button[value=agree]`, byQuery),
		sees(".flash", "Spotify is connected"),
		chromedp.Location(&back),
	)
	require.Equal(t, p.url+"/listens", back)
	// The alert is gone in both, without a reload of the first, and listens arrive.
	for _, tab := range []context.Context{one, two} {
		do(t, tab, gone("#banners .banner"), gone("#bell .badge"), gone(".toast-error"))
	}
	played = w.Play()
	do(t, two, holds(fmt.Sprintf(`document.querySelector(".listens [id^=listen-]").innerText.includes(%q)`,
		played.Title)))
	said.none(t)
}

// Promise: A toast is shown once, however many tabs are open.
func TestBrowserShowsAToastOnce(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	dir := t.TempDir()
	p := start(t, dir, worldEnv(w)...)
	v := p.newcomer()
	v.consent(agree(), 200)
	v.becomes("spotify", "healthy")
	// It becomes fatal with no browser open, and the server is restarted meanwhile.
	require.NoError(t, w.Switch(demo.Spotify, demo.Revoked))
	v.becomes("spotify", "needs_reconnect")
	require.Error(t, p.stop(9))
	p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), worldEnv(w)...)

	one := browser(t)
	do(t, one,
		chromedp.Navigate(p.url+"/login"),
		chromedp.SendKeys(`input[name=name]`, "alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery),
		sees(".toast", "Spotify access has expired or was revoked"),
	)
	var toasts int
	count := chromedp.Evaluate(`document.querySelectorAll(".toast").length`, &toasts)
	do(t, one, count)
	require.Equal(t, 1, toasts, "exactly one")
	// A second tab of the same browser does not say it again, but shows the banner.
	two := another(t, one)
	// dataset.linked is set after the snapshot, so no toast can follow that the test would miss.
	do(t, two, chromedp.Navigate(p.url+"/playlists"), sees("#banners .banner", "Spotify"),
		holds(`document.body.dataset.linked === "yes"`), count)
	require.Zero(t, toasts)
	// Dismissed in the first tab, the toast disappears, and the card says it until the cause is gone. In the second
	// tab, where the focus was on the dismissed notification's button, the focus moves to the notification.
	do(t, two, chromedp.Navigate(p.url+"/notifications"), holds(`document.body.dataset.linked === "yes"`),
		chromedp.Focus(`[id^=seen-]`, byQuery))
	do(t, one, chromedp.Click(`.toast button`, byQuery), gone(".toast"),
		sees("#connection-spotify", "Spotify access has expired"), gone("#banners .banner"),
		holds(`document.activeElement.id === "main"`))
	do(t, two, gone(`[id^=seen-]`), holds(`document.activeElement.id.startsWith("notification-")`))
	v.eventually("acknowledged", func() bool {
		open := v.call("GET", "/notifications?open=true", nil, 200)["notifications"].([]any)
		return open[0].(object)["acknowledged_at"] != nil
	})
}

// Promise: A message's button leads through signing in to the service, when the session has ended.
func TestBrowserReconnectsAfterSigningInAgain(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	p.newcomer()
	do(t, browser(t),
		chromedp.Navigate(p.url+"/connect/spotify"),
		chromedp.SendKeys(`input[name=name]`, "alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery),
		chromedp.WaitVisible(`button[value=agree]`, byQuery),
		chromedp.Click(`button[value=agree]`, byQuery),
		sees(".flash", "Spotify is connected"),
	)
}

// Promise: Pages work without JavaScript.
func TestBrowserWithoutScriptStillWorks(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	tab := browser(t)
	see := func(selector string) chromedp.Action { return chromedp.WaitVisible(selector, byQuery) }
	click := func(selector string) chromedp.Action { return chromedp.Click(selector, byQuery) }
	do(t, tab,
		emulation.SetScriptExecutionDisabled(true),
		chromedp.Navigate(p.url+"/setup?code="+p.code),
		chromedp.SendKeys(`input[name=name]`, "Alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery),
		chromedp.WaitVisible("input[name=contact], ul.uses", byQuery), chromedp.Navigate(p.url+"/"),
		click("#begin"), chromedp.WaitVisible("input[name=contact], ul.uses", byQuery),
		chromedp.Navigate(p.url+"/settings/services"),
		chromedp.WaitVisible(`a[href="/connect/listenbrainz"]`, byQuery),
		chromedp.Click(`a[href="/connect/listenbrainz"]`, byQuery),
		chromedp.WaitVisible(`input[name=token]`, byQuery),
		chromedp.SendKeys(`input[name=token]`, "wrong", byQuery),
		chromedp.Click(`main form button`, byQuery),
		chromedp.WaitVisible(`.problem`, byQuery),
		chromedp.SendKeys(`input[name=token]`, w.ListenBrainz.Token(demo.Alice), byQuery),
		chromedp.Click(`main form button`, byQuery),
		chromedp.WaitVisible(`.flash`, byQuery), chromedp.Navigate(p.url+"/"),
		chromedp.WaitVisible(`#connection-listenbrainz`, byQuery),
	)
	// It breaks: the banner says so at once. Dismissed, it is one small line, whose way leads to a form of one field.
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Revoked))
	v := p.returning()
	v.eventually("an alert", func() bool { return len(v.openAlerts()) > 0 })
	do(t, tab,
		chromedp.Navigate(p.url+"/playlists"), see(`#banners .banner a[href^="/connect/listenbrainz"]`), click(`#bell`),
		see(`[id^=seen-]`), click(`[id^=seen-]`), chromedp.WaitNotPresent(`[id^=seen-]`, byQuery),
		chromedp.Navigate(p.url+"/listens"), chromedp.WaitNotPresent(`#banners .banner`, byQuery),
		click(`#banners .quieted a`), see(`main a[href^="/connect/listenbrainz"]`),
		click(`main a[href^="/connect/listenbrainz"]`),
		see(`input[name=token]`),
		chromedp.SendKeys(`input[name=token]`, w.ListenBrainz.Token(demo.Alice), byQuery),
		click(`main form button`), see(`.flash`), chromedp.WaitNotPresent(`#banners p`, byQuery),
		// A setting.
		chromedp.Navigate(p.url+"/settings/account"), see(`select[name=theme]`),
		chromedp.SetValue(`select[name=theme]`, "dark", byQuery), click(`#look button`),
		see(`.flash`), see(`html[data-theme=dark]`),
	)
}
