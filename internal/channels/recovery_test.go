package channels_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"reprise/internal/notify"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

func TestARecoveredChannelGetsWhatWaitedAtOnce(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusServiceUnavailable, nil)
		h.trouble("auth", notify.Error)
		h.pass(time.Minute)
		h.phone.taking()
		require.NoError(t, h.SendTest(t.Context(), h.user, h.channel))
		h.pass(8 * time.Second)
		require.Equal(t, []string{"A test", "Trouble: auth"}, h.phone.heard())
	})
}

func TestAStoppedChannelHasNotRecovered(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		other := h.wants(notify.Channel{})
		other.URL = "ntfy://ntfy.example.org/other"
		_, err := h.Add(t.Context(), other)
		require.NoError(t, err)
		h.phone.mu.Lock()
		status := http.StatusServiceUnavailable
		h.phone.answer = func(m told) (int, http.Header, string) {
			if m.Topic == "topic" {
				return status, http.Header{}, "{}"
			}
			return http.StatusOK, http.Header{}, "{}"
		}
		h.phone.mu.Unlock()
		h.trouble("auth", notify.Error)
		h.pass(time.Minute)
		h.phone.mu.Lock()
		status = http.StatusForbidden
		h.phone.mu.Unlock()
		h.pass(2 * time.Minute)
		require.Equal(t, []string{
			"Reprise can reach you here", "Trouble: auth", "My phone can't be reached", "My phone needs you",
		}, h.phone.heard())
		require.ElementsMatch(t, []string{"Trouble: auth", "My phone needs you"}, h.open())
	})
}

func TestAChangeDuringATestIsKept(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusServiceUnavailable, nil)
		h.trouble("auth", notify.Error)
		h.pass(5 * time.Second)
		h.phone.mu.Lock()
		h.phone.answer = func(m told) (int, http.Header, string) {
			if m.Title == "A test" {
				ch := h.state()
				ch.Name = "Her phone"
				_, err := h.Change(t.Context(), ch)
				assert.NoError(t, err)
			}
			return http.StatusOK, http.Header{}, "{}"
		}
		h.phone.mu.Unlock()
		require.NoError(t, h.SendTest(t.Context(), h.user, h.channel))
		require.Equal(t, "Her phone", h.state().Name)
	})
}

func TestAChannelAddedTwiceAtOnceIsOne(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		var adding sync.WaitGroup
		other := h.wants(notify.Channel{})
		other.URL = "ntfy://ntfy.example.org/other"
		for range 2 {
			adding.Go(func() {
				_, err := h.Add(t.Context(), other)
				assert.NoError(t, err)
			})
		}
		adding.Wait()
		all, err := h.All(t.Context(), h.user)
		require.NoError(t, err)
		require.Len(t, all, 2)
	})
}

func TestTroubleOfAChannelEndsWithItsSetting(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		require.NoError(t, h.Remove(t.Context(), h.user, h.channel))
		require.NoError(t, h.Adopt(t.Context(), []notify.Channel{h.wants(notify.Channel{})}))
		h.phone.answering(http.StatusForbidden, nil)
		h.trouble("auth", notify.Error)
		h.pass(10 * time.Second)
		require.Contains(t, h.open(), "My phone needs you")
		require.NoError(t, h.Adopt(t.Context(), nil))
		require.Equal(t, []string{"Trouble: auth"}, h.open())
	})
}

// keptStore is the store of a process that may die when a channel stops.
type keptStore struct {
	notify.ChannelStore
	unplugged atomic.Bool
}

func (s *keptStore) ChannelStopped(ctx context.Context, channel, version int64, category string,
	reason words.Text,
) (bool, error) {
	if s.unplugged.Load() {
		return false, &resilience.LocalError{Err: errors.New("killed")}
	}
	return s.ChannelStore.ChannelStopped(ctx, channel, version, category, reason)
}

func TestAStopIsNotifiedThoughTheProcessDies(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusForbidden, nil)
		h.kept.unplugged.Store(true)
		h.trouble("auth", notify.Error)
		h.pass(10 * time.Second)
		require.ElementsMatch(t, []string{"Trouble: auth", "My phone needs you"}, h.open())
		h.phone.taking()
		h.restart()
		h.pass(10 * time.Second)
		require.Equal(t, []string{"Trouble: auth"}, h.phone.heard())
		require.Equal(t, []string{"Trouble: auth"}, h.open(), "it was never kept that the channel had failed")
	})
}

func TestRefusedMessagesDoNotCountAsWaiting(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		h.phone.answering(http.StatusRequestEntityTooLarge, nil)
		for _, cause := range []string{"a", "b", "c"} {
			h.trouble(cause, notify.Error)
			h.pass(5 * time.Second)
		}
		all, err := h.db.Notifications(t.Context(), h.user, true)
		require.NoError(t, err)
		i := slices.IndexFunc(
			all,
			func(n notify.Notification) bool { return n.Title.String() == "My phone can't be reached" },
		)
		require.Contains(t, all[i].Message.String(),
			"Reprise doesn't send them again; you'll find them under Notifications.")
		require.NotContains(t, all[i].Message.String(), "wait")
	})
}
