package test

import (
	"net/url"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// titlesAt returns the titles in each of an account's playlists with a name at a service.
func titlesAt(w *demo.World, service, account, name string) (lists [][]string) {
	for _, l := range w.Playlists(service, account) {
		if l.Name != name {
			continue
		}
		titles := []string{}
		for _, s := range l.Songs {
			titles = append(titles, s.Title)
		}
		lists = append(lists, titles)
	}
	return lists
}

// Promise: A playlist is written to ListenBrainz, and to Spotify once its person has allowed that.
func TestAPlaylistGoesToListenBrainzAndSpotify(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Empty: true})
	songs := []demo.Song{{Artist: "Sigur Rós", Title: "Starálfur"}, {Artist: "Björk", Title: "Jóga"},
		{Artist: "Boards of Canada", Title: "Roygbiv"}}
	set := func(songs ...demo.Song) {
		w.SetPlaylist(demo.Navidrome, demo.Alice, demo.List{ID: "dinner", Name: "Dinner", Songs: songs})
	}
	set(songs...)
	v := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_SYNC_PLAYLISTS_EVERY=1s", "REPRISE_BACKOFF_BASE=100ms",
		"REPRISE_DELIVERY_FIRST_DELAY=100ms", "REPRISE_PROVIDERS_LISTENBRAINZ_RATE=0")...).newcomer()
	v.call("PUT", "/connections/navidrome", navidromeOf(w, demo.Alice), 200)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	require.Contains(t, v.consentAs("spotify", demo.Alice), "Spotify is connected")
	list := ""
	v.eventually("the playlist to be read", func() bool {
		for _, l := range v.call("GET", "/playlists", nil, 200)["playlists"].([]any) {
			list = l.(object)["id"].(string)
		}
		return list != ""
	})
	page := "/playlists/" + list
	at := func(service string, titles ...string) {
		t.Helper()
		v.eventually(service+" to have it", func() bool {
			now := titlesAt(w, service, demo.Alice, "Dinner")
			return len(now) == 1 && slices.Equal(now[0], titles)
		})
	}
	v.call("PUT", page+"/copies/listenbrainz", nil, 202)
	at(demo.ListenBrainz, "Starálfur", "Jóga", "Roygbiv")

	// Spotify asks for a separate permission, and not before now.
	refused := v.call("PUT", page+"/copies/spotify", nil, 409)
	require.Equal(t, "Reprise isn't allowed to write there yet", refused["title"])
	to, err := url.Parse(v.call("GET", page+"/copies/spotify", nil, 200)["consent"].(string))
	require.NoError(t, err)
	require.Contains(t, v.page(page, 200), "Spotify asks you first whether Reprise may change your playlists there.")
	require.NotContains(t, v.authorization().Query().Get("scope"), "playlist-modify")
	require.Contains(t, to.RawQuery, "allow=playlists")
	back := v.consentAs("spotify?"+to.RawQuery, demo.Alice)
	require.Contains(t, back, "Dinner", "back on the page of the playlist")
	require.Contains(t, v.authorization().Query().Get("scope"), "playlist-modify", "a later consent keeps it")
	v.call("PUT", page+"/copies/spotify", nil, 202)
	at(demo.Spotify, "Starálfur", "Jóga", "Roygbiv")
	for _, service := range []string{demo.ListenBrainz, demo.Spotify} {
		for _, l := range w.Playlists(service, demo.Alice) {
			require.Equal(t, "private", l.Privacy)
		}
	}

	set(songs[2], songs[0])
	at(demo.ListenBrainz, "Roygbiv", "Starálfur")
	at(demo.Spotify, "Roygbiv", "Starálfur")
	v.eventually("the copies to be known as such", func() bool {
		copies := 0
		for _, l := range v.call("GET", "/playlists", nil, 200)["playlists"].([]any) {
			if l.(object)["copy_of"] != nil {
				copies++
			}
		}
		return copies == 2
	})
}

// Promise: What a person loves becomes a liked song of Spotify, once they have allowed that, and is taken back there.
func TestLovesReachSpotifyOnceThatIsAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Empty: true})
	songs := []demo.Song{{Artist: "Björk", Title: "Jóga"}, {Artist: "Sigur Rós", Title: "Starálfur"},
		{Artist: "Boards of Canada", Title: "Roygbiv"}}
	w.SetPlaylist(demo.Spotify, demo.Alice, demo.List{ID: "mine", Name: "Mine", Songs: songs})
	v := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_BACKOFF_BASE=100ms",
		"REPRISE_DELIVERY_FIRST_DELAY=100ms", "REPRISE_PROVIDERS_LISTENBRAINZ_RATE=0")...).newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	require.Contains(t, v.consentAs("spotify", demo.Alice), "Spotify is connected")
	for _, s := range songs {
		v.submit("/loved", url.Values{"title": {s.Title}, "artist": {s.Artist}}, 200)
	}
	v.call("PUT", "/connections/listenbrainz/loves", nil, 204)
	v.call("PUT", "/connections/spotify/loves", nil, 409)
	page := v.page("/loved/at/spotify", 200)
	require.Contains(t, page, "Spotify asks you first whether Reprise may change what you love there.")
	require.Contains(t, page, "Keep in sync…")
	require.Contains(t, v.consentAs("spotify?allow=loves&return_to=/loved/at/spotify", demo.Alice), "Keep in sync<")
	scope := v.authorization().Query().Get("scope")
	require.Contains(t, scope, "user-library-modify", "a later consent keeps it")
	require.NotContains(t, scope, "playlist-modify")
	v.call("PUT", "/connections/spotify/loves", nil, 204)
	loves := func(n int) {
		t.Helper()
		for _, service := range []string{demo.Spotify, demo.ListenBrainz} {
			v.eventually("what is loved at "+service, func() bool { return len(w.Loves(service, demo.Alice)) == n })
		}
	}
	loves(3)
	reads := func() any { return v.call("GET", "/connections/listenbrainz/loves", nil, 200)["read_at"] }
	before := reads()
	v.call("POST", "/connections/listenbrainz/sync", nil, 202)
	v.eventually("what it has to be read", func() bool { return reads() != before })
	w.Love(demo.ListenBrainz, demo.Alice, "Björk", "Jóga", 0)
	v.call("POST", "/connections/listenbrainz/sync", nil, 202)
	loves(2)
	for _, l := range w.Loves(demo.Spotify, demo.Alice) {
		require.NotEqual(t, "Jóga", l.Title)
	}
}
