package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/accounts"
	"reprise/internal/events"
	"reprise/internal/library"
)

// pingEvery is how often an open stream shows that it lives, and looks whether its session still does.
const pingEvery = 30 * time.Second

// message is one message to a browser.
type message struct {
	Type string `json:"type"`
	Seq  uint64 `json:"seq"` // grows within one stream
	Data any    `json:"data"`
}

var (
	errSlow    = errors.New("reader too slow")
	errSession = errors.New("session ended")
	errClosing = errors.New("server stops")
)

// feed is what one browser is told: a snapshot, and then every change.
type feed struct {
	s       *Server
	user    int64
	owner   func(context.Context) (int64, error) // whose session or token it is now
	ends    string                               // names the session or token on the bus when it ends
	mayAck  bool
	seq     uint64
	send    func(message) error
	ping    func() error
	changes *events.Subscription
}

// openFeed returns a feed for the session or the token of a request, or accounts.ErrUnknown. The caller closes its
// subscription.
func (s *Server) openFeed(r *http.Request) (f *feed, err error) {
	if secret, ok := bearerOf(r); ok {
		f, err = s.tokenFeed(r, secret)
	} else {
		f, err = s.sessionFeed(r)
	}
	if err != nil {
		return nil, err
	}
	// First the subscription, then the snapshot: what happens between them is told twice rather than never.
	f.changes = s.Bus.Subscribe(f.user)
	return f, nil
}

func (s *Server) sessionFeed(r *http.Request) (f *feed, err error) {
	f = &feed{s: s, mayAck: true, owner: func(ctx context.Context) (int64, error) {
		u, err := s.cookieUser(ctx, r)
		return u.ID, err
	}}
	if cookie, err := r.Cookie(s.sessions.Cookie.Name); err == nil {
		f.ends = fingerprint(cookie.Value)
	}
	f.user, err = f.owner(r.Context())
	return f, err
}

func (s *Server) tokenFeed(r *http.Request, secret string) (*feed, error) {
	b, err := s.bearer(r, secret)
	if err == nil && b.operator {
		err = errOperator
	}
	return &feed{s: s, user: b.user.ID, ends: endOf(b.token.ID), mayAck: b.token.Scope.Covers(accounts.Operate), owner: func(ctx context.Context) (int64, error) {
		b, err := s.tokenOwner(ctx, b.token.Hash)
		return b.user.ID, err
	}}, err
}

// run tells the browser until it is gone, too slow, signed out, or the server stops.
func (f *feed) run(ctx context.Context) error {
	if err := f.snapshot(ctx); err != nil {
		return err
	}
	alive := time.NewTicker(pingEvery)
	defer alive.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.s.closing.Done():
			return errClosing
		case <-alive.C:
			if _, err := f.owner(ctx); err != nil {
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
			}
		}
	}
}

// gather takes what else has happened meanwhile and drops what says nothing new, so that a burst costs little.
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
		if b.Type != e.Type || b.Provider != e.Provider || b.Stream != e.Stream || b.ID != e.ID {
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
	connections, err := f.s.statuses(ctx, f.user)
	if err != nil {
		return err
	}
	open, err := f.s.Store.Notifications(ctx, f.user, true)
	if err != nil {
		return err
	}
	return f.message("snapshot", map[string]any{"connections": connections, "notifications": viewAll(open, viewNotification)})
}

// tell turns an event, which only says where to look, into what is true now.
func (f *feed) tell(ctx context.Context, e events.Event) error {
	switch e.Type {
	case events.Connection:
		v, err := f.s.status(ctx, f.user, e.Provider)
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
		n, err := f.s.Store.Notification(ctx, f.user, id)
		if err != nil {
			return err
		}
		return f.message("notification", viewNotification(n))
	case events.Progress:
		data := map[string]any{"provider": e.Provider, "stream": e.Stream, "done": e.Done, "total": nil}
		if e.Total > 0 {
			data["total"] = e.Total
		}
		return f.message("progress", data)
	case events.Listens:
		newest, _, err := f.s.Store.Listens(ctx, f.user, "", 1)
		if err != nil {
			return err
		}
		data := map[string]any{"count": e.Done, "newest": nil}
		if len(newest) > 0 {
			data["newest"] = newest[0].Record()
		}
		return f.message("listens", data)
	case events.Deliveries:
		return f.message("deliveries", map[string]any{"provider": knownText(e.Provider)})
	case events.Imports:
		return f.message("imports", map[string]any{"provider": e.Provider})
	case events.Breakers:
		return f.message("breakers", struct{}{})
	case events.Digest:
		return f.message("digest", map[string]any{})
	case events.Enrichment:
		return f.message("enrichment", map[string]any{"provider": e.Provider})
	case events.SessionEnd:
		if e.ID == f.ends {
			return errSession
		}
	}
	return nil
}

// serverSentEvents is the same stream as the websocket, for networks that break websockets.
func (s *Server) serverSentEvents(c echo.Context) error {
	f, err := s.openFeed(c.Request())
	if err != nil {
		return err
	}
	defer f.changes.Close()
	s.streams.Add(1)
	defer s.streams.Done()
	w := c.Response()
	w.Header().Set(echo.HeaderContentType, "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx holds streams back otherwise
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Time{}); err != nil { // the stream outlives the time for a request
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
	f.ping = func() error { return write(": alive\n\n") }
	f.send = func(m message) error {
		data, err := encode(m)
		if err != nil {
			return err
		}
		return write("id: %d\nevent: %s\ndata: %s\n\n", m.Seq, m.Type, data)
	}
	s.ended(f.run(c.Request().Context()))
	return nil
}

// ended logs why a stream ended, when that is not the ordinary course of things.
func (s *Server) ended(err error) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, errClosing), errors.Is(err, errSession):
	case errors.Is(err, errSlow):
		s.Log.Info("stream dropped, its reader was too slow")
	default:
		s.Log.Debug("stream ended", "err", err)
	}
}
