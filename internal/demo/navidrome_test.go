package demo

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rest calls the Subsonic API and returns what is inside its envelope.
func (b bundle) rest(method string, params url.Values) map[string]json.RawMessage {
	b.t.Helper()
	got := parse[map[string]map[string]json.RawMessage](b,
		b.get(b.Navidrome.URL+"/rest/"+method+"?"+params.Encode(), ""), 200)
	posted := parse[map[string]map[string]json.RawMessage](b,
		b.do(http.MethodPost, b.Navidrome.URL+"/rest/"+method+".view", "", params.Encode()), 200)
	require.Equal(b.t, string(got["subsonic-response"]["status"]), string(posted["subsonic-response"]["status"]))
	return got["subsonic-response"]
}

func (b bundle) with(params ...string) url.Values {
	v := b.subsonicAuth(Alice)
	for i := 0; i < len(params); i += 2 {
		v.Add(params[i], params[i+1])
	}
	return v
}

func code(t *testing.T, r map[string]json.RawMessage) int {
	t.Helper()
	require.JSONEq(t, `"failed"`, string(r["status"]))
	var e struct{ Code int }
	require.NoError(t, json.Unmarshal(r["error"], &e))
	return e.Code
}

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(raw, &v))
	return v
}

func TestSubsonicAuthentication(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	ping := b.rest("ping", b.with())
	require.JSONEq(t, `"ok"`, string(ping["status"]))
	require.JSONEq(t, `"navidrome"`, string(ping["type"]))
	require.JSONEq(t, `true`, string(ping["openSubsonic"]))
	require.Contains(t, string(ping["serverVersion"]), "0.63.")

	change := func(del []string, params ...string) url.Values {
		v := b.with()
		for _, k := range del {
			v.Del(k)
		}
		for i := 0; i < len(params); i += 2 {
			v.Set(params[i], params[i+1])
		}
		return v
	}
	plain := []string{"t", "s"}
	require.JSONEq(t, `"ok"`, string(b.rest("ping", change(plain, "p", "demo-password-alice"))["status"]))
	require.JSONEq(t, `"ok"`,
		string(b.rest("ping", change(plain, "p", "enc:"+hex.EncodeToString([]byte("demo-password-alice"))))["status"]))
	require.Equal(t, 40, code(t, b.rest("ping", change(plain, "p", "wrong"))))
	require.Equal(t, 40, code(t, b.rest("ping", change(plain, "p", "enc:zz"))))
	require.Equal(t, 40, code(t, b.rest("ping", change(plain))))
	require.Equal(t, 40, code(t, b.rest("ping", change(nil, "t", "00"))))
	require.Equal(t, 40, code(t, b.rest("ping", change(nil, "u", "carol"))))
	require.Equal(t, 10, code(t, b.rest("ping", change([]string{"u"}))))
	require.Equal(t, 10, code(t, b.rest("ping", change([]string{"c"}))))
	require.Equal(t, 404, b.get(b.Navidrome.URL+"/rest/getLyricsOfTheUniverse?"+b.with().Encode(), "").status)
	require.Contains(t, b.get(b.Navidrome.URL+"/rest/ping", "").body, `<subsonic-response`)

	extensions := b.rest("getOpenSubsonicExtensions", url.Values{"f": {"json"}})
	require.Contains(t, string(extensions["openSubsonicExtensions"]), `"formPost"`)
}

type subsonicSong struct {
	ID, Title, Artist, Album, AlbumID string
	PlayCount, Duration               int
	Played                            time.Time
	ISRC                              []string
}

// Songs that a test adds to a playlist are in the library, as in that of a real server.
func TestSubsonicHasTheSongsOfItsPlaylists(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	song := Song{Artist: "Amiina", Title: "Rugla", Album: "Kurr", Duration: 3 * time.Minute}
	b.SetPlaylist(Navidrome, Alice, List{ID: "mine", Name: "Mine", Songs: []Song{song}})
	type list struct {
		Duration int
		Entry    []subsonicSong
	}
	whole := decode[list](t, b.rest("getPlaylist", b.with("id", "mine"))["playlist"])
	require.Equal(t, 180, whole.Duration)
	require.Len(t, whole.Entry, 1)
	require.Equal(t, "Rugla", whole.Entry[0].Title)
	one := decode[subsonicSong](t, b.rest("getSong", b.with("id", whole.Entry[0].ID))["song"])
	require.Equal(t, "Kurr", one.Album)
	require.Len(t, b.search("rugla", "songCount", "5"), 1)
}

func TestSubsonicReading(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	type list struct {
		ID, Name, Owner string
		SongCount       int
		Entry           []subsonicSong
	}
	lists := decode[struct{ Playlist []list }](t, b.rest("getPlaylists", b.with())["playlists"]).Playlist
	require.Len(t, lists, 4)
	require.Equal(t, Bob, lists[3].Owner, "a public one of somebody else")
	for _, l := range lists {
		whole := decode[list](t, b.rest("getPlaylist", b.with("id", l.ID))["playlist"])
		require.Len(t, whole.Entry, l.SongCount)
	}
	require.Equal(t, 70, code(t, b.rest("getPlaylist", b.with("id", "none"))))
	require.Equal(t, 10, code(t, b.rest("getPlaylist", b.with())))
	require.Equal(t, 50, code(t, b.rest("getUser", b.with("username", Bob))))
	require.Contains(t, string(b.rest("getUser", b.with("username", Alice))["user"]), `"username":"alice"`)

	type albums struct {
		Album []struct {
			ID, Name  string
			Played    time.Time
			SongCount int
		}
	}
	recent := decode[albums](t, b.rest("getAlbumList2", b.with("type", "recent", "size", "500"))["albumList2"]).Album
	require.NotEmpty(t, recent)
	for i := range recent[1:] {
		require.False(t, recent[i].Played.Before(recent[i+1].Played))
	}
	require.Equal(t,
		recent[2:4],
		decode[albums](t,
			b.rest("getAlbumList2", b.with("type", "recent", "size", "2", "offset", "2"))["albumList2"]).Album,
	)
	album := decode[struct{ Song []subsonicSong }](t, b.rest("getAlbum", b.with("id", recent[0].ID))["album"])
	require.Len(t, album.Song, recent[0].SongCount)
	last := time.Time{}
	for _, s := range album.Song {
		if s.Played.After(last) {
			last = s.Played
		}
	}
	require.Equal(t, recent[0].Played, last)
	require.Equal(t, 70, code(t, b.rest("getAlbum", b.with("id", "none"))))
	require.Equal(t, 70, code(t, b.rest("getSong", b.with("id", "none"))))
}

// native calls Navidrome's own API and returns the answer and the renewed token.
func (b bundle) native(path, token string) (reply, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.Navidrome.URL+path, nil)
	require.NoError(b.t, err)
	req.Header.Set("X-Nd-Authorization", "Bearer "+token)
	r := b.send(req)
	require.NoError(b.t, r.err)
	return r, r.header.Get("X-Nd-Authorization")
}

func (b bundle) login(password string) reply {
	b.t.Helper()
	return b.do(http.MethodPost, b.Navidrome.URL+"/auth/login", "", `{"username":"alice","password":"`+password+`"}`)
}

func (b bundle) session() string {
	b.t.Helper()
	return parse[struct{ Token string }](b, b.login(b.Navidrome.Password(Alice)), 200).Token
}

type row struct {
	ID             int64
	MediaFileID    string
	SubmissionTime int64
}

func TestNativeScrobbles(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{Plays: 4000})
	r, renewed := b.native("/api/scrobble?_sort=submission_time&_order=DESC", b.session())
	all := parse[[]row](b, r, 200)
	require.Len(t, all, 600)
	require.Equal(t, "600", r.header.Get("X-Total-Count"))
	for i := range all[1:] {
		require.GreaterOrEqual(t, all[i].SubmissionTime, all[i+1].SubmissionTime)
	}
	r, renewed = b.native("/api/scrobble?_sort=submission_time&_order=DESC&_start=100&_end=150", renewed)
	require.Equal(t, all[100:150], parse[[]row](b, r, 200))
	span := "/api/scrobble?_sort=submission_time&_order=DESC&from=" + itoa(all[20].SubmissionTime) + "&to=" + itoa(
		all[10].SubmissionTime,
	)
	r, renewed = b.native(span, renewed)
	require.Equal(t, all[10:21], parse[[]row](b, r, 200), "both bounds included")
	require.Equal(t, "11", r.header.Get("X-Total-Count"))

	type song struct {
		ID, Title, Artist string
		PlayCount         int
		PlayDate          time.Time
		Duration          float64
		Tags              map[string][]string
	}
	r, renewed = b.native("/api/song?id="+all[0].MediaFileID+"&id="+all[5].MediaFileID, renewed)
	for _, s := range parse[[]song](b, r, 200) {
		require.Contains(t, []string{all[0].MediaFileID, all[5].MediaFileID}, s.ID)
		require.NotEmpty(t, s.Tags["isrc"])
	}
	r, renewed = b.native("/api/song?_sort=play_date&_order=DESC&_start=0&_end=10", renewed)
	latest := parse[[]song](b, r, 200)
	require.Len(t, latest, 10)
	require.Equal(t, all[0].MediaFileID, latest[0].ID)
	require.Equal(t, all[0].SubmissionTime, latest[0].PlayDate.Unix())
	total, err := strconv.Atoi(r.header.Get("X-Total-Count"))
	require.NoError(t, err)
	require.Greater(t, total, 100)

	id := all[3].MediaFileID
	b.rest("scrobble", b.with("id", id, "time", "1700000000123")) // GET and POST: the server does not dedupe
	r, _ = b.native("/api/scrobble?from=1700000000&to=1700000000", renewed)
	twice := parse[[]row](b, r, 200)
	require.Len(t, twice, 2)
	require.Equal(t, id, twice[0].MediaFileID)
	require.NotEqual(t, twice[0].ID, twice[1].ID)
	require.JSONEq(t, `"ok"`, string(b.rest("scrobble", b.with("id", "unknown"))["status"]))
	require.Equal(t, 0, code(t, b.rest("scrobble", b.with("id", id, "time", "1", "time", "2"))))
	require.Equal(t, 10, code(t, b.rest("scrobble", b.with())))
}

func TestNativeSignIn(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	r, _ := b.native("/api/scrobble", "forged.token.here")
	require.Equal(t, 401, r.status)
	require.Equal(t, 401, b.login("wrong").status)
	token := b.session()
	for range 3 {
		require.Equal(t, 401, b.login("wrong").status)
	}
	r = b.login(b.Navidrome.Password(Alice))
	require.Equal(t, 429, r.status, "the sixth try in a short while")
	require.Equal(t, "20", r.header.Get("Retry-After"))
	r, _ = b.native("/api/song/none", token)
	require.Equal(t, 404, r.status, "who is signed in stays so")
}

func TestNavidromePasswordChange(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	old, token := b.with(), b.session()
	b.switchTo(Navidrome, Revoked)
	require.Equal(t, 40, code(t, b.rest("ping", old)))
	r, _ := b.native("/api/scrobble", token)
	require.Equal(t, 401, r.status)
	require.Equal(t, 401, b.login("demo-password-alice").status)
	require.Equal(t, Revoked, b.mode(Navidrome))

	require.JSONEq(t, `"ok"`, string(b.rest("ping", b.with())["status"]), "the new password heals")
	require.Equal(t, Normal, b.mode(Navidrome))
	require.Equal(t, 40, code(t, b.rest("ping", old)))
}
