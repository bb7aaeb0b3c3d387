package notify

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/events"
	"reprise/internal/words"
)

// memory is a Store for one test.
type memory struct {
	mu  sync.Mutex
	all []Notification
	err error
}

func (m *memory) Admins(context.Context) ([]int64, error) { return []int64{1, 2}, nil }

func (m *memory) OpenNotification(_ context.Context, n Notification) (c Changes, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return c, m.err
	}
	for _, o := range m.all {
		if o.User == n.User && o.Connection == n.Connection && o.Cause == n.Cause && o.Generation == n.Generation &&
			o.ResolvedAt.IsZero() {
			return c, nil
		}
	}
	n.ID = int64(len(m.all) + 1)
	m.all = append(m.all, n)
	c.Opened = append(c.Opened, n)
	return c, nil
}

func (m *memory) ResolveNotifications(_ context.Context, all ...Closing) (c Changes, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, closing := range all {
		for i := range m.all {
			n := &m.all[i]
			if n.ResolvedAt.IsZero() && n.Connection == closing.Connection &&
				(closing.User == 0 || closing.User == n.User) &&
				(len(closing.Causes) == 0 || slices.Contains(closing.Causes, n.Cause)) {
				n.ResolvedAt = time.Now()
				c.Others = append(c.Others, *n)
			}
		}
	}
	return c, m.err
}

func (m *memory) SeeNotification(_ context.Context, user, id int64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.all {
		if n := &m.all[i]; n.User == user && n.ID == id && n.SeenAt.IsZero() {
			n.SeenAt = time.Now()
			return m.err == nil, m.err
		}
	}
	return false, m.err
}

func (m *memory) AckNotification(_ context.Context, user, id int64) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.all {
		if n := &m.all[i]; n.User == user && n.ID == id && n.AcknowledgedAt.IsZero() {
			n.AcknowledgedAt = time.Now()
			return m.err == nil, m.err
		}
	}
	return false, m.err
}

const alice, bob = 1, 2

// bundle is a Notifier with one browser of each person.
type bundle struct {
	*Notifier
	store *memory
	tabs  map[int64]*events.Subscription
}

func setup(t *testing.T) bundle {
	bus := &events.Bus{}
	b := bundle{store: &memory{}, tabs: map[int64]*events.Subscription{alice: bus.Subscribe(alice),
		bob: bus.Subscribe(bob)}}
	b.Notifier = New(b.store, bus, nil)
	for _, tab := range b.tabs {
		t.Cleanup(tab.Close)
	}
	return b
}

// heard returns the ids that a person's browser was told of since the last time. Publishing is done when a call
// returns, so there is nothing to wait for.
func (b bundle) heard(t *testing.T, user int64) (ids []string) {
	t.Helper()
	for {
		select {
		case e := <-b.tabs[user].C:
			require.Equal(t, events.Event{Type: events.Notification, ID: e.ID, Serial: e.Serial}, e)
			ids = append(ids, e.ID)
		default:
			return ids
		}
	}
}

func notice(user int64, cause string) Notification {
	return Notification{
		User:       user,
		Connection: "spotify",
		Cause:      cause,
		Generation: 1,
		Severity:   Error,
		Title:      words.Plain("Title"),
		Message:    words.Plain("Message."),
	}
}

func TestOpenIsSaidOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var wg sync.WaitGroup
	errs := make(chan error, 20)
	for range 20 {
		wg.Go(func() { errs <- b.Open(t.Context(), notice(alice, "auth")) })
	}
	wg.Wait()
	for range 20 {
		require.NoError(t, <-errs)
	}
	require.Equal(t, []string{"1"}, b.heard(t, alice))
	require.Empty(t, b.heard(t, bob))
	require.Len(t, b.store.all, 1)
	require.WithinDuration(t, time.Now(), b.store.all[0].CreatedAt, time.Minute)

	require.NoError(t, b.Open(t.Context(), notice(bob, "auth")))
	require.Empty(t, b.heard(t, alice))
	require.Equal(t, []string{"2"}, b.heard(t, bob))
}

func TestResolveIsSaidToEachWhomItConcerns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, user := range []int64{alice, bob} {
		for _, cause := range []string{"auth", "config:app"} {
			require.NoError(t, b.Open(t.Context(), notice(user, cause)))
		}
	}
	require.Equal(t, []string{"1", "2"}, b.heard(t, alice))
	require.Equal(t, []string{"3", "4"}, b.heard(t, bob))

	require.NoError(t, b.Resolve(t.Context(), alice, "listenbrainz"))
	require.NoError(t, b.Resolve(t.Context(), alice, "spotify", "contract"))
	require.Empty(t, b.heard(t, alice), "nothing was open with that cause")
	require.NoError(t, b.Resolve(t.Context(), 0, "spotify", "config:app"))
	require.Equal(t, []string{"2"}, b.heard(t, alice))
	require.Equal(t, []string{"4"}, b.heard(t, bob))
	require.NoError(t, b.Resolve(t.Context(), 0, "spotify", "config:app"))
	require.Empty(t, b.heard(t, bob), "once")
	require.NoError(t, b.Resolve(t.Context(), alice, "spotify"))
	require.Equal(t, []string{"1"}, b.heard(t, alice))
	require.Empty(t, b.heard(t, bob))

	require.NoError(t, b.Open(t.Context(), notice(alice, "auth")))
	require.Equal(t, []string{"5"}, b.heard(t, alice), "the cause is met again")
}

func TestAcknowledgeIsSaidOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.Open(t.Context(), notice(alice, "auth")))
	require.Equal(t, []string{"1"}, b.heard(t, alice))
	require.NoError(t, b.Acknowledge(t.Context(), bob, 1))
	require.NoError(t, b.Acknowledge(t.Context(), alice, 99))
	require.Empty(t, b.heard(t, alice))
	require.NoError(t, b.Acknowledge(t.Context(), alice, 1))
	require.Equal(t, []string{"1"}, b.heard(t, alice))
	require.NoError(t, b.Acknowledge(t.Context(), alice, 1))
	require.Empty(t, b.heard(t, alice))
	require.Empty(t, b.heard(t, bob))
}

func TestWhatIsNotStoredIsNotSaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.Open(t.Context(), notice(alice, "auth")))
	b.heard(t, alice)
	b.store.err = errors.New("the disk is full")
	require.ErrorIs(t, b.Open(t.Context(), notice(alice, "contract")), b.store.err)
	require.ErrorIs(t, b.Acknowledge(t.Context(), alice, 1), b.store.err)
	require.Empty(t, b.heard(t, alice))
	require.ErrorIs(t, b.Resolve(t.Context(), alice, "spotify"), b.store.err)
	require.Equal(t, []string{"1"}, b.heard(t, alice), "what was closed before the fault is")
}
