package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lastfm makes a signed call, for an account if there is a session key.
func (b bundle) lastfm(method, sessionKey string, params url.Values) reply {
	b.t.Helper()
	form := url.Values{"method": {method}, "api_key": {b.LastFM.ClientID}, "format": {"json"}}
	maps.Copy(form, params)
	if sessionKey != "" {
		form.Set("sk", sessionKey)
	}
	form.Set("api_sig", b.LastFM.lf.signature(form))
	return b.do(http.MethodPost, b.LastFM.URL+"?format=json", "", form.Encode())
}

type lastAnswer struct {
	Error   int
	Session struct{ Name, Key string }
	User    struct{ Name, Playcount string }
	Recent  struct {
		Track json.RawMessage
		Attr  struct{ Total, TotalPages, Page string } `json:"@attr"`
	} `json:"recenttracks"`
	Scrobbles struct {
		Scrobble json.RawMessage
		Attr     struct{ Accepted, Ignored int } `json:"@attr"`
	}
}

type lastRow struct {
	Name   string
	Artist struct {
		Text string `json:"#text"`
	}
	Date struct{ UTS string }
}

// rows reads a list of plays. A single play comes without a list around it.
func (a lastAnswer) rows(t *testing.T) (rows []lastRow) {
	t.Helper()
	if strings.HasPrefix(string(a.Recent.Track), "{") {
		rows = make([]lastRow, 1)
		require.NoError(t, json.Unmarshal(a.Recent.Track, &rows[0]))
		return rows
	}
	require.NoError(t, json.Unmarshal(a.Recent.Track, &rows))
	return rows
}

func TestLastFMConsent(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	const callback = "http://127.0.0.1:8420/connect/lastfm/callback?state=abc"
	asked := url.Values{"api_key": {b.LastFM.ClientID}, "cb": {callback}}.Encode()
	page := b.get(b.LastFM.AuthURL+"?"+asked, "")
	require.Equal(t, 200, page.status)
	for _, want := range []string{
		"your Last.fm account", `action="/api/auth/"`, `name="cb" value="` + callback + `"`, "Alice", "Bob",
	} {
		require.Contains(t, page.body, want)
	}
	to := func(form string) *url.URL {
		r := b.do(http.MethodPost, b.LastFM.AuthURL+"?"+asked, "", form)
		require.Equal(t, http.StatusSeeOther, r.status)
		u, err := url.Parse(r.header.Get("Location"))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(u.String(), callback), "the state of the app stays")
		return u
	}
	require.False(t, to("decision=cancel").Query().Has("token"))
	token := to("decision=agree&account=bob").Query().Get("token")
	session := parse[lastAnswer](b, b.lastfm("auth.getSession", "", url.Values{"token": {token}}), 200).Session
	require.Equal(t, Bob, session.Name)
	require.Equal(t, Bob, parse[lastAnswer](b, b.lastfm("user.getInfo", session.Key, nil), 200).User.Name)
	require.Equal(t, 14, parse[lastAnswer](b, b.lastfm("auth.getSession", "", url.Values{"token": {token}}), 403).Error,
		"once")
	require.Equal(t, session.Key, b.LastFM.Authorize(Bob), "the same one as long as it is good")

	require.Equal(t, 403, b.get(b.LastFM.AuthURL+"?api_key=other&cb="+url.QueryEscape(callback), "").status)
	require.Equal(t, 400, b.get(b.LastFM.AuthURL+"?api_key="+b.LastFM.ClientID+"&cb=http://example.org/", "").status)
}

func TestLastFMTokenEnds(t *testing.T) {
	t.Parallel()
	now := friday
	b := setup(t, Options{Now: func() time.Time { return now }})
	b.LastFM.lf.tokens["old"] = lastToken{Alice, now.Add(-time.Second)}
	require.Equal(t, 15, parse[lastAnswer](b, b.lastfm("auth.getSession", "", url.Values{"token": {"old"}}), 403).Error)
}

func TestLastFMHistory(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	key := b.LastFM.Authorize(Alice)
	all := b.LastFM.Listens(Alice)
	require.NotEmpty(t, all)
	var got []string
	to := ""
	for {
		params := url.Values{"user": {"Alice"}, "limit": {"200"}}
		if to != "" {
			params.Set("to", to)
		}
		answer := parse[lastAnswer](b, b.lastfm("user.getRecentTracks", key, params), 200)
		for _, row := range answer.rows(t) {
			got = append(got, row.Date.UTS+" "+row.Artist.Text+" "+row.Name)
			to = row.Date.UTS
		}
		if answer.Recent.Attr.TotalPages == "1" {
			break
		}
	}
	var want []string
	for _, p := range slices.Backward(all) {
		want = append(want, fmt.Sprintf("%d %s %s", p.At.Unix(), p.Artist, p.Title))
	}
	require.Equal(t, want, got)
	second := parse[lastAnswer](b,
		b.lastfm("user.getRecentTracks", key, url.Values{"user": {Alice}, "limit": {"3"}, "page": {"2"}}), 200)
	require.Equal(t, all[len(all)-4].Title, second.rows(t)[0].Name)
	known := b.listenCount()
	played := b.PlayOnPhone()
	require.Equal(t, known, b.listenCount(), "only Last.fm knows of it")
	one := parse[lastAnswer](b,
		b.lastfm("user.getRecentTracks", key, url.Values{"user": {Alice}, "from": {itoa(played.At.Unix() - 1)}}), 200)
	require.Equal(t, "{", string(one.Recent.Track[:1]), "one alone is an object")
	require.Equal(t, played.Title, one.rows(t)[0].Name)
	require.Equal(t, 6,
		parse[lastAnswer](b, b.lastfm("user.getRecentTracks", key, url.Values{"user": {"nobody"}}), 404).Error)
}

func TestLastFMScrobbles(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	key := b.LastFM.Authorize(Alice)
	before := len(b.LastFM.Listens(Alice))
	scrobble := func(at time.Time, artists ...string) lastAnswer {
		params := url.Values{}
		for i, artist := range artists {
			params.Set(fmt.Sprintf("artist[%d]", i), artist)
			params.Set(fmt.Sprintf("track[%d]", i), "Title")
			params.Set(fmt.Sprintf("timestamp[%d]", i), itoa(at.Unix()))
		}
		return parse[lastAnswer](b, b.lastfm("track.scrobble", key, params), 200)
	}
	twice := friday.Add(-time.Hour)
	answer := scrobble(twice, "A", "B", "Unknown Artist")
	require.Equal(t, []int{2, 1}, []int{answer.Scrobbles.Attr.Accepted, answer.Scrobbles.Attr.Ignored})
	answer = scrobble(twice, "A")
	require.Equal(t, 1, answer.Scrobbles.Attr.Accepted)
	require.Equal(t, "{", string(answer.Scrobbles.Scrobble[:1]), "one alone is an object")
	require.Len(t, b.LastFM.Scrobbles(), 3, "as they arrived")
	require.Len(t, b.LastFM.Listens(Alice), before+2, "each once")
	for _, tt := range []struct {
		at   time.Time
		code string
	}{{friday.AddDate(0, 0, -15), `"code":"3"`}, {friday.Add(2 * time.Hour), `"code":"4"`}} {
		require.Contains(t, string(scrobble(tt.at, "C").Scrobbles.Scrobble), tt.code)
	}
	b.switchTo(LastFM, DailyLimit)
	require.Contains(t, string(scrobble(friday, "C").Scrobbles.Scrobble), `"code":"5"`)
	require.Len(t, b.LastFM.Scrobbles(), 3)
	require.Equal(t, 6,
		parse[lastAnswer](b, b.lastfm("track.scrobble", key, url.Values{"artist[0]": {"A"}}), 400).Error)
	require.Equal(t, 6, parse[lastAnswer](b, b.lastfm("track.scrobble", key, nil), 400).Error)
	require.Equal(t, 9, parse[lastAnswer](b, b.lastfm("track.scrobble", "", nil), 403).Error)
}

func TestLastFMRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	key := b.LastFM.Authorize(Alice)
	recent := func(status int) int {
		return parse[lastAnswer](b, b.lastfm("user.getRecentTracks", key, url.Values{"user": {Alice}}), status).Error
	}
	b.switchTo(LastFM, Hidden)
	require.Equal(t, 17, recent(403))
	require.Equal(t, 200, b.sample(LastFM).status, "the account itself is not hidden")
	b.switchTo(LastFM, Suspended)
	require.Equal(t, 26, recent(403))
	b.switchTo(LastFM, Revoked)
	require.Equal(t, 9, recent(200), "with the status of a success")
	b.switchTo(LastFM, Normal)
	require.Equal(t, 9, recent(200), "what was revoked stays revoked")
	b.switchTo(LastFM, Revoked)
	key = b.LastFM.Authorize(Alice)
	require.Equal(t, Normal, b.mode(LastFM), "a new consent ends it")
	require.Zero(t, recent(200))

	bad := url.Values{"method": {"user.getInfo"}, "api_key": {b.LastFM.ClientID}, "sk": {key}, "api_sig": {"wrong"}}
	require.Equal(t, 13, parse[lastAnswer](b, b.do(http.MethodPost, b.LastFM.URL, "", bad.Encode()), 403).Error)
	bad.Set("api_key", "other")
	require.Equal(t, 10, parse[lastAnswer](b, b.do(http.MethodPost, b.LastFM.URL, "", bad.Encode()), 403).Error)
	require.Equal(t, 3, parse[lastAnswer](b, b.lastfm("user.getEverything", key, nil), 400).Error)
}
