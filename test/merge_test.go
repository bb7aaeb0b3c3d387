package test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Promise: Two spellings of an artist can be merged: the page says what will move, all numbers change, and change back
// when it is undone.
func TestBrowserMergesTwoSpellings(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	for at, played := range map[string][2]string{"10": {"Starálfur", "Sigur Rós"}, "11": {"Hoppípolla", "Sigur Rós"},
		"12": {"Starálfur", "Sigur Ros Band"}} {
		v.call(http.MethodPost, "/listens", object{"track": played[0], "artist": played[1], "album": "Takk…",
			"played_at": "2026-11-20T" + at + ":00:00Z"}, 201)
	}
	idOf := func(name string) string {
		found := v.call(http.MethodGet, "/search?kind=artist&q="+name, nil, 200)
		return found["artists"].([]any)[0].(object)["id"].(string)
	}
	wrong := p.url + "/music/artist/" + idOf("band")
	tab := browser(t)
	signIn(t, tab, p)
	do(t, tab, chromedp.Navigate(wrong), sees("h1", "Sigur Ros Band"),
		chromedp.Click(`a[href$="/merge"]`, byQuery), sees("h1", "Merge"),
		chromedp.SendKeys(`#search input`, "sigur rós", byQuery),
		sees("#found strong", "Sigur Rós"))
	script := axe(t)
	for _, page := range []string{"/rename", "/split", "/picture", "/merge?into=" + idOf("rós")} {
		require.Empty(t, examine(t, tab, script, wrong+page, everyLook), page)
	}
	do(t, tab, sees("h1", "Merge Sigur Ros Band into Sigur Rós?"), sees("main", "Your 1 listen will count for"),
		chromedp.Click(`#merge`, byQuery), sees(".flash", "Merged"), sees("#music h1", "Sigur Rós"),
		chromedp.Click(`#undo`, byQuery), sees(".flash", "Undone"), sees("#music h1", "Sigur Rós"),
		chromedp.Navigate(wrong+"/merge?into="+idOf("rós")),
		chromedp.Click(`#merge`, byQuery), sees(".flash", "Merged"), sees("#music h1", "Sigur Rós"),
		chromedp.Navigate(p.url+"/listening?span=all"), sees("main", "3"), gone(`a[href*="Band"]`))
	top := func() (n []any) {
		return v.call(http.MethodGet, "/stats/top/artists?span=all", nil, 200)["top"].([]any)
	}
	require.Len(t, top(), 1)
	require.EqualValues(t, 3, top()[0].(object)["listens"])
	do(t, tab, chromedp.Navigate(p.url+"/corrections"), sees("#corrections", "Part of Sigur Rós since"),
		chromedp.Click(`#corrections form button`, byQuery), sees(".flash", "Undone"),
		chromedp.Navigate(wrong), sees("h1", "Sigur Ros Band"))
	require.Len(t, top(), 2)
	require.EqualValues(t, 2, top()[0].(object)["listens"])
}
