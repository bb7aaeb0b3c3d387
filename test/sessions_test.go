package test

import (
	"bufio"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// atOnce is how long a stream may last after its session has ended. It leaves room for a slow machine.
const atOnce = 2 * time.Second

// ends requires that the websocket is closed at once.
func (tb *tab) ends() {
	tb.t.Helper()
	late := time.After(atOnce)
	for {
		select {
		case _, ok := <-tb.messages:
			if !ok {
				return
			}
		case <-late:
			require.FailNow(tb.t, "the websocket goes on")
		}
	}
}

// openSSE opens a stream of Server-Sent Events and returns a channel that is closed when it has ended.
func (v *person) openSSE() <-chan struct{} {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.base+"/api/v1/events/sse", nil)
	require.NoError(v.t, err)
	resp, err := v.Do(req)
	require.NoError(v.t, err)
	v.t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(v.t, http.StatusOK, resp.StatusCode)
	lines, ended := bufio.NewScanner(resp.Body), make(chan struct{})
	require.True(v.t, lines.Scan())
	go func() {
		defer close(ended)
		for lines.Scan() {
		}
	}()
	return ended
}

func TestNewPasswordEndsStreamsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	v := p.newcomer()
	v.call("POST", "/admin/users", object{"name": "Ben", "password": password, "role": "member"}, 201)
	ben := p.visitor()
	ben.call("POST", "/session", object{"name": "Ben", "password": password}, 201)
	bens, _ := ben.open()

	thief := p.returning()
	theirs, _ := thief.open()
	listening := thief.openSSE()
	v.submit("/settings/password", url.Values{"old": {password}, "new": {"another good one"}}, 200)
	theirs.ends()
	select {
	case <-listening:
	case <-time.After(atOnce):
		require.FailNow(t, "the events go on")
	}
	mine, _ := v.open() // the session that changed it goes on

	begin := time.Now()
	_, err := command(t, "a third good one\n", nil, "reset-password", "Alice", "-data-dir", dir)
	require.NoError(t, err)
	mine.ends()
	t.Log("closed", time.Since(begin), "after the command began")
	require.NoError(t, bens.socket.Ping(t.Context()), "the other's goes on")
}
