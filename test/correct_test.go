package test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// heardAt is a listen of the API.
type heardAt struct {
	id, title string
	at        time.Time
	sources   []string
}

// heard returns the listens that a query selects, the newest first.
func (v *person) heard(query string) (all []heardAt) {
	v.t.Helper()
	for _, one := range v.call("GET", "/listens?limit=1000"+query, nil, 200)["listens"].([]any) {
		l := one.(object)
		at, err := time.Parse(time.RFC3339, l["played_at"].(string))
		require.NoError(v.t, err)
		now := heardAt{id: l["id"].(string), title: l["track"].(string), at: at}
		for _, s := range l["sources"].([]any) {
			now.sources = append(now.sources, s.(object)["provider"].(string))
		}
		all = append(all, now)
	}
	return all
}

// again returns how many listens are of the same play as one of some.
func again(all, some []heardAt) (n int) {
	for _, l := range all {
		if slices.ContainsFunc(some, func(o heardAt) bool {
			return o.id == l.id || o.title == l.title && o.at.Sub(l.at).Abs() < 5*time.Second
		}) {
			n++
		}
	}
	return n
}

// both waits until two services have reported a listen that some condition holds for, and returns it.
func (v *person) both(fits func(heardAt) bool) (found heardAt) {
	v.t.Helper()
	v.eventually("a listen that two services reported", func() bool {
		all := v.heard("")
		i := slices.IndexFunc(all, func(l heardAt) bool { return len(l.sources) == 2 && fits(l) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// Promise: What is deleted stays so when a service reports the same plays again, and can be brought back; two reports
// that were taken for one play can be kept as two.
func TestBrowserCorrectsListens(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 400})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.call(http.MethodPatch, "/account", object{"time_zone": "UTC"}, 200)
	v.call(http.MethodPut, "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.eventually("all listens", func() bool { return len(v.heard("")) >= 400 })
	v.consent(agree(), 200)
	v.both(func(heardAt) bool { return true })
	tab := browser(t)
	signIn(t, tab, p)
	total := func() float64 {
		return v.call(http.MethodGet, "/stats/summary?span=all", nil, 200)["totals"].(object)["listens"].(float64)
	}

	var hour time.Time // in which several were heard, and one of them was reported by both
	seen := map[time.Time]int{}
	for _, l := range v.heard("") {
		at := l.at.Truncate(time.Hour)
		if seen[at]++; len(l.sources) == 2 {
			seen[at] += 1000
		}
		if seen[at] > 1001 {
			hour = at
		}
	}
	require.NotZero(t, hour)
	child := v.heard("&" + url.Values{"from": {hour.Format(time.RFC3339)},
		"to": {hour.Add(time.Hour).Format(time.RFC3339)}}.Encode())
	require.GreaterOrEqual(t, len(child), 2)
	before, filter := total(), fmt.Sprintf("hour=%d", hour.Hour())
	do(t, tab, chromedp.Navigate(p.url+"/listening?span=day&at="+hour.Format(time.DateOnly)),
		chromedp.Click(fmt.Sprintf(`a[href*="%s&"][href$="weekday=%d"]`, filter, (hour.Weekday()+6)%7+1), byQuery),
		chromedp.Click(fmt.Sprintf(`a[href^="/listens?"][href*="%s&"]`, filter), byQuery),
		chromedp.Click(`a[href*="select=1"]`, byQuery),
		chromedp.Click(`a[href^="/listens/delete?"]`, byQuery),
		sees("h1", fmt.Sprintf("Delete %d listens?", len(child))),
		chromedp.Click(`form[action^="/listens/delete?"] button`, byQuery),
		sees(".flash", fmt.Sprintf("%d listens deleted", len(child))))
	require.Equal(t, before-float64(len(child)), total())
	require.Zero(t, again(v.heard(""), child))

	two := v.both(func(heardAt) bool { return true })
	do(t, tab, chromedp.Navigate(p.url+"/listens/"+two.id), sees("#told", "reported the same title and artist"),
		chromedp.Click(`form[action$="/split"] button`, byQuery), sees(".flash", "These are 2 listens now"))
	require.Equal(t, 2, again(v.heard(""), []heardAt{two}))
	v.call(http.MethodDelete, "/connections/spotify", nil, 204)
	v.consent(agree(), 200) // and reads all again
	played := w.Play()
	v.both(func(l heardAt) bool { return l.title == played.Title && l.at.Sub(played.At).Abs() < 5*time.Second })
	require.Equal(t, 2, again(v.heard(""), []heardAt{two}))
	require.Zero(t, again(v.heard(""), child))

	do(t, tab, chromedp.Navigate(p.url+"/corrections"), sees("#corrections", "Kept as 2 listens"),
		chromedp.Click(`#corrections .row:nth-child(2) form button`, byQuery),
		sees(".flash", fmt.Sprintf("%d listens are as they were", len(child))))
	back := v.heard("")
	require.Equal(t, len(child), again(back, child))
	require.Equal(t, before+2, total(), "one was kept as two, and one was played meanwhile")

	for _, at := range []string{"2020-02-02T20:00:00Z", "2020-02-02T20:00:41Z", "2020-03-03T20:00:00Z",
		"2020-03-03T20:00:50Z"} {
		v.call(http.MethodPost, "/listens", object{"track": "Starálfur", "artist": "Sigur Rós", "played_at": at,
			"duration_ms": 400_000}, 201)
	}
	listed := func(n int) chromedp.Action {
		return holds(fmt.Sprintf(`[...document.querySelectorAll("#suspicious .row")]
			.filter(e => e.innerText.includes("Starálfur")).length === %d`, n))
	}
	last := func(link string) string { return "#suspicious .row:last-child " + link }
	require.Empty(t, examine(t, tab, axe(t), p.url+"/corrections/suspicious", everyLook))
	n := total()
	do(t, tab, chromedp.Navigate(p.url+"/corrections"), chromedp.Click(`a[href="/corrections/suspicious"]`, byQuery),
		listed(2), sees("#suspicious", "The same track twice, 41 s apart; it lasts 6:40."),
		chromedp.Click(last(`a[href^="/listens/delete?"]`), byQuery), sees("h1", "Delete 1 listen?"),
		chromedp.Click(`form[action^="/listens/delete?"] button`, byQuery), sees(".flash", "1 listen deleted"),
		listed(1),
		chromedp.Click(last(`form[action$="/keep"] button`), byQuery), sees(".flash", "Kept."), listed(0))
	require.Equal(t, n-1, total())
	do(t, tab, chromedp.Navigate(p.url+"/corrections"), sees("#corrections", "2 suspicious listens kept"),
		chromedp.Click(`#corrections .row:first-child form button`, byQuery), sees(".flash", "suspicious again"),
		chromedp.Navigate(p.url+"/corrections/suspicious"), listed(1))
}

// TestBrowserKeepsWhatAFormAnswers: a page that is left by a form does not leave by itself meanwhile, or what the
// form's answer says once would be lost.
func TestBrowserKeepsWhatAFormAnswers(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 20})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.call(http.MethodPut, "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.eventually("all listens", func() bool { return len(v.heard("")) >= 20 })
	tab := browser(t)
	signIn(t, tab, p)
	one := v.heard("")[0]
	page := p.url + "/listens/delete?listen=" + one.id
	do(t, tab, chromedp.Navigate(page), sees("h1", "Delete"), holds(`document.body.dataset.linked === "yes"`))
	var asked atomic.Int32
	chromedp.ListenTarget(tab, func(event any) {
		if e, ok := event.(*network.EventRequestWillBeSent); ok && e.Type == network.ResourceTypeFetch {
			asked.Add(1)
		}
	})
	do(t, tab, chromedp.Evaluate(`document.dispatchEvent(new Event("submit"))`, nil))
	v.call(http.MethodDelete, "/listens/"+one.id, nil, 200)
	v.call(http.MethodPut, "/connections/listenbrainz/forwarding", object{"earlier": false}, 200) // any page shows it
	until(t, func() bool { return asked.Load() > 1 }, "the page to be asked for again, although it leads elsewhere")
	var at string
	do(t, tab, chromedp.Location(&at))
	require.Equal(t, page, at)
	do(t, tab, chromedp.Evaluate(`dispatchEvent(new Event("pageshow"))`, nil),
		holds(`location.pathname !== "/listens/delete"`))
}
