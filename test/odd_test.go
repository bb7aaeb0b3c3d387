package test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Promise: Requests that no browser sends get an answer or the end of the connection, and trouble nobody.
func TestOddRequestsAreHeld(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	to := strings.TrimPrefix(p.url, "http://")
	host := "Host: " + to + "\r\n"
	for request, want := range map[string]int{
		"GET / HTTP/1.1\r\n\r\n":                                                                    400,
		"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n":                                              400,
		"GET / HTTP/1.0\r\n\r\n":                                                                    303,
		"GET http://evil.example/metrics HTTP/1.1\r\n" + host + "\r\n":                              421,
		"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n":                       421,
		"GET / HTTP/9.9\r\n" + host + "\r\n":                                                        505,
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":                                                          404,
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n":                                      400,
		"GET /\x00 HTTP/1.1\r\n" + host + "\r\n":                                                    400,
		"G\x7fT / HTTP/1.1\r\n" + host + "\r\n":                                                     400,
		"GET / HTTP/1.1\r\n" + host + "X\x00Y: z\r\n\r\n":                                           400,
		"GET / HTTP/1.1\r\n" + host + " folded: yes\r\n\r\n":                                        400,
		"GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", 100<<10) + "\r\n\r\n":             431,
		"GET /" + strings.Repeat("a/", 100<<10) + " HTTP/1.1\r\n" + host + "\r\n":                   431,
		"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + host + "\r\n":                                303,
		"GET /static/..%2f..%2fetc/passwd HTTP/1.1\r\n" + host + "\r\n":                             404,
		"GET /api/v1/listens?limit=%FF%00&before=%GG HTTP/1.1\r\n" + host + "\r\n":                  401,
		"TRACE / HTTP/1.1\r\n" + host + "\r\n":                                                      405,
		"POST /login HTTP/1.1\r\n" + host + "Content-Length: -1\r\n\r\n":                            400,
		"POST /login HTTP/1.1\r\n" + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n":        400,
		"POST /login HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip, chunked\r\n\r\n":              501,
		"POST /login HTTP/1.1\r\n" + host + "Content-Length: 9999999999\r\n\r\nx":                   413,
		"POST /login HTTP/1.1\r\n" + host + "Content-Length: 0\r\nCookie: " + "a=\xff;=;;;\r\n\r\n": 401,
		"POST /api/v1/session HTTP/1.1\r\n" + host + "Content-Type: application/json\r\n" +
			"Content-Length: 12\r\n\r\n{\"name\":\"\xff\"}": 400,
		"GET /api/v1/events HTTP/1.1\r\n" + host + "Upgrade: websocket\r\nConnection: Upgrade\r\n" +
			"Sec-WebSocket-Version: 99\r\n\r\n": 401,
	} {
		c, err := net.Dial("tcp", to)
		require.NoError(t, err)
		require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
		go func() { _, _ = io.WriteString(c, request) }()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err, "%.80q", request)
		assert.Equal(t, want, resp.StatusCode, "%.80q", request)
		require.NoError(t, c.Close())
	}
	p.visits(t, 1)
	require.NotContains(t, p.log.String(), "panicked")
	require.NotContains(t, p.log.String(), `"level":"ERROR"`)
}

// Promise: Somebody who sends a request's head letter by letter is not waited for.
func TestSlowHeadsAreCutOff(t *testing.T) {
	takesLong(t)
	t.Parallel()
	p := start(t, t.TempDir())
	c, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	require.NoError(t, err)
	defer c.Close()
	began := time.Now()
	go func() {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nX: ")
		for tick := time.NewTicker(200 * time.Millisecond); ; <-tick.C {
			if _, err := io.WriteString(c, "x"); err != nil {
				return
			}
		}
	}()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	_, err = io.Copy(io.Discard, c)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Greater(t, time.Since(began), 5*time.Second)
}
