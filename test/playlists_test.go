package test

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/supysonictest"
)

// It uses a real Subsonic server.
//
// Promise: A playlist arrives at a real Subsonic server as it is.
func TestAPlaylistIsWrittenToARealSubsonicServer(t *testing.T) {
	takesLong(t)
	t.Parallel()
	sub, w := supysonictest.Start(t), newWorld(t, demo.Options{Empty: true})
	sub.CreatePlaylist("Signals", "High") // her own, with the name of the one to come
	tone := func(title string) demo.Song { return demo.Song{Artist: "The Tones", Title: title} }
	low, middle, high := tone("Low"), tone("Middle"), tone("High")
	unknown := demo.Song{Artist: "Sigur Rós", Title: "Svefn-g-englar"}
	set := func(name string, songs ...demo.Song) {
		w.SetPlaylist(demo.ListenBrainz, demo.Alice, demo.List{ID: "5f6b1c1e-0d0b-4f6a-9c3e-6a1d5b7a2c10", Name: name,
			Songs: songs})
	}
	set("Signals", low, unknown, high)
	dir := t.TempDir()
	env := []string{"REPRISE_SYNC_LISTENS_EVERY=1s", "REPRISE_SYNC_PLAYLISTS_EVERY=1s", "REPRISE_BACKOFF_BASE=100ms",
		"REPRISE_DELIVERY_FIRST_DELAY=100ms", "REPRISE_PROVIDERS_LISTENBRAINZ_RATE=0",
		"REPRISE_PROVIDERS_LISTENBRAINZ_API_URL=" + w.ListenBrainz.URL}
	p := start(t, dir, env...)
	v := p.newcomer()
	v.call("PUT", "/connections/navidrome",
		object{"url": sub.URL, "username": sub.Username, "password": sub.Password}, 200)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	id := ""
	v.eventually("the playlist to be read", func() bool {
		for _, l := range v.call("GET", "/playlists", nil, 200)["playlists"].([]any) {
			if l := l.(object); l["provider"] == "listenbrainz" {
				id = l["id"].(string)
			}
		}
		return id != ""
	})
	copied := "/playlists/" + id + "/copies/navidrome"
	report := func() object {
		r, _ := v.call("GET", copied, nil, 200)["report"].(object)
		return r
	}
	done := func(what string) {
		t.Helper()
		v.eventually(what, func() bool { r := report(); return r != nil && r["done"] == what })
	}
	v.call("PUT", copied, nil, 202)
	done("created")
	r := report()
	require.InDelta(t, 2, r["matched"], 0)
	require.InDelta(t, 3, r["total"], 0)
	missing := r["tracks"].([]any)[1].(object)
	require.Equal(t, "Svefn-g-englar", missing["title"])
	require.Empty(t, missing["how"], "listed, not guessed")

	// Her own playlist of that name is still there: the server allows two.
	lists := sub.AllPlaylists()
	require.ElementsMatch(t, []supysonictest.Playlist{{Name: "Signals", Titles: []string{"High"}},
		{Name: "Signals", Titles: []string{"Low", "High"}}}, lists)

	set("Signals and noise", middle, low)
	done("changed")
	v.eventually("the new name", func() bool { return len(sub.Named("Signals and noise")) == 1 })
	require.Equal(t, []string{"Middle", "Low"}, sub.Named("Signals and noise")[0].Titles)

	set("Signals and noise", unknown, demo.Song{Artist: "Sigur Rós", Title: "Starálfur"})
	done("nothing")
	require.Equal(t, []string{"Middle", "Low"}, sub.Named("Signals and noise")[0].Titles, "not emptied")
	var dead []any
	v.eventually("the dead letter", func() bool {
		dead = v.call("GET", "/deliveries?state=dead", nil, 200)["deliveries"].([]any)
		return len(dead) == 1
	})
	require.Contains(t, dead[0].(object)["reason"], "0 of 2 tracks")

	// Her own playlist loses a song there, and is restored; and a version of the other one comes beside its copy.
	of := func(name string) (id string) {
		v.eventually(name+" to be read", func() bool {
			for _, l := range v.call("GET", "/playlists", nil, 200)["playlists"].([]any) {
				if l := l.(object); l["provider"] == "navidrome" && l["name"] == name {
					id = l["id"].(string)
				}
			}
			return id != ""
		})
		return id
	}
	versions := func(id string) []any {
		return v.call("GET", "/playlists/"+id+"/versions", nil, 200)["versions"].([]any)
	}
	hers := of("Signals")
	before := len(versions(hers))
	sub.ReplacePlaylist("Signals", "Middle")
	v.eventually("the change to be noticed", func() bool { return len(versions(hers)) > before })
	latest := versions(hers)[0].(object)
	require.EqualValues(t, 1, latest["went"])
	v.call("POST", fmt.Sprintf("/playlists/%s/versions/%v/restore/navidrome", hers, latest["number"]), object{}, 202)
	v.eventually("it to be restored", func() bool {
		return slices.Equal(sub.Named("Signals")[0].Titles, []string{"High"})
	})
	first := v.call("GET", "/playlists/"+id+"/versions/1", nil, 200)
	require.Equal(t, "Signals", first["name"])
	v.call("POST", "/playlists/"+id+"/versions/1/restore/navidrome", object{}, 202)
	dated := "Signals (" + first["until"].(string)[:len("2006-01-02")] + ")"
	v.eventually("the version to be written", func() bool { return len(sub.Named(dated)) == 1 })
	require.Equal(t, []string{"Low", "High"}, sub.Named(dated)[0].Titles)

	set("Signals and noise", low)
	done("changed")
	require.Error(t, p.stop(syscall.SIGKILL))
	p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), env...)
	v = p.returning()
	v.call("PUT", copied, nil, 202)
	done("unchanged")
	require.Len(t, sub.AllPlaylists(), 3, "and no second one")
}
