package feed

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/server/core"
)

// pingEvery is the interval at which a stream sends a ping and checks its session.
const pingEvery = 30 * time.Second

// message is a message to a browser.
type message struct {
	Type string `json:"type"`
	Seq  uint64 `json:"seq"` // grows within one stream
	Data any    `json:"data"`
}

var (
	errSlow    = errors.New("reader too slow")
	errSession = errors.New("session ended")
	errClosing = errors.New("server stops")
	errCrowded = errors.New("too many streams of one person")
	errFlood   = errors.New("too many messages from the browser")
	errBinary  = errors.New("binary message from the browser")
)

// feed is what one browser receives: a snapshot, and then every change.
type feed struct {
	*Handler
	watcher core.Watcher
	seq     uint64
	send    func(message) error
	ping    func() error
	changes *events.Subscription
	crowded <-chan struct{} // closed when it has to make room for a newer one
	live    live
	toasts  toasts
}

// run sends messages until the browser is gone, too slow or signed out, or the server stops.
func (f *feed) run(ctx context.Context) error {
	if err := f.snapshot(ctx); err != nil {
		return err
	}
	if f.live.follows() {
		if err := f.show(ctx); err != nil {
			return err
		}
	}
	alive := time.NewTicker(pingEvery)
	defer alive.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.Closing:
			return errClosing
		case <-f.crowded:
			if err := f.message("crowded", map[string]int{"most": f.Streams}); err != nil {
				return err
			}
			return errCrowded
		case <-f.live.due:
			if err := f.show(ctx); err != nil {
				return err
			}
		case <-alive.C:
			if _, err := f.watcher.Still(ctx); err != nil {
				return errSession
			}
			if err := f.ping(); err != nil {
				return err
			}
		case e, ok := <-f.changes.C:
			if !ok {
				return errSlow
			}
			for _, e := range f.gather(e) {
				if err := f.tell(ctx, e); err != nil {
					return err
				}
				f.live.want(e)
			}
		}
	}
}

// gather returns first and the events that wait behind it, without repetitions, so that a burst costs little.
func (f *feed) gather(first events.Event) []events.Event {
	batch := []events.Event{first}
	for {
		select {
		case e, ok := <-f.changes.C:
			if !ok {
				return batch // run notices the closed channel next
			}
			batch = fold(batch, e)
		default:
			return batch
		}
	}
}

func fold(batch []events.Event, e events.Event) []events.Event {
	for i := range batch {
		b := &batch[i]
		if b.Type != e.Type || b.Connection != e.Connection || b.Stream != e.Stream || b.ID != e.ID {
			continue
		}
		if e.Type == events.Listens {
			b.Done += e.Done
		} else {
			*b = e
		}
		return batch
	}
	return append(batch, e)
}

func (f *feed) message(kind string, data any) error {
	f.seq++
	return f.send(message{Type: kind, Seq: f.seq, Data: data})
}

func (f *feed) snapshot(ctx context.Context) error {
	data := map[string]any{}
	if !f.live.follows() { // a page shows the connections
		connections, err := f.Statuses.All(ctx, f.watcher.User)
		if err != nil {
			return err
		}
		data["connections"] = connections
	}
	open, err := f.Store.Notifications(ctx, f.watcher.User, true)
	if err != nil {
		return err
	}
	data["notifications"] = core.ViewsFor(ctx, open, f.toasts.of)
	return f.message("snapshot", data)
}

// tell sends the current state of what an event is about.
func (f *feed) tell(ctx context.Context, e events.Event) error {
	switch e.Type {
	case events.Connection:
		v, err := f.Statuses.One(ctx, f.watcher.User, e.Connection)
		if errors.Is(err, library.ErrNotFound) { // disconnected
			return f.snapshot(ctx)
		}
		if err != nil {
			return err
		}
		return f.message("connection", v)
	case events.Notification:
		id, err := strconv.ParseInt(e.ID, 10, 64)
		if err != nil {
			return fmt.Errorf("event names notification %q", e.ID)
		}
		n, err := f.Store.Notification(ctx, f.watcher.User, id)
		if err != nil {
			return err
		}
		return f.message("notification", f.toasts.of(ctx, n))
	case events.Progress:
		data := map[string]any{"provider": e.Connection.Provider(), "connection": e.Connection,
			"stream": e.Stream, "done": e.Done, "total": nil}
		if e.Total > 0 {
			data["total"] = e.Total
		}
		return f.message("progress", data)
	case events.Listens:
		newest, _, err := f.Store.Listens(ctx, f.watcher.User, "", 1)
		if err != nil {
			return err
		}
		data := map[string]any{"count": e.Done, "newest": nil}
		if len(newest) > 0 {
			data["newest"] = newest[0].Record()
		}
		return f.message("listens", data)
	case events.Deliveries:
		return f.message("deliveries", map[string]any{"provider": core.Text(e.Connection.Provider()),
			"connection": core.Text(string(e.Connection))})
	case events.Imports:
		return f.message("imports", map[string]any{"provider": e.Connection.Provider(), "connection": e.Connection})
	case events.Breakers:
		return f.message("breakers", struct{}{})
	case events.Digest:
		return f.message("digest", map[string]any{})
	case events.Enrichment:
		return f.message("enrichment", map[string]any{"provider": e.Connection.Provider()})
	case events.Access:
		if _, err := f.watcher.Still(ctx); err != nil {
			return errSession
		}
	case events.SessionEnd:
		if e.ID == f.watcher.Ends {
			return errSession
		}
	}
	return nil
}
