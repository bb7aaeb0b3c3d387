//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"
)

// tab is an open websocket.
type tab struct {
	t        testing.TB
	socket   *websocket.Conn
	messages chan object
}

// open opens a tab and returns it with its snapshot.
func (v *person) open() (*tab, object) {
	v.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	socket, _, err := websocket.Dial(ctx, strings.Replace(v.base, "http", "ws", 1)+"/api/v1/events",
		&websocket.DialOptions{HTTPHeader: v.cookies()})
	require.NoError(v.t, err)
	socket.SetReadLimit(1 << 20)
	tb := &tab{v.t, socket, make(chan object, 10_000)}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(tb.messages)
		for {
			_, data, err := socket.Read(ctx)
			if err != nil {
				return
			}
			var m object
			if json.Unmarshal(data, &m) == nil {
				tb.messages <- m
			}
		}
	})
	v.t.Cleanup(func() { cancel(); reading.Wait() })
	first := tb.next("snapshot", func(object) bool { return true })
	return tb, first
}

// openMute opens a tab that never reads and never says goodbye.
func (v *person) openMute() {
	v.t.Helper()
	socket, _, err := websocket.Dial(v.t.Context(), strings.Replace(v.base, "http", "ws", 1)+"/api/v1/events",
		&websocket.DialOptions{HTTPHeader: v.cookies()})
	require.NoError(v.t, err)
	v.t.Cleanup(func() { _ = socket.CloseNow() })
}

// cookies returns the cookie header that a browser would send.
func (v *person) cookies() http.Header {
	v.t.Helper()
	at, err := url.Parse(v.base)
	require.NoError(v.t, err)
	header := http.Header{}
	for _, c := range v.Jar.Cookies(at) {
		header.Add("Cookie", c.Name+"="+c.Value)
	}
	return header
}

// next returns the data of the next message of a type that fits, and drops the messages before it.
func (tb *tab) next(kind string, fits func(data object) bool) object {
	tb.t.Helper()
	_, data := tb.either(kind, kind, fits)
	return data
}

// either is next for two types of messages, and says which it was.
func (tb *tab) either(one, other string, fits func(data object) bool) (kind string, data object) {
	tb.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case m, ok := <-tb.messages:
			require.True(tb.t, ok, "the socket was closed while waiting for %s or %s", one, other)
			if data := m["data"].(object); (m["type"] == one || m["type"] == other) && fits(data) {
				return m["type"].(string), data
			}
		case <-timeout:
			require.FailNow(tb.t, "no such message", "%s or %s", one, other)
		}
	}
}

// acknowledge marks a notification as seen in this tab.
func (tb *tab) acknowledge(id string) {
	tb.t.Helper()
	require.NoError(tb.t, tb.socket.Write(tb.t.Context(), websocket.MessageText,
		[]byte(`{"type":"ack","data":{"id":"`+id+`"}}`)))
}
