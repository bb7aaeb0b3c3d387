package test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// Promise: What somebody has opened, chosen, typed, focused and looked up stays when the page takes in what is new.
// Nothing is asked for while nobody looks.
func TestBrowserKeepsWhatIsDoneToAPage(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.call(http.MethodPut, "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)},
		http.StatusOK)
	v.becomes("listenbrainz", "healthy")
	change := func(action string) {
		v.call(http.MethodPost, "/connections/listenbrainz/"+action, nil, http.StatusAccepted)
	}
	tab := browser(t)
	signIn(t, tab, p)

	// Of a connection: an open fold with the focus, the note of a bar, and a name that is half typed.
	change("pause")
	do(t, tab, chromedp.Navigate(p.url+"/connections/listenbrainz"), linked, sees("#connection", "Resume"),
		chromedp.Click("#newest-runs summary", byQuery), holds(`document.querySelector("#newest-runs").open`),
		chromedp.Evaluate(`document.querySelector("[data-strip] > i[title]").click(), 0`, nil),
		holds(`document.querySelector(".strip-note") !== null`),
		chromedp.Evaluate(`document.getElementById("field-name").value = "half a na", 0`, nil),
		chromedp.Focus("#newest-runs summary", byQuery))
	v.call(http.MethodPatch, "/connections/listenbrainz", object{"name": "At home"}, http.StatusOK)
	do(t, tab, sees("#connection", "At home"), holds(`document.querySelector("#newest-runs").open &&
		document.activeElement.matches("#newest-runs summary") && document.querySelector(".strip-note") !== null &&
		document.getElementById("field-name").value === "half a na"`))

	// Of the list of what has happened: a service that is chosen, while another line comes above.
	line := `document.querySelectorAll("#activity li").length`
	var lines int
	do(t, tab, chromedp.Navigate(p.url+"/activity"), linked, chromedp.Evaluate(line, &lines),
		chromedp.Evaluate(`document.querySelector("#filter select").selectedIndex = 1, 0`, nil))
	change("resume")
	do(t, tab, holds(fmt.Sprintf("%s > %d", line, lines)),
		holds(`document.querySelector("#filter select").selectedIndex === 1`))

	show := func(hidden string) chromedp.Action {
		return chromedp.Evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: `+hidden+` }),
			document.dispatchEvent(new Event("visibilitychange")), 0`, nil)
	}
	const quiet = 1500 * time.Millisecond // the page asks at most once a second
	do(t, tab, show("true"), chromedp.Sleep(quiet))
	seen := listenTo(tab)
	do(t, tab, network.Enable(), chromedp.Evaluate(line, &lines))
	change("pause")
	do(t, tab, chromedp.Sleep(quiet))
	seen.mu.Lock()
	require.Empty(t, seen.asked)
	seen.mu.Unlock()
	do(t, tab, show("false"), holds(fmt.Sprintf("%s > %d", line, lines)))
}

// Promise: Although the server does not know the zone of a browser that asks for its first page, the page has the days
// of that zone, also while nothing happens.
func TestBrowserHasTheDaysOfItsZone(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	for _, at := range []string{"2026-03-01T00:30:00Z", "2026-03-01T12:00:00Z", "2026-03-01T23:30:00Z"} {
		v.call(http.MethodPost, "/listens", object{"track": "Snow", "artist": "Rain", "played_at": at},
			http.StatusCreated)
	}
	tab := browser(t)
	signIn(t, tab, p)
	for _, zone := range []string{"Pacific/Kiritimati", "Etc/GMT+12"} {
		do(t, tab, emulation.SetTimezoneOverride(zone), network.DeleteCookies("reprise_zone").WithURL(p.url),
			chromedp.Navigate(p.url+"/listens"), sees("#listens", "3 listens"), holds(sameDays))
	}
	// The page before may tell the zone while this one is on its way.
	const zone = "Pacific/Kiritimati"
	told := chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(
			"document.cookie = 'reprise_zone=" + url.QueryEscape(zone) + "; Path=/'").Do(ctx)
		return err
	})
	do(t, tab, emulation.SetTimezoneOverride(zone), network.DeleteCookies("reprise_zone").WithURL(p.url), told,
		chromedp.Navigate(p.url+"/listens"), sees("#listens", "3 listens"), holds(sameDays))
}
