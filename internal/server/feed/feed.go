package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/server/core"
)

const (
	// pingEvery is the interval at which a stream sends a ping, and checks its session if the database has changed.
	pingEvery = 30 * time.Second
	// recheckEvery is after how long a stream checks its session in any case.
	recheckEvery = 15 * time.Minute
	// behind is how long a stream that has much to send is left alone.
	behind = time.Second
)

// message is a message to a browser. Its data is shared with other streams and must not be changed.
type message struct {
	kind string
	seq  uint64 // grows within one stream
	data []byte // JSON
}

// appendTo appends the message as JSON, which both kinds of stream send.
func (m message) appendTo(b []byte) []byte {
	b = append(append(b, `{"type":"`...), m.kind...)
	b = strconv.AppendUint(append(b, `","seq":`...), m.seq, 10)
	b = append(append(b, `,"data":`...), m.data...)
	return append(b, '}')
}

var (
	errSlow    = errors.New("reader too slow")
	errSession = errors.New("session ended")
	errClosing = errors.New("server stops")
	errCrowded = errors.New("too many streams of one person")
	errFlood   = errors.New("too many messages from the browser")
	errBinary  = errors.New("binary message from the browser")
	errFault   = errors.New("fault of the server")
)

// feed is what one browser receives: a snapshot, and then every change.
type feed struct {
	*Handler
	watcher core.Watcher
	reader  question // what every question has in common
	seq     uint64
	send    func(message) error
	ping    func(context.Context) error
	changes *events.Subscription
	batch   []events.Event // of gather
	since   uint64         // the serial of the last event of which the browser has to be told
	toasts  toasts
	alarm   *time.Timer // rings when a ping is due
	checked checked
}

// checked is the last time that a stream has asked for its session or token in vain.
type checked struct {
	changes uint64    // of the database by then
	until   time.Time // when to ask again in any case
}

// run sends messages until the browser is gone, too slow or signed out, or until ctx ends, and returns why. It first
// tells the browser when ctx ends to make room.
func (f *feed) run(ctx context.Context) error {
	err := f.serve(ctx)
	if ctx.Err() != nil { // and whatever has failed because of that
		err = context.Cause(ctx)
	}
	if errors.Is(err, errCrowded) {
		err = errors.Join(err, f.message("crowded", fmt.Appendf(nil, `{"most":%d}`, f.Streams)))
	}
	return err
}

// serve is run, and may return anything once ctx has ended.
func (f *feed) serve(ctx context.Context) error {
	f.since, f.reader = f.Bus.Serial(), ask(ctx, f.watcher.User)
	if err := f.snapshot(ctx); err != nil {
		return err
	}
	f.alarm = time.AfterFunc(pingEvery, f.nudge)
	defer f.alarm.Stop()
	defer context.AfterFunc(ctx, f.changes.Close)()
	// A thousand streams wait here: a second channel would be felt.
	for first := range f.changes.C {
		if ctx.Err() != nil {
			break
		}
		for _, e := range f.gather(first) {
			if err := f.tell(ctx, e); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errSlow
}

// nudge has the stream send a ping; when it is behind, a moment later.
func (f *feed) nudge() {
	if !f.changes.Nudge() {
		f.alarm.Reset(behind)
	}
}

// ring sends a ping, unless the session has ended.
func (f *feed) ring(ctx context.Context) error {
	if err := f.recheck(ctx); err != nil {
		return err
	}
	if err := f.ping(ctx); err != nil {
		return err
	}
	f.alarm.Reset(pingEvery)
	return nil
}

// gather returns first and the events that wait behind it, without repetitions, so that a burst costs little. It
// returns the same slice again.
func (f *feed) gather(first events.Event) []events.Event {
	batch := append(f.batch[:0], first)
	defer func() { f.batch = batch }()
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
			e.Done += b.Done
		}
		*b = e
		return batch
	}
	return append(batch, e)
}

func (f *feed) message(kind string, data []byte) error {
	f.seq++
	return f.send(message{kind, f.seq, data})
}

// tell sends the current state of what an event is about; an empty one says that a ping is due.
func (f *feed) tell(ctx context.Context, e events.Event) error {
	if e.Type == "" {
		return f.ring(ctx)
	}
	f.since = e.Serial
	switch e.Type {
	case events.Connection:
		v, err := f.connection(ctx, e)
		if errors.Is(err, library.ErrNotFound) { // disconnected
			return f.snapshot(ctx)
		}
		if err != nil {
			return err
		}
		return f.message("connection", v)
	case events.Notification:
		n, err := f.notification(ctx, e)
		if err != nil {
			return err
		}
		return f.message("notification", f.toasts.of(n))
	case events.Listens:
		newest, err := f.newest(ctx, e)
		if err != nil {
			return err
		}
		b := strconv.AppendInt(append(make([]byte, 0, 40+len(newest)), `{"count":`...), int64(e.Done), 10)
		return f.message("listens", append(append(append(b, `,"newest":`...), newest...), '}'))
	case events.Access:
		if err := f.still(ctx, need{serial: e.Serial}); err != nil {
			return err
		}
		return f.message(string(e.Type), []byte("{}"))
	case events.SessionEnd:
		if e.ID == f.watcher.Ends {
			return errSession
		}
	default:
		data, err := shared(ctx, &f.answers, f.reader.on(e), need{},
			func(context.Context) ([]byte, error) { return json.Marshal(plain(e)) })
		if err != nil {
			return err
		}
		return f.message(string(e.Type), data)
	}
	return nil
}

// plain returns what is sent about an event that says everything itself.
func plain(e events.Event) any {
	provider := e.Connection.Provider()
	switch e.Type {
	case events.Progress:
		data := map[string]any{"provider": provider, "connection": e.Connection,
			"stream": e.Stream, "done": e.Done, "total": nil}
		if e.Total > 0 {
			data["total"] = e.Total
		}
		return data
	case events.Deliveries:
		return map[string]any{"provider": core.Text(provider), "connection": core.Text(string(e.Connection))}
	case events.Imports:
		return map[string]any{"provider": provider, "connection": e.Connection}
	case events.Enrichment:
		return map[string]any{"provider": provider}
	case events.Players, events.NowPlaying:
		return map[string]any{"id": e.Connection}
	}
	return struct{}{}
}
