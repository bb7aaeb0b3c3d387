//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"reprise/internal/demo"
)

// hurried lets a page do at once what it would do later, and counts the websockets that it opens from now on.
const hurried = `(() => {
	const later = window.setTimeout, Socket = window.WebSocket;
	window.opened = 0;
	window.setTimeout = (f) => later(f, 0);
	window.WebSocket = class extends Socket { constructor(...a) { super(...a); window.opened++; } };
})()`

// Promise: The page that makes room says so, and does not come back to take the place of another one, which would come
// back.
func TestBrowserSaysThatTooManyPagesAreOpen(t *testing.T) {
	t.Parallel()
	const most = 6 // for a server that may open 64 files
	p := startWithFiles(t, "64")
	v := p.newcomer()
	page := browser(t)
	do(t, page,
		chromedp.Navigate(p.url+"/login"),
		chromedp.SendKeys(`input[name=name]`, "alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery),
		holds(`document.body?.dataset.linked === "yes"`),
		chromedp.Evaluate(hurried, nil),
	)
	var others []*tab
	for range most {
		tb, _ := v.open()
		others = append(others, tb)
	}
	var opened int
	do(t, page, sees("#link", "More than 6 pages of Reprise are open"), chromedp.Evaluate("window.opened", &opened))
	require.Zero(t, opened)
	for _, tb := range others {
		require.NoError(t, tb.socket.Ping(t.Context()))
	}
	// Reloaded by its person, it takes the place of the next one.
	do(t, page, chromedp.Reload(), holds(`document.body?.dataset.linked === "yes"`), sees("#link", ""))
	others[0].next("crowded", func(d object) bool { return d["most"] == float64(most) })
	for range others[0].messages { // until it is closed
	}
}

func TestHostileMessagesOfAPageEndItsStream(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	bystander, _ := v.open()
	ack := []byte(`{"type":"ack","data":{"id":"1"}}`)
	for _, c := range []struct {
		name string
		kind websocket.MessageType
		data []byte
		n    int
		want websocket.StatusCode
	}{
		{"a large one", websocket.MessageText, []byte(`"` + strings.Repeat("x", 1<<20) + `"`), 1, 1009},
		{"a binary one", websocket.MessageBinary, ack, 1, 1003},
		{"many", websocket.MessageText, ack, 1000, 1008},
		{"many of nonsense", websocket.MessageText, []byte("\xff\x00{[("), 1000, 1008},
	} {
		socket, _, err := websocket.Dial(t.Context(), strings.Replace(v.base, "http", "ws", 1)+"/api/v1/events",
			&websocket.DialOptions{HTTPHeader: v.cookies()})
		require.NoError(t, err)
		socket.SetReadLimit(1 << 20)
		go func() {
			for range c.n {
				if socket.Write(t.Context(), c.kind, c.data) != nil {
					return
				}
			}
		}()
		for err == nil {
			_, _, err = socket.Read(t.Context())
		}
		require.Equal(t, c.want, websocket.CloseStatus(err), "%s: %v", c.name, err)
		_ = socket.CloseNow()
	}
	require.NoError(t, bystander.socket.Ping(t.Context()))
	require.NotContains(t, p.log.String(), `"level":"ERROR"`)
}

func TestBrowserIsolatesNamesInToasts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), worldEnv(w)...)
	v := p.newcomer()
	v.consent(agree(), 200)
	v.becomes("spotify", "healthy")
	v.call("PATCH", "/connections/spotify", object{"name": "\u202eשלום\u2069"}, 200)
	page := browser(t)
	do(t, page,
		chromedp.Navigate(p.url+"/login"),
		chromedp.SendKeys(`input[name=name]`, "alice", byQuery),
		chromedp.SendKeys(`input[name=password]`, password, byQuery),
		chromedp.Click(`main form button`, byQuery),
		sees("main bdi", "שלום"),
		holds(`document.body?.dataset.linked === "yes"`),
	)
	require.NoError(t, w.Switch(demo.Spotify, demo.Revoked))
	var shown string
	do(t, page, sees(".toast bdi", "שלום"), chromedp.Evaluate("document.body.innerText", &shown))
	require.NotContains(t, shown, "\u202e")
	require.NotContains(t, shown, "\u2069")
}
