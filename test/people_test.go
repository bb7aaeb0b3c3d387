package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/postgrestest"
	"reprise/internal/removal"
	"reprise/internal/soak"
)

// Promise: A removal that a kill cuts off goes on at the next start.
func TestARemovalGoesOnAfterAKill(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	alice := p.newcomer()
	alice.call("POST", "/admin/users", object{"name": "Bob", "password": password, "role": "member"}, 201)
	bob := p.visitor()
	bob.call("POST", "/session", object{"name": "Bob", "password": password}, 201)
	var lines strings.Builder
	const listens = 20_000
	for i := range listens {
		fmt.Fprintf(&lines, `{"listened_at":%d,"track_metadata":{"track_name":"T%d","artist_name":"A"}}`+"\n",
			1_500_000_000+i*300, i)
	}
	bob.upload("/imports?provider=listenbrainz", "", "1.jsonl", []byte(lines.String()), 200)
	bob.eventually("it is done", func() bool { return bob.lastImport()["state"] == "done" })
	tab, _ := bob.open()

	began := time.Now()
	answer := alice.call("DELETE", "/admin/users/2", nil, 202)
	require.Equal(t, object{"previous_state": "present", "new_state": "removing"}, answer)
	for range tab.messages { // until it is closed
	}
	t.Logf("the stream ended after %s", time.Since(began))
	require.Less(t, time.Since(began), patience)
	_ = p.stop(syscall.SIGKILL)
	finished := strings.Contains(p.log.String(), "account removed")

	p = start(t, dir)
	alice = p.returning()
	alice.call("GET", "/admin/users/2", nil, 404)
	alice.eventually("it is finished", func() bool {
		return finished || strings.Contains(p.log.String(), "account removed")
	})
	require.NoError(t, p.stop(syscall.SIGTERM))
	if postgrestest.On() {
		return
	}
	if finished {
		t.Log("the kill came too late to show anything")
	}
	db := opened(t, dir, read(t, filepath.Join(dir, keyFile)))
	defer db.Close()
	counts, err := db.Counts(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, removal.Counts{}, counts)
	users, err := db.Users(t.Context())
	require.NoError(t, err)
	require.Len(t, users, 1)
}

// Promise: When the secret key is lost, everybody reconnects and sets up second steps and passkeys; all else stays.
func TestForgetSecretsAsksForReconnects(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	dir, env := t.TempDir(), worldEnv(w)
	p := start(t, dir, env...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	before := len(v.call("GET", "/listens?limit=1000", nil, 200)["listens"].([]any))
	require.NoError(t, p.stop(syscall.SIGTERM))
	require.NoError(t, os.Remove(filepath.Join(dir, keyFile)))

	at := []string{"-data-dir", dir, "-listen", "127.0.0.1:0"}
	var database []string
	if postgrestest.On() {
		database = []string{"REPRISE_DATABASE_URL=" + postgrestest.Database(t, dir, nil)}
	}
	require.Contains(t, refuses(t, database, at...), "server forget-secrets starts with a new one")
	_, err := command(t, "no\n", database, append([]string{"forget-secrets"}, at...)...)
	require.ErrorContains(t, err, "nothing was changed")
	said, err := command(t, "forget\n", database, append([]string{"forget-secrets"}, at...)...)
	require.NoError(t, err)
	require.Contains(t, said, "1 connection and 0 channels have to be set up again")

	for range 2 { // also after a restart there is one alert, and no call with nothing in its hand
		p = start(t, dir, env...)
		v = p.returning()
		alert := v.alerted()
		require.Equal(t, "Reconnect ListenBrainz", alert["title"])
		require.Contains(t, alert["message"], "This server lost its secret key")
		require.Equal(t, object{"label": "Reconnect", "url": "/connect/listenbrainz"}, alert["action"])
		require.Len(t, v.call("GET", "/notifications?open=true", nil, 200)["notifications"], 1)
		require.Equal(t, "needs_reconnect", v.state("listenbrainz"))
		require.GreaterOrEqual(t, len(v.call("GET", "/listens?limit=1000", nil, 200)["listens"].([]any)), before)
		if alert["acknowledged_at"] == nil {
			require.NoError(t, p.stop(syscall.SIGTERM))
		}
	}
	p = start(t, dir, env...)
	v = p.returning()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	v.eventually("the alert is closed", func() bool {
		return len(v.call("GET", "/notifications?open=true", nil, 200)["notifications"].([]any)) == 0
	})
}

// shoot keeps pictures of a page where somebody wants to look at it: at two widths, light and dark.
func shoot(name string) chromedp.Tasks {
	dir := os.Getenv("REPRISE_TEST_PICTURES")
	if dir == "" {
		return nil
	}
	var all chromedp.Tasks
	for _, width := range []int64{390, 1280} {
		for _, scheme := range []string{"light", "dark"} {
			picture := new([]byte)
			all = append(all,
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
					{Name: "prefers-color-scheme", Value: scheme}}),
				chromedp.EmulateViewport(width, 800),
				chromedp.FullScreenshot(picture, 100),
				chromedp.ActionFunc(func(context.Context) error {
					return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%s.png", name, width, scheme)), *picture,
						0o600)
				}))
		}
	}
	return all
}

// Promise: From the invitation to the removal, without any script.
func TestBrowserInvitesAndRemovesAPerson(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p := start(t, t.TempDir())
	tab, theirs := browser(t), browser(t)
	var link string
	click := func(selector string) chromedp.Action { return chromedp.Click(selector, byQuery) }
	do(t, tab,
		emulation.SetScriptExecutionDisabled(os.Getenv("REPRISE_TEST_PICTURES") == ""),
		chromedp.Navigate(p.url+"/setup?code="+p.code),
		chromedp.SendKeys(`input[name=name]`, "Alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		click(`main form button`),
		chromedp.WaitVisible(`a[href="/settings"]`, byQuery),
		chromedp.Navigate(p.url+"/settings/people"),
		chromedp.WaitVisible(`#invite-name`, byQuery),
		shoot("people-empty"),
		chromedp.SendKeys(`#invite-name`, "Bob", byQuery),
		click(`#invite button`),
		chromedp.WaitVisible(`#link-made`, byQuery),
		chromedp.Text(`#link-made`, &link, byQuery),
		shoot("newlink"),
	)
	do(t, theirs,
		chromedp.Navigate(link),
		chromedp.WaitVisible(`input[name=password]`, byQuery),
		holds(`location.pathname === "/invitation"`),
		shoot("invitation"),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		click(`main form button`),
		chromedp.WaitVisible(`a[href="/settings"]`, byQuery),
	)
	do(t, tab,
		chromedp.Navigate(p.url+"/settings/people"),
		chromedp.WaitVisible(`a[href="/settings/people/2"]`, byQuery),
		shoot("people"),
		click(`a[href="/settings/people/2"]`),
		chromedp.WaitVisible(`a[href="/settings/people/2/remove"]`, byQuery),
		shoot("person"),
		click(`form[action="/settings/people/2/role"] button`),
		chromedp.WaitVisible(`.flash`, byQuery),
		chromedp.Navigate(p.url+"/settings/people/2/remove"),
		chromedp.WaitVisible(`#name`, byQuery),
		shoot("remove"),
		chromedp.SendKeys(`#name`, "Rob", byQuery),
		click(`button.warn`),
		chromedp.WaitVisible(`.problem`, byQuery),
		chromedp.SendKeys(`#name`, "Bob", byQuery),
		click(`button.warn`),
		chromedp.WaitVisible(`.flash`, byQuery),
		gone(`a[href="/settings/people/2"]`),
		chromedp.Navigate(p.url+"/settings/account/remove"),
		shoot("remove-self"),
		chromedp.Navigate(p.url+"/settings/account"),
		shoot("settings"),
	)
	do(t, theirs,
		chromedp.Evaluate(`location.assign("/listens"), 0`, nil), // or it has left by itself
		holds(`location.pathname === "/login"`),
	)
}
