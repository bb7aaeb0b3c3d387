package channels_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/words"
)

func TestACauseIsSentOnceAcrossRestarts(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		for range 20 {
			h.trouble("auth", notify.Error)
			h.pass(3 * time.Second)
		}
		h.restart()
		h.trouble("auth", notify.Error)
		h.pass(time.Minute)
		require.Equal(t, []string{"Trouble: auth"}, h.phone.heard())
		require.Equal(t, map[delivery.State]int{delivery.Done: 1}, h.deliveries())
		require.Equal(t, 1, h.counted["error ntfy sent"])
	})
}

func TestUnwantedNotificationsAreNotSent(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.trouble("a", notify.Info)
		h.pass(time.Minute)
		require.Empty(t, h.phone.heard())
		require.Empty(t, h.deliveries())
	})
}

func TestARecoveryIsSentWithItsDuration(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.trouble("auth", notify.Error)
		h.pass(time.Minute)
		h.away(39 * time.Minute)
		require.Equal(t, []string{"Trouble: auth"}, h.phone.heard())
		h.over("auth")
		h.pass(10 * time.Second)
		require.Equal(t, "Spotify works again after 40 minutes.", h.phone.got[0].Text)
		require.Equal(t, []string{"Spotify works again"}, h.phone.heard())
		h.trouble("auth", notify.Error) // the same cause once more
		h.pass(10 * time.Second)
		require.Equal(t, []string{"Trouble: auth"}, h.phone.heard())
	})
}

func TestMessagesAreInTheReadersLanguage(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		told := func(cause string) string {
			h.t.Helper()
			until := time.Date(time.Now().Year()+1, 3, 1, 13, 5, 0, 0, time.UTC)
			require.NoError(t, h.notifier.Open(t.Context(), notify.Notification{User: h.user, Cause: cause,
				Severity: notify.Error, Title: words.New("alert.limited.title", "Name", "Last.fm"),
				Message: words.New("alert.continues.at", "Until", until)}))
			h.pass(10 * time.Second)
			text := h.phone.got[0].Text
			h.phone.heard()
			return text
		}
		require.NoError(t, h.db.SetBrowserLanguage(t.Context(), h.user, "de"))
		require.NoError(t, h.db.SetChoices(t.Context(), h.user, accounts.Choices{Zone: "Asia/Tokyo"}))
		require.Equal(t, "Reprise macht ab 1. März, 22:05 weiter.", told("a"), "as their browser prefers")
		require.NoError(t, h.db.SetChoices(t.Context(), h.user, accounts.Choices{Language: "en", Zone: "Asia/Tokyo"}))
		require.Equal(t, "Reprise waits until 1 March, 22:05.", told("b"), "as they have chosen")
	})
}

func TestWhatIsOverBeforeItWasSentIsNotSent(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.trouble("auth", notify.Error)
		h.over("auth")
		h.trouble("quota", notify.Warning)
		all, err := h.db.Notifications(t.Context(), h.user, true)
		require.NoError(t, err)
		require.NoError(t, h.notifier.Acknowledge(t.Context(), h.user, all[0].ID)) // seen in the browser
		h.pass(time.Minute)
		h.over("quota")
		h.pass(time.Minute)
		require.Empty(t, h.phone.heard())
		require.Zero(t, h.state().Waiting)
	})
}

func TestManyNotificationsAtOnceAreOneDigest(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		for cause := range strings.SplitSeq("a b c d e", " ") {
			h.trouble(cause, notify.Warning)
		}
		h.pass(10 * time.Second)
		require.Contains(t, h.phone.got[0].Text, "• Trouble: c")
		require.Equal(t, []string{"5 things happened"}, h.phone.heard())
	})
}

func TestAFloodIsGathered(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		for cause := range strings.SplitSeq("a b c d e f g h", " ") {
			h.trouble(cause, notify.Warning)
			h.pass(10 * time.Second)
		}
		require.Len(t, h.phone.heard(), 5)
		require.Equal(t, 3, h.state().Waiting)
		h.away(510 * time.Second)
		require.Empty(t, h.phone.heard())
		h.pass(time.Minute)
		require.Equal(t, []string{"3 things happened"}, h.phone.heard())
	})
}

func TestErrorsAreSentDuringAFlood(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		for cause := range strings.SplitSeq("a b c d e f g", " ") {
			h.trouble(cause, notify.Warning)
			h.pass(10 * time.Second)
		}
		require.Len(t, h.phone.heard(), 5)
		h.trouble("auth", notify.Error)
		h.pass(10 * time.Second)
		require.Equal(t, []string{"3 things happened"}, h.phone.heard(), "and what was gathered goes with it")
		h.trouble("config", notify.Error)
		h.pass(10 * time.Second)
		require.Equal(t, []string{"Trouble: config"}, h.phone.heard())
	})
}

func TestMessagesWaitForTheEndOfQuietHours(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) { // a bubble begins at midnight UTC
		ch := h.state()
		ch.QuietFrom, ch.QuietTo, ch.Zone, ch.ErrorsAtNight = 22*60, 90, "Europe/Vienna", true
		_, err := h.Change(t.Context(), ch)
		require.NoError(t, err)
		h.trouble("warning", notify.Warning)
		h.pass(20 * time.Second)
		require.Empty(t, h.phone.heard())
		require.Equal(t, map[delivery.State]int{delivery.Scheduled: 1}, h.deliveries(), "no attempt is used up")
		_, oldest, err := h.db.DeliveryCounts(t.Context())
		require.NoError(t, err)
		require.Zero(t, oldest, "and it is not late")
		h.trouble("error", notify.Error)
		h.pass(20 * time.Second)
		require.Equal(t, []string{"Trouble: error"}, h.phone.heard())
		h.away(28 * time.Minute) // it is before half past one in Vienna
		h.pass(20 * time.Second)
		require.Empty(t, h.phone.heard())
		h.pass(2 * time.Minute)
		require.Equal(t, []string{"Trouble: warning"}, h.phone.heard())
	})
}

func TestARetriableFailureIsRetried(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusServiceUnavailable, nil)
		h.trouble("auth", notify.Error)
		h.pass(time.Minute)
		require.GreaterOrEqual(t, h.state().Failures, 3)
		_, oldest, err := h.db.DeliveryCounts(t.Context())
		require.NoError(t, err)
		require.WithinDuration(t, time.Now().Add(-time.Minute), oldest, time.Second)
		require.ElementsMatch(t, []string{"Trouble: auth", "My phone can't be reached"}, h.open())
		h.phone.taking()
		h.pass(2 * time.Minute)
		require.Equal(t, []string{"Trouble: auth"}, h.phone.heard(), "the trouble with a channel is not told on it")
		require.Equal(t, []string{"Trouble: auth"}, h.open())
		require.Zero(t, h.state().Failures)
	})
}

func TestADictatedWaitIsKept(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusTooManyRequests, http.Header{"Retry-After": {"1800"}})
		h.trouble("a", notify.Error)
		h.pass(10 * time.Second)
		tries := h.phone.tries()
		h.phone.taking()
		h.restart()
		h.trouble("b", notify.Error)
		h.pass(20 * time.Second)
		h.away(28 * time.Minute)
		h.pass(20 * time.Second)
		require.Equal(t, tries, h.phone.tries(), "also across a restart")
		h.pass(100 * time.Second)
		require.Equal(t, []string{"Trouble: a", "Trouble: b"}, h.phone.heard())
	})
}

func TestAFatalFailureStopsTheChannel(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusForbidden, nil)
		h.trouble("auth", notify.Error)
		h.pass(20 * time.Second)
		h.restart()
		h.trouble("quota", notify.Error)
		h.pass(70 * time.Second) // what is parked is looked at every minute
		require.Equal(t, 2, h.phone.tries(), "the first message and one more")
		require.Equal(t, map[delivery.State]int{delivery.Parked: 1}, h.deliveries())
		require.Contains(t, h.open(), "My phone needs you")
		require.Equal(t, "ntfy doesn't allow messages to be sent there. Check the token, or what it may do.",
			h.state().Reason.String())
		require.Equal(t, 2, h.state().Waiting)

		require.Error(t, h.SendTest(t.Context(), h.user, h.channel))
		h.phone.taking()
		require.NoError(t, h.SendTest(t.Context(), h.user, h.channel))
		h.pass(10 * time.Second)
		require.Equal(t, []string{"A test", "Trouble: auth", "Trouble: quota"}, h.phone.heard())
		require.NotContains(t, h.open(), "My phone needs you")
	})
}

func TestABadMessageIsDroppedTheRestIsSent(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.mu.Lock()
		h.phone.answer = func(m told) (int, http.Header, string) {
			if strings.Contains(m.Title, "bad") {
				return http.StatusRequestEntityTooLarge, http.Header{}, "{}"
			}
			return http.StatusOK, http.Header{}, "{}"
		}
		h.phone.mu.Unlock()
		h.trouble("bad", notify.Error)
		h.trouble("good", notify.Error)
		h.pass(time.Minute)
		require.Equal(t, []string{"Trouble: good"}, h.phone.heard())
		require.Equal(t, 1, h.counted["error ntfy dropped"])
		require.Equal(t, map[delivery.State]int{delivery.Done: 1}, h.deliveries())
	})
}

func TestMessagesUnsentForDaysAreCounted(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusServiceUnavailable, nil)
		h.trouble("old", notify.Error)
		h.pass(10 * time.Second)
		h.stop()
		h.pass(4 * 24 * time.Hour)
		h.start()
		h.phone.taking()
		h.trouble("new", notify.Error)
		h.pass(time.Minute)
		require.Contains(t, h.phone.got[0].Text, "One message couldn't be sent for more than three days.")
		require.Equal(t, []string{"2 things happened"}, h.phone.heard())
	})
}

func TestARemovedChannelIsForgotten(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusServiceUnavailable, nil)
		h.trouble("auth", notify.Error)
		h.pass(20 * time.Second)
		require.NoError(t, h.Remove(t.Context(), h.user, h.channel))
		h.phone.taking()
		h.pass(time.Minute)
		require.Empty(t, h.phone.heard())
		require.Empty(t, h.deliveries())
		require.Equal(t, []string{"Trouble: auth"}, h.open())
		require.ErrorIs(t, h.Remove(t.Context(), h.user, h.channel), library.ErrNotFound)
	})
}

func TestChannelsOfTheSettingsFollowThem(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		named := []notify.Channel{h.wants(notify.Channel{}), h.wants(notify.Channel{})}
		named[1].URL = "ntfy://ntfy.example.org/other"
		require.NoError(t, h.Adopt(t.Context(), named))
		all, err := h.All(t.Context(), h.user)
		require.NoError(t, err)
		require.Len(t, all, 3)
		require.NoError(t, h.Adopt(t.Context(), named[1:]))
		kept, err := h.All(t.Context(), h.user)
		require.NoError(t, err)
		require.Equal(t, []int64{all[0].ID, all[2].ID}, []int64{kept[0].ID, kept[1].ID})
		require.True(t, kept[1].FromSettings)
		require.ErrorIs(t, h.Remove(t.Context(), h.user, kept[1].ID), notify.ErrNotYours)
		_, err = h.Change(t.Context(), kept[1])
		require.ErrorIs(t, err, notify.ErrNotYours)
		h.trouble("auth", notify.Error)
		h.pass(10 * time.Second)
		require.Equal(t, []string{"Trouble: auth", "Trouble: auth"}, h.phone.heard())
	})
}
