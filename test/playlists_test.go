package test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/supysonictest"
)

// brainz is a ListenBrainz with one playlist and nothing else.
type brainz struct {
	url string

	mu      sync.Mutex
	name    string
	tracks  [][2]string // artist and title
	version string
}

func newBrainz(t *testing.T) *brainz {
	t.Helper()
	b := &brainz{}
	s := httptest.NewServer(b)
	t.Cleanup(s.Close)
	b.url = s.URL
	return b
}

func (b *brainz) set(version, name string, tracks ...[2]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.version, b.name, b.tracks = version, name, tracks
}

func (b *brainz) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	tracks := []object{}
	for _, t := range b.tracks {
		tracks = append(tracks, object{"creator": t[0], "title": t[1],
			"identifier": "https://musicbrainz.org/recording/" + t[1]})
	}
	list := object{"identifier": "https://listenbrainz.org/playlist/one", "title": b.name,
		"extension": object{"https://musicbrainz.org/doc/jspf#playlist": object{"last_modified_at": b.version}}}
	var answer object
	switch {
	case r.URL.Path == "/1/validate-token":
		answer = object{"valid": true, "user_name": "alice"}
	case strings.HasSuffix(r.URL.Path, "/listens"):
		answer = object{"payload": object{"count": 0, "listens": []any{}, "oldest_listen_ts": 0}}
	case strings.HasSuffix(r.URL.Path, "/listen-count"):
		answer = object{"payload": object{"count": 0}}
	case strings.HasSuffix(r.URL.Path, "/playlists"):
		answer = object{"playlist_count": 1, "playlists": []any{object{"playlist": list}}}
	case strings.HasSuffix(r.URL.Path, "/createdfor"):
		answer = object{"playlist_count": 0, "playlists": []any{}}
	default:
		list["track"] = tracks
		answer = object{"playlist": list}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// It uses a real Subsonic server.
func TestAPlaylistIsWrittenToARealSubsonicServer(t *testing.T) {
	takesLong(t)
	t.Parallel()
	sub, lb := supysonictest.Start(t), newBrainz(t)
	sub.CreatePlaylist("Signals", "High") // her own, with the name of the one to come
	low, middle, high := [2]string{"The Tones", "Low"}, [2]string{"The Tones", "Middle"}, [2]string{"The Tones", "High"}
	unknown := [2]string{"Sigur Rós", "Svefn-g-englar"}
	lb.set("1", "Signals", low, unknown, high)
	dir := t.TempDir()
	env := []string{"REPRISE_SYNC_LISTENS_EVERY=1s", "REPRISE_SYNC_PLAYLISTS_EVERY=1s", "REPRISE_BACKOFF_BASE=100ms",
		"REPRISE_DELIVERY_FIRST_DELAY=100ms", "REPRISE_PROVIDERS_LISTENBRAINZ_RATE=0",
		"REPRISE_PROVIDERS_LISTENBRAINZ_API_URL=" + lb.url}
	p := start(t, dir, env...)
	v := p.newcomer()
	v.call("PUT", "/connections/navidrome",
		object{"url": sub.URL, "username": sub.Username, "password": sub.Password}, 200)
	v.call("PUT", "/connections/listenbrainz", object{"token": "x"}, 200)
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

	lb.set("2", "Signals and noise", middle, low)
	done("changed")
	v.eventually("the new name", func() bool { return len(sub.Named("Signals and noise")) == 1 })
	require.Equal(t, []string{"Middle", "Low"}, sub.Named("Signals and noise")[0].Titles)

	lb.set("3", "Signals and noise", unknown, [2]string{"Sigur Rós", "Starálfur"})
	done("nothing")
	require.Equal(t, []string{"Middle", "Low"}, sub.Named("Signals and noise")[0].Titles, "not emptied")
	var dead []any
	v.eventually("the dead letter", func() bool {
		dead = v.call("GET", "/deliveries?state=dead", nil, 200)["deliveries"].([]any)
		return len(dead) == 1
	})
	require.Contains(t, dead[0].(object)["reason"], "0 of 2 tracks")

	lb.set("4", "Signals and noise", low)
	done("changed")
	require.Error(t, p.stop(syscall.SIGKILL))
	p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), env...)
	v = p.returning()
	v.call("PUT", copied, nil, 202)
	done("unchanged")
	require.Len(t, sub.AllPlaylists(), 2, "and no second one")
}
