package test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// Promise: A song from years ago is found in three steps, and every place in a long list has an address.
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
	staysWhileListensArrive(t, tab, p, v)
}

// Promise: A list that has been read to its end goes on when more arrives.
func TestBrowserGoesOnWithAListThatGrew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 45})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.call(http.MethodPut, "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)},
		http.StatusOK)
	v.eventually("all listens", func() bool {
		return len(v.call(http.MethodGet, "/listens?limit=1000", nil, http.StatusOK)["listens"].([]any)) == 45
	})
	tab := browser(t)
	signIn(t, tab, p)
	do(t, tab, chromedp.Navigate(p.url+"/listens"), linked,
		holds(`document.querySelectorAll("#listens li.row").length === 45`),
		chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight), 0`, nil), holds(`scrollY > 0`))
	arrived := 0
	arrive := func(at time.Time) {
		arrived++
		v.call(http.MethodPost, "/listens", object{"track": fmt.Sprintf("Late %d", arrived), "artist": "Björk",
			"played_at": at.UTC().Format(time.RFC3339)}, http.StatusCreated)
	}
	for i := range 10 {
		arrive(time.Now().Add(-time.Duration(i) * time.Hour))
		arrive(time.Now().AddDate(-1, 0, -i))
	}
	var wrong string
	do(t, tab, holds(`document.querySelectorAll("#listens li.row").length === 65`),
		chromedp.Evaluate(outOfOrder, &wrong))
	require.Empty(t, wrong, "the newest first")
}

// outOfOrder tells of each row of a list that is older than the one below it, or there twice.
const outOfOrder = `(() => {
	const rows = [...document.querySelectorAll("#listens li.row")];
	const wrong = [];
	for (const [i, row] of rows.entries()) {
		const at = (row) => row.querySelector("time").dateTime;
		if (i > 0 && at(row) > at(rows[i - 1])) wrong.push(row.textContent + " " + at(row));
		if (!row.closest("section.day").querySelector("h2")) wrong.push(row.textContent);
	}
	if (new Set(rows.map((row) => row.id)).size < rows.length) wrong.push("twice");
	return wrong.join();
})()`

// staysWhileListensArrive reads on in the middle of the first page, then far below it, while new listens arrive above,
// some of them late, and one is deleted. What is read does not move, and the list is in order when the reader goes up.
func staysWhileListensArrive(t *testing.T, tab context.Context, p *process, v *person) {
	t.Helper()
	rows := `document.querySelectorAll("#listens li.row").length`
	const read = `[...document.querySelectorAll("#listens li.row")].find((row) =>
		row.getBoundingClientRect().top > innerHeight / 2)`
	const top = `Math.round(document.getElementById(%q).getBoundingClientRect().top)`
	unmoved := func(what string, change func(), until string) {
		t.Helper()
		var row string
		var before, after int
		do(t, tab, chromedp.Evaluate(read+".id", &row))
		do(t, tab, chromedp.Evaluate(fmt.Sprintf(top, row), &before))
		change()
		do(t, tab, holds(until),
			chromedp.Evaluate(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`, nil,
				awaiting), chromedp.Evaluate(fmt.Sprintf(top, row), &after))
		require.InDelta(t, before, after, 2, "what is read has moved: %s", what)
	}
	arrives := func(track string, at time.Time) {
		t.Helper()
		unmoved(track, func() {
			v.call(http.MethodPost, "/listens", object{"track": track, "artist": "Björk",
				"played_at": at.UTC().Format(time.RFC3339)}, http.StatusCreated)
		}, fmt.Sprintf(`document.querySelector("#listens").textContent.includes(%q)`, track))
	}
	do(t, tab, chromedp.Navigate(p.url+"/listens"), holds(rows+" === 50"),
		holds(`document.body.dataset.linked === "yes"`),
		chromedp.Evaluate(`document.querySelectorAll("#listens li.row")[20].scrollIntoView({block: "center"}), 0`, nil))
	arrives("While reading", time.Now())
	do(t, tab, chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight), 0`, nil), holds(rows+" >= 100"),
		chromedp.Evaluate(`scrollTo(0, document.body.scrollHeight), 0`, nil), holds(rows+" >= 150"),
		chromedp.Evaluate(`document.querySelectorAll("#listens li.row")[120].scrollIntoView({block: "center"}), 0`,
			nil))
	arrives("Far above", time.Now())
	arrives("Came late", time.Now().Add(-30*time.Hour))
	var between, out string
	do(t, tab, chromedp.Evaluate(`document.querySelectorAll("#listens li.row")[9].querySelector("time").dateTime`,
		&between))
	at, err := time.Parse(time.RFC3339, between)
	require.NoError(t, err)
	arrives("In between", at.Add(-30*time.Second))
	newest := v.call(http.MethodGet, "/listens?limit=1", nil, http.StatusOK)["listens"].([]any)[0].(object)
	unmoved("one is deleted", func() {
		v.call(http.MethodDelete, "/listens/"+newest["id"].(string), nil, http.StatusOK)
	}, `!document.querySelector("#listens").textContent.includes("Far above")`)
	do(t, tab, chromedp.Evaluate(`scrollTo(0, 0), 0`, nil),
		holds(`document.querySelector("#listens li.row").textContent.includes("While reading")`),
		sees("#listens .lead", "204 listens"), chromedp.Evaluate(outOfOrder, &out))
	require.Empty(t, out, "the newest first")
}
