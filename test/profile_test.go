package test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Promise: A person makes a profile public that shows what they chose, another site shows its badge, and it is taken
// back.
func TestBrowserShowsAProfileToStrangers(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	v.bring(bytes.NewReader(year()))
	tab, script := browser(t), axe(t)
	do(t, tab, chromedp.Navigate(p.url+"/login?after=/settings/profile"),
		chromedp.SendKeys(`input[name=name]`, "Alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery),
		sees("#private", "You have no public profile."),
		chromedp.SetValue("#name", "Anna", byQuery),
		chromedp.SetValue("#span", "12-months", byQuery),
		chromedp.Click("#latest", byQuery), chromedp.Click("#now", byQuery))
	require.Empty(t, examine(t, tab, script, p.url+"/settings/profile", everyLook))
	var address string
	do(t, tab, chromedp.SetValue("#name", "Anna", byQuery), chromedp.Click("#latest", byQuery),
		chromedp.Click("#make", byQuery), sees(".flash", "Your profile is public now."),
		holds(`document.querySelector(".badge-shown").naturalWidth === 360`),
		chromedp.AttributeValue("#open-profile", "href", &address, nil, byQuery))
	require.Empty(t, examine(t, tab, script, p.url+"/settings/profile", everyLook))

	// Another browser, where nobody is signed in, in both languages.
	other := browser(t)
	do(t, other, chromedp.Navigate(address), sees("h1", "Anna"), sees("h2", "Latest listens"),
		holds(`!document.querySelector("header nav, main a[href^='/listen'], main a[href^='/music']")`),
		holds(`!document.cookie && document.body.dataset.timed === "yes"`))
	require.Empty(t, examine(t, other, script, address, everyLook))
	german := browser(t)
	do(t, german, prefer("de-DE"), chromedp.Navigate(address), sees("h2", "Zuletzt gehört"))
	require.Empty(t, examine(t, german, script, address, everyLook))

	// Another site may show the badge, and not the card.
	blog := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!doctype html><img id="badge" src="%s/badge.svg">`, address)
		fmt.Fprintf(w, `<img id="card" src="%s/card.png">`, address)
	}))
	t.Cleanup(blog.Close)
	do(t, other, chromedp.Navigate(blog.URL), holds(`document.querySelector("#badge").naturalWidth === 360`),
		holds(`document.querySelector("#card").complete && !document.querySelector("#card").naturalWidth`))

	do(t, tab, chromedp.Navigate(p.url+"/settings/profile"), chromedp.Click("#take-back", byQuery),
		sees(".flash", "no longer public"))
	for _, part := range []string{"", "/card.png", "/badge.svg", "/feed.atom"} {
		resp, err := chromedp.RunResponse(other, chromedp.Navigate(address+part))
		require.NoError(t, err)
		require.EqualValues(t, 404, resp.Status)
	}
}
