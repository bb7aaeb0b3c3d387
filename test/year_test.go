package test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	chrome "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// year returns an export of Reprise with two plays a day in a part of 2025.
func year() []byte {
	var b bytes.Buffer
	names := []string{"Sigur Rós", "宇多田ヒカル", "فيروز", "Björk & <Friends>", "아이유"}
	for i := range 160 {
		at := time.Date(2025, 2, 1+i/2, 18+i%2, 5, 0, 0, time.UTC)
		fmt.Fprintf(&b, `{"track":"Song %d","artist":%q,"album":"Album of %[2]s","played_at":%q,"duration_ms":240000,`+
			`"sources":[{"connection":"lastfm","source_id":"%d"}]}`+"\n", i%7, names[i*i%len(names)],
			at.Format(time.RFC3339), i)
	}
	return b.Bytes()
}

// bring imports an export of Reprise and waits until it is done.
func (v *person) bring(file io.Reader) {
	v.t.Helper()
	require.Equal(v.t, 201, v.sendFile("provider=reprise&name=export", file).StatusCode)
	v.eventually("the import is done", func() bool { return v.lastImport()["state"] == "done" })
	require.Zero(v.t, v.lastImport()["bad"])
}

// downloaded clicks a download link and returns the file.
func downloaded(t *testing.T, tab chromedp.Action, click func(chromedp.Action), file string) []byte {
	t.Helper()
	require.NoError(t, os.RemoveAll(file))
	click(tab)
	until(t, func() bool { // the browser keeps the name with an empty file first
		info, err := os.Stat(file)
		return err == nil && info.Size() > 0
	}, "%s is downloaded", file)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	return b
}

// Promise: A year becomes a card, a link for others that is taken back, and an export that gives another server the
// same year.
func TestBrowserTakesAYearAlong(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p, files := start(t, t.TempDir()), t.TempDir()
	v := p.newcomer()
	v.bring(bytes.NewReader(year()))
	one := v.call("GET", "/listens?limit=1", nil, 200)["listens"].([]any)[0].(object)
	v.call("DELETE", "/listens/"+one["id"].(string), nil, 200)

	tab := browser(t)
	click := func(a chromedp.Action) { do(t, tab, a) }
	do(t, tab,
		chrome.SetDownloadBehavior(chrome.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(files).
			WithBrowserContextID(chromedp.FromContext(tab).BrowserContextID),
		chromedp.Navigate(p.url+"/login?after=/listening/years/2025"),
		chromedp.SendKeys(`input[name=name]`, "Alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery),
		sees(".year .lead", "159 listens"), sees("h2", "A card to share"),
		holds(`document.querySelector(".year-card img").naturalWidth === 1200`),
	)
	picture := downloaded(t, chromedp.Click("#png", byQuery), click, filepath.Join(files, "reprise-2025.png"))
	m, err := png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	require.Equal(t, 630, m.Bounds().Dy())
	drawing := downloaded(t, chromedp.Click("#svg", byQuery), click, filepath.Join(files, "reprise-2025.svg"))
	require.NoError(t, xml.Unmarshal(drawing, new(struct{})))
	require.Contains(t, string(drawing), "Artist of the year: ")

	// The story has the whole screen: the keys reach nothing but it and the way out.
	do(t, tab, chromedp.Navigate(p.url+"/listening/years/2025/story"), sees("#story h1", "2025"),
		holds(`!document.querySelector("header, nav, footer") && document.activeElement.id === "story"`),
		chromedp.KeyEvent(kb.ArrowRight), holds(`story.scrollLeft >= story.clientWidth`))
	require.Empty(t, examine(t, tab, axe(t), p.url+"/listening/years/2025/story", twoLooks))
	do(t, tab, emulation.ClearDeviceMetricsOverride(), chromedp.Click(".story-leave", byQuery),
		holds(`location.pathname === "/listening/years/2025" && document.readyState === "complete"`))

	// A link, opened where nobody is signed in.
	var address string
	do(t, tab, chromedp.Click("#make", byQuery), chromedp.WaitVisible("#made", byQuery),
		chromedp.AttributeValue("#open-link", "href", &address, nil, byQuery))
	other := browser(t)
	do(t, other, chromedp.Navigate(address), sees("h1", "2025 in music"), sees("h2", "Top artists"),
		holds(`document.querySelector(".year-card img").naturalWidth === 1200`),
		holds(`!document.querySelector("header nav") && !document.body.innerText.includes("Song 1")`))
	require.Empty(t, examine(t, other, axe(t), address, twoLooks))
	do(t, tab, chromedp.Click("#take-back", byQuery), sees(".flash", "no longer works"))
	for _, part := range []string{"", "/card.png"} {
		resp, err := chromedp.RunResponse(other, chromedp.Navigate(address+part))
		require.NoError(t, err)
		require.EqualValues(t, 404, resp.Status)
	}

	// Everything, into an empty server.
	resp, err := v.Get(p.url + "/api/v1/export/all.zip")
	require.NoError(t, err)
	defer resp.Body.Close()
	fresh := start(t, t.TempDir()).newcomer()
	fresh.bring(resp.Body)
	for _, path := range []string{"/stats/summary?span=all", "/stats/years", "/stats/days?span=all",
		"/stats/hours?span=all"} {
		require.Equal(t, v.call("GET", path, nil, 200), fresh.call("GET", path, nil, 200), path)
	}
}
