package test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// told returns the titles of the messages that Alice got by one channel.
func told(w *demo.World, by string) (titles []string) {
	for _, m := range w.Mailbox.Messages() {
		if m.By == by {
			titles = append([]string{m.Title}, titles...)
		}
	}
	return titles
}

// Promise: Every channel reports a problem and its end once each, although the server is killed in between. Somebody
// who has just fixed it gets no message about its end.
func TestChannelsDeliverNotificationsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Seed: 1, Plays: 20})
	dir := t.TempDir()
	env := append(lastfmEnv(w), "REPRISE_NOTIFY_URLS="+w.Mailbox.NtfyURL+","+w.Mailbox.MailURL)
	p := start(t, dir, env...)
	alice := p.newcomer()
	alice.call("POST", "/channels", object{"name": "My program", "url": w.Mailbox.WebhookURL}, http.StatusCreated)
	all := alice.call("GET", "/channels", nil, http.StatusOK)["channels"].([]any)
	require.Len(t, all, 3)
	require.Equal(t, true, all[0].(object)["from_settings"])
	alice.call("DELETE", "/channels/"+all[0].(object)["id"].(string), nil, http.StatusConflict)

	alice.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Revoked))
	alice.alerted()
	_ = p.cmd.Process.Kill()
	<-p.exited
	p = start(t, dir, env...)
	alice = p.returning()
	const trouble = "Reconnect ListenBrainz"
	alice.eventually("the message about the trouble", func() bool {
		return len(told(w, "ntfy")) > 0 && len(told(w, "mail")) > 0 && len(told(w, "webhook")) > 1
	})
	alice.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	alice.becomes("listenbrainz", "healthy")

	// Somebody else fixes what only the administrator gets a message about.
	bob := alice.member(p, "Bob")
	bob.consentAtLastFM(w, url.Values{"decision": {"agree"}, "account": {demo.Bob}}, http.StatusOK)
	bob.becomes("lastfm", "healthy")
	require.NoError(t, w.Switch(demo.LastFM, demo.Suspended))
	bob.becomes("lastfm", "needs_admin")
	alice.eventually("the message about the second trouble", func() bool {
		return len(told(w, "ntfy")) > 1 && len(told(w, "mail")) > 1 && len(told(w, "webhook")) > 2
	})
	require.NoError(t, w.Switch(demo.LastFM, demo.Normal))
	bob.call("POST", "/connections/lastfm/retry", nil, http.StatusAccepted)
	over := []string{trouble, "Last.fm isn't set up properly", "Last.fm works again"}
	alice.eventually("the message about its end", func() bool {
		return len(told(w, "ntfy")) > 2 && len(told(w, "mail")) > 2 && len(told(w, "webhook")) > 3
	})
	require.Equal(t, over, told(w, "ntfy"))
	require.Equal(t, over, told(w, "mail"))
	require.Equal(t, append([]string{"Reprise can reach you here"}, over...), told(w, "webhook"))
}

func TestAWrongChannelInTheSettingsStopsTheStart(t *testing.T) {
	t.Parallel()
	said := refuses(t, []string{"REPRISE_NOTIFY_URLS=ntfy://ntfy.sh/topic,discord://secret99@x"}, "-data-dir",
		t.TempDir(), "-listen", "127.0.0.1:0")
	require.Contains(t, said, "Address 2 in the list: The address of a Discord webhook begins with")
	require.NotContains(t, said, "secret99")
}

func TestABrowserShowsPushMessages(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p := start(t, t.TempDir(), "REPRISE_CONTACT=test@example.org")
	tab := wholeChromium.Tab(t)
	var mu sync.Mutex
	var worker serviceworker.RegistrationID
	chromedp.ListenTarget(tab, func(ev any) {
		if ev, ok := ev.(*serviceworker.EventWorkerRegistrationUpdated); ok && len(ev.Registrations) > 0 {
			mu.Lock()
			worker = ev.Registrations[0].RegistrationID
			mu.Unlock()
		}
	})
	var c complaints
	c.listen(tab)
	do(t, tab, chromedp.ActionFunc(func(ctx context.Context) error { return serviceworker.Enable().Do(ctx) }),
		cdp.GrantPermissions([]cdp.PermissionType{cdp.PermissionTypeNotifications}).WithOrigin(p.url).
			WithBrowserContextID(chromedp.FromContext(tab).BrowserContextID),
		chromedp.Navigate(p.url+"/setup?code="+p.code),
		chromedp.SendKeys(`input[name="name"]`, "Alice", byQuery),
		chromedp.SendKeys(`input[name="password"]`, password, byQuery),
		chromedp.Submit(`main form`, byQuery), holds(`location.pathname.startsWith("/welcome")`),
		chromedp.Navigate(p.url+"/settings/notifications"),
		holds(`(navigator.serviceWorker.ready.then((r) => { window.worker = r }),
			window.worker?.active?.state === "activated")`))
	until(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return worker != ""
	}, "the worker")
	push := serviceworker.DeliverPushMessage(p.url, worker,
		`{"id":"1","severity":"warning","title":"Spotify needs you","message":"Look.","url":"`+p.url+`/notifications"}`)
	const look = `window.worker.getNotifications().then((all) => {
		window.shown = all.map((n) => [n.title, n.body, n.data.url].join(" ")).join()
	}), window.shown || ""`
	// Chromium loses a message while its worker starts, and shows one that comes twice once
	until(t, func() bool {
		var shown string
		do(t, tab, push, chromedp.Sleep(500*time.Millisecond), chromedp.Evaluate(look, nil),
			chromedp.Sleep(500*time.Millisecond), chromedp.Evaluate(look, &shown))
		return shown == "Spotify needs you Look. "+p.url+"/notifications"
	}, "the message")
	c.none(t)
}

// Promise: The contact address is for services that block callers they cannot reach. A channel belongs to one person,
// and its server may log whatever it gets.
func TestChannelsDoNotGetTheContactAddress(t *testing.T) {
	t.Parallel()
	got := make(chan string, 9)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := httputil.DumpRequest(r, true)
		if err == nil {
			got <- string(body)
		}
	}))
	defer hook.Close()
	p := start(t, t.TempDir(), "REPRISE_CONTACT=ann@example.org")
	alice := p.newcomer()
	alice.call("POST", "/channels", object{"name": "My program", "url": hook.URL}, http.StatusCreated)
	message := <-got
	require.Contains(t, message, "User-Agent: Reprise/")
	require.NotContains(t, message, "ann@example.org")
}
