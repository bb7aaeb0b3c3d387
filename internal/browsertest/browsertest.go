// Package browsertest runs Chromium for tests that look at pages as a person does.
package browsertest

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The names of Chromium: without a window system, which is three times as fast, and the full one, which shows
// notifications.
const (
	Headless = "chromium-headless-shell"
	Whole    = "chromium"
)

// leaving is how long a browser's last children may still write into its folder.
const leaving = 2 * time.Minute

// Engine is a browser that starts when a test first needs it. It ends with the pipe that it takes commands from, as the
// system closes that however this process ends. Debian's Chromium is a script, which a signal would end alone.
type Engine struct {
	Name string // if it is not installed, another Chromium does everything

	once sync.Once
	ctx  context.Context
	err  error
	stop func() // nil until the browser has started
}

func (e *Engine) started() (context.Context, error) {
	e.once.Do(func() {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.Flag("disable-background-networking", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
			chromedp.Flag("disable-quic", true),
			chromedp.WindowSize(1280, 900))
		if os.Getuid() == 0 {
			options = append(options, chromedp.NoSandbox)
		}
		if path, err := exec.LookPath(e.Name); err == nil {
			options = append(options, chromedp.ExecPath(path))
		}
		in, commands, err := os.Pipe()
		answers, out, outErr := os.Pipe()
		dir, dirErr := os.MkdirTemp("", "b-") // short, as a socket is in it
		if e.err = errors.Join(err, outErr, dirErr); e.err != nil {
			return
		}
		options = append(options, chromedp.UserDataDir(dir), chromedp.Env("TMPDIR="+dir),
			chromedp.Flag("remote-debugging-pipe", true),
			chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) { cmd.ExtraFiles = []*os.File{in, out} })) // its 3 and 4
		allocated, stop := chromedp.NewExecAllocator(context.Background(), options...)
		ctx, cancel := chromedp.NewContext(allocated)
		e.ctx, e.err = ctx, chromedp.Run(ctx)
		_, _ = in.Close(), out.Close()
		e.stop = func() {
			_ = commands.Close()
			_, _ = io.Copy(io.Discard, answers) // until it has ended
			cancel()
			stop()
			for end := time.Now().Add(leaving); os.RemoveAll(dir) != nil && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
		}
	})
	return e.ctx, e.err
}

// Stop ends the browser, if it has started, and removes its files.
func (e *Engine) Stop() {
	if e.stop != nil {
		e.stop()
	}
}

// Tab opens a tab that shares no cookie with the tabs of other tests.
func (e *Engine) Tab(t *testing.T) context.Context {
	t.Helper()
	all, err := e.started()
	require.NoError(t, err, "Chromium has to be installed: `make test` does it")
	id, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(browserOf(all))
	require.NoError(t, err)
	return open(t, all, id)
}

// Another opens a second tab beside one, in the same session.
func Another(t *testing.T, tab context.Context) context.Context {
	t.Helper()
	return open(t, tab, chromedp.FromContext(tab).BrowserContextID)
}

// open opens a tab in a window of its own: a session's first tab needs one.
func open(t *testing.T, beside context.Context, session cdp.BrowserContextID) context.Context {
	t.Helper()
	window := target.CreateTarget("about:blank").WithBrowserContextID(session).WithNewWindow(true)
	id, err := window.Do(browserOf(beside))
	require.NoError(t, err)
	ctx, cancel := chromedp.NewContext(beside, chromedp.WithTargetID(id))
	t.Cleanup(cancel)
	chromedp.FromContext(ctx).BrowserContextID = session
	require.NoError(t, chromedp.Run(ctx)) // the first run's context is the tab's, and must not time out
	return ctx
}

// browserOf returns a context for calls to the browser itself.
func browserOf(tab context.Context) context.Context {
	return cdp.WithExecutor(tab, chromedp.FromContext(tab).Browser)
}
