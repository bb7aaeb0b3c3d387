package test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// Promise: The first page says what a person needs for each service, and no more.
func TestTheFirstPageOffersOneThing(t *testing.T) {
	t.Parallel()
	v := start(t, t.TempDir()).newcomer()
	welcome := v.page("/", 200)
	require.Contains(t, welcome, "Get started")
	require.NotContains(t, welcome, "Navidrome", "the first steps ask for that")
	require.Regexp(t, `<label for="field-password">Password\s*</label>`, v.page("/connect/navidrome", 200),
		"not called optional, which it is only beside an API key")
}

// Promise: A member reads who has to set a service up, but not how.
func TestMembersReadWhoSetsAServiceUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 1})
	p := start(t, t.TempDir(), "REPRISE_PROVIDERS_LISTENBRAINZ_API_URL="+w.ListenBrainz.URL)
	admin := p.newcomer()
	admin.call("POST", "/admin/users", object{"name": "Bob", "password": password, "role": "member"}, 201)
	member := p.visitor()
	member.call("POST", "/session", object{"name": "Bob", "password": password}, 201)
	for _, connected := range []bool{false, true} {
		if connected {
			member.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Bob)}, 200)
		}
		for path, says := range map[string]string{
			"/":                  "Get started",
			"/settings/services": "The administrator has to set it up first.",
			"/connect/spotify":   "The administrator has to set up Spotify once, for everyone.",
		} {
			if path == "/" && connected {
				says = "The administrator has to set these up first: Spotify, Last.fm, YouTube."
			}
			page := member.page(path, 200)
			require.Contains(t, page, says, path)
			require.NotContains(t, page, "client_id", path)
			require.NotContains(t, page, "redirect URI", path)
			require.NotContains(t, page, "Set up Spotify", path)
		}
	}
	require.Contains(t, admin.page("/settings/services", 200), "Needs to be set up once.")
	require.NotContains(t, admin.page("/settings/services", 200), "/callback", "that is part of setting it up")
	require.Contains(t, admin.page("/connect/spotify", 200), "You do this once, for everyone who uses this Reprise.")
}

// Promise: What becomes of the first services is said in the heading, and the title of the tab says the same.
func TestBrowserTitleFollowsThePage(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 5})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	tab := browser(t)
	signIn(t, tab, p)
	title := func(want string) chromedp.Action {
		return holds(`document.querySelector("h1").innerText.includes("` + want + `") &&
			document.title.includes("` + want + `")`)
	}
	do(t, tab, chromedp.Navigate(p.url+"/welcome/done"), holds(`document.body.dataset.linked === "yes"`),
		title("All good"))
	require.NoError(t, w.Switch(demo.ListenBrainz, demo.Revoked))
	do(t, tab, title("Almost there"))
}
