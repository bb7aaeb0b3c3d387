package transport

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
)

// muted is a connection whose other end may go without a word, as when the router was restarted: then it still takes
// what it is given.
type muted struct {
	net.Conn
	dead   *atomic.Bool
	closed func()
}

func (c *muted) Write(p []byte) (int, error) {
	if c.dead.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *muted) Close() error {
	c.closed()
	return c.Conn.Close()
}

// TestAConnectionThatFellSilentIsGivenUp: with HTTP/2 all calls to a host share one, and would fail with it until the
// system gives it up, which takes a quarter of an hour.
func TestAConnectionThatFellSilentIsGivenUp(t *testing.T) {
	t.Parallel()
	far := httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	far.EnableHTTP2 = true
	far.StartTLS()
	t.Cleanup(far.Close)
	var dead atomic.Bool
	gone := make(chan struct{})
	first := sync.OnceFunc(func() { close(gone) })
	dials := 0
	base := hosts.NewBase(func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if dials++; dials == 1 && err == nil {
			c = &muted{c, &dead, first}
		}
		return c, err
	})
	t.Cleanup(base.CloseIdleConnections)
	base.TLSClientConfig = far.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	require.NotNil(t, base.HTTP2)
	require.LessOrEqual(t, base.HTTP2.SendPingTimeout+base.HTTP2.PingTimeout, resilience.CallTimeout,
		"a call that it fails is its last")
	base.HTTP2.SendPingTimeout /= 30 // a test has less time
	base.HTTP2.PingTimeout /= 30
	call := func(patience time.Duration) (string, error) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", far.URL, nil)
		require.NoError(t, err)
		a, err := resilience.Call{Client: NewClient(&Transport{Base: base}), Patience: patience}.Send(req,
			resilience.Endpoint{Name: "GET /"})
		if err != nil {
			return "", err
		}
		return string(a.Body), nil
	}
	proto, err := call(time.Minute)
	require.NoError(t, err)
	require.Equal(t, "HTTP/2.0", proto)
	dead.Store(true)
	_, err = call(time.Minute)
	requireNetwork(t, err)
	<-gone
	proto, err = call(time.Minute)
	require.NoError(t, err)
	require.Equal(t, "HTTP/2.0", proto)
}
