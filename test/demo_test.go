package test

import (
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// turn sets a switch on the demo's page.
func (v *person) turn(provider string, m demo.Mode) {
	v.t.Helper()
	require.Contains(v.t, v.submit("/demo/switch", url.Values{"provider": {provider}, "mode": {string(m)}}, 200),
		"Try it out")
}

// simulated returns the state of a simulated service, from the demo's page for programs.
func (v *person) simulated(provider string) object {
	v.t.Helper()
	all := map[string]json.RawMessage{}
	require.NoError(v.t, json.Unmarshal([]byte(v.page("/demo/state", 200)), &all))
	var one object
	require.NoError(v.t, json.Unmarshal(all[provider], &one))
	return one
}

// Promise: The demo signs in everybody who opens its link, and each switch has the effect that its page promises.
func TestTheDemoShowsEveryFailureAndItsEnd(t *testing.T) {
	takesLong(t)
	t.Parallel()
	tmp := t.TempDir()
	p := startWith(t, []string{"-demo", "-listen", "127.0.0.1:0"}, "TMPDIR="+tmp, "REPRISE_LOG_LEVEL=debug")
	require.Empty(t, p.code, "nobody has to make an account")
	v := p.visitor()
	require.Contains(t, v.page("/", 200), "Sign out")
	for _, provider := range []string{demo.Spotify, demo.ListenBrainz, demo.Navidrome} {
		v.becomes(provider, "healthy")
	}
	require.NotEmpty(t, v.call("GET", "/listens", nil, 200)["listens"])
	require.Contains(t, v.submit("/demo/switch", url.Values{"provider": {"deezer"}, "mode": {"503"}}, 400), "deezer")

	v.turn(demo.Navidrome, demo.Hang) // this shows only after a timeout
	for _, m := range []demo.Mode{demo.Unavailable, demo.Portal, demo.Cut} {
		v.turn(demo.Spotify, m)
		v.becomes(demo.Spotify, "waiting")
		v.turn(demo.Spotify, demo.Normal)
		v.becomes(demo.Spotify, "healthy")
	}

	v.turn(demo.Spotify, demo.Revoked)
	v.eventually("the alert on every page", func() bool {
		return strings.Contains(v.page("/listens", 200), "Spotify access has expired or was revoked")
	})
	v.turn(demo.Spotify, demo.WrongAccount)
	require.Contains(t, v.consent(agree(), 200), "Which Spotify account?")
	require.Equal(t, "needs_reconnect", v.state(demo.Spotify))
	v.turn(demo.Spotify, demo.Normal)
	require.Contains(t, v.consent(agree(), 200), "Spotify is connected")
	v.becomes(demo.Spotify, "healthy")

	v.turn(demo.ListenBrainz, demo.Revoked)
	v.becomes(demo.ListenBrainz, "needs_reconnect")
	token := v.simulated(demo.ListenBrainz)["tokens"].(object)[demo.Alice]
	v.call("PUT", "/connections/listenbrainz", object{"token": token}, 200)
	v.becomes(demo.ListenBrainz, "healthy")
	v.turn(demo.ListenBrainz, demo.RateLimited)
	v.becomes(demo.ListenBrainz, "held")
	v.call("POST", "/connections/listenbrainz/sync", nil, 409)

	v.becomes(demo.Navidrome, "waiting")
	v.turn(demo.Navidrome, demo.Normal)
	v.becomes(demo.Navidrome, "healthy")

	v.logHoldsNoSecret(p)
	require.NoError(t, p.stop(syscall.SIGTERM))
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left, "nothing of the demo is kept")
}

// Promise: A tab follows when the demo is reset, without being touched.
func TestBrowserTabsFollowAReset(t *testing.T) {
	t.Parallel()
	p := startWith(t, []string{"-demo", "-listen", "127.0.0.1:0"})
	one := browser(t)
	do(t, one, chromedp.Navigate(p.url+"/"), sees("main", "Spotify"), gone("#banners .banner"))
	two := another(t, one)
	do(t, two,
		chromedp.Navigate(p.url+"/demo/"),
		chromedp.Click(`#spotify button[value=revoked]`, byQuery),
		sees(`#spotify button[aria-pressed=true]`, "Access revoked"),
	)
	do(t, one, holds(`document.querySelector("#connection-spotify, .toast")?.innerText.includes("Spotify access")`))
	do(t, two,
		chromedp.Click(`#reset-fold summary`, byQuery),
		chromedp.Click(`#reset form button`, byQuery),
		sees(`#spotify button[aria-pressed=true]`, "Working"),
	)
	do(t, one, holds(`!document.body.innerText.includes("Spotify access has expired")`), sees("main", "Spotify"),
		holds(`document.body.dataset.linked === "yes"`))
}

// issued matches the tokens of the simulated services, of Navidrome's own API and of Subsonic.
var issued = regexp.MustCompile(`\b(?:[A-Z2-7]{26}|[0-9a-f]{32}|eyJ\w+)\b`)

// logHoldsNoSecret requires that a demo's log contains none of the services' secrets.
func (v *person) logHoldsNoSecret(p *process) {
	v.t.Helper()
	log := p.log.String()
	require.Contains(v.t, log, `"level":"DEBUG"`)
	secret := []string{v.cookie()}
	var collect func(name string, value any)
	collect = func(name string, value any) {
		switch value := value.(type) {
		case object:
			for inner, one := range value {
				collect(name+"."+inner, one)
			}
		case []any:
			for _, one := range value {
				collect(name, one)
			}
		case string:
			if slices.ContainsFunc([]string{"token", "password", "secret", "keys"}, func(word string) bool {
				return strings.Contains(name, word)
			}) && !strings.Contains(name, "url") {
				secret = append(secret, value)
			}
		}
	}
	for _, provider := range []string{demo.Spotify, demo.LastFM, demo.ListenBrainz, demo.Navidrome, demo.YouTube,
		demo.FanartTV, demo.OpenAI} {
		collect("", v.simulated(provider))
	}
	require.Greater(v.t, len(secret), 10)
	for _, s := range secret {
		require.NotContains(v.t, log, s)
	}
	require.Empty(v.t, issued.FindAllString(log, -1))
}

// cookie returns the value of the session cookie.
func (v *person) cookie() string {
	v.t.Helper()
	at, err := url.Parse(v.base)
	require.NoError(v.t, err)
	for _, c := range v.Jar.Cookies(at) {
		if c.Name == "reprise_session" {
			return c.Value
		}
	}
	require.FailNow(v.t, "there is no session")
	return ""
}
