package demo

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// post calls the Subsonic API once, with a form.
func (b bundle) post(method string, params url.Values) map[string]json.RawMessage {
	b.t.Helper()
	answer := b.do(http.MethodPost, b.Navidrome.URL+"/rest/"+method, "", params.Encode())
	return parse[map[string]map[string]json.RawMessage](b, answer, 200)["subsonic-response"]
}

func (b bundle) search(query string, more ...string) []subsonicSong {
	b.t.Helper()
	r := b.rest("search3", b.with(append([]string{"query", query}, more...)...))
	require.JSONEq(b.t, `"ok"`, string(r["status"]))
	return decode[struct{ Song []subsonicSong }](b.t, r["searchResult3"]).Song
}

func TestSearch(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	found := b.search("svefn englar SIGUR ros")
	require.Len(t, found, 1)
	require.Equal(t, "Svefn-g-englar", found[0].Title)
	require.NotEmpty(t, found[0].ISRC)
	require.Len(t, b.search("Ágætis byrjun"), 6, "the album's name counts")
	require.Empty(t, b.search("Massive Attack Teardrop"), "the household does not have it")
	require.Len(t, b.search(""), 20)
	require.Len(t, b.search("", "songCount", "500"), len(b.home.localTracks()))
	require.Equal(t, b.search("", "songCount", "5")[3:], b.search("", "songCount", "2", "songOffset", "3"))
	require.Empty(t, b.search("", "songOffset", "5000"))
	require.Equal(t, 10, code(t, b.rest("search3", b.with())))
}

func TestPlaylistsAreWritten(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	songs := b.search("", "songCount", "4")
	ids := []string{songs[0].ID, songs[1].ID, songs[2].ID}
	before := b.Navidrome.playlists(Alice)
	require.Len(t, before, 3)

	type whole struct {
		ID, Name string
		Entry    []subsonicSong
	}
	wanted := b.with("name", "Rain", "songId", ids[0], "songId", "unknown", "songId", ids[1])
	made := decode[whole](t, b.post("createPlaylist", wanted)["playlist"])
	require.Equal(t, "Rain", made.Name)
	require.Len(t, made.Entry, 2, "an unknown song is passed over")
	again := decode[whole](t, b.post("createPlaylist", b.with("name", "Rain"))["playlist"])
	require.NotEqual(t, made.ID, again.ID)
	holds := func(want ...string) {
		t.Helper()
		all := b.Navidrome.playlists(Alice)
		i := slices.IndexFunc(all, func(p listing) bool { return p.ID == made.ID })
		require.Equal(t, want, append([]string{all[i].Name}, all[i].Songs...))
	}
	holds("Rain", ids[0], ids[1])

	b.post("createPlaylist", b.with("playlistId", made.ID, "name", "Not this", "songId", ids[2], "songId", ids[2]))
	holds("Rain", ids[2], ids[2])
	b.post("createPlaylist", b.with("playlistId", made.ID))
	holds("Rain", ids[2], ids[2])
	b.post("updatePlaylist",
		b.with("playlistId", made.ID, "name", "Sun", "songIndexToRemove", "0", "songIdToAdd", ids[0]))
	holds("Sun", ids[2], ids[0])

	garage := b.Navidrome.playlists(Bob)[0].ID
	for _, method := range []string{"updatePlaylist", "createPlaylist"} {
		require.Equal(t, 50, code(t, b.post(method, b.with("playlistId", garage, "name", "Mine"))))
		require.Equal(t, 70, code(t, b.post(method, b.with("playlistId", "none", "name", "Mine"))))
	}
	require.Equal(t, 10, code(t, b.post("updatePlaylist", b.with("name", "Mine"))))
	require.Equal(t, 0, code(t, b.post("updatePlaylist", b.with("playlistId", made.ID, "songIndexToRemove", "first"))))
	require.Equal(t, 0, code(t, b.post("createPlaylist", b.with())))
	require.Equal(t, 50, code(t, b.post("deletePlaylist", b.with("id", garage))))
	for _, id := range []string{made.ID, again.ID} {
		require.JSONEq(t, `"ok"`, string(b.post("deletePlaylist", b.with("id", id))["status"]))
		require.Equal(t, 70, code(t, b.post("deletePlaylist", b.with("id", id))))
	}
	require.Equal(t, before, b.Navidrome.playlists(Alice))
}

func TestScrobblesAreKeptTwice(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	song := b.search("Roygbiv")[0]
	for range 2 {
		b.post("scrobble", b.with("id", song.ID, "id", "unknown", "time", "1700000000123", "time", "1700000000123"))
	}
	play := Play{Account: Alice, Title: "Roygbiv", Artist: "Boards of Canada", At: time.Unix(1700000000, 0)}
	require.Equal(t, []Play{play, play}, b.Navidrome.Scrobbled())
	r, _ := b.native("/api/scrobble?from=1700000000&to=1700000000", b.session())
	require.Len(t, parse[[]row](b, r, 200), 2)
}

// TestPlaylistsAreReadWhileTheyAreWritten is for the race detector.
func TestPlaylistsAreReadWhileTheyAreWritten(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	id := b.Navidrome.playlists(Alice)[0].ID
	song := b.search("Roygbiv")[0].ID
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				b.post("updatePlaylist", b.with("playlistId", id, "songIdToAdd", song))
			}
		})
		wg.Go(func() {
			for range 10 {
				b.post("getPlaylist", b.with("id", id))
				b.Navidrome.playlists(Alice)
			}
		})
	}
	wg.Wait()
	require.Len(t, b.Navidrome.playlists(Alice)[0].Songs, 18+40)
}

// listing is a playlist of one account at Navidrome.
type listing struct {
	ID, Name string
	Songs    []string // ids
	Titles   []string // of the songs
}

// playlists returns the account's own playlists, the oldest first.
func (s NavidromeServer) playlists(account string) []listing {
	var all []listing
	for _, l := range s.nd.home.playlistsOf(Navidrome, account) {
		p := listing{ID: l.id, Name: l.name}
		for _, id := range l.tracks {
			t := &s.nd.home.cat.tracks[id]
			p.Songs, p.Titles = append(p.Songs, t.navidromeID), append(p.Titles, t.title)
		}
		all = append(all, p)
	}
	return all
}
