//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package feed

import (
	"context"
	"encoding/json"
	"strconv"

	"golang.org/x/time/rate"
	"nhooyr.io/websocket"
)

// How many messages a browser may send. A page sends one for each toast that its person closes.
const (
	readLimit = 4 << 10 // bytes of a message
	acksEvery = 5       // in a second
	acksBurst = 100
)

// readAcks reads acknowledgements until the browser is gone, or sends too many. It ignores other messages, which newer
// pages may send.
func (h *Handler) readAcks(ctx context.Context, socket *websocket.Conn, f *feed) error {
	pace := rate.NewLimiter(acksEvery, acksBurst)
	for {
		kind, data, err := socket.Read(ctx)
		if err != nil {
			return err
		}
		if kind != websocket.MessageText {
			return errBinary
		}
		if !pace.Allow() {
			return errFlood
		}
		id, ok := acked(data)
		if !ok || !f.watcher.MayAck {
			continue
		}
		if err := h.Notifier.Acknowledge(ctx, f.watcher.User, id); err != nil {
			return err
		}
	}
}

// acked returns the notification that a message from a browser acknowledges; false if it is another message.
func acked(data []byte) (id int64, ok bool) {
	var m struct {
		Type string `json:"type"`
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(data, &m) != nil || m.Type != "ack" {
		return 0, false
	}
	id, err := strconv.ParseInt(m.Data.ID, 10, 64)
	return id, err == nil && id > 0
}
