package test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// manifest reads what a browser installs a server by, with all addresses as the browser resolves them.
func (p *process) manifest(t *testing.T, language string) (shortcuts []string, share string) {
	t.Helper()
	get := func(address string) (*http.Response, []byte) {
		req, err := http.NewRequest(http.MethodGet, address, nil)
		require.NoError(t, err)
		req.Header.Set("Accept-Language", language)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp, b
	}
	at, err := url.Parse(p.url + "/manifest.webmanifest")
	require.NoError(t, err)
	_, b := get(at.String())
	var m struct {
		Shortcuts []struct {
			Name, URL string
			Icons     []struct{ Src, Type string }
		}
		Share struct {
			Action, Method string
			Params         map[string]string
		} `json:"share_target"`
	}
	require.NoError(t, json.Unmarshal(b, &m), "%s", b)
	resolve := func(address string) string {
		u, err := at.Parse(address)
		require.NoError(t, err)
		return u.String()
	}
	for _, s := range m.Shortcuts {
		shortcuts = append(shortcuts, s.Name+" "+resolve(s.URL))
		resp, _ := get(resolve(s.Icons[0].Src))
		require.Equal(t, http.StatusOK, resp.StatusCode, s.Name)
		require.Equal(t, s.Icons[0].Type, resp.Header.Get("Content-Type"), s.Name)
	}
	require.Equal(t, "GET", m.Share.Method)
	require.Equal(t, map[string]string{"title": "title", "text": "text", "url": "url"}, m.Share.Params)
	return shortcuts, resolve(m.Share.Action)
}

// leadTo goes where a server's shortcuts lead, and shares something as somebody who has to sign in first.
func (p *process) leadTo(t *testing.T, tab context.Context) {
	t.Helper()
	shortcuts, share := p.manifest(t, "en")
	german, _ := p.manifest(t, "de")
	require.Equal(t, []string{"Now playing " + p.url + "/now", "Listens " + p.url + "/listens",
		"Search " + p.url + "/search"}, shortcuts)
	require.Equal(t, []string{"Läuft gerade " + p.url + "/now", "Wiedergaben " + p.url + "/listens",
		"Suche " + p.url + "/search"}, german)
	shared := share + "?" + url.Values{"text": {"Nobody – Nothing (100 % & more)"}}.Encode()
	do(t, tab, chromedp.Navigate(shared), chromedp.SendKeys(`input[name=name]`, "alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery), chromedp.Click(`main form button`, byQuery),
		sees(".lead", "You haven't listened to “Nobody – Nothing (100 % & more)” yet."),
		holds(`location.href.startsWith("`+share+`?")`))
	for _, s := range shortcuts {
		name, address, _ := strings.Cut(s, " http")
		do(t, tab, chromedp.Navigate("http"+address), sees("h1", name))
	}
}

// Promise: The shortcuts of the installed app lead to pages, in the reader's language, and what is shared with it
// survives signing in; below a path, too.
func TestBrowserTheAppsWaysInLead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 10})
	for name, p := range map[string]*process{"root": start(t, t.TempDir()),
		"path": proxies[0].behind(t, "path", "/music", w)} {
		t.Run(name, func(t *testing.T) {
			p.newcomer()
			p.leadTo(t, browser(t))
		})
	}
}

// Promise: A link that another app shares shows the song, when it was heard or is in a playlist; one that was not
// can be loved and added as a listen, too. Opening it changes nothing, and asks no service.
func TestBrowserShowsWhatIsShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), youtubeEnv(w)...)
	v := p.newcomer()
	v.consent(agree(), 200)
	v.consentAtGoogle(w, agree(), 200)
	v.becomes("spotify", "healthy")
	v.becomes("youtube", "healthy")
	loved := func() (all []any) {
		for _, l := range v.call("GET", "/loves", nil, 200)["loves"].([]any) {
			all = append(all, l.(object)["track"])
		}
		return all
	}
	v.eventually("what is loved at Spotify", func() bool { return len(loved()) > 0 })
	before := loved()
	var song object // one that isn't
	for _, l := range v.call("GET", "/listens?limit=60", nil, 200)["listens"].([]any) {
		if l := l.(object); song == nil && !slices.Contains(before, l["track"]) {
			song = l
		}
	}
	require.NotNil(t, song)
	source := song["sources"].([]any)[0].(object)["source_id"].(string)
	_, id, _ := strings.Cut(source, ":")
	tab := browser(t)
	signIn(t, tab, p)
	share := func(text string) chromedp.Action {
		return chromedp.Navigate(p.url + "/share?" + url.Values{"text": {text}}.Encode())
	}
	do(t, tab, share("https://open.spotify.com/intl-de/track/"+id+"?si=1"),
		sees(".results strong", song["track"].(string)), sees(".actions", "Open the track"))
	require.Equal(t, before, loved())
	do(t, tab, chromedp.Click("#love", byQuery), sees(".flash", song["track"].(string)),
		share("spotify:track:"+id), sees("#love", "Remove from loved"),
		chromedp.Click(".actions a.button", byQuery), sees("h1", song["track"].(string)))

	do(t, tab, share("Nobody Has Heard – Of This"), sees(".actions", "Add as a listen"),
		chromedp.Click("#love", byQuery), sees(".flash", "Of This"), share("Nobody Has Heard – Of This"),
		chromedp.Click("#add", byQuery), sees("h1", "Add a listen"), loaded, chromedp.Click("#new button", byQuery),
		sees(".flash", "Added"))

	video, title := v.video()
	do(t, tab, share("https://youtu.be/"+video+"?si=1"), sees(".results strong", title),
		sees(".lead", "listened to this"),
		share("https://youtu.be/AAAAAAAAAAA"), sees(".lead", "doesn't know this link from YouTube"),
		share("…"), sees(".lead", "no link to a song"), chromedp.SendKeys("input[name=q]", song["artist"].(string),
			byQuery), chromedp.Submit("input[name=q]", byQuery), sees("#found", song["artist"].(string)))
}

// video returns the id and the title of a video in one of the person's playlists.
func (v *person) video() (id, title string) {
	v.t.Helper()
	for _, one := range v.call("GET", "/playlists", nil, 200)["playlists"].([]any) {
		list := one.(object)
		if list["provider"] != "youtube" {
			continue
		}
		for _, track := range v.call("GET", "/playlists/"+list["id"].(string), nil, 200)["tracks"].([]any) {
			track := track.(object)
			if video, ok := track["video"].(object); ok && video["availability"] == "public" {
				return video["id"].(string), track["track"].(string)
			}
		}
	}
	require.Fail(v.t, "no video")
	return "", ""
}

// Promise: What plays, how the services do and what was heard last fit a phone's screen whole, and change by
// themselves; what needs somebody is one tap away.
func TestBrowserNowPlayingFitsAPhone(t *testing.T) {
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
	do(t, tab, chromedp.EmulateViewport(390, 600), chromedp.Navigate(p.url+"/now"), linked,
		holds(`document.querySelectorAll(".at-a-glance li").length === 2`), sees("#now", "All good"),
		holds(`!document.querySelector(".toast")`))
	fits := holds(`document.documentElement.scrollHeight <= innerHeight &&
		document.documentElement.scrollWidth <= innerWidth`)
	do(t, tab, fits)
	played := w.Play()
	v.call("POST", "/connections/spotify/sync", nil, http.StatusAccepted)
	do(t, tab, sees("#latest li:first-child", played.Title), fits,
		chromedp.EmulateViewport(320, 600), holds(`document.documentElement.scrollWidth <= innerWidth`))
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Revoked))
	v.call("POST", "/connections/listenbrainz/sync", nil, http.StatusAccepted)
	do(t, tab, sees(".at-a-glance .loud", "ListenBrainz"), sees("#now-services", "needs you"),
		chromedp.Evaluate(`document.querySelector(".at-a-glance .loud a.button").click()`, nil),
		at("/connect/listenbrainz"), chromedp.Navigate(p.url+"/now"),
		chromedp.Click(".onward", byQuery), at("/"))
}
