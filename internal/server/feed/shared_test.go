package feed

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/players"
	"reprise/internal/providers"
	"reprise/internal/providers/listenbrainz"
	"reprise/internal/providers/providertest"
	"reprise/internal/resilience/backoff"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// counted is a store that counts what is read from it. A reading takes a moment.
type counted struct {
	Store
	reads  atomic.Int64
	wrote  atomic.Uint64
	plays  atomic.Int64 // the number of the newest one
	paused atomic.Bool
}

func (s *counted) read() { s.reads.Add(1); time.Sleep(time.Millisecond) }

func (s *counted) Changes() uint64 { return s.wrote.Load() }

func (s *counted) UserConnections(context.Context, int64) ([]library.Connection, error) {
	paused := s.paused.Load()
	s.read()
	return []library.Connection{{User: 1, ID: "listenbrainz", Paused: paused}}, nil
}

func (s *counted) UserByID(context.Context, int64) (accounts.User, error) {
	s.read()
	return accounts.User{}, nil
}

func (s *counted) Streams(context.Context, int64) ([]library.StreamRecord, error) { return nil, nil }

func (s *counted) Waiting(context.Context, int64) (map[library.ConnectionID]delivery.Waiting, error) {
	return nil, nil
}

func (s *counted) Players(context.Context, int64) ([]players.Player, error) { return nil, nil }

func (s *counted) Notifications(context.Context, int64, bool) ([]notify.Notification, error) {
	s.read()
	return []notify.Notification{{ID: 7, Title: words.Plain("Old"), SeenAt: time.Now()}}, nil
}

func (s *counted) Notification(_ context.Context, _, id int64) (notify.Notification, error) {
	s.read()
	return notify.Notification{ID: id, Title: words.Plain("New"), CreatedAt: time.Now()}, nil
}

func (s *counted) Listens(context.Context, int64, string, int) ([]library.StoredListen, string, error) {
	n := s.plays.Load()
	s.read()
	return []library.StoredListen{{ID: n}}, "", nil
}

// watched is a person with many streams.
type watched struct {
	*Handler
	store *counted
	bus   *events.Bus
	still atomic.Int64 // how often a session was looked up
	ended atomic.Bool  // the session has ended
	gone  atomic.Int64 // how many streams have ended with it

	mu  sync.Mutex
	got [][]string // messages of each stream since they were taken last
}

// watch opens streams in a bubble. Each ends with the test.
func watch(t *testing.T, streams int) *watched {
	bus := &events.Bus{}
	w := &watched{store: &counted{}, bus: bus, got: make([][]string, streams)}
	registry := providers.NewRegistry(providertest.New(listenbrainz.Describe(), "api_url", "http://127.0.0.1"))
	guard := syncer.NewGuard(syncer.GuardOptions{Registry: registry,
		Backoff: backoff.New(backoff.Options{})})
	pull := syncer.NewSyncer(syncer.Options{}, guard, nil, bus)
	conns := syncer.NewConnections(guard, pull, nil, nil, bus)
	k, err := core.New(core.Options{BaseURL: "http://127.0.0.1:8420", Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	w.Handler = New(Options{Core: k, Store: w.store, Bus: bus,
		Statuses: connections.NewStatuses(nil, w.store, conns, pull)})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for i := range streams {
		f := &feed{Handler: w.Handler, changes: bus.Subscribe(1), toasts: newToasts(),
			watcher: core.Watcher{User: 1, Ends: "session", Still: func(context.Context) (accounts.User, error) {
				w.still.Add(1)
				if w.ended.Load() {
					return accounts.User{}, accounts.ErrUnknown
				}
				return accounts.User{ID: 1}, nil
			}}}
		f.send = func(m message) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.got[i] = append(w.got[i], string(m.appendTo(nil)))
			return nil
		}
		f.ping = func(context.Context) error { return nil }
		running.Go(func() {
			if err := f.run(ctx); errors.Is(err, errSession) {
				w.gone.Add(1)
			}
		})
	}
	return w
}

// take returns what the streams have sent, which is the same number of messages each, and how much was read for it.
func (w *watched) take() (got [][]string, reads int64) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	got, w.got = w.got, make([][]string, len(w.got))
	return got, w.store.reads.Swap(0)
}

func TestAnEventIsAnsweredOnceForAll(t *testing.T) {
	t.Parallel()
	const streams = 100
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, streams)
		time.Sleep(time.Minute + time.Second)
		got, reads := w.take()
		require.Contains(t, got[0][0], `"toast":false`)
		require.LessOrEqual(t, reads, int64(3), "the connections, their person and the notifications")
		w.still.Store(0)
		for _, c := range []struct {
			e     events.Event
			reads int64
			says  string
		}{
			{events.Event{Type: events.Connection, Connection: "listenbrainz"}, 1, `"provider":"listenbrainz"`},
			{events.Event{Type: events.Notification, ID: "9"}, 1, `"title":"New"`},
			{events.Event{Type: events.Listens, Done: 3}, 1, `"count":3,"newest":{`},
			{events.Event{Type: events.Progress, Connection: "listenbrainz", Done: 3}, 0, `"done":3`},
			{events.Event{Type: events.Deliveries}, 0, `"connection":null`},
			{events.Event{Type: events.Imports}, 0, `"connection":""`},
			{events.Event{Type: events.Breakers}, 0, `{}`},
			{events.Event{Type: events.Digest}, 0, `{}`},
			{events.Event{Type: events.Players, Connection: "player-2"}, 0, `"id":"player-2"`},
			{events.Event{Type: events.NowPlaying, Connection: "player-2"}, 0, `"id":"player-2"`},
			{events.Event{Type: events.Enrichment, Connection: "musicbrainz"}, 0, `"provider":"musicbrainz"`},
		} {
			w.bus.Publish(1, c.e)
			time.Sleep(50 * time.Millisecond)
			got, reads := w.take()
			require.Equal(t, c.reads, reads, c.e.Type)
			for _, one := range got {
				require.Len(t, one, 1, c.e.Type)
				require.Contains(t, one[0], c.says)
				require.Contains(t, one[0], `"type":"`+string(c.e.Type)+`"`)
				require.True(t, json.Valid([]byte(one[0])), one[0])
			}
			time.Sleep(2 * time.Second)
			got, _ = w.take()
			require.Equal(t, make([][]string, streams), got, "nothing follows")
		}
		w.bus.Publish(1, events.Event{Type: events.Access})
		synctest.Wait()
		require.EqualValues(t, 1, w.still.Load(), "one session")
		got, _ = w.take()
		require.Len(t, got[0], 1)
		require.Contains(t, got[0][0], `"type":"access"`)
	})
}

// A stream never gets what was true before the event that it is told of.
func TestNoAnswerIsOlderThanItsEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, 10)
		time.Sleep(time.Minute)
		w.take()
		for n := range int64(50) {
			w.store.plays.Store(n)
			w.bus.Publish(1, events.Event{Type: events.Listens, Done: 1})
			time.Sleep(time.Duration(n%5) * 300 * time.Microsecond) // while the last answer is being made
		}
		time.Sleep(5 * time.Second)
		got, _ := w.take()
		for _, one := range got {
			last := ""
			for _, m := range one {
				if strings.Contains(m, `"type":"listens"`) {
					last = m
				}
			}
			require.Contains(t, last, `"id":"49"`)
		}
		w.store.paused.Store(true)
		w.bus.Publish(1, events.Event{Type: events.Connection, Connection: "listenbrainz"})
		time.Sleep(time.Second)
		got, _ = w.take()
		require.Contains(t, got[0][0], `"state":"paused"`)
	})
}

// A question that could not be answered is asked again.
func TestAFailedAnswerIsNotKept(t *testing.T) {
	t.Parallel()
	a := &answers{bus: &events.Bus{}}
	q := question{user: 1}
	_, err := shared(t.Context(), a, q, need{}, func(context.Context) (int, error) { return 0, errSlow })
	require.ErrorIs(t, err, errSlow)
	require.Panics(t, func() {
		_, _ = shared(t.Context(), a, q, need{}, func(context.Context) (int, error) { panic("a fault") })
	})
	n, err := shared(t.Context(), a, q, need{}, func(context.Context) (int, error) { return 7, nil })
	require.NoError(t, err)
	require.Equal(t, 7, n)
}

// While nothing changes, open pages cost the database nothing: only their session is looked up, a few times an hour for
// all of them.
func TestIdleStreamsAskTheDatabaseNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, 10)
		time.Sleep(time.Minute)
		w.take()
		time.Sleep(time.Hour)
		require.EqualValues(t, 5, w.still.Load())
		got, reads := w.take()
		require.Equal(t, make([][]string, 10), got)
		require.Zero(t, reads)

		w.store.wrote.Add(1)
		time.Sleep(time.Minute)
		require.EqualValues(t, 6, w.still.Load(), "a change has them look once")
		w.ended.Store(true)
		w.store.wrote.Add(1)
		time.Sleep(pingEvery)
		synctest.Wait()
		require.EqualValues(t, 10, w.gone.Load(), "what has ended without an event is noticed then")
	})
}
