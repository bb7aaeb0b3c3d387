package test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// lastfmEnv returns the settings that point a server at the simulated Last.fm.
func lastfmEnv(w *demo.World) []string {
	return append(worldEnv(w), "REPRISE_PROVIDERS_LASTFM_API_URL="+w.LastFM.URL,
		"REPRISE_PROVIDERS_LASTFM_AUTH_URL="+w.LastFM.AuthURL,
		"REPRISE_PROVIDERS_LASTFM_CLIENT_ID="+w.LastFM.ClientID,
		"REPRISE_PROVIDERS_LASTFM_CLIENT_SECRET="+w.LastFM.ClientSecret)
}

// lastfmPage returns the address at Last.fm to which "Connect" leads.
func (v *person) lastfmPage() *url.URL {
	v.t.Helper()
	stay := *v.Client
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.Get(v.base + "/connect/lastfm")
	require.NoError(v.t, err)
	defer resp.Body.Close()
	require.Equal(v.t, http.StatusSeeOther, resp.StatusCode)
	to, err := resp.Location()
	require.NoError(v.t, err)
	return to
}

// consentAtLastFM submits the (simulated) page of Last.fm and returns the page of ours that it leads to.
func (v *person) consentAtLastFM(w *demo.World, form url.Values, want int) string {
	v.t.Helper()
	maps.Copy(form, v.lastfmPage().Query())
	resp, err := v.PostForm(w.LastFM.AuthURL, form)
	require.NoError(v.t, err)
	return v.text(resp, want)
}

// wayBack consents at Last.fm and returns the path to which the browser would be redirected.
func (v *person) wayBack(w *demo.World, account string) string {
	v.t.Helper()
	form := url.Values{"decision": {"agree"}, "account": {account}}
	maps.Copy(form, v.lastfmPage().Query())
	stay := *v.Client
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.PostForm(w.LastFM.AuthURL, form)
	require.NoError(v.t, err)
	defer resp.Body.Close()
	back, err := resp.Location()
	require.NoError(v.t, err)
	require.True(v.t, back.Query().Has("token"))
	return back.RequestURI()
}

// newest returns the title of the newest listen, empty if there is none.
func (v *person) newest() string {
	v.t.Helper()
	listens := v.call("GET", "/listens?limit=1", nil, 200)["listens"].([]any)
	if len(listens) == 0 {
		return ""
	}
	return listens[0].(object)["track"].(string)
}

func (v *person) openAlerts() []any {
	v.t.Helper()
	return v.call("GET", "/notifications?open=true", nil, 200)["notifications"].([]any)
}

func TestLastFMSaysWhatToRegister(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	page := v.page("/connect/lastfm", 200)
	for _, want := range []string{p.url + "/connect/lastfm/callback", "https://www.last.fm/api/account/create",
		"Last.fm then shows an API key and a shared secret", `name="client_id"`, `name="client_secret"`} {
		require.Contains(t, page, want)
	}
	require.Contains(t, v.page("/settings/services", 200), "Needs to be set up once.")
}

func TestLastFMIsConnectedInTheBrowser(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 900})
	p := start(t, t.TempDir(), lastfmEnv(w)...)
	v := p.newcomer()
	refused := v.call("PUT", "/connections/lastfm", object{"session_key": "x"}, 422)
	require.Contains(t, refused["detail"], p.url+"/connect/lastfm")

	require.Contains(t, v.consentAtLastFM(w, url.Values{"decision": {"cancel"}}, 200), "you didn&#39;t allow it there")
	v.call("GET", "/connections/lastfm", nil, 404)
	// The redirect address of one person's consent does not connect another person to that account.
	v.call("POST", "/admin/users", object{"name": "Bob", "password": password, "role": "member"}, 201)
	bob := p.visitor()
	bob.call("POST", "/session", object{"name": "Bob", "password": password}, 201)
	link := bob.wayBack(w, demo.Bob)
	require.Contains(t, v.page(link, 400), "no longer works")
	v.call("GET", "/connections/lastfm", nil, 404)
	require.Contains(t, bob.page(link, 200), "Last.fm is connected", "it is still good for the one who asked")

	require.Contains(t, v.consentAtLastFM(w, agree(), 200), "Last.fm is connected")
	connection := v.call("GET", "/connections/lastfm", nil, 200)
	require.Equal(t, []any{"Last.fm", "alice"}, []any{connection["display_name"], connection["account"]})
	require.Nil(t, connection["expires_at"], "it lasts until it is taken back")
	v.becomes("lastfm", "healthy")
	history := w.LastFM.Listens(demo.Alice)
	v.eventually("the whole history is there", func() bool {
		return len(v.call("GET", "/listens?limit=1000", nil, 200)["listens"].([]any)) == len(history)
	})
	played := w.PlayOnPhone()
	v.eventually("a new play arrives", func() bool { return v.newest() == played.Title })

	// Consent as somebody else is a question, not an answer.
	require.Contains(t, v.consentAtLastFM(w, url.Values{"decision": {"agree"}, "account": {demo.Bob}}, 200),
		"Which Last.fm account?")
	require.Equal(t, "alice", v.call("GET", "/connections/lastfm", nil, 200)["account"])
	for _, secret := range []string{w.LastFM.ClientSecret, w.LastFM.Authorize(demo.Alice)} {
		require.NotContains(t, p.log.String(), secret)
		require.NotContains(t, v.page("/connections/lastfm", 200), secret)
	}
	for _, c := range w.Calls(demo.LastFM) {
		require.Equal(t, "POST", strings.ToUpper(c.Method), "nothing secret stands in an address")
	}
}

func TestLastFMOneListenAndItsErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 1})
	require.Len(t, w.LastFM.Listens(demo.Alice), 1, "so that it comes as an object")
	p := start(t, t.TempDir(), lastfmEnv(w)...)
	v := p.newcomer()
	v.consentAtLastFM(w, agree(), 200)
	v.eventually("one listen as an object", func() bool { return v.newest() == w.LastFM.Listens(demo.Alice)[0].Title })
	v.becomes("lastfm", "healthy")

	// The page names the privacy setting, and "Try again" works after it was changed.
	require.NoError(t, w.Switch(demo.LastFM, demo.Hidden))
	v.becomes("lastfm", "needs_reconnect")
	require.Contains(t, v.alerted()["message"], "Hide recent listening information")
	require.NoError(t, w.Switch(demo.LastFM, demo.Normal))
	v.call("POST", "/connections/lastfm/retry", nil, 202)
	v.becomes("lastfm", "healthy")
	require.Empty(t, v.openAlerts())

	// Error 9 comes with the status of a success, and still means that the permission is gone.
	require.NoError(t, w.Switch(demo.LastFM, demo.Revoked))
	v.becomes("lastfm", "needs_reconnect")
	alert := v.alerted()
	require.Equal(t, "Reconnect Last.fm", alert["title"])
	require.Equal(t, object{"label": "Reconnect", "url": "/connect/lastfm"}, alert["action"])
	require.Contains(t, v.consentAtLastFM(w, agree(), 200), "Last.fm is connected")
	v.becomes("lastfm", "healthy")
	require.Empty(t, v.openAlerts())

	// A portal's page twice in a row may also mean a wrong address, which is the administrator's to correct.
	require.NoError(t, w.Switch(demo.LastFM, demo.Portal))
	v.becomes("lastfm", "waiting", "needs_admin")
	require.NoError(t, w.Switch(demo.LastFM, demo.Normal))
	v.becomes("lastfm", "healthy")

	// Nobody is notified of waits and outages.
	require.NoError(t, w.Switch(demo.LastFM, demo.Unavailable))
	v.becomes("lastfm", "waiting")
	require.NoError(t, w.Switch(demo.LastFM, demo.Normal))
	v.becomes("lastfm", "healthy")
	require.NoError(t, w.Switch(demo.LastFM, demo.RateLimited))
	v.becomes("lastfm", "held")
	require.Empty(t, v.openAlerts())
}

func TestASuspendedKeyNeedsTheAdministrator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), lastfmEnv(w)...)
	alice := p.newcomer()
	alice.call("POST", "/admin/users", object{"name": "Bob", "password": password, "role": "member"}, 201)
	bob := p.visitor()
	bob.call("POST", "/session", object{"name": "Bob", "password": password}, 201)
	alice.consentAtLastFM(w, agree(), 200)
	bob.consentAtLastFM(w, url.Values{"decision": {"agree"}, "account": {demo.Bob}}, 200)
	for _, v := range []*person{alice, bob} {
		v.becomes("lastfm", "healthy")
	}
	require.NoError(t, w.Switch(demo.LastFM, demo.Suspended))
	for _, v := range []*person{alice, bob} {
		v.becomes("lastfm", "needs_admin")
		v.eventually("the reason", func() bool {
			return strings.Contains(fmt.Sprint(v.call("GET", "/connections/lastfm", nil, 200)["message"]), "suspended")
		})
	}
	require.Equal(t, "Last.fm isn't set up properly", alice.alerted()["title"])
	require.Len(t, alice.openAlerts(), 1, "one message for all of its users")
	require.Empty(t, bob.openAlerts(), "and none for who cannot mend it")

	require.NoError(t, w.Switch(demo.LastFM, demo.Normal))
	alice.call("POST", "/connections/lastfm/retry", nil, 202)
	for _, v := range []*person{alice, bob} {
		v.becomes("lastfm", "healthy")
	}
	require.Empty(t, alice.openAlerts())
}
