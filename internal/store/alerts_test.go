package store

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/notify"
)

// opened opens an alert about Alice's Spotify and returns the causes of those that are announced.
func opened(t *testing.T, s *Store, n notify.Notification) (announced []string) {
	t.Helper()
	time.Sleep(time.Second)
	n.CreatedAt = time.Now()
	changes, err := s.OpenNotification(t.Context(), n)
	require.NoError(t, err)
	for _, o := range changes.Opened {
		announced = append(announced, o.Cause)
	}
	return announced
}

// closed closes alerts about Spotify.
func closed(t *testing.T, s *Store, user int64, causes ...string) notify.Changes {
	t.Helper()
	time.Sleep(time.Second)
	changes, err := s.ResolveNotifications(t.Context(),
		notify.Closing{User: user, Connection: "spotify", Causes: causes})
	require.NoError(t, err)
	return changes
}

// onlyNotice returns the one open notification of a user.
func onlyNotice(t *testing.T, s *Store, user int64) notify.Notification {
	t.Helper()
	open := openNotices(t, s, user)
	require.Len(t, open, 1)
	return open[0]
}

func inTime(t *testing.T, test func(t *testing.T, s *Store, user int64)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, user := setup(t)
		test(t, s, user)
	})
}

func TestANewCauseReplacesTheOldOne(t *testing.T) {
	inTime(t, func(t *testing.T, s *Store, user int64) {
		require.Equal(t, []string{"auth"}, opened(t, s, notice(user, "auth")))
		old := onlyNotice(t, s, user)
		require.Equal(t, []string{"permission"}, opened(t, s, notice(user, "permission")))
		require.Equal(t, "permission", onlyNotice(t, s, user).Cause)
		gone, err := s.Notification(t.Context(), user, old.ID)
		require.NoError(t, err)
		require.False(t, gone.ReplacedAt.IsZero())
		require.False(t, gone.Open())

		// What the first was about lasts: it comes back as it was, without being announced a second time.
		require.Empty(t, closed(t, s, user, "permission").Opened)
		require.Equal(t, old, onlyNotice(t, s, user))
		closed(t, s, user, "auth")
		require.Empty(t, openNotices(t, s, user))
	})
}

func TestTheLessImportantWaits(t *testing.T) {
	inTime(t, func(t *testing.T, s *Store, user int64) {
		ends := notice(user, notify.CauseEnds30)
		ends.Severity = notify.Info
		still := notice(user, notify.CauseStill)
		still.Severity = notify.Warning
		question := notice(user, "copy of playlist 7")
		question.Severity = notify.Warning
		require.NotEmpty(t, opened(t, s, ends))
		require.NotEmpty(t, opened(t, s, still), "it is more urgent")
		require.NotEmpty(t, opened(t, s, notice(user, "auth")))
		require.Empty(t, opened(t, s, question), "nobody is asked while the connection is dead")
		require.Equal(t, "auth", onlyNotice(t, s, user).Cause)
		all, err := s.Notifications(t.Context(), user, false)
		require.NoError(t, err)
		require.Len(t, all, 3, "what was never shown is not in the list")

		changes := closed(t, s, user, "auth")
		require.Equal(t, question.Cause, onlyNotice(t, s, user).Cause)
		require.Len(t, changes.Opened, 1, "it is announced now")
		require.WithinDuration(t, time.Now(), changes.Opened[0].CreatedAt, 0)
		closed(t, s, user, question.Cause)
		require.Equal(t, notify.CauseStill, onlyNotice(t, s, user).Cause)
		closed(t, s, user, notify.CauseStill, notify.CauseEnds30)
		require.Empty(t, openNotices(t, s, user))
	})
}

func TestStopsOfTwoStreamsShareOneAlert(t *testing.T) {
	inTime(t, func(t *testing.T, s *Store, user int64) {
		opened(t, s, notice(user, "permission:listens"))
		first := onlyNotice(t, s, user)
		require.Empty(t, first.Also)
		_, err := s.AckNotification(t.Context(), user, first.ID)
		require.NoError(t, err)
		require.NotEmpty(t, opened(t, s, notice(user, "permission:deliveries")), "there is more to it now")
		both := onlyNotice(t, s, user)
		require.Equal(t, "permission:deliveries", both.Cause)
		require.Equal(t, []string{"listens"}, both.Also)
		require.True(t, both.AcknowledgedAt.IsZero())

		_, err = s.AckNotification(t.Context(), user, both.ID)
		require.NoError(t, err)
		require.Empty(t, closed(t, s, user, "permission:listens").Opened, "that there is less to it is no news")
		left := onlyNotice(t, s, user)
		require.Equal(t, both.ID, left.ID)
		require.Empty(t, left.Also)
		require.False(t, left.AcknowledgedAt.IsZero())
	})
}

func TestAnotherPersonsConnectionIsAnother(t *testing.T) {
	inTime(t, func(t *testing.T, s *Store, user int64) {
		bob := addUser(t, s, "Bob", accounts.Member)
		opened(t, s, notice(user, "auth"))
		opened(t, s, notice(user, notify.Of("contract", bob)))
		opened(t, s, notice(user, "import 7"))
		require.Len(t, openNotices(t, s, user), 3, "Bob's alert and an import are not about Alice's connection")
		opened(t, s, notice(user, notify.Of("contract", user)))
		require.Len(t, openNotices(t, s, user), 3, "but this is")
	})
}

func TestASeenNotificationIsSeenForGood(t *testing.T) {
	inTime(t, func(t *testing.T, s *Store, user int64) {
		opened(t, s, notice(user, "auth"))
		n := onlyNotice(t, s, user)
		require.True(t, n.SeenAt.IsZero())
		for i, want := range []bool{true, false} {
			changed, err := s.SeeNotification(t.Context(), user, n.ID)
			require.NoError(t, err)
			require.Equal(t, want, changed, i)
		}
		seen := onlyNotice(t, s, user)
		require.WithinDuration(t, time.Now(), seen.SeenAt, 0)
		changed, err := s.SeeNotification(t.Context(), user+1, n.ID)
		require.NoError(t, err)
		require.False(t, changed, "of another person")

		closed(t, s, user, "auth")
		opened(t, s, notice(user, "auth"))
		require.True(t, onlyNotice(t, s, user).SeenAt.IsZero(), "it happened once more")
	})
}
