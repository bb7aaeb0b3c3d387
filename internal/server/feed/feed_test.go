package feed

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/players"
	"reprise/internal/server/connections"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// feedStore is what a feed reads, for a user without connections and with one open notification.
type feedStore struct {
	Store
	syncer.StatusStore
}

func (feedStore) Changes() uint64 { return 0 }

func (feedStore) UserConnections(context.Context, int64) ([]library.Connection, error) {
	return nil, nil
}

func (feedStore) Players(context.Context, int64) ([]players.Player, error) { return nil, nil }

func (feedStore) UserByID(context.Context, int64) (accounts.User, error) { return accounts.User{}, nil }

func (feedStore) Streams(context.Context, int64) ([]library.StreamRecord, error) { return nil, nil }

func (feedStore) Waiting(context.Context, int64) (map[library.ConnectionID]delivery.Waiting, error) {
	return nil, nil
}

func (feedStore) Notifications(context.Context, int64, bool) ([]notify.Notification, error) {
	return []notify.Notification{{ID: 7, Title: words.Plain("Spotify needs to be reconnected")}}, nil
}

func (feedStore) Notification(_ context.Context, _, id int64) (notify.Notification, error) {
	return notify.Notification{ID: id}, nil
}

// A stalled tab is closed with 1013, and gets what it has missed in the next snapshot.
func TestStalledTabIsDroppedAndMissesNothing(t *testing.T) {
	t.Parallel()
	bus := &events.Bus{}
	conns := syncer.NewConnections(&syncer.Guard{}, nil, nil, nil, bus)
	store := feedStore{}
	h := New(Options{Store: store, Bus: bus, Statuses: connections.NewStatuses(nil, store, conns, nil)})

	stalled, release := make(chan struct{}), make(chan struct{})
	f := &feed{Handler: h, watcher: core.Watcher{User: 1}, changes: bus.Subscribe(1), toasts: newToasts()}
	defer f.changes.Close()
	f.send = func(m message) error {
		if m.kind == "progress" { // the tab does not read on
			close(stalled)
			<-release
		}
		return nil
	}
	ended := make(chan error, 1)
	go func() { ended <- f.run(t.Context()) }()
	bus.Publish(1, events.Event{Type: events.Progress, Connection: "spotify", Stream: "listens", Done: 1})
	<-stalled
	for id := range 2 * events.Buffer {
		bus.Publish(1, events.Event{Type: events.Notification, ID: strconv.Itoa(id + 1)}) // never blocks
	}
	close(release)
	err := <-ended
	require.ErrorIs(t, err, errSlow)
	code, _ := closing(err)
	require.EqualValues(t, 1013, code)

	again := &feed{Handler: h, watcher: core.Watcher{User: 1}, changes: bus.Subscribe(1), toasts: newToasts()}
	defer again.changes.Close()
	var first message
	again.send = func(m message) error { first = m; return errClosing }
	require.ErrorIs(t, again.run(t.Context()), errClosing)
	require.Equal(t, "snapshot", first.kind)
	var data struct{ Notifications []announcement }
	require.NoError(t, json.Unmarshal(first.data, &data))
	require.Contains(t, data.Notifications[0].Title, "reconnected")
}

func TestEnrichmentIsSentToBrowsers(t *testing.T) {
	t.Parallel()
	var got []message
	f := &feed{Handler: New(Options{Bus: &events.Bus{}}),
		send: func(m message) error { got = append(got, m); return nil }}
	require.NoError(t, f.tell(t.Context(), events.Event{Type: events.Enrichment, Connection: "musicbrainz"}))
	require.Equal(t, `{"type":"enrichment","seq":1,"data":{"provider":"musicbrainz"}}`,
		string(got[0].appendTo(nil)))
}
