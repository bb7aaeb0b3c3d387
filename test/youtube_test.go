package test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// youtubeEnv returns the settings that point a server at the simulated YouTube.
func youtubeEnv(w *demo.World) []string {
	return append(worldEnv(w), "REPRISE_PROVIDERS_YOUTUBE_API_URL="+w.YouTube.URL,
		"REPRISE_PROVIDERS_YOUTUBE_AUTH_URL="+w.YouTube.AuthURL,
		"REPRISE_PROVIDERS_YOUTUBE_TOKEN_URL="+w.YouTube.TokenURL,
		"REPRISE_PROVIDERS_YOUTUBE_CLIENT_ID="+w.YouTube.ClientID,
		"REPRISE_PROVIDERS_YOUTUBE_CLIENT_SECRET="+w.YouTube.ClientSecret,
		"REPRISE_PROVIDERS_YOUTUBE_KEYS="+strings.Join(w.YouTube.Keys, ","))
}

// consentAtGoogle submits the (simulated) page of Google and returns the page of ours that it leads to.
func (v *person) consentAtGoogle(w *demo.World, form url.Values, want int) string {
	v.t.Helper()
	return v.consentAtGoogleFor("youtube", w, form, want)
}

// consentAtGoogleFor is consentAtGoogle for what an address under /connect asks for.
func (v *person) consentAtGoogleFor(what string, w *demo.World, form url.Values, want int) string {
	v.t.Helper()
	stay := *v.Client
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.Get(v.base + "/connect/" + what)
	require.NoError(v.t, err)
	defer resp.Body.Close()
	asked, err := resp.Location()
	require.NoError(v.t, err)
	require.Equal(v.t, "offline", asked.Query().Get("access_type"))
	require.Equal(v.t, "consent", asked.Query().Get("prompt"))
	maps.Copy(form, asked.Query())
	resp, err = v.PostForm(w.YouTube.AuthURL, form)
	require.NoError(v.t, err)
	return v.text(resp, want)
}

// liked returns how many of the liked videos have arrived, -1 before the list has.
func (v *person) liked() int {
	v.t.Helper()
	for _, l := range v.call("GET", "/playlists", nil, 200)["playlists"].([]any) {
		if l := l.(object); l["name"] == "Liked videos" {
			return int(l["track_count"].(float64))
		}
	}
	return -1
}

// likesUntil likes videos until the settings page contains a text, and requires that each video arrives. It takes
// several videos because the keys take turns, and a video of another playlist needs no request for its length.
func (v *person) likesUntil(w *demo.World, says string) {
	v.t.Helper()
	for range 10 {
		before := v.liked()
		w.Like()
		v.eventually("a liked video", func() bool { return v.liked() == before+1 })
		if strings.Contains(v.page("/settings/server", 200), says) {
			return
		}
	}
	require.Fail(v.t, "no key meets its refusal", says)
}

// Promise: A spent key is passed over at once, and used again when its service said.
func TestYouTubeAndItsKeys(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w, dir := newWorld(t, demo.Options{Plays: 60}), t.TempDir()
	p := start(t, dir, youtubeEnv(w)...)
	v := p.newcomer()
	require.Contains(t, v.consentAtGoogle(w, url.Values{"decision": {"cancel"}}, 200), "you didn&#39;t allow it there")
	require.Contains(t, v.consentAtGoogle(w, agree(), 200), "YouTube is connected")
	v.becomes("youtube", "healthy")
	v.eventually("liked videos", func() bool { return v.liked() == 30 })
	require.Contains(t, v.page("/settings/server", 200), "…0001")

	// The first key is spent: the request that finds out goes out again with another key.
	require.NoError(t, w.Switch(demo.YouTube, demo.KeySpent))
	v.likesUntil(w, "its quota is used up")
	require.Contains(t, []string{"healthy", "syncing"}, v.state("youtube"))
	require.Empty(t, v.openAlerts())
	settings := v.page("/settings/server", 200)
	for _, key := range w.YouTube.Keys {
		require.NotContains(t, settings+p.log.String(), key)
	}

	// The third key is refused, with the same result.
	require.NoError(t, w.Switch(demo.YouTube, demo.KeyInvalid))
	v.likesUntil(w, "Rejected: ")
	require.Empty(t, v.openAlerts())

	// The last key is spent too: reading goes on with Alice's own permission. The keys cool until midnight Pacific,
	// even after a restart, and are not sent meanwhile.
	require.NoError(t, w.Switch(demo.YouTube, demo.KeysSpent))
	v.call("POST", "/connections/youtube/retry", nil, 202) // puts the third key back into use
	allCool := func() bool {
		for _, k := range v.call("GET", "/admin/keys", nil, 200)["keys"].([]any) {
			if k.(object)["state"] != "cooling" {
				return false
			}
		}
		return true
	}
	v.eventually("cooling keys", func() bool {
		w.Like()
		return allCool()
	})
	require.NoError(t, p.stop(syscall.SIGTERM))
	startAt(t, dir, strings.TrimPrefix(p.url, "http://"), youtubeEnv(w)...)
	require.True(t, allCool())
	pacific, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	until, err := time.Parse(time.RFC3339, v.keyOf("1")["until"].(string))
	require.NoError(t, err)
	require.Contains(t, []string{"00:00:00", "00:05:00"}, until.In(pacific).Format(time.TimeOnly))
	require.Contains(t, v.page("/settings/server", 200), "Resting until")
	liked := v.liked()
	w.Like()
	v.eventually("another like", func() bool {
		v.call("POST", "/connections/youtube/sync", nil, 202)
		return v.liked() > liked
	})
	v.becomes("youtube", "healthy")
	require.Empty(t, v.openAlerts())
}

// Promise: What a person loves is liked at YouTube once they have allowed that, if its video is known from there.
func TestLovesReachYouTubeOnceThatIsAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Empty: true})
	w.SetPlaylist(demo.YouTube, demo.Alice, demo.List{ID: "mine", Name: "Mine",
		Songs: []demo.Song{{Artist: "Björk", Title: "Jóga", Video: "jogajogajog"},
			{Artist: "Sigur Rós", Title: "Starálfur", Video: "staralfur00"}}})
	v := start(t, t.TempDir(), append(youtubeEnv(w), "REPRISE_BACKOFF_BASE=100ms",
		"REPRISE_DELIVERY_FIRST_DELAY=100ms")...).newcomer()
	require.Contains(t, v.consentAtGoogle(w, agree(), 200), "YouTube is connected")
	v.eventually("the playlists", func() bool {
		n := 0.0
		for _, l := range v.call("GET", "/playlists", nil, 200)["playlists"].([]any) {
			n += l.(object)["track_count"].(float64)
		}
		return n >= 2
	})
	for _, s := range []demo.Song{{Artist: "Björk", Title: "Jóga"}, {Artist: "Boards of Canada", Title: "Roygbiv"}} {
		v.submit("/loved", url.Values{"title": {s.Title}, "artist": {s.Artist}}, 200)
	}
	v.call("PUT", "/connections/youtube/loves", nil, 409)
	require.Contains(t, v.page("/loved/at/youtube", 200),
		"YouTube asks you first whether Reprise may change what you love there.")
	require.Contains(t, v.consentAtGoogleFor("youtube?allow=loves&return_to=/loved/at/youtube", w, agree(), 200),
		"Keep in sync<")
	v.call("PUT", "/connections/youtube/loves", nil, 204)
	v.eventually("the liked video", func() bool { return len(w.Loves(demo.YouTube, demo.Alice)) == 1 })
	require.Equal(t, "Jóga", w.Loves(demo.YouTube, demo.Alice)[0].Title)
	v.eventually("what isn't known there", func() bool {
		return v.call("GET", "/connections/youtube/loves", nil, 200)["refused"] != 0.0
	})
	require.Contains(t, v.page("/loved/at/youtube", 200), "know which video this is")

	w.YouTube.Refuse("", demo.KeySpent)
	v.submit("/loved", url.Values{"title": {"Starálfur"}, "artist": {"Sigur Rós"}}, 200)
	v.eventually("the wait for a new quota", func() bool {
		return strings.Contains(v.page("/", 200), "Today&#39;s YouTube quota is used up")
	})
	require.Len(t, w.Loves(demo.YouTube, demo.Alice), 1)
}
