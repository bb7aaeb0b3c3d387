package test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// A song from 2019 is found in three steps: Listens, the day, its page. A long list continues while it is scrolled,
// every place in it has an address, and going back leads there.
func TestBrowserFindsASongFrom2019(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 200})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.call(http.MethodPut, "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)},
		http.StatusOK)
	v.eventually("all listens", func() bool {
		return len(v.call(http.MethodGet, "/listens?limit=1000", nil, http.StatusOK)["listens"].([]any)) >= 200
	})
	v.call(http.MethodPost, "/listens", object{"track": "Army of Me", "artist": "Björk",
		"played_at": "2019-05-04T14:20:00Z"}, http.StatusCreated)
	tab := browser(t)
	signIn(t, tab, p)
	rows := `document.querySelectorAll("#listens li.row").length`
	var first, place, again string
	do(t, tab,
		chromedp.Navigate(p.url+"/listens"), // 1
		chromedp.WaitVisible("#jump-at", byQuery),
		chromedp.Evaluate(`document.querySelector("#jump-at").value = "2019-12-31", 0`, nil),
		chromedp.Click("#jump button", byQuery), // 2
		holds(`document.querySelector("#listens li.row")?.textContent.includes("Army of Me")`),
		// The page may just be taking in news, which replaces rows: a script finds and clicks in one step.
		chromedp.Evaluate(`document.querySelector("#listens li.row .what strong a").click(), 0`, nil), // 3
		holds(`document.querySelector("#music h1")?.textContent.includes("Army of Me")`),

		chromedp.Navigate(p.url+"/listens"), holds(rows+" === 50"), loaded,
		chromedp.Evaluate(`document.querySelector("#listens li.row").id`, &first),
		chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight), 0`, nil), holds(rows+" >= 100"),
		chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight), 0`, nil), holds(rows+" >= 150"),
		holds(`location.search.startsWith("?before=") && history.state?.row`),
		chromedp.Evaluate(`history.state.row`, &place))
	require.NotEqual(t, first, place)
	do(t, tab, chromedp.Evaluate(fmt.Sprintf(`document.querySelector("#%s .at a").click(), 0`, place), nil),
		holds(`location.pathname.startsWith("/listens/")`), chromedp.NavigateBack(),
		holds(fmt.Sprintf(`(() => {
			const row = document.getElementById(%q)?.getBoundingClientRect();
			return location.pathname === "/listens" && row && row.top < innerHeight && row.bottom > 0;
		})()`, place)),
		chromedp.Evaluate(`location.search`, &again))
	require.Contains(t, again, "before=")
}
