package test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// watchMoves runs in each page before its own scripts: it adds up how far the page moves, in the browser's measure, and
// notes whether the page came with a transition.
const watchMoves = `window.moved = 0;
new PerformanceObserver((l) => { for (const e of l.getEntries()) moved += e.value; })
	.observe({ type: "layout-shift", buffered: true });
addEventListener("pagereveal", (e) => { window.transition = Boolean(e.viewTransition); });`

// aDemo returns a tab with the demo, in which it runs.
func aDemo(t *testing.T) (*process, context.Context) {
	t.Helper()
	p := startWith(t, []string{"-demo", "-listen", "127.0.0.1:0"})
	tab := browser(t)
	do(t, tab, chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(watchMoves).Do(ctx)
		return err
	}), chromedp.Navigate(p.url+"/"), holds(`document.body.dataset.linked === "yes"`))
	return p, tab
}

// firstOf returns the address of the first link to a kind of music on the page.
func firstOf(kind string) string {
	return fmt.Sprintf(`document.querySelector('main a[href^="/music/%s/"]').href`, kind)
}

// Promise: A page doesn't move while its pictures arrive; from a list to what it names, only the picture does, and
// nothing for a person who wants no movement.
func TestBrowserPagesStandStill(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p, tab := aDemo(t)
	var artist string
	do(t, tab, chromedp.Navigate(p.url+"/listens"), chromedp.WaitReady("#listens .row", byQuery),
		chromedp.Evaluate(firstOf("artist"), &artist))
	for _, l := range twoLooks {
		do(t, tab, chromedp.EmulateViewport(l.width, l.height))
		for _, at := range []string{p.url + "/listening?span=all", p.url + "/listens", artist, p.url + "/digest",
			p.url + "/listening/years"} {
			var moved float64
			do(t, tab, chromedp.Navigate(at), loaded, holds(`[...document.images].every((one) =>
				one.hasAttribute("width") && one.hasAttribute("height") && (one.complete || one.loading === "lazy"))`),
				holds(`document.body.dataset.linked === "yes"`), chromedp.Evaluate(`moved`, &moved))
			require.Less(t, moved, 0.02, "%s: %s", l, at)
		}
	}

	row := `.tops .row > .what > strong > a`
	follow := chromedp.Tasks{chromedp.Navigate(artist), loaded, chromedp.WaitVisible(row, byQuery),
		chromedp.Click(row, byQuery), holds(`document.querySelector("#music .lead a") && "transition" in window`)}
	var transition bool
	do(t, tab, chromedp.EmulateViewport(1280, 900), follow, chromedp.Evaluate(`transition`, &transition))
	require.True(t, transition)
	do(t, tab, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
		{Name: "prefers-reduced-motion", Value: "reduce"}}), follow, chromedp.Evaluate(`transition`, &transition))
	require.False(t, transition)
}

// Promise: The head of an artist's page has the color of its picture, and its text can be read whatever the picture is.
func TestBrowserHeadHasThePicturesColor(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p, tab := aDemo(t)
	var artist string
	do(t, tab, chromedp.Navigate(p.url+"/listens"), chromedp.WaitReady("#listens .row", byQuery),
		chromedp.Evaluate(firstOf("artist"), &artist))
	do(t, tab, chromedp.EmulateViewport(1280, 900))
	until(t, func() (there bool) {
		do(t, tab, chromedp.Navigate(artist), loaded,
			chromedp.Evaluate(`Boolean(document.querySelector(".music .backdrop"))`, &there))
		return there
	}, "the artist's picture to be found")
	do(t, tab, holds(`document.querySelector(".music .backdrop")?.complete`))
	// The worst pictures: a black one in the light look, a white one in the dark one.
	for look, filter := range map[string]string{"light": "brightness(0)", "dark": "brightness(0) invert(1)"} {
		var texts []string
		var shot []byte
		do(t, tab, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: look}}),
			chromedp.Evaluate(`[...document.querySelectorAll(".music :is(h1, dt, dd, a:not(.chip), .lead, .help)")]
				.map((one) => getComputedStyle(one).color)`, &texts),
			chromedp.Evaluate(fmt.Sprintf(`(() => { const sheet = new CSSStyleSheet();
				sheet.replaceSync(".backdrop { filter: %s !important } .music > :not(.backdrop) { opacity: 0 }");
				document.adoptedStyleSheets = [sheet]; })()`, filter), nil),
			chromedp.Screenshot(".music", &shot, byQuery),
			chromedp.Evaluate(`document.adoptedStyleSheets = [], 0`, nil))
		head, err := png.Decode(bytes.NewReader(shot))
		require.NoError(t, err)
		behind := middle(head)
		require.NotEmpty(t, texts)
		for _, text := range texts {
			require.GreaterOrEqual(t, contrast(t, text, behind), 4.5, "%s: %s on %v", look, text, behind)
		}
	}
}

// middle returns the color in the middle of a picture.
func middle(m image.Image) color.Color { return m.At(m.Bounds().Dx()/2, m.Bounds().Dy()/2) }

// contrast returns the contrast of a color of CSS, such as "rgb(1, 2, 3)", and another color, by WCAG.
func contrast(t *testing.T, text string, behind color.Color) float64 {
	t.Helper()
	var c [3]float64
	_, err := fmt.Sscanf(text, "rgb(%g, %g, %g)", &c[0], &c[1], &c[2])
	require.NoError(t, err, strconv.Quote(text))
	r, g, b, _ := behind.RGBA()
	x, y := luminance(c), luminance([3]float64{float64(r >> 8), float64(g >> 8), float64(b >> 8)})
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance returns the relative luminance of a color with channels of 0 to 255, by WCAG.
func luminance(c [3]float64) (sum float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := c[i] / 255
		if v <= 0.04045 {
			sum += weight * v / 12.92
		} else {
			sum += weight * math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return sum
}

// Promise: The first button of Status and of Listening is not behind a wall of pictures in the order of the keys.
func TestBrowserButtonsComeBeforeCovers(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p, tab := aDemo(t)
	for _, at := range []string{"/", "/listening", "/listening?span=all"} {
		do(t, tab, chromedp.Navigate(p.url+at), loaded, chromedp.WaitReady("main", byQuery), holds(`(() => {
			const stops = [...document.querySelectorAll("main :is(a[href], button, summary, select)")]
				.filter((one) => one.tabIndex >= 0 && one.checkVisibility());
			const button = stops.findIndex((one) => one.matches("button, .button, .chip"));
			return button >= 0 && stops.slice(0, button).every((one) => !one.querySelector("img"));
		})()`))
	}
}
