package test

import (
	"context"
	"flag"
	"image"
	"os"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	_ "golang.org/x/image/webp"

	"reprise/internal/demo"
)

var picture = flag.Bool("picture", false, "take the README's picture again, from the demo")

// TestThePictureOfTheReadme holds its size. With -picture it takes it: Status of the demo, with one service that needs
// its person.
func TestThePictureOfTheReadme(t *testing.T) {
	t.Parallel()
	const file = "../docs/reprise.webp"
	if *picture {
		p := startWith(t, []string{"-demo", "-listen", "127.0.0.1:0"})
		v := p.visitor()
		v.page("/", 200)
		v.becomes(demo.Spotify, "healthy")
		v.turn(demo.Spotify, demo.Revoked)
		v.call("POST", "/connections/spotify/sync", nil, 202)
		v.becomes(demo.Spotify, "needs_reconnect")
		tab := browser(t)
		var b []byte
		shot := chromedp.ActionFunc(func(ctx context.Context) (err error) {
			b, err = page.CaptureScreenshot().WithFormat(page.CaptureScreenshotFormatWebp).WithQuality(80).Do(ctx)
			return err
		})
		do(t, tab, chromedp.EmulateViewport(1180, 820, chromedp.EmulateScale(1.5)),
			emulation.SetTimezoneOverride("Europe/Berlin"), chromedp.Navigate(p.url+"/"),
			sees("body", "Spotify access has expired or was revoked."), shot)
		require.NoError(t, os.WriteFile(file, b, 0o644))
	}
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(200_000))
	size, form, err := image.DecodeConfig(f)
	require.NoError(t, err)
	require.Equal(t, "webp", form)
	require.Greater(t, size.Width, 1000)
}
