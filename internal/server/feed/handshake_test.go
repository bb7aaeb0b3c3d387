//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package feed

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"
)

// Messages that are larger than the buffers arrive whole, also one that a browser sends together with the handshake,
// before it is answered.
func TestSmallBuffersLoseNothing(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 3*writeBuffer)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(&handshake{ResponseWriter: w}, r, nil)
		if err != nil {
			return
		}
		defer socket.CloseNow()
		for {
			kind, data, err := socket.Read(r.Context())
			if err != nil || socket.Write(r.Context(), kind, append(data, long...)) != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	first := strings.Repeat("y", 2*readBuffer)
	frame := append([]byte{0x81, 0x80 | 126, byte(len(first) >> 8), byte(len(first)), 0, 0, 0, 0}, first...)
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"+string(frame))
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
	for range 2 {
		want := first + long
		got := make([]byte, 4+len(want))
		_, err = io.ReadFull(r, got)
		require.NoError(t, err)
		require.Equal(t, want, string(got[4:]))
		_, err = conn.Write(frame)
		require.NoError(t, err)
	}
}
