package demo

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type listens struct {
	Count  int
	User   string `json:"user_id"`
	Latest int64  `json:"latest_listen_ts"`
	Oldest int64  `json:"oldest_listen_ts"`

	Listens []struct {
		At       int64  `json:"listened_at"`
		MSID     string `json:"recording_msid"`
		Metadata struct {
			Artist string `json:"artist_name"`
			Track  string `json:"track_name"`
			Info   struct {
				Service string `json:"music_service"`
				Client  string `json:"submission_client"`
			} `json:"additional_info"`
		} `json:"track_metadata"`
	}
}

func (b bundle) listens(query string) listens {
	b.t.Helper()
	return parse[struct{ Payload listens }](b, b.get(b.ListenBrainz.URL+"/1/user/alice/listens?"+query, ""),
		200).Payload
}

func TestListensArePagedToTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{Plays: 2345})
	var pages []int
	n, maxTS := 0, friday.Unix()
	for {
		p := b.listens("count=1000&max_ts=" + itoa(maxTS))
		require.Equal(t, len(p.Listens), p.Count)
		if p.Count == 0 {
			break
		}
		for _, l := range p.Listens {
			require.Less(t, l.At, maxTS)
			maxTS = l.At
		}
		require.GreaterOrEqual(t, maxTS, p.Oldest)
		pages = append(pages, p.Count)
		n += p.Count
	}
	require.Equal(t, []int{1000, 1000, 345}, pages)
	require.Equal(t, b.listenCount(), n)
}

func TestListensBounds(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	all := b.listens("count=400").Listens
	require.Len(t, all, 400)
	require.Len(t, b.listens("").Listens, 25)
	require.Equal(t, 400, b.listens("count=5000").Count)
	at := itoa(all[100].At)
	require.Equal(t, all[101:111], b.listens("count=10&max_ts="+at).Listens)
	require.Equal(t, all[90:100], b.listens("count=10&min_ts="+at).Listens,
		"with a lower bound alone, the oldest first")
	require.Equal(t, all[51:61], b.listens("count=10&min_ts="+at+"&max_ts="+itoa(all[50].At)).Listens)
	require.Equal(t, 404, b.get(b.ListenBrainz.URL+"/1/user/carol/listens", "").status)
	for _, q := range []string{"count=x", "max_ts=-1", "min_ts=5&max_ts=5"} {
		require.Equal(t, 400, b.get(b.ListenBrainz.URL+"/1/user/alice/listens?"+q, "").status, q)
	}
	h := b.get(b.ListenBrainz.URL+"/1/user/alice/listens", "").header
	left, err := strconv.Atoi(h.Get("X-RateLimit-Remaining"))
	require.NoError(t, err)
	require.Less(t, left, 30)
	require.Equal(t, "10", h.Get("X-RateLimit-Reset-In"))
}

func (b bundle) submit(token, body string) reply {
	b.t.Helper()
	auth := ""
	if token != "" {
		auth = "Token " + token
	}
	return b.do(http.MethodPost, b.ListenBrainz.URL+"/1/submit-listens", auth, body)
}

func listenAt(seconds int64, artist, title string) string {
	return fmt.Sprintf(`{"listened_at":%d,"track_metadata":{"artist_name":%q,"track_name":%q}}`, seconds, artist, title)
}

func TestSubmit(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	one := listenAt(1700000000, "Lambchop", "Is a Woman")
	known := b.listens("count=1").Listens[0]
	again := listenAt(known.At, known.Metadata.Artist, known.Metadata.Track)
	r := b.submit("demo-token-alice", `{"listen_type":"import","payload":[`+one+`,`+one+`,`+again+`]}`)
	require.JSONEq(t, `{"status":"ok"}`, r.body)
	require.Equal(t, 401, b.listenCount(), "one is new, one came twice, one was known")
	require.Len(t, b.ListenBrainz.Submitted(), 3)
	require.Equal(t, Play{Account: Alice, Artist: "Lambchop", Title: "Is a Woman", At: time.Unix(1700000000, 0)},
		b.ListenBrainz.Submitted()[0])
	got := b.listens("count=1&max_ts=1700000001").Listens[0]
	require.Equal(t, "Lambchop", got.Metadata.Artist)

	require.Equal(t,
		200,
		b.submit("demo-token-alice",
			`{"listen_type":"playing_now","payload":[{"track_metadata":{"artist_name":"a","track_name":"b"}}]}`).status,
	)
	require.Equal(t, 401, b.listenCount())
}

// bulk returns the body of a call with several listens.
func bulk(listens ...string) string {
	return `{"listen_type":"import","payload":[` + strings.Join(listens, ",") + `]}`
}

func TestSubmitRefuses(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	good := listenAt(1700000000, "a", "b")
	many := strings.TrimSuffix(strings.Repeat(good+",", 1001), ",")
	long := listenAt(1700000000, "a", strings.Repeat("x", 11_000))
	for name, c := range map[string]struct {
		token, body string
		status      int
		says        string
	}{
		"no token":    {"", `{}`, 401, "You need to provide an Authorization header."},
		"wrong token": {"nobody", `{}`, 401, "Invalid authorization token."},
		"no JSON":     {"demo-token-alice", `{`, 400, "Cannot parse"},
		"empty":       {"demo-token-alice", `{"listen_type":"import","payload":[]}`, 400, "does not contain any"},
		"type":        {"demo-token-alice", `{"listen_type":"x","payload":[` + good + `]}`, 400, "listen_type"},
		"too many":    {"demo-token-alice", `{"listen_type":"import","payload":[` + many + `]}`, 400, "Too many"},
		"too long":    {"demo-token-alice", `{"listen_type":"import","payload":[` + long + `]}`, 400, "too large"},
		"two singles": {"demo-token-alice",
			`{"listen_type":"single","payload":[` + good + `,` + good + `]}`, 400, "single"},
		"no time": {"demo-token-alice", bulk(`{"track_metadata":{"artist_name":"a","track_name":"b"}}`),
			400, "listened_at"},
		"too early":       {"demo-token-alice", bulk(listenAt(5, "a", "b")), 400, "too low"},
		"in the future":   {"demo-token-alice", bulk(listenAt(friday.Unix()+7200, "a", "b")), 400, "too high"},
		"one bad of many": {"demo-token-alice", bulk(good, listenAt(1700000001, "", "b")), 400, "artist_name"},
	} {
		r := b.submit(c.token, c.body)
		e := parse[struct {
			Code  int
			Error string
		}](b, r, c.status)
		require.Equal(t, c.status, e.Code, name)
		require.Contains(t, e.Error, c.says, name)
	}
	require.Equal(t, 400, b.listenCount(), "a batch is refused whole")
	require.Empty(t, b.ListenBrainz.Submitted())
}

func (b bundle) validate(token string) bool {
	b.t.Helper()
	byHeader := parse[struct{ Valid bool }](b, b.get(b.ListenBrainz.URL+"/1/validate-token", "Token "+token), 200)
	byQuery := parse[struct{ Valid bool }](b, b.get(b.ListenBrainz.URL+"/1/validate-token?token="+token, ""), 200)
	require.Equal(b.t, byHeader, byQuery)
	return byHeader.Valid
}

func TestListenBrainzTokens(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	require.Equal(t, "demo-token-alice", b.ListenBrainz.Token(Alice))
	require.True(t, b.validate("demo-token-alice"))
	require.True(t, b.validate("demo-token-bob"))
	require.False(t, b.validate("nobody"))
	require.Equal(t, 400, b.get(b.ListenBrainz.URL+"/1/validate-token", "").status)
	reading := b.ListenBrainz.URL + "/1/user/alice/listens"
	require.Equal(t, 200, b.get(reading, "Token nobody").status, "reading needs none, so a wrong one does not show")

	b.switchTo(ListenBrainz, Revoked)
	require.False(t, b.validate("demo-token-alice"))
	require.Equal(t, 401, b.get(reading, "Token demo-token-alice").status)
	require.Equal(t, 200, b.get(reading, "").status)
	require.Equal(t, 401, b.submit("demo-token-alice", `{}`).status)
	require.Equal(t, Revoked, b.mode(ListenBrainz))

	fresh := b.ListenBrainz.Token(Alice)
	require.NotEqual(t, "demo-token-alice", fresh)
	require.True(t, b.validate(fresh))
	require.Equal(t, Normal, b.mode(ListenBrainz))
	require.Equal(t, 401, b.get(reading, "Token demo-token-alice").status, "the old one stays dead")

	b.switchTo(ListenBrainz, ReadOnly)
	require.Equal(t, 200, b.get(reading, "Token "+fresh).status)
	require.Equal(t, 403,
		b.submit(fresh, `{"listen_type":"import","payload":[`+listenAt(1700000000, "a", "b")+`]}`).status)
}

func TestListenBrainzPlaylists(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	type jspf struct {
		Playlist struct {
			Identifier, Title string
			Track             []struct {
				Identifier     []string
				Title, Creator string
			}
			Extension map[string]json.RawMessage
		}
	}
	type page struct {
		Count     int
		Total     int `json:"playlist_count"`
		Playlists []jspf
	}
	base := b.ListenBrainz.URL + "/1/user/alice/playlists"
	require.Equal(t, 1, parse[page](b, b.get(base, ""), 200).Total, "only the public one")
	own := parse[page](b, b.get(base, "Token demo-token-alice"), 200)
	require.Equal(t, 2, own.Total)
	require.Equal(t, "Rain", own.Playlists[0].Playlist.Title)
	require.Empty(t, own.Playlists[0].Playlist.Track)
	require.Contains(t, own.Playlists[0].Playlist.Extension, jspfPlaylist)
	require.Equal(t, 1, parse[page](b, b.get(base+"?offset=1&count=5", "Token demo-token-alice"), 200).Count)
	made := parse[page](b, b.get(base+"/createdfor", ""), 200)
	require.Equal(t, 2, made.Total)
	require.Contains(t, string(made.Playlists[0].Playlist.Extension[jspfPlaylist]), "daily-jams")

	at := func(p jspf) string {
		return strings.Replace(p.Playlist.Identifier, "https://listenbrainz.org/playlist/",
			b.ListenBrainz.URL+"/1/playlist/", 1)
	}
	rain := parse[jspf](b, b.get(at(own.Playlists[0]), ""), 200)
	require.Len(t, rain.Playlist.Track, 20)
	require.Contains(t, rain.Playlist.Track[0].Identifier[0], "https://musicbrainz.org/recording/")
	require.Equal(t, 404, b.get(at(own.Playlists[1]), "").status, "private")
	require.Equal(t, 200, b.get(at(own.Playlists[1]), "Token demo-token-alice").status)
	require.Equal(t, 404, b.get(b.ListenBrainz.URL+"/1/playlist/"+uuid("none"), "").status)
	require.Equal(t, 400, b.get(b.ListenBrainz.URL+"/1/playlist/none", "").status)
}

func TestListensSubmittedTwiceAreThereOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	before := len(b.ListenBrainz.Listens(Alice))
	body := bulk(listenAt(1700000000, "Lambchop", "Is a Woman"), listenAt(1700000300, "Lambchop", "Is a Woman"))
	for range 3 {
		require.Equal(t, 200, b.submit("demo-token-alice", body).status)
	}
	require.Len(t, b.ListenBrainz.Submitted(), 6)
	require.Equal(t, 3, b.ListenBrainz.submissions())
	all := b.ListenBrainz.Listens(Alice)
	require.Len(t, all, before+2)
	require.Contains(t, all,
		Play{Account: Alice, Artist: "Lambchop", Title: "Is a Woman", At: time.Unix(1700000300, 0)})
	require.Nil(t, b.ListenBrainz.Listens("carol"))
}

func TestRefusedListens(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	good, bad := listenAt(1700000000, "a", "Good"), listenAt(1700000300, "a", "Bad")
	submit := func(listens ...string) int {
		return b.submit("demo-token-alice",
			`{"listen_type":"import","payload":[`+strings.Join(listens, ",")+`]}`).status
	}
	b.ListenBrainz.Refuse("Bad", "Worse")
	require.Equal(t, 400, submit(good, bad))
	require.Equal(t, 400, submit(bad))
	require.Empty(t, b.ListenBrainz.Submitted(), "the whole call is refused")
	require.Equal(t, 200, submit(good))
	b.ListenBrainz.Refuse()
	require.Equal(t, 200, submit(good, bad))
	require.Equal(t, 4, b.ListenBrainz.submissions())
	b.switchTo(ListenBrainz, Unavailable)
	require.Equal(t, 503, submit(good))
	require.Equal(t, 5, b.ListenBrainz.submissions(), "whatever was answered")
}

// submissions counts the calls of submit-listens among the last 10,000 requests, whatever was answered.
func (s ListenBrainzServer) submissions() int {
	n := 0
	for _, c := range s.lb.list() {
		if c.Path == submitPath {
			n++
		}
	}
	return n
}
