//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package feed

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"reprise/internal/events"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
)

func FuzzAcknowledgement(f *testing.F) {
	for _, seed := range []string{`{"type":"ack","data":{"id":"7"}}`, `{"type":"seen","data":{"id":"7"}}`, ``,
		`{"type":"ack","data":{"id":7}}`,
		`[]`, `null`, `{"type":"ack"}`, `{"type":"ack","data":[]}`, `{"type":"ack","data":{"id":"-1"}}`,
		`{"type":"hello"}`,
		`{"type":"ack","data":{"id":"99999999999999999999"}}`, `{"type":"ack","data":{"id":"7"}} {"type":"ack"}`,
		"{\"type\":\"ack\",\"data\":{\"id\":\"\u202e7\"}}", "\xff\xfe{"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, id, ok := said(data); ok {
			require.Positive(t, id)
		} else {
			require.False(t, ok)
		}
	})
}

func TestAcknowledgementIsRead(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"ack", "seen"} {
		act, id, ok := said([]byte(`{"type":"` + want + `","data":{"id":"7","more":true},"seq":1}`))
		require.True(t, ok)
		require.Equal(t, want, act)
		require.EqualValues(t, 7, id)
	}
	for _, other := range []string{`{"type":"ack","data":{"id":7}}`, `{"type":"ACK2","data":{"id":"7"}}`,
		`{"type":"ack","data":{"id":"0"}}`, `{`, `{"type":"ack","data":{"id":"7"}}{}`} {
		_, _, ok := said([]byte(other))
		require.False(t, ok, other)
	}
}

// The page that was opened first, which is most likely forgotten, makes room. It hears why, and the others stay.
func TestTooManyPagesCloseTheOldest(t *testing.T) {
	t.Parallel()
	var c crowd
	gone := map[string]bool{}
	enter := func(user int64, name string) *place { return c.enter(user, 2, func() { gone[name] = true }) }
	first, second, other := enter(1, "first"), enter(1, "second"), enter(2, "another person's")
	third := enter(1, "third")
	require.Equal(t, map[string]bool{"first": true}, gone)
	c.leave(first)
	c.leave(second)
	fourth := enter(1, "fourth")
	require.Len(t, gone, 1)
	c.leave(third)
	c.leave(fourth)
	c.leave(other)
	require.Empty(t, c.open)

	bus := &events.Bus{}
	conns := syncer.NewConnections(&syncer.Guard{}, nil, nil, nil, bus)
	h := New(Options{Store: feedStore{}, Bus: bus, Streams: 1,
		Statuses: connections.NewStatuses(nil, feedStore{}, conns, nil)})
	ctx, end := context.WithCancelCause(t.Context())
	h.crowd.enter(1, h.Streams, func() { end(errCrowded) })
	var got []message
	f := &feed{Handler: h, watcher: core.Watcher{User: 1}, changes: bus.Subscribe(1),
		toasts: newToasts()}
	defer f.changes.Close()
	f.send = func(m message) error { got = append(got, m); return nil }
	h.crowd.enter(1, h.Streams, nil)
	err := f.run(ctx)
	require.ErrorIs(t, err, errCrowded)
	require.Equal(t, "crowded", got[len(got)-1].kind)
	code, reason := closing(err)
	require.Equal(t, websocket.StatusCode(4001), code)
	require.NotEmpty(t, reason)
}

func TestReasonsOfClosing(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]websocket.StatusCode{
		errFlood: 1008, errBinary: 1003, errSession: 1008, errClosing: 1001, errSlow: 1013, errors.New("other"): 1000,
	} {
		code, _ := closing(err)
		require.Equal(t, want, code, err)
	}
}
