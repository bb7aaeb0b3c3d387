package store

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/words"
)

func notice(user int64, cause string) notify.Notification {
	return notify.Notification{User: user, Connection: "spotify", Cause: cause, Generation: 1, Severity: notify.Error,
		Category: "auth",
		Title:    words.Plain("Title"), Message: words.Plain("Message."), Detail: "Detail",
		Action: notify.Action{Label: words.Plain("Reconnect"), URL: "/connect/spotify"}, CreatedAt: at(1)}
}

func openNotices(t testing.TB, s *Store, user int64) []notify.Notification {
	t.Helper()
	all, err := s.Notifications(context.Background(), user, true)
	require.NoError(t, err)
	return all
}

func TestANotificationIsOpenedOnce(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	want := notice(user, "auth")
	changes, err := s.OpenNotification(t.Context(), want)
	require.NoError(t, err)
	require.Len(t, changes.Opened, 1)
	got := changes.Opened[0]
	want.ID = got.ID
	require.Equal(t, want, got)

	later := notice(user, "auth")
	later.Title, later.CreatedAt = words.Plain("Another title"), at(9)
	written := s.Changes()
	changes, err = s.OpenNotification(t.Context(), later)
	require.NoError(t, err)
	require.Empty(t, changes)
	require.Equal(t, []notify.Notification{want}, openNotices(t, s, user), "the first one is unchanged")
	require.Equal(t, written, s.Changes(), "nothing is written")
	one, err := s.Notification(t.Context(), user, want.ID)
	require.NoError(t, err)
	require.Equal(t, want, one)
	_, err = s.Notification(t.Context(), user+1, want.ID)
	require.ErrorIs(t, err, library.ErrNotFound)

	for i, differ := range []func(*notify.Notification){
		func(n *notify.Notification) { n.Cause = "contract" }, func(n *notify.Notification) { n.Generation = 2 },
		func(n *notify.Notification) { n.Connection = "listenbrainz" },
		func(n *notify.Notification) { n.User = addUser(t, s, "Bob", accounts.Member) },
	} {
		n := notice(user, "auth")
		differ(&n)
		changes, err = s.OpenNotification(t.Context(), n)
		require.NoError(t, err)
		require.Len(t, changes.Opened, 1, i)
	}
}

func TestFiftyAtOnceOpenOneNotification(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	var opened atomic.Int32
	var wg sync.WaitGroup
	errs := make(chan error, 50)
	for range 50 {
		wg.Go(func() {
			changes, err := s.OpenNotification(context.Background(), notice(user, "auth"))
			opened.Add(int32(len(changes.Opened)))
			errs <- err
		})
	}
	wg.Wait()
	for range 50 {
		require.NoError(t, <-errs)
	}
	require.EqualValues(t, 1, opened.Load())
	require.Len(t, openNotices(t, s, user), 1)
}

func TestAResolvedNotificationOpensAgain(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	changes, err := s.OpenNotification(t.Context(), notice(user, "still failing"))
	require.NoError(t, err)
	first := changes.Opened[0]
	changed, err := s.AckNotification(t.Context(), user, first.ID)
	require.NoError(t, err)
	require.True(t, changed)
	changes, err = s.ResolveNotifications(t.Context(), notify.Closing{User: user, Connection: "spotify"})
	require.NoError(t, err)
	require.Len(t, changes.Others, 1)
	require.False(t, changes.Others[0].ResolvedAt.IsZero())
	require.Empty(t, openNotices(t, s, user))
	all, err := s.Notifications(t.Context(), user, false)
	require.NoError(t, err)
	require.Len(t, all, 1)

	again := notice(user, "still failing")
	again.Severity, again.Category, again.Title, again.Message, again.Detail = notify.Warning, "upstream",
		words.Plain("New"),
		words.Plain("New message."), "New detail"
	again.Action, again.CreatedAt = notify.Action{Label: words.Plain("Look at it"), URL: "/connections/spotify"}, at(60)
	changes, err = s.OpenNotification(t.Context(), again)
	require.NoError(t, err)
	require.Len(t, changes.Opened, 1)
	got := changes.Opened[0]
	again.ID = first.ID
	require.Equal(t, again, got, "with the new text, and not acknowledged")
	require.Equal(t, []notify.Notification{again}, openNotices(t, s, user))
}

func TestResolvingByCauses(t *testing.T) {
	t.Parallel()
	s, alice := setup(t)
	bob := addUser(t, s, "Bob", accounts.Member)
	open := func() (open []string) {
		for _, user := range []int64{alice, bob} {
			for _, n := range openNotices(t, s, user) {
				open = append(open, map[int64]string{alice: "alice ",
					bob: "bob "}[user]+string(n.Connection)+" "+n.Cause)
			}
		}
		return open
	}
	for _, user := range []int64{alice, bob} {
		for i, cause := range []string{"auth", "contract:listens", "still failing"} {
			n := notice(user, cause)
			n.CreatedAt = at(float64(-i))
			_, err := s.OpenNotification(t.Context(), n)
			require.NoError(t, err)
		}
	}
	other := notice(alice, "auth")
	other.Connection, other.CreatedAt = "listenbrainz", at(-9)
	_, err := s.OpenNotification(t.Context(), other)
	require.NoError(t, err)

	close := func(user int64, causes ...string) notify.Changes {
		t.Helper()
		changes, err := s.ResolveNotifications(t.Context(),
			notify.Closing{User: user, Connection: "spotify", Causes: causes})
		require.NoError(t, err)
		return changes
	}
	require.Len(t, close(alice, "contract:listens", "still failing", "unknown causes").Others, 2)
	require.Equal(t, []string{"alice spotify auth", "alice listenbrainz auth", "bob spotify auth"}, open())
	require.Empty(t, close(alice, "still failing"), "it is resolved once")
	require.Len(t, close(0, "auth").Others, 2, "of all users")
	require.Equal(t, []string{"alice listenbrainz auth", "bob spotify contract:listens"}, open())
	close(bob)
	require.Equal(t, []string{"alice listenbrainz auth"}, open())
}

func TestAcknowledging(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	changes, err := s.OpenNotification(t.Context(), notice(user, "auth"))
	require.NoError(t, err)
	n := changes.Opened[0]
	for _, step := range []struct {
		user, id int64
		want     bool
	}{{user + 1, n.ID, false}, {user, n.ID + 1, false}, {user, n.ID, true}, {user, n.ID, false}} {
		changed, err := s.AckNotification(t.Context(), step.user, step.id)
		require.NoError(t, err)
		require.Equal(t, step.want, changed)
	}
	open := openNotices(t, s, user)
	require.Len(t, open, 1, "it stays open until its cause is gone")
	require.WithinDuration(t, time.Now(), open[0].AcknowledgedAt, time.Minute)
}

func TestNotificationsComeNewestFirst(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	for i := range 230 {
		n := notice(user, "auth")
		n.Generation, n.CreatedAt = int64(i), at(float64(i/2))
		_, err := s.OpenNotification(t.Context(), n)
		require.NoError(t, err)
	}
	all, err := s.Notifications(t.Context(), user, false)
	require.NoError(t, err)
	require.Len(t, all, 200)
	for i, n := range all {
		require.EqualValues(t, 229-i, n.Generation)
	}
}
