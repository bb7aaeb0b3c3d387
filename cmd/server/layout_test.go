package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/font/gofont/goregular"

	"reprise/internal/browsertest"
	"reprise/internal/server"
)

var (
	updateLayout = flag.Bool("update", false, "write what the golden files hold again")
	pictures     = flag.String("pictures", "", "the folder for a picture of each page, to be looked at")
)

//go:embed testdata/layout.js
var layoutScript string

// still keeps a page as it was that evening: no clock goes on, and no event arrives.
const still = `{
	const now = %d, Real = Date;
	globalThis.Date = class extends Real {
		constructor(...given) { super(...(given.length ? given : [now])); }
		static now() { return now; }
	};
	globalThis.WebSocket = class extends EventTarget { send() {} close() {} };
}`

// screens are those on which each page is looked at.
var screens = []struct{ width, height int64 }{{1280, 900}, {390, 844}}

// fontAddress is where pages find the font that they are measured in, whatever fonts a machine has.
const fontAddress = "/layout.ttf"

// TestBrowserPagesLookAsBefore compares each page on a screen and on a phone, light and dark, with how it was when
// its file in testdata/layout was written. The files have boxes and colours instead of a picture, so that a difference
// can be read, and what nobody would notice is none. Where something is cut off, it fails without a file, too.
//
// When a difference is meant: go test -tags reprisetest ./cmd/server -run TestBrowserPagesLook -update.
func TestBrowserPagesLookAsBefore(t *testing.T) {
	takesLong(t)
	if raceEnabled {
		t.Skip("the database is too slow with the race detector; the parts are tested with it elsewhere")
	}
	t.Parallel()
	p := sit(t)
	static, err := server.New(server.Config{Reach: server.Reach{BaseURL: "http://127.0.0.1:8420"},
		Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == fontAddress:
			_, _ = w.Write(goregular.TTF)
		case strings.HasPrefix(r.URL.Path, "/static/"):
			r.Host = "127.0.0.1:8420"
			static.ServeHTTP(w, r)
		default:
			p.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	names := make(chan string, len(p.pages))
	for _, name := range slices.Sorted(maps.Keys(p.pages)) {
		names <- name
	}
	close(names)
	chromium := &browsertest.Engine{Name: browsertest.Headless}
	t.Cleanup(chromium.Stop)
	var looking sync.WaitGroup
	for range 3 {
		tab := chromium.Tab(t)
		looking.Go(func() {
			for name := range names {
				onePage(t, tab, name, web.URL+p.pages[name])
			}
		})
	}
	looking.Wait()
	files, err := filepath.Glob("testdata/layout/*.txt")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		assert.Contains(t, p.pages, name, "%s is of a page that is gone", file)
	}
}

// awaited makes an evaluation wait for the promise that the expression returns.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// onePage looks at a page on all screens, and says what is different or cut off.
func onePage(t *testing.T, tab context.Context, name, address string) {
	ctx, cancel := context.WithTimeout(tab, patience)
	defer cancel()
	err := chromedp.Run(ctx, page.SetBypassCSP(true), emulation.SetTimezoneOverride("Europe/Berlin"),
		emulation.SetLocaleOverride().WithLocale("en-US"),
		chromedp.ActionFunc(func(ctx context.Context) error {
			script := fmt.Sprintf(still, sitting.UnixMilli())
			_, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx)
			return err
		}),
		chromedp.Navigate(address), chromedp.Evaluate(layoutScript, nil))
	if !assert.NoError(t, err, name) {
		return
	}
	var now layout
	for _, s := range screens {
		one := screen{width: s.width}
		for _, scheme := range []string{"light", "dark"} {
			var boxes []box
			var cut []string
			err := chromedp.Run(ctx, chromedp.EmulateViewport(s.width, s.height),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
					{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
				chromedp.Evaluate("settled('"+fontAddress+"')", nil, awaited),
				chromedp.Evaluate(fmt.Sprintf("seen(%t)", name == "status"), &boxes), chromedp.Evaluate("cut()", &cut))
			if !assert.NoError(t, err, name) {
				return
			}
			if *pictures != "" {
				var b []byte
				assert.NoError(t, chromedp.Run(ctx, chromedp.FullScreenshot(&b, 80)))
				file := filepath.Join(*pictures, fmt.Sprintf("%s-%d-%s.jpg", name, s.width, scheme))
				assert.NoError(t, os.WriteFile(file, b, 0o644))
			}
			one.add(boxes)
			if scheme == "light" {
				for _, c := range cut {
					t.Errorf("%s, %d px: %s", name, s.width, c)
				}
			}
		}
		now = append(now, one)
	}
	file := filepath.Join("testdata", "layout", name+".txt")
	if *updateLayout {
		assert.NoError(t, os.WriteFile(file, []byte(now.String()), 0o644))
		return
	}
	b, err := os.ReadFile(file)
	if !assert.NoError(t, err, "a new page: run the test with -update") {
		return
	}
	before, err := readLayout(string(b))
	if assert.NoError(t, err, file) {
		for _, difference := range before.differences(now) {
			t.Errorf("%s, %s", name, difference)
		}
	}
}
