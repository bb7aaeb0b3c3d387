package feed

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"

	"reprise/internal/server/core"
	"reprise/internal/words"
)

// handshake is where a websocket is accepted. A refusal is kept, so that it is answered like every other one.
type handshake struct {
	http.ResponseWriter
	refused int // the status of the refusal
}

// WriteHeader implements http.ResponseWriter.
func (h *handshake) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		h.refused = status
		return
	}
	h.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (h *handshake) Write(b []byte) (int, error) {
	if h.refused != 0 {
		return len(b), nil
	}
	return h.ResponseWriter.Write(b)
}

// The sizes of a stream's buffers. Browsers send little, and most messages to them fit.
const (
	readBuffer  = 256
	writeBuffer = 1 << 10
)

// Hijack implements http.Hijacker. It returns smaller buffers than those of net/http.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	if n := both.Reader.Buffered(); n > 0 { // a browser waits for the answer before it sends anything
		first, _ := both.Reader.Peek(n)
		conn = early{conn, io.MultiReader(bytes.NewReader(bytes.Clone(first)), conn)}
	}
	return conn, bufio.NewReadWriter(bufio.NewReaderSize(conn, readBuffer), bufio.NewWriterSize(conn, writeBuffer)), nil
}

// early is a connection on which something was read before it became a websocket.
type early struct {
	net.Conn
	all io.Reader
}

// Read implements net.Conn.
func (e early) Read(b []byte) (int, error) { return e.all.Read(b) }

// problem returns the words for the refusal; nil once it is too late to say anything.
func (h *handshake) problem() error {
	switch h.refused {
	case 0, http.StatusInternalServerError:
		return nil
	case http.StatusForbidden:
		return &core.Refusal{Status: h.refused, Title: words.New("problem.site.title"),
			Detail: words.New("problem.site.text")}
	}
	return &core.Refusal{Status: h.refused, Title: words.New("problem.websocket.title"),
		Detail: words.New("problem.websocket.handshake")}
}
