//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package feed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"nhooyr.io/websocket"

	"reprise/internal/server/core"
	"reprise/internal/words"
)

const (
	writeTimeout = 5 * time.Second
	closeWithin  = 300 * time.Millisecond // for the browser's close frame
)

// statusCrowded closes the oldest stream of a person who has opened too many. The page does not connect again by
// itself.
const statusCrowded websocket.StatusCode = 4001

// buffers are for messages on their way to a browser. They are shared: most streams send nothing most of the time.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// patience makes the contexts of writes, each of which may take at least writeTimeout and at most twice that. One is
// for many writes, because a timer for each would be felt.
type patience struct {
	ctx    context.Context
	cancel context.CancelFunc
	until  time.Time
}

func (p *patience) context() context.Context {
	if now := time.Now(); p.until.Sub(now) < writeTimeout {
		p.end()
		p.until = now.Add(2 * writeTimeout)
		p.ctx, p.cancel = context.WithDeadline(context.Background(), p.until)
	}
	return p.ctx
}

func (p *patience) end() {
	if p.cancel != nil {
		p.cancel()
	}
}

// websocket answers with the stream, and takes acknowledgements from it. The stream goes on when websocket has
// returned: the goroutine of a request has a deep stack and large buffers, which are free again then.
func (h *Handler) websocket(c echo.Context) error {
	toasts := newToasts()
	watcher, changes, err := h.open(c)
	if err != nil {
		return err
	}
	h.streams.Add(1)
	defer h.streams.Done()
	socket, err := h.accept(c)
	if socket == nil {
		changes.Close()
		return err
	}
	ctx, end, done := h.until(context.WithoutCancel(c.Request().Context()), watcher.User)
	s := &stream{Conn: socket, end: end, done: done,
		feed: feed{Handler: h, watcher: watcher, changes: changes, toasts: toasts}}
	s.send, s.ping = s.write, s.hello
	h.streams.Go(func() { s.hold(ctx) })
	return nil
}

// accept returns the websocket of a request; nil if it was refused.
func (h *Handler) accept(c echo.Context) (*websocket.Conn, error) {
	if !c.IsWebSocket() {
		c.Response().Header().Set(echo.HeaderUpgrade, "websocket")
		return nil, &core.Refusal{Status: http.StatusUpgradeRequired, Title: words.New("problem.websocket.title"),
			Detail: words.New("problem.websocket.text")}
	}
	// Accept refuses a request whose Origin is another host than ours.
	answer := &handshake{ResponseWriter: c.Response()}
	socket, err := websocket.Accept(answer, c.Request(),
		&websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled, OriginPatterns: h.Hosts()})
	if err != nil {
		h.Core.Log.Debug("websocket refused", "err", err)
		return nil, answer.problem()
	}
	socket.SetReadLimit(readLimit)
	return socket, nil
}

// stream is a feed by websocket.
type stream struct {
	*websocket.Conn
	feed
	end     context.CancelCauseFunc
	done    func()
	writing patience
}

func (s *stream) write(m message) error {
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	*b = m.appendTo((*b)[:0])
	return s.Conn.Write(s.writing.context(), websocket.MessageText, *b)
}

// hello sends a ping and waits for the answer.
func (s *stream) hello(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.Conn.Ping(ctx)
}

// hold runs the feed until it ends, and closes the socket.
func (s *stream) hold(ctx context.Context) {
	defer s.changes.Close()
	defer s.done()
	defer s.CloseNow()
	defer s.writing.end()
	// A read that is cut off ends the connection without a word of why, as does a write.
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReading()
	var reader sync.WaitGroup
	reader.Go(func() { s.end(s.guarded(func() error { return s.readAcks(reading, s.Conn, &s.feed) })) })
	err := s.guarded(func() error { return s.run(ctx) })
	code, reason := closing(err)
	mute := time.AfterFunc(closeWithin, stopReading) // a sleeping tab sends no close frame
	defer mute.Stop()
	_ = s.Close(code, reason) // ends readAcks
	reader.Wait()
	s.ended(s.watcher.User, err)
}

// guarded turns a panic of f into an error, and logs its stack: outside a request nobody else does.
func (h *Handler) guarded(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			h.Core.Log.Error("stream panicked", "err", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = errFault
		}
	}()
	return f()
}

func closing(err error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(err, errSlow):
		return websocket.StatusTryAgainLater, "reader too slow; connect again for a fresh snapshot"
	case errors.Is(err, errClosing):
		return websocket.StatusGoingAway, "server stops"
	case errors.Is(err, errSession):
		return websocket.StatusPolicyViolation, "session ended"
	case errors.Is(err, errCrowded):
		return statusCrowded, "more pages are open than may follow what happens"
	case errors.Is(err, errFlood):
		return websocket.StatusPolicyViolation, "too many messages"
	case errors.Is(err, errBinary):
		return websocket.StatusUnsupportedData, "send text"
	case errors.Is(err, errFault):
		return websocket.StatusInternalError, "fault of the server"
	}
	return websocket.StatusNormalClosure, ""
}
