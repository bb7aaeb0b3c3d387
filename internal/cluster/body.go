package cluster

import (
	"bytes"
	"io"
	"net/http"
	"time"
)

const (
	// smallBody is the largest body, in bytes, of a form or a call that needs another server, and largeBody that of one
	// with a picture. Larger ones aren't passed on.
	smallBody, largeBody = 256 << 10, 8 << 20
	// smallBodies and largeBodies are how many of them are kept at once.
	smallBodies, largeBodies = 256, 8
	// sendWithin is the longest pause in a large body.
	sendWithin = 30 * time.Second
)

// keep reads the body of a request that may have to be passed on; nil if it is too large, or all room is full, and then
// the request still has it. done makes room for others.
func (g *Gate) keep(w http.ResponseWriter, r *http.Request) (body []byte, full bool, done func()) {
	room, size := g.small, int64(smallBody)
	if r.ContentLength > smallBody {
		room, size = g.large, largeBody
		r.Body = &sending{r.Body, http.NewResponseController(w)}
	}
	if r.ContentLength > size {
		return nil, false, func() {}
	}
	if r.ContentLength != 0 {
		select {
		case room <- struct{}{}:
			done = func() { <-room }
		default:
			return nil, true, func() {}
		}
	} else {
		done = func() {}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, size+1))
	switch {
	case err != nil: // the browser is gone, or withholds the rest
		done()
		panic(http.ErrAbortHandler)
	case int64(len(body)) > size: // it didn't say how long it is
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		return nil, false, done
	}
	return body, false, done
}

// sending is a large body, which may take as long as it makes progress.
type sending struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (b *sending) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(sendWithin)) // an error means that there is no deadline
	return b.ReadCloser.Read(p)
}

// with returns a request with a fresh copy of its body, if that was kept.
func with(r *http.Request, body []byte) *http.Request {
	if body == nil {
		return r
	}
	copied := *r
	copied.Body = io.NopCloser(bytes.NewReader(body))
	return &copied
}
