package feed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// serverSentEvents answers with the same stream as the websocket, for networks that break websockets.
func (h *Handler) serverSentEvents(c echo.Context) error {
	toasts := newToasts()
	watcher, changes, err := h.open(c)
	if err != nil {
		return err
	}
	defer changes.Close()
	h.streams.Add(1)
	defer h.streams.Done()
	w := c.Response()
	w.Header().Set(echo.HeaderContentType, "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // otherwise nginx buffers the stream
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Time{}); err != nil { // a stream has no end
		return err
	}
	write := func(format string, args ...any) error {
		if err := control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, format, args...); err != nil {
			return err
		}
		return control.Flush()
	}
	ping := func(context.Context) error { return write(": alive\n\n") }
	send := func(m message) error {
		return write("id: %d\nevent: %s\ndata: %s\n\n", m.seq, m.kind, m.appendTo(nil))
	}
	ctx, _, done := h.until(c.Request().Context(), watcher.User)
	defer done()
	f := &feed{Handler: h, watcher: watcher, changes: changes, send: send, ping: ping, toasts: toasts}
	h.ended(watcher.User, f.run(ctx))
	return nil
}

// ended logs why a stream ended, unless it ended in an ordinary way.
func (h *Handler) ended(user int64, err error) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errClosing), errors.Is(err, errSession),
		errors.Is(err, errCrowded):
	case errors.Is(err, errSlow):
		h.Core.Log.Info("stream dropped, its reader was too slow")
	case errors.Is(err, errFlood), errors.Is(err, errBinary):
		h.Core.Log.Info("stream dropped, a page does not send such messages", "user_id", user, "err", err)
	default:
		h.Core.Log.Debug("stream ended", "err", err)
	}
}
