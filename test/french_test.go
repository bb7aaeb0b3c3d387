package test

import (
	"context"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// inLanguage requires that a tab shows a page in a language.
func inLanguage(t *testing.T, tab context.Context, code string) {
	t.Helper()
	var lang string
	do(t, tab, chromedp.Evaluate(`document.documentElement.lang`, &lang))
	require.Equal(t, code, lang)
}

// Promise: People who read a contributed language, such as French, read the pages, dates and numbers in it, and people
// who read one that Reprise doesn't speak read English.
func TestBrowserSpeaksFrench(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 1200})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.call(http.MethodPut, "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)},
		http.StatusOK)
	v.becomes("listenbrainz", "healthy")
	v.call(http.MethodPost, "/listens", object{"track": "Army of Me", "artist": "Björk",
		"played_at": "2019-05-01T12:20:00Z"}, http.StatusCreated)

	unknown := browser(t)
	do(t, unknown, prefer("eo"), chromedp.Navigate(p.url+"/login"), sees("h1", "Sign in"))
	inLanguage(t, unknown, "en")

	tab := browser(t)
	do(t, tab, prefer("fr-CH"), chromedp.Navigate(p.url+"/login"), sees("h1", "Se connecter"),
		sees("main", "Mot de passe oublié\u202f?"))
	inLanguage(t, tab, "fr")
	signIn(t, tab, p)
	do(t, tab, chromedp.Navigate(p.url+"/"), sees("h1", "Tout va bien"), sees("nav a[aria-current]", "Accueil"),
		holds(`/écoutes \(\d\s\d{3}\)/.test(document.querySelector("main").textContent)`),
		holds(`/ (janv|févr|mars|avr|mai|juin|juil|août|sept|oct|nov|déc)/.test(
			document.querySelector("main time[title]")?.title)`))
	inLanguage(t, tab, "fr")
	do(t, tab, chromedp.Navigate(p.url+"/listens?to=2019-12-31"), sees("#listens", "Mercredi 1er mai 2019"))
	inLanguage(t, tab, "fr")
}
