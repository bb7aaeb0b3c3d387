package test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// Promise: A server runs with nothing configured.
func TestFirstRunWithNothingConfigured(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/data"
	p := start(t, dir)
	require.NotEmpty(t, p.code)
	v := p.visitor()
	v.eventually("the log names the address", func() bool {
		return strings.Contains(p.log.String(), p.url)
	})
	require.NotContains(t, p.log.String(), p.code, "the code is a secret, and is printed only")
	require.Contains(t, v.page("/", 200), "Open the link that it printed")
	require.Contains(t, v.page("/setup?code=WRONG", 403), "Open the link that the server printed")
	require.Contains(t, v.page("/setup?code="+p.code, 200), "Create account")
	v.call("POST", "/setup", object{"code": "WRONG", "name": "Mallory", "password": password}, 403)
	require.Contains(t, v.submit("/setup", url.Values{"code": {p.code}, "name": {"Alice"}, "password": {"short"}},
		422), "at least 10 characters")
	contact := v.submit("/setup", url.Values{"code": {p.code}, "name": {"Alice"}, "password": {password}}, 200)
	require.Contains(t, contact, "How can the services reach you?")
	services := v.submit("/welcome/contact", url.Values{"skip": {"yes"}}, 200)
	require.Contains(t, services, "Which services do you use?")
	status := v.page("/", 200)
	require.Contains(t, status, "Continue setting up", "the status page leads on")
	for _, offer := range []string{"spotify", "listenbrainz", "navidrome"} {
		require.Contains(t, services, `value="`+offer+`"`, "the first steps offer each")
	}
	p.visitor().call("POST", "/setup", object{"code": p.code, "name": "Second", "password": password}, 409)
	require.Contains(t, v.page("/connect/spotify", 200), p.url+"/connect/spotify/callback",
		"the connect page says what to register, without a client id")

	for _, path := range []string{"/livez", "/readyz"} {
		v.eventually(path, func() bool {
			resp, err := http.Get(p.url + path)
			require.NoError(t, err)
			resp.Body.Close()
			return resp.StatusCode == 200
		})
	}
	info, err := os.Stat(dir + "/secret.key")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, p.stop(syscall.SIGTERM))
	require.Empty(t, start(t, dir).code, "there is an account now")
}

// Promise: A failure that needs a person is announced once, with a button that fixes it; reconnecting closes it in
// every tab.
func TestTheMainJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 1500, RetryAfter: 2 * time.Second})
	dir := t.TempDir()
	env := append(worldEnv(w), "REPRISE_LOG_LEVEL=debug", "REPRISE_ADMIN_TOKEN="+adminToken)
	p := start(t, dir, env...)
	v, code := p.newcomer(), p.code
	one, _ := v.open()

	// Connect: a real call proves each connection before anything is stored.
	refusal := v.call("PUT", "/connections/listenbrainz", object{"token": "wrong"}, 422)
	require.NotContains(t, fmt.Sprint(refusal), "wrong\"", "what was typed is not repeated")
	v.call("GET", "/connections/listenbrainz", nil, 404)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	progress := one.next("progress", func(d object) bool {
		return d["provider"] == "listenbrainz" && d["stream"] == "listens"
	})
	require.NotNil(t, progress["total"])
	one.next("listens", func(d object) bool { return d["newest"] != nil })
	v.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL + "/", "username": demo.Alice, "password": "wrong"}, 422)
	v.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL + "/", "username": demo.Alice, "password": w.Navidrome.Password(demo.Alice)}, 200)
	require.Contains(t, v.consent(agree(), 200), "Spotify is connected")
	for _, provider := range []string{"spotify", "listenbrainz", "navidrome"} {
		v.becomes(provider, "healthy")
	}

	// Browse.
	seen, next := map[string]bool{}, ""
	sources := 0
	for {
		page := v.call("GET", "/listens?limit=400"+next, nil, 200)
		for _, l := range page["listens"].([]any) {
			l := l.(object)
			require.False(t, seen[l["id"].(string)])
			seen[l["id"].(string)] = true
			sources += len(l["sources"].([]any))
		}
		if page["next"] == nil {
			break
		}
		next = "&before=" + url.QueryEscape(page["next"].(string))
	}
	require.GreaterOrEqual(t, len(seen), 1500)
	require.Greater(t, sources, len(seen), "some plays were told of by two services")
	lists := v.call("GET", "/playlists", nil, 200)["playlists"].([]any)
	require.NotEmpty(t, lists)
	first := lists[0].(object)
	tracks := v.call("GET", "/playlists/"+first["id"].(string), nil, 200)["tracks"].([]any)
	require.Len(t, tracks, int(first["track_count"].(float64)))
	v.call("GET", "/listens?limit=0", nil, 400)
	v.call("GET", "/listens?before=nonsense", nil, 400)

	// An outage passes by itself, without a notification.
	require.NoError(t, w.Switch(demo.Spotify, demo.Unavailable))
	waiting := one.next("connection", func(d object) bool {
		return d["provider"] == "spotify" && d["state"] == "waiting"
	})
	require.NotNil(t, waiting["next_attempt_at"])
	require.Empty(t, v.call("GET", "/notifications?open=true", nil, 200)["notifications"])
	require.NoError(t, w.Switch(demo.Spotify, demo.Normal))
	v.becomes("spotify", "healthy")

	// While Spotify asks for a wait, "sync now" answers until when and why.
	require.NoError(t, w.Switch(demo.Spotify, demo.RateLimited))
	v.becomes("spotify", "held")
	calls := len(w.Calls(demo.Spotify))
	refused := v.call("POST", "/connections/spotify/sync", nil, 409)
	require.NotEmpty(t, refused["until"])
	require.Contains(t, refused["detail"], "Spotify is limiting requests. Reprise waits until 2")
	require.Len(t, w.Calls(demo.Spotify), calls)
	require.NoError(t, w.Switch(demo.Spotify, demo.Normal))
	v.becomes("spotify", "healthy")

	// The permission is taken back: one alert in every tab and on every page, with one button.
	two, _ := v.open()
	require.NoError(t, w.Switch(demo.Spotify, demo.Revoked))
	alert := one.next("notification", func(d object) bool {
		return d["provider"] == "spotify" && d["resolved_at"] == nil
	})
	require.Equal(t, "Reconnect Spotify", alert["title"])
	require.Equal(t, object{"label": "Reconnect", "url": "/connect/spotify"}, alert["action"])
	two.next("notification", func(d object) bool { return d["id"] == alert["id"] })
	v.becomes("spotify", "needs_reconnect")
	require.Contains(t, v.submit("/connections/spotify/sync", nil, 200),
		`role="status">Spotify needs attention first; its page says`)
	for _, path := range []string{"/", "/listens", "/playlists", "/settings/services", "/notifications"} {
		require.Contains(t, v.page(path, 200), "Spotify access has expired or was revoked", path)
	}

	// After a kill and a restart all of it is still true, and no dead credential is sent.
	require.Error(t, p.stop(syscall.SIGKILL))
	logs := []string{p.log.String()}
	p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), env...)
	one, snapshot := v.open()
	require.Len(t, snapshot["notifications"], 1)
	// If the kill came after the alert and before the stop was stored, it takes one more call.
	v.becomes("spotify", "needs_reconnect")
	two, _ = v.open()

	// Acknowledged in one tab, it stops asking in the other.
	one.acknowledge(alert["id"].(string))
	two.next("notification", func(d object) bool { return d["id"] == alert["id"] && d["acknowledged_at"] != nil })

	// Refusing the consent changes nothing; giving it closes the alert in every tab, and reading starts at once.
	require.Contains(t, v.consent(url.Values{"decision": {"cancel"}}, 200), "you didn&#39;t allow it there")
	require.Equal(t, "needs_reconnect", v.state("spotify"))
	require.Contains(t, v.consent(agree(), 200), "Spotify is connected")
	for _, tb := range []*tab{one, two} {
		tb.next("notification", func(d object) bool { return d["id"] == alert["id"] && d["resolved_at"] != nil })
	}
	v.becomes("spotify", "healthy")
	before := len(seen)
	w.Play()
	v.eventually("the new play arrives", func() bool {
		page := v.call("GET", "/listens?limit=1", nil, 200)
		return !seen[page["listens"].([]any)[0].(object)["id"].(string)]
	})
	require.GreaterOrEqual(t, before, 1500)

	// Pause, resume, disconnect.
	v.call("POST", "/connections/navidrome/pause", nil, 202)
	require.Equal(t, "paused", v.state("navidrome"))
	v.call("POST", "/connections/navidrome/resume", nil, 202)
	v.becomes("navidrome", "healthy")
	v.call("DELETE", "/connections/navidrome?data=delete", nil, 204)
	v.call("GET", "/connections/navidrome", nil, 404)
	v.call("POST", "/connections/navidrome/sync", nil, 404)

	// The log contains no secret, even at level debug.
	key, err := os.ReadFile(dir + "/secret.key")
	require.NoError(t, err)
	for _, log := range append(logs, p.log.String()) {
		require.Contains(t, log, `"level":"DEBUG"`)
		for _, secret := range []string{w.ListenBrainz.Token(demo.Alice), w.Navidrome.Password(demo.Alice), password,
			adminToken, v.cookie(), strings.TrimSpace(string(key))} {
			require.NotContains(t, log, secret)
		}
		require.Empty(t, issued.FindAllString(strings.ReplaceAll(log, code, ""), -1), "but the first account's link")
	}
}

// Promise: Nobody is connected to another account than before without being asked.
func TestAnotherAccountIsAChoice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.consent(agree(), 200)
	v.becomes("spotify", "healthy")
	require.NoError(t, w.Switch(demo.Spotify, demo.Revoked))
	v.alerted()
	asked := v.consent(url.Values{"decision": {"agree"}, "account": {demo.Bob}}, 200)
	require.Contains(t, asked, "Which Spotify account?")
	require.Contains(t, asked, "Alice")
	require.Contains(t, asked, "Bob")
	require.Len(t, v.call("GET", "/notifications?open=true", nil, 200)["notifications"], 1,
		"the alert stays until the choice")
	require.Contains(t, v.submit("/connect/spotify/choose", url.Values{"account": {"new"}}, 200),
		"now connected as Bob")
	v.becomes("spotify", "healthy")
	require.Empty(t, v.call("GET", "/notifications?open=true", nil, 200)["notifications"])
	// By the API the choice is one call that accepts the other account.
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	conflict := v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Bob)}, 409)
	require.Equal(t, "bob", conflict["new_account"])
	v.call("PUT", "/connections/listenbrainz",
		object{"token": w.ListenBrainz.Token(demo.Bob), "other_account": "accept"}, 200)
}

// Promise: A forged answer of a consent changes nothing.
func TestForgedAnswersOfAConsent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	dir := t.TempDir()
	p := start(t, dir, worldEnv(w)...)
	v := p.newcomer()
	state := v.authorization().Query().Get("state")
	callback := "/connect/spotify/callback?code=abc&state="
	require.Contains(t, v.page(callback+"forged", 400), "no longer works")
	require.Contains(t, v.page(callback, 400), "no longer works")
	// Somebody else's browser.
	v.call("POST", "/admin/users", object{"name": "Bob", "password": password, "role": "member"}, 201)
	other := p.visitor()
	other.call("POST", "/session", object{"name": "Bob", "password": password}, 201)
	require.Contains(t, other.page(callback+state, 400), "no longer works")
	// That did not use the state up. The browser that has it may use it once, here with a code that Spotify does not
	// know.
	require.Contains(t, v.page(callback+state, 422), "Nothing was saved")
	require.Contains(t, v.page(callback+state, 400), "no longer works")
	v.call("GET", "/connections/spotify", nil, 404)
	// A consent that took longer than ten minutes.
	state = v.authorization().Query().Get("state")
	inDatabase(t, dir, "UPDATE oauth_states SET created_at = created_at - 600001")
	require.Contains(t, v.page(callback+state, 400), "came too late")
	// The member sees no administration.
	other.call("GET", "/admin/users", nil, 403)
	other.page("/settings/people", 403)
}

func TestRequestsFromElsewhereAndNonsense(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	req, err := http.NewRequest("POST", p.url+"/logout", nil)
	require.NoError(t, err)
	req.Header.Set("Origin", "https://evil.example")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	resp, err := v.Do(req)
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, 403, resp.StatusCode)
	v.call("GET", "/connections", nil, 200)
	p.visitor().call("GET", "/connections", nil, 401)
	p.visitor().call("POST", "/session", object{"name": "alice", "password": "nothing like it"}, 401)
	v.call("GET", "/nowhere", nil, 404)
	v.call("PATCH", "/connections", nil, 405)
	v.call("PUT", "/connections/deezer", object{}, 404)
	v.call("PUT", "/connections/navidrome", object{"url": "ftp://x"}, 422)
	v.call("PUT", "/connections/navidrome", object{"url": []int{1}}, 422)
	v.call("PUT", "/connections/listenbrainz", object{}, 422)
	for _, text := range []string{`{`, `[]`, `"x"`, strings.Repeat("[", 100_000)} {
		req, err := http.NewRequest("PUT", p.url+"/api/v1/connections/listenbrainz", strings.NewReader(text))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := v.Do(req)
		require.NoError(t, err)
		body := v.text(resp, 400)
		require.NotContains(t, body, "json:")
	}
	req, err = http.NewRequest("PUT", p.url+"/api/v1/connections/listenbrainz",
		strings.NewReader(`{"token":"`+strings.Repeat("x", 1<<20)+`"}`))
	require.NoError(t, err)
	resp, err = v.Do(req)
	require.NoError(t, err)
	require.Contains(t, v.text(resp, 413), "too large")
	require.Contains(t, v.page("/nowhere", 404), "Page not found")
	require.Contains(t, v.page("/playlists/x", 404), "Page not found")
	require.Contains(t, v.page("/connect/deezer", 404), "know a service with that name")
	resp, err = v.Get(p.url + "/")
	require.NoError(t, err)
	resp.Body.Close()
	policy := resp.Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "unsafe")
	v.call("DELETE", "/session", nil, 204)
	v.call("GET", "/connections", nil, 401)
}

func TestStoppingWithTabsAndACallUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_SHUTDOWN_TIMEOUT=1h")...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	for range 10 {
		v.open()
	}
	v.openMute()
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Hang))
	v.becomes("listenbrainz", "syncing")
	require.NoError(t, p.stop(syscall.SIGTERM), "exit code 0; neither the mute tab nor the call keeps it: %s", p.log)
	require.Contains(t, p.log.String(), `"msg":"stopped"`)
}

// Promise: A session that ends closes its tabs.
func TestASessionThatEndsClosesItsTabs(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	tb, _ := v.open()
	v.call("DELETE", "/session", nil, 204)
	for range tb.messages { // until it is closed
	}
}

// Promise: Server-Sent Events have what the websocket has.
func TestServerSentEventsMatchTheWebsocket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", p.url+"/api/v1/events/sse", nil)
	require.NoError(t, err)
	resp, err := v.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, "text/event-stream", resp.Header.Get("Content-Type"))
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	wanted := []string{"event: snapshot", "event: connection", "event: listens"}
	for lines := bufio.NewScanner(resp.Body); len(wanted) > 0; {
		require.True(t, lines.Scan(), "the stream ended before %v", wanted)
		wanted = slices.DeleteFunc(wanted, func(s string) bool { return s == lines.Text() })
	}
	p.visitor().call("GET", "/events/sse", nil, 401)
}

// Promise: A process that is killed again and again loses no play and doubles none.
func TestKillsLoseAndDoubleNothing(t *testing.T) {
	takesLong(t)
	t.Parallel()
	const plays = 12_000
	w := newWorld(t, demo.Options{Plays: plays})
	dir := t.TempDir()
	p := start(t, dir, worldEnv(w)...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	kills := 0
	for done := 0.0; ; kills++ { // a life is killed when it has stored more of the history than the one before
		tb, _ := v.open()
		kind, d := tb.either("progress", "connection", func(d object) bool {
			now, ok := d["done"].(float64)
			return ok && d["stream"] == "listens" && now > done || d["state"] == "healthy"
		})
		if kind == "connection" {
			break
		}
		done = d["done"].(float64)
		require.Error(t, p.stop(syscall.SIGKILL))
		p = startAt(t, dir, strings.TrimPrefix(p.url, "http://"), worldEnv(w)...)
	}
	require.Positive(t, kills)
	v.becomes("listenbrainz", "healthy")
	count, next := 0, ""
	sources := map[string]bool{}
	for {
		page := v.call("GET", "/listens?limit=1000"+next, nil, 200)
		for _, l := range page["listens"].([]any) {
			count++
			for _, src := range l.(object)["sources"].([]any) {
				id := src.(object)["source_id"].(string)
				require.False(t, sources[id], "double: %s", id)
				sources[id] = true
			}
		}
		if page["next"] == nil {
			break
		}
		next = "&before=" + url.QueryEscape(page["next"].(string))
	}
	require.Equal(t, plays, count)
	require.Len(t, sources, plays)
}

// Promise: An operator can forbid calls into private networks.
func TestPrivateNetworksCanBeForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), "REPRISE_ALLOW_PRIVATE_UPSTREAMS=false", "HTTP_PROXY="+w.Navidrome.URL)
	v := p.newcomer()
	answer := v.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL, "username": demo.Alice, "password": w.Navidrome.Password(demo.Alice)}, 422)
	require.Contains(t, answer["detail"], "doesn't call addresses in private networks")
	require.Empty(t, w.Calls(demo.Navidrome))
}
