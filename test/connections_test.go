package test

import (
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// navidromeOf returns the fields that connect an account at a world's Navidrome.
func navidromeOf(w *demo.World, account string) object {
	return object{"url": w.Navidrome.URL, "username": account, "password": w.Navidrome.Password(account)}
}

// lastSuccess returns when a connection was last read.
func (v *person) lastSuccess(id string) string {
	v.t.Helper()
	at, _ := v.call("GET", "/connections/"+id, nil, 200)["last_success_at"].(string)
	return at
}

// total returns the number of listens.
func (v *person) total() int {
	v.t.Helper()
	n, next := 0, ""
	for {
		page := v.call("GET", "/listens?limit=400"+next, nil, 200)
		n += len(page["listens"].([]any))
		if page["next"] == nil {
			return n
		}
		next = "&before=" + url.QueryEscape(page["next"].(string))
	}
}

func TestTwoNavidromesAreApart(t *testing.T) {
	t.Parallel()
	one, two := newWorld(t, demo.Options{Plays: 300}), newWorld(t, demo.Options{Plays: 300, Seed: 7})
	v := start(t, t.TempDir(), worldEnv(one)...).newcomer()
	v.call("PUT", "/connections/navidrome-2", navidromeOf(two, demo.Alice), 200)
	v.becomes("navidrome-2", "healthy")
	second := v.total()
	v.call("PUT", "/connections/navidrome", navidromeOf(one, demo.Alice), 200)
	v.becomes("navidrome", "healthy")
	require.Positive(t, second)
	both := v.total()
	require.Greater(t, both, second, "both are read")
	v.call("GET", "/connections/navidrome-3", nil, 404)

	page := v.page("/connections/navidrome-2", 200)
	require.Contains(t, page, "Navidrome 2")
	v.call("PATCH", "/connections/navidrome-2", object{"name": " Cabin "}, 200)
	for _, path := range []string{"/", "/connections/navidrome-2", "/connect/navidrome-2", "/playlists",
		"/listens", "/settings/services", "/activity?connection=navidrome-2"} {
		require.Contains(t, v.page(path, 200), "Cabin", path)
	}

	// One dies: its card, its alert, and the other goes on.
	require.NoError(t, two.Switch(demo.Navidrome, demo.Revoked))
	alert := v.alerted()
	require.Equal(t, []any{"navidrome-2", "navidrome"}, []any{alert["connection"], alert["provider"]})
	require.Contains(t, alert["title"], "Cabin")
	v.becomes("navidrome-2", "needs_reconnect")
	require.Contains(t, v.page("/", 200), `href="/connect/navidrome-2`)
	before := v.lastSuccess("navidrome")
	v.eventually("the other is read", func() bool { return v.lastSuccess("navidrome") != before })
	v.becomes("navidrome", "healthy")
	v.call("POST", "/connections/navidrome/sync", nil, 202)

	// Reconnecting one leaves the other as it is.
	v.call("PUT", "/connections/navidrome", navidromeOf(one, demo.Alice), 200)
	require.Equal(t, "needs_reconnect", v.state("navidrome-2"))
	require.Len(t, v.openAlerts(), 1)
	require.NoError(t, two.Switch(demo.Navidrome, demo.Normal))
	answer := v.call("PUT", "/connections/navidrome-2", navidromeOf(two, demo.Alice), 200)
	require.Equal(t, "Cabin", answer["name"])
	v.becomes("navidrome-2", "healthy")
	require.Empty(t, v.openAlerts())

	// Disconnecting leaves the first one's rows.
	v.call("DELETE", "/connections/navidrome-2", nil, 204)
	require.Equal(t, both, v.total())
	v.call("PUT", "/connections/navidrome-2", navidromeOf(two, demo.Alice), 200)
	v.becomes("navidrome-2", "healthy")
	require.Equal(t, both, v.total(), "what stayed is known again")
	v.call("DELETE", "/connections/navidrome-2?data=delete", nil, 204)
	require.Equal(t, both-second, v.total())
	v.becomes("navidrome", "healthy")
	v.call("GET", "/connections/navidrome-2", nil, 404)
}

func TestABackoffIsOneConnectionsOwn(t *testing.T) {
	t.Parallel()
	one, two := newWorld(t, demo.Options{Plays: 60}), newWorld(t, demo.Options{Plays: 60, Seed: 7})
	dir := t.TempDir()
	p := start(t, dir, worldEnv(one)...)
	v := p.newcomer()
	tab, _ := v.open()
	v.call("PUT", "/connections/navidrome", navidromeOf(one, demo.Alice), 200)
	v.call("PUT", "/connections/navidrome-2", navidromeOf(two, demo.Alice), 200)
	tab.next("connection", func(d object) bool { return d["id"] == "navidrome-2" && d["provider"] == "navidrome" })
	tab.next("progress", func(d object) bool { return d["connection"] == "navidrome-2" })
	v.becomes("navidrome-2", "healthy")
	require.NoError(t, two.Switch(demo.Navidrome, demo.Unavailable))
	v.becomes("navidrome-2", "waiting")
	v.becomes("navidrome", "healthy")
	calls := len(one.Calls(demo.Navidrome))
	v.eventually("the other keeps its interval", func() bool { return len(one.Calls(demo.Navidrome)) > calls+5 })
	require.NotEqual(t, "healthy", v.state("navidrome-2"))
	require.NoError(t, two.Switch(demo.Navidrome, demo.Normal))
	v.becomes("navidrome-2", "healthy")

	// Metrics are of the provider, and a restart knows which of the two stopped.
	require.NoError(t, two.Switch(demo.Navidrome, demo.Revoked))
	v.becomes("navidrome-2", "needs_reconnect")
	v.eventually("it is counted", func() bool {
		return strings.Contains(p.scrapeText(), `connections{provider="navidrome",state="needs_reconnect"} 1`)
	})
	require.NotContains(t, p.scrapeText(), "navidrome-2")
	require.Contains(t, v.page("/health", 200), "Navidrome")
	require.NoError(t, p.stop(syscall.SIGTERM))
	lines, _ := checked(t, dir, worldEnv(one))
	says(t, lines, fine, "The database is intact")
	p = start(t, dir, worldEnv(one)...)
	v = p.returning()
	v.becomes("navidrome", "healthy")
	require.Equal(t, "needs_reconnect", v.state("navidrome-2"))
	v.page("/connections/name", 404)
	v.page("/connect/callback", 404)
	v.page("/connect/navidrome-2/callback", 404)
	v.page("/connections/navidrome-1", 404)
	v.page("/connections/navidrome-02", 404)
	v.page("/connections/navidrome-100", 404)
}

func TestAListenGoesToAServerOfOnesOwnOnce(t *testing.T) {
	t.Parallel()
	w, koito := newWorld(t, demo.Options{Plays: 60}), newWorld(t, demo.Options{Plays: 60, Seed: 7})
	v := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_DELIVERY_FIRST_DELAY=100ms")...).newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	own := v.call("PUT", "/connections/listenbrainz-2", object{"token": koito.ListenBrainz.Token(demo.Bob),
		"url": koito.ListenBrainz.URL + "/1/", "name": "Koito"}, 200)
	require.Equal(t, []any{"listenbrainz-2", "listenbrainz", "Koito"},
		[]any{own["id"], own["provider"], own["name"]})
	v.becomes("listenbrainz", "healthy")
	v.becomes("listenbrainz-2", "healthy")
	v.call("PUT", "/connections/listenbrainz-2/forwarding", object{"earlier": false}, 200)
	v.call("PUT", "/connections/listenbrainz/forwarding", object{"earlier": false}, 200)
	there, all := len(koito.ListenBrainz.Listens(demo.Bob)), v.total()
	play := w.PlayOwned()
	v.eventually("ListenBrainz reports it, to the second", func() bool { return v.total() > all })
	v.consent(agree(), 200) // Spotify reports it to the millisecond, and its other plays
	v.becomes("spotify", "healthy")
	arrived := func(plays []demo.Play) (n int) {
		for _, p := range plays {
			if p.Title == play.Title && p.At.Unix() == play.At.Unix() {
				n++
			}
		}
		return n
	}
	v.eventually("it arrives", func() bool { return arrived(koito.ListenBrainz.Listens(demo.Bob)) == 1 })
	v.eventually("nothing waits", func() bool {
		return len(v.call("GET", "/deliveries?state=scheduled", nil, 200)["deliveries"].([]any)) == 0
	})
	here := len(w.ListenBrainz.Listens(demo.Alice))
	after := v.lastSuccess("listenbrainz-2")
	v.eventually("it is read back", func() bool { return v.lastSuccess("listenbrainz-2") > after })
	time.Sleep(time.Second) // an echo would be on its way by now
	require.Equal(t, 1, arrived(koito.ListenBrainz.Listens(demo.Bob)))
	require.Len(t, w.ListenBrainz.Listens(demo.Alice), here, "nothing comes back")
	require.Greater(t, len(koito.ListenBrainz.Listens(demo.Bob)), there)
	require.Greater(t, v.total(), all)
	require.Contains(t, v.page("/connections/listenbrainz-2", 200), "Koito")
}

func TestAnAccountConnectedTwiceGetsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	v := start(t, t.TempDir(), worldEnv(w)...).newcomer()
	for _, id := range []string{"listenbrainz", "listenbrainz-2"} {
		v.call("PUT", "/connections/"+id, object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
		v.becomes(id, "healthy")
		v.call("PUT", "/connections/"+id+"/forwarding", object{"earlier": true}, 200)
	}
	all := v.total()
	require.Len(t, w.ListenBrainz.Listens(demo.Alice), all)
	require.Empty(t, v.call("GET", "/deliveries", nil, 200)["deliveries"])

	// The same holds for playlists.
	for _, id := range []string{"navidrome", "navidrome-2"} {
		v.call("PUT", "/connections/"+id, navidromeOf(w, demo.Alice), 200)
		v.becomes(id, "healthy")
	}
	for _, l := range v.call("GET", "/playlists", nil, 200)["playlists"].([]any) {
		if l := l.(object); l["provider"] == "navidrome" {
			v.call("PUT", "/playlists/"+l["id"].(string)+"/copies/navidrome", nil, 422)
			v.call("PUT", "/playlists/"+l["id"].(string)+"/copies/navidrome-2", nil, 422)
			require.NotContains(t, v.page("/playlists/"+l["id"].(string), 200), "Copy to Navidrome")
		}
	}
}

// consentAs begins at a page to connect at Spotify, and consents as an account. It returns where that leads.
func (v *person) consentAs(id, account string) string {
	v.t.Helper()
	stay := *v.Client
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.Get(v.base + "/connect/" + id)
	require.NoError(v.t, err)
	require.NoError(v.t, resp.Body.Close())
	to, err := resp.Location()
	require.NoError(v.t, err)
	form := to.Query()
	require.Equal(v.t, v.base+"/connect/spotify/callback", form.Get("redirect_uri"), "the one that is registered")
	form.Set("decision", "agree")
	form.Set("account", account)
	to.RawQuery = ""
	resp, err = v.PostForm(to.String(), form)
	require.NoError(v.t, err)
	return v.text(resp, 200)
}

func TestASecondSpotifyHasTheSameCallback(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	v := start(t, t.TempDir(), worldEnv(w)...).newcomer()
	require.Contains(t, v.consentAs("spotify", demo.Alice), "Spotify is connected")
	require.Contains(t, v.consentAs("spotify-2", demo.Bob), "Spotify 2 is connected")
	v.becomes("spotify", "healthy")
	v.becomes("spotify-2", "healthy")
	first, second := v.call("GET", "/connections/spotify", nil, 200), v.call("GET", "/connections/spotify-2", nil, 200)
	require.Equal(t, []any{"Alice", "Bob"}, []any{first["account"], second["account"]})
	// Another account for an existing connection may become one more.
	v.call("DELETE", "/connections/spotify-2", nil, 204)
	require.Contains(t, v.consentAs("spotify", demo.Bob), "Which Spotify account?")
	require.Contains(t, v.page("/connect/spotify/choose", 200), "Keep both")
	require.Contains(t, v.submit("/connect/spotify/choose", url.Values{"account": {"another"}}, 200),
		"Spotify 2 is now connected as Bob")
	v.becomes("spotify-2", "healthy")
	require.Equal(t, "Alice", v.call("GET", "/connections/spotify", nil, 200)["account"])
}

func TestReconnectingKeepsTheAddress(t *testing.T) {
	t.Parallel()
	w, koito := newWorld(t, demo.Options{Plays: 60}), newWorld(t, demo.Options{Plays: 60, Seed: 7})
	v := start(t, t.TempDir(), worldEnv(w)...).newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": koito.ListenBrainz.Token(demo.Bob),
		"url": koito.ListenBrainz.URL + "/1/"}, 200)
	form := v.page("/connect/listenbrainz", 200)
	require.Contains(t, form, `value="`+koito.ListenBrainz.URL+`"`)
	require.NotContains(t, form, koito.ListenBrainz.Token(demo.Bob))
	require.NotContains(t, v.page("/connect/listenbrainz-2", 200), koito.ListenBrainz.URL)
}
