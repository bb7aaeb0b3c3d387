package test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// Promise: A healthy household with five services is seen whole on a phone, without scrolling.
func TestBrowserFiveServicesFitOnAPhone(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), append(youtubeEnv(w), lastfmEnv(w)...)...)
	v := p.newcomer()
	v.consent(agree(), 200)
	v.consentAtLastFM(w, agree(), 200)
	v.consentAtGoogle(w, agree(), 200)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.call("PUT", "/connections/navidrome", object{"url": w.Navidrome.URL, "username": demo.Alice,
		"password": w.Navidrome.Password(demo.Alice)}, 200)
	for _, name := range []string{"spotify", "lastfm", "youtube", "listenbrainz", "navidrome"} {
		v.becomes(name, "healthy")
	}
	tab := browser(t)
	do(t, tab, chromedp.EmulateViewport(390, 844))
	signIn(t, tab, p)
	// A toast may pass, and a read may be under way for a moment: it is how the page is at rest that counts.
	var bottom float64
	do(t, tab, chromedp.Navigate(p.url+"/"), holds(`document.querySelectorAll(".service-cards > *").length === 5`),
		holds(`!document.querySelector(".toast")`),
		chromedp.Evaluate(`document.querySelector(".service-cards > :nth-child(5)")`+
			`.getBoundingClientRect().bottom`, &bottom))
	t.Logf("the fifth card ends at %.0f px", bottom)
	require.LessOrEqual(t, bottom, 844.0)
}
