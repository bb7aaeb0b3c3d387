package demo

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/oauth2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// friday is the end of the histories here.
var friday = time.Date(2026, 11, 20, 21, 4, 11, 0, time.UTC)

type bundle struct {
	*World
	t      *testing.T
	client *http.Client
}

func setup(t *testing.T, o Options) bundle {
	t.Helper()
	if o.Plays == 0 {
		o.Plays = 400
	}
	if o.Now == nil {
		o.Now = func() time.Time { return friday }
	}
	w, err := Start(o)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	client := &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(client.CloseIdleConnections)
	return bundle{World: w, t: t, client: client}
}

// reply is an answer that was read to its end, or the error.
type reply struct {
	status int
	header http.Header
	body   string
	err    error
}

func (b bundle) do(method, url, auth, body string) reply {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, url, strings.NewReader(body))
	require.NoError(b.t, err)
	if auth != "" {
		req.Header.Set("Authorization", auth)
	}
	if strings.HasPrefix(body, "{") {
		req.Header.Set("Content-Type", "application/json")
	} else if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return b.send(req)
}

func (b bundle) send(req *http.Request) reply {
	resp, err := b.client.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body), err}
}

func (b bundle) get(url, auth string) reply {
	b.t.Helper()
	return b.do(http.MethodGet, url, auth, "")
}

// parse reads a JSON answer of that status.
func parse[T any](b bundle, r reply, status int) T {
	b.t.Helper()
	require.NoError(b.t, r.err)
	require.Equal(b.t, status, r.status, r.body)
	var v T
	require.NoError(b.t, json.Unmarshal([]byte(r.body), &v), r.body)
	return v
}

func (b bundle) switchTo(provider string, m Mode) {
	b.t.Helper()
	require.NoError(b.t, b.Switch(provider, m))
	require.Equal(b.t, m, b.mode(provider))
}

// The one call of each upstream that needs no body and works at first.
func (b bundle) sample(provider string) reply {
	b.t.Helper()
	switch provider {
	case Spotify:
		return b.get(b.Spotify.URL+"/v1/me", "Bearer "+b.Spotify.Authorize(Alice).AccessToken)
	case LastFM:
		return b.lastfm("user.getInfo", b.LastFM.Authorize(Alice), nil)
	case ListenBrainz:
		return b.get(b.ListenBrainz.URL+"/1/user/alice/listen-count", "Token "+b.ListenBrainz.Token(Alice))
	case MusicBrainz:
		return b.get(b.MusicBrainz.URL+"/ws/2/artist/"+artistMBID("Björk")+"?fmt=json", "")
	case FanartTV:
		return b.fanart("/v3/music/"+artistMBID("Björk"), b.FanartTV.Keys[1])
	case YouTube:
		return b.get(b.YouTube.URL+"/channels?part=snippet&mine=true",
			"Bearer "+b.YouTube.Authorize(Alice, youtubeScope).AccessToken)
	case OpenAI:
		return b.complete(b.OpenAI.Keys[0], b.OpenAI.Model)
	default:
		return b.get(b.Navidrome.URL+"/rest/ping?"+b.subsonicAuth(Alice).Encode(), "")
	}
}

func (b bundle) subsonicAuth(account string) url.Values {
	return url.Values{
		"u": {account}, "s": {"salt"}, "t": {md5Hex(b.Navidrome.Password(account) + "salt")}, "v": {"1.16.1"},
		"c": {"reprise"}, "f": {"json"},
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	cases := map[Mode]func(*testing.T, string, reply){
		Unavailable: func(t *testing.T, _ string, r reply) { require.Equal(t, 503, r.status) },
		RateLimited: func(t *testing.T, provider string, r reply) {
			require.Equal(t, 429, r.status)
			name, wait := "Retry-After", "90"
			if provider == ListenBrainz {
				name = "X-RateLimit-Reset-In"
				require.Empty(t, r.header.Get("Retry-After"))
			}
			if provider == OpenAI {
				name, wait = "X-Ratelimit-Reset-Requests", "1m30s"
			}
			require.Equal(t, wait, r.header.Get(name))
		},
		Portal: func(t *testing.T, _ string, r reply) {
			require.Equal(t, 200, r.status)
			require.Equal(t, "text/html; charset=utf-8", r.header.Get("Content-Type"))
			require.Contains(t, r.body, "guest network")
		},
		Cut: func(t *testing.T, _ string, r reply) {
			require.Equal(t, 200, r.status)
			require.ErrorIs(t, r.err, io.ErrUnexpectedEOF)
			require.NotEmpty(t, r.body)
		},
		Slow: func(t *testing.T, _ string, r reply) { require.Equal(t, 200, r.status) },
	}
	for mode, check := range cases {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := setup(t, Options{RetryAfter: 90 * time.Second, Slow: 20 * time.Millisecond})
			for _, provider := range names {
				if provider == MusicBrainz && mode == RateLimited { // it throttles with 503
					require.Error(t, b.Switch(provider, mode))
					continue
				}
				b.switchTo(provider, mode)
				start := time.Now()
				r := b.sample(provider)
				if mode != Cut {
					require.NoError(t, r.err)
				}
				check(t, provider, r)
				if mode == Slow {
					require.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond)
				}
				b.switchTo(provider, Normal)
				require.Equal(t, 200, b.sample(provider).status)
			}
		})
	}
}

func TestSwitchRefusesWhatThereIsNot(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	require.ErrorContains(t, b.Switch("tidal", Normal), "tidal")
	require.ErrorContains(t, b.Switch(Navidrome, "strange"), "strange")
	require.Error(t, b.Switch(Navidrome, WrongAccount))
	require.Error(t, b.Switch(Spotify, ReadOnly))
	require.Equal(t, Normal, b.mode(Navidrome))
	require.Empty(t, b.mode("tidal"))
	require.Empty(t, b.Calls("tidal"))
}

// waiting waits until n calls to the upstream hang.
func (b bundle) waiting(provider string, n int) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { return len(b.Calls(provider)) == n }, 5*time.Second, time.Millisecond)
}

func TestHangAnswersWhenTheModeChanges(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	b.switchTo(ListenBrainz, Hang)
	got := make(chan reply, 1)
	go func() { got <- b.get(b.ListenBrainz.URL+"/1/user/alice/listen-count", "") }()
	b.waiting(ListenBrainz, 1)
	require.Empty(t, got)
	require.Zero(t, b.Calls(ListenBrainz)[0].Status)
	b.switchTo(ListenBrainz, Unavailable)
	require.Equal(t, 503, (<-got).status)
	require.Equal(t, 503, b.Calls(ListenBrainz)[0].Status)
}

func TestHangEndsWithTheCallerAndWithClose(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	b.switchTo(Navidrome, Hang)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.Navidrome.URL+"/auth/login",
		strings.NewReader(`{"username":"alice"}`))
	require.NoError(t, err)
	got := make(chan reply, 1)
	go func() { got <- b.send(req) }()
	b.waiting(Navidrome, 1)
	cancel()
	require.ErrorIs(t, (<-got).err, context.Canceled)

	go func() { got <- b.get(b.Navidrome.URL+"/rest/ping", "") }()
	b.waiting(Navidrome, 2)
	b.Close()
	r := <-got
	require.Error(t, r.err)
	require.False(t, errors.Is(r.err, context.Canceled))
	require.Error(t, b.get(b.Spotify.URL+"/v1/me", "").err, "nothing listens any more")
}

func TestCallsAreRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	b.sample(Spotify)
	b.get(b.Spotify.URL+"/v1/me", "Bearer nobody")
	b.sample(LastFM)
	b.sample(ListenBrainz)
	b.sample(Navidrome)
	require.Equal(t, []Call{
		{Method: "GET", Path: "/v1/me", User: Alice, Time: friday, Status: 200},
		{Method: "GET", Path: "/v1/me", Time: friday, Status: 401},
	}, b.Calls(Spotify))
	require.Equal(t, []Call{{Method: "POST", Path: "/2.0/", User: Alice, Time: friday, Status: 200}}, b.Calls(LastFM))
	require.Equal(t,
		[]Call{{Method: "GET", Path: "/1/user/alice/listen-count", User: Alice, Time: friday, Status: 200}},
		b.Calls(ListenBrainz))
	require.Equal(t, []Call{{Method: "GET", Path: "/rest/ping", User: Alice, Time: friday, Status: 200}},
		b.Calls(Navidrome))
}

func TestPlayAndLive(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{})
	before := b.listenCount()
	played := b.Play()
	require.Equal(t, friday, played.At.UTC())
	require.Equal(t, played.Title,
		b.recent(b.Spotify.Authorize(Alice, "user-read-recently-played").AccessToken, "limit=1").Items[0].Track.Name)
	require.Equal(t, played.Title, b.listens("count=1").Listens[0].Metadata.Track)
	atHome := b.playAtHome()
	require.Equal(t, atHome.Title, b.listens("count=1").Listens[0].Metadata.Track)
	require.Equal(t, before+2, b.listenCount())

	live := setup(t, Options{Live: time.Millisecond, Now: time.Now})
	require.Eventually(t, func() bool { return live.listenCount() >= 408 }, 5*time.Second, 5*time.Millisecond)
}

// At its usual pace the demo plays one song at once; with the quick switch, it plays more.
func TestTheDemoPlaysQuicklyWhereSomebodyWants(t *testing.T) {
	t.Parallel()
	b := setup(t, Options{Live: time.Hour, Quick: time.Millisecond, Now: time.Now})
	pace := func(quickly string) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/demo/pace", strings.NewReader("quickly="+quickly))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		b.World.Handler("/demo", nil).ServeHTTP(w, r)
		require.Equal(t, http.StatusSeeOther, w.Code)
	}
	pace("1")
	require.Eventually(t, func() bool { return b.listenCount() >= 410 }, 5*time.Second, 5*time.Millisecond)
	pace("")
	require.False(t, b.quickly.Load())
}

func (b bundle) listenCount() int {
	b.t.Helper()
	return parse[struct{ Payload struct{ Count int } }](b, b.get(b.ListenBrainz.URL+"/1/user/alice/listen-count", ""),
		200).Payload.Count
}

// contextWith makes the OAuth library use the bundle's client.
func contextWith(b bundle) context.Context {
	return context.WithValue(b.t.Context(), oauth2.HTTPClient, b.client)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// mode returns how an upstream behaves now; empty for an unknown one.
func (w *World) mode(provider string) Mode {
	g := w.gates[provider]
	if g == nil {
		return ""
	}
	m, _ := g.current()
	return m
}
