// Package feed answers with streams of events, by websocket and by Server-Sent Events.
package feed

import (
	"context"
	_ "embed"
	"net/http"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
)

// Store is what this package reads.
type Store interface {
	Notifications(ctx context.Context, user int64, openOnly bool) ([]notify.Notification, error)
	Notification(ctx context.Context, user, id int64) (notify.Notification, error)
	Listens(ctx context.Context, user int64, before string,
		limit int) (page []library.StoredListen, next string, err error)
	Changes() uint64 // how often the database was changed
}

// Options are what a Handler is made from.
type Options struct {
	Core     *core.Core
	Store    Store
	Bus      *events.Bus
	Notifier *notify.Notifier
	Statuses *connections.Statuses
	Hosts    func() []string // of our own pages, as path.Match takes them; websockets from others are refused
	Streams  int             // of one person at once; 0 for no bound
	Closing  context.Context // ends when the server stops; nil: never
}

// Handler answers with streams of events. Make it with New.
type Handler struct {
	Options
	streams sync.WaitGroup
	crowd   crowd
	answers answers
}

// New returns a Handler.
func New(o Options) *Handler {
	return &Handler{Options: o, answers: answers{bus: o.Bus}}
}

//go:embed events.md
var messages string

// API adds the streams. They look at sessions and tokens by themselves, since they last longer than those.
func (h *Handler) API(a *core.API) {
	core.Get(a, "/events", sent(h.websocket), core.Call{
		ID:          "openWebsocket",
		Summary:     "Websocket with everything that changes",
		Description: strings.TrimSpace(messages),
		Answer:      "The websocket is open.",
		Status:      http.StatusSwitchingProtocols,
	})
	core.Get(a, "/events/sse", sent(h.serverSentEvents), core.Call{
		ID:      "openEventStream",
		Summary: "The same stream as Server-Sent Events",
		Answer:  "The stream.",
		Types:   []string{"text/event-stream"},
	})
}

func sent(stream echo.HandlerFunc) core.Handle[core.None, core.Sent[core.None]] {
	return func(c echo.Context, _ *core.None) (out core.Sent[core.None], _ error) { return out, stream(c) }
}

// Wait blocks until all streams have ended.
func (h *Handler) Wait() { h.streams.Wait() }

// until returns a context for a stream, and what ends it with a reason. It ends with ctx, when the server stops, and
// when the stream has to make room. The caller calls done.
func (h *Handler) until(ctx context.Context, user int64) (_ context.Context, end context.CancelCauseFunc,
	done func()) {
	ctx, end = context.WithCancelCause(ctx)
	mine := h.crowd.enter(user, h.Streams, func() { end(errCrowded) })
	open := func() bool { return true }
	if h.Closing != nil {
		open = context.AfterFunc(h.Closing, func() { end(errClosing) })
	}
	return ctx, end, func() {
		open()
		h.crowd.leave(mine)
		end(nil)
	}
}

// open returns the watcher whose session or token a request has, or accounts.ErrUnknown, and gives the request their
// language. The caller closes the subscription.
func (h *Handler) open(c echo.Context) (core.Watcher, *events.Subscription, error) {
	w, err := h.Core.Access.Watcher(c.Request(), c.RealIP())
	if err != nil {
		return w, nil, err
	}
	c.SetRequest(c.Request().WithContext(w.Reads.Reader(c.Request().Context())))
	// The subscription begins before the snapshot is taken: what happens in between is sent twice rather than
	// never.
	return w, h.Bus.Subscribe(w.User), nil
}
