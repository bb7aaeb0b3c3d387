package feed

import (
	"bufio"
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

// Hijack implements http.Hijacker.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return http.NewResponseController(h.ResponseWriter).Hijack()
}

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
