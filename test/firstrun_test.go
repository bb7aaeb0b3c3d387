package test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// addressesOf returns the settings that lead to the simulated upstreams, and no more: what a household enters itself is
// missing.
func addressesOf(w *demo.World) (env []string) {
	for path, value := range w.Settings() {
		if strings.HasSuffix(path, "_url") || strings.HasSuffix(path, ".rate") {
			env = append(env, "REPRISE_"+strings.ToUpper(strings.ReplaceAll(path, ".", "_"))+"="+value)
		}
	}
	return append(env, "REPRISE_SYNC_LISTENS_EVERY=1s", "REPRISE_SYNC_PLAYLISTS_EVERY=2s")
}

// hands is somebody at a browser who counts their clicks.
type hands struct {
	*testing.T
	tab    context.Context
	clicks int
}

// loaded waits for the whole page: its elements are others before.
var loaded = holds(`document.readyState === "complete"`)

func (p *hands) click(selector string) {
	p.Helper()
	p.clicks++
	do(p.T, p.tab, chromedp.WaitVisible(selector, byQuery), loaded,
		chromedp.Click(selector, byQuery))
}

func (p *hands) types(fields ...string) {
	p.Helper()
	for i := 0; i+1 < len(fields); i += 2 {
		do(p.T, p.tab, chromedp.WaitVisible(fields[i], byQuery), loaded,
			chromedp.SendKeys(fields[i], fields[i+1], byQuery))
	}
}

// Promise: From the printed link to the first listens on the screen: under ten clicks, less than two minutes.
func TestBrowserFirstRunOfEachService(t *testing.T) {
	takesLong(t)
	t.Parallel()
	for name, connect := range map[string]func(p *hands, w *demo.World){
		"spotify": func(p *hands, w *demo.World) {
			do(p.T, p.tab, sees("#first", "Spotify Premium"), sees(".copy", "/connect/spotify/callback"))
			p.types("#client_id", w.Spotify.ClientID)
			p.click("#registration button[value=connect]")
			p.click("button[value=agree]")
		},
		"lastfm": func(p *hands, w *demo.World) {
			do(p.T, p.tab, sees(".copy", "/connect/lastfm/callback"))
			p.types("#client_id", w.LastFM.ClientID, "#client_secret", w.LastFM.ClientSecret)
			p.click("#registration button[value=save]")
			do(p.T, p.tab, sees("#saved", "Last.fm accepts this"))
			p.click("#registration button[value=connect]")
			p.click("button[value=agree]")
		},
		"listenbrainz": func(p *hands, w *demo.World) {
			p.types("#field-token", w.ListenBrainz.Token(demo.Alice))
			p.click("main form.fields > button")
		},
		"navidrome": func(p *hands, w *demo.World) {
			p.types("#field-url", w.Navidrome.URL, "#field-username", demo.Alice,
				"#field-password", w.Navidrome.Password(demo.Alice))
			p.click("main form.fields > button")
		},
		"youtube": func(p *hands, w *demo.World) {
			do(p.T, p.tab, sees(".copy", "/connect/youtube/callback"))
			p.types("#client_id", w.YouTube.ClientID, "#client_secret", w.YouTube.ClientSecret)
			p.click("#registration button[value=connect]")
			p.click("button[value=agree]")
		},
	} {
		// Always one of each kind. The others are left out rather than skipped, because a skipped browser test fails
		// .ci/run.
		if name != "spotify" && name != "navidrome" && !soak.Part(t, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, demo.Options{Plays: 60})
			server := start(t, t.TempDir(), addressesOf(w)...)
			p := &hands{T: t, tab: browser(t)}
			said := &complaints{}
			said.listen(p.tab)
			began := time.Now()

			do(t, p.tab, chromedp.Navigate(server.url+"/setup?code="+server.code))
			p.types("input[name=name]", "Alice", "input[name=password]", password)
			p.click("main form button")
			p.types("input[name=contact]", "alice@example.org")
			p.click("main form button:not([name])")
			p.click("#service-" + name)
			p.click("main form.uses button")
			connect(p, w)
			do(t, p.tab, sees("#arriving .rows li", " "), sees("#arriving", "All good"))
			t.Logf("%s: %d clicks, %s", name, p.clicks, time.Since(began).Round(time.Millisecond))
			require.Less(t, p.clicks, 10)
			require.Less(t, time.Since(began), 2*time.Minute)
			p.click("#finish")
			do(t, p.tab, chromedp.WaitVisible("#overview", byQuery), gone("#notice-first-steps"))
			said.none(t)
		})
	}
}

// Promise: The first run can be left, is taken up again where it was, and works without JavaScript.
func TestBrowserFirstRunCanBeLeft(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	server := start(t, t.TempDir(), addressesOf(w)...)
	p := &hands{T: t, tab: browser(t)}
	do(t, p.tab, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(server.url+"/setup?code="+server.code))
	p.types("input[name=name]", "Alice", "input[name=password]", password)
	p.click("main form button")
	p.click("button[name=skip]")
	p.click("main form.uses button") // nothing chosen
	do(t, p.tab, chromedp.WaitVisible("#problem", byQuery))
	p.click("#service-navidrome")
	p.click("#service-spotify")
	p.click("main form.uses button")
	do(t, p.tab, chromedp.WaitVisible("#registration", byQuery), // and leaves
		chromedp.Navigate(server.url+"/"))
	p.click("#begin")
	do(t, p.tab, chromedp.WaitVisible("#registration", byQuery))
	p.types("#client_id", "wrong")
	p.click("#registration button[value=connect]")
	do(t, p.tab, chromedp.WaitVisible("#problem", byQuery))
	p.click("#later")
	p.types("#field-url", w.Navidrome.URL, "#field-username", demo.Alice,
		"#field-password", w.Navidrome.Password(demo.Alice))
	p.click("main form.fields > button")
	do(t, p.tab, chromedp.WaitVisible("#service-navidrome", byQuery),
		chromedp.WaitVisible(`a[href^="/connect/spotify"]`, byQuery))
	p.click("#finish")
	do(t, p.tab, chromedp.WaitVisible("#overview", byQuery))
}

// Promise: A member asks for a service, the administrator sets it up with the notification's button, and the member
// connects.
func TestBrowserMembersAskForAService(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	server := start(t, t.TempDir(), addressesOf(w)...)
	v := server.newcomer()
	v.call("POST", "/admin/users", object{"name": "Bob", "password": password, "role": "member"}, 201)
	alice, bob := &hands{T: t, tab: browser(t)}, &hands{T: t, tab: browser(t)}
	for name, p := range map[string]*hands{"Alice": alice, "Bob": bob} {
		do(t, p.tab, chromedp.Navigate(server.url+"/login"))
		p.types("input[name=name]", name, "input[name=password]", password)
		p.click("main form button")
		do(t, p.tab, chromedp.WaitVisible("#overview", byQuery))
	}
	do(t, bob.tab, chromedp.Navigate(server.url+"/connect/spotify"))
	bob.click("#ask-spotify")
	do(t, bob.tab, sees("#asked", "Asked: "), gone("#ask-spotify"))
	do(t, alice.tab, sees("#bell .badge", "1"), chromedp.Navigate(server.url+"/notifications"),
		sees("main", "Bob would like to use Spotify"))
	alice.click(`main a[href="/setup/spotify"]`)
	alice.types("#client_id", w.Spotify.ClientID)
	alice.click("#registration button[value=save]")
	do(t, alice.tab, sees("#saved", "Spotify accepts this"), gone("#bell .badge"))
	do(t, bob.tab, sees("#ask", "You can connect it now"), sees("#bell .badge", "1"),
		chromedp.Navigate(server.url+"/notifications"), sees("main", "Spotify is ready"))
	bob.click(`main a[href="/connect/spotify"]`)
	bob.click("button[value=agree]")
	do(t, bob.tab, sees(".flash", "Spotify is connected"), gone("#bell .badge"))
}

// Promise: Reconnecting asks for the password alone, and leads back.
func TestBrowserReconnectsWithOneField(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	server := start(t, t.TempDir(), addressesOf(w)...)
	v := server.newcomer()
	v.call("PUT", "/connections/navidrome", object{"url": w.Navidrome.URL, "username": demo.Alice,
		"password": w.Navidrome.Password(demo.Alice)}, 200)
	p := &hands{T: t, tab: browser(t)}
	do(t, p.tab, chromedp.Navigate(server.url+"/login"))
	p.types("input[name=name]", "Alice", "input[name=password]", password)
	p.click("main form button")
	do(t, p.tab, chromedp.WaitVisible("#overview", byQuery),
		chromedp.Navigate(server.url+"/connections/navidrome"),
		chromedp.WaitVisible("main", byQuery),
		chromedp.Evaluate(`(() => { const a = document.createElement("a"); a.href = "/connect/navidrome"; a.id = "go";
			a.textContent = "go"; document.querySelector("main").append(a) })()`, nil))
	p.click("#go")
	var shown int
	do(t, p.tab, chromedp.WaitVisible("#field-password", byQuery), chromedp.Evaluate(
		`[...document.querySelectorAll("main input:not([type=hidden])")].filter(i => i.checkVisibility()).length`,
		&shown))
	require.Equal(t, 1, shown)
	p.types("#field-password", w.Navidrome.Password(demo.Alice))
	p.click("main form.fields > button")
	do(t, p.tab, sees(".flash", "is connected"), holds(`location.pathname === "/connections/navidrome"`))
}
