//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package feed

import (
	"context"
	"encoding/json"
	"strconv"

	"golang.org/x/time/rate"
	"nhooyr.io/websocket"
)

// How many messages a browser may send. A page sends one for each toast that it shows, and one for each that its person
// closes.
const (
	readLimit = 4 << 10 // bytes of a message
	acksEvery = 5       // in a second
	acksBurst = 100
)

// readAcks reads what the person has seen and acknowledged until the browser is gone, or sends too many. It ignores
// other messages, which newer pages may send.
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
		act, id, ok := said(data)
		if !ok || !f.watcher.MayAck {
			continue
		}
		note := h.Notifier.Acknowledge
		if act == "seen" {
			note = h.Notifier.See
		}
		if err := note(ctx, f.watcher.User, id); err != nil {
			return err
		}
	}
}

// said returns what a message from a browser says of a notification: that it was acknowledged ("ack"), or shown
// ("seen"); false if it is another message.
func said(data []byte) (act string, id int64, ok bool) {
	var m struct {
		Type string `json:"type"`
		Data struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(data, &m) != nil || m.Type != "ack" && m.Type != "seen" {
		return "", 0, false
	}
	id, err := strconv.ParseInt(m.Data.ID, 10, 64)
	return m.Type, id, err == nil && id > 0
}
