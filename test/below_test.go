package test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// at waits until the browser is at a path.
func at(path string) chromedp.Action { return holds(`location.pathname === "` + path + `"`) }

// linked waits until a page follows what happens.
var linked = holds(`document.body?.dataset.linked === "yes"`)

// Promise: Below a path, behind a proxy, everything works that scripts, forms, redirects and other sites have a part
// in.
func TestBrowserBelowAPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := proxies[0].behind(t, "path", "/music", w)
	tab, said := browser(t), &complaints{}
	said.listen(tab)
	do(t, tab, chromedp.Navigate(p.url+"/setup?code="+p.code),
		chromedp.SendKeys(`input[name=name]`, "Alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery), at("/music/welcome/services"))

	// Over to Spotify's page and back, and a token.
	do(t, tab, chromedp.Navigate(p.url+"/settings/services"),
		chromedp.Click(`a[href="/music/connect/spotify"]`, byQuery),
		chromedp.WaitVisible(`button[value=agree]`, byQuery), chromedp.Click(`button[value=agree]`, byQuery),
		sees(".flash", "Spotify is connected"),
		at("/music/settings/services"), chromedp.Click(`a[href="/music/connect/listenbrainz"]`, byQuery),
		chromedp.SendKeys("#field-token", w.ListenBrainz.Token(demo.Alice), byQuery),
		chromedp.Click("main form.fields > button", byQuery), sees(".flash", "ListenBrainz is connected"))

	// A list goes on while somebody scrolls, and changes by itself.
	do(t, tab, chromedp.Navigate(p.url+"/listens"),
		holds(`document.querySelectorAll("#listens li.row").length === 50`),
		chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight), 0`, nil),
		holds(`document.querySelectorAll("#listens li.row").length > 55`),
		chromedp.Navigate(p.url+"/"), chromedp.Navigate(p.url+"/listens"), linked)
	played := w.Play()
	do(t, tab, sees(".listens li:first-child", played.Title))

	// A toast leads to where it is mended.
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Revoked))
	do(t, tab, sees(".toast", "ListenBrainz"), sees("#bell .badge", "1"), chromedp.Click(".toast a.button", byQuery),
		at("/music/connect/listenbrainz"))

	// Keys, and results while somebody types.
	do(t, tab, chromedp.Navigate(p.url+"/"), linked, chromedp.KeyEvent("/"), at("/music/search"),
		holds(`document.activeElement?.matches("#search input") && document.body.dataset.linked === "yes"`),
		chromedp.KeyEvent(played.Artist), sees("#found", played.Artist), holds(`location.search.startsWith("?q=")`),
		chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.KeyEvent("g"), chromedp.KeyEvent("p"),
		at("/music/playlists"))

	// A file.
	file := filepath.Join(t.TempDir(), "my_spotify_data.zip")
	require.NoError(t, os.WriteFile(file, export(t, 20), 0o600))
	do(t, tab, chromedp.Navigate(p.url+"/imports"),
		chromedp.SetUploadFiles("input[type=file]", []string{file}, byQuery),
		chromedp.Submit("input[type=file]", byQuery), sees("#imports", "The file has 20 listens"),
		chromedp.Submit(`form[action$="/start"] button`, byQuery),
		sees(".flash", "my_spotify_data.zip is being imported."),
		at("/music/imports"), sees("#imports", "20 listens are new"))

	// What the browser keeps for later is that of the path alone.
	var scope string
	do(t, tab, chromedp.Evaluate(`navigator.serviceWorker.ready.then((worker) => worker.scope)`, &scope, awaiting),
		holds(`document.querySelector('link[rel=manifest]').getAttribute("href") === "/music/manifest.webmanifest"`))
	require.Equal(t, p.url+"/", scope)
	said.none(t)

	// A setting is checked while somebody types it.
	do(t, tab, chromedp.Navigate(p.url+"/settings/server#allowed_hosts"), linked, typed("#allowed_hosts", "no!name"),
		sees("#allowed_hosts-problem", "no!name"))
	do(t, tab, typed("#allowed_hosts", "music.lan"), gone("#allowed_hosts-problem"),
		chromedp.Submit("#allowed_hosts", byQuery), sees(".flash", "Saved"), at("/music/settings/server"),
		holds(`document.querySelector("#allowed_hosts").value === "music.lan"`))
	do(t, tab, chromedp.Click(`form[action="/music/logout"] button`, byQuery), at("/music/login"))
}
