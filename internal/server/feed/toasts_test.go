package feed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/notify"
)

func TestEveryOpenTabAnnouncesOnce(t *testing.T) {
	t.Parallel()
	first, second := newToasts(), newToasts()
	n := notify.Notification{ID: 7, CreatedAt: time.Now().Add(time.Second)}
	require.True(t, first.wants(n))
	n.SeenAt = n.CreatedAt.Add(time.Millisecond) // the first tab was quicker
	require.True(t, second.wants(n))
	require.False(t, first.wants(n))
	require.False(t, second.wants(n))

	later := toasts{since: n.SeenAt.Add(time.Hour), said: map[string]bool{}}
	require.False(t, later.wants(n), "a tab that is opened later")
	n.SeenAt, n.CreatedAt = time.Time{}, n.CreatedAt.Add(time.Hour)
	require.True(t, first.wants(n), "it happened once more")
}

func TestUnseenIsAnnouncedInANewTab(t *testing.T) {
	t.Parallel()
	long := time.Now().Add(-24 * time.Hour)
	for name, c := range map[string]struct {
		n    notify.Notification
		want bool
	}{
		"nobody has seen it":      {notify.Notification{CreatedAt: long}, true},
		"seen":                    {notify.Notification{CreatedAt: long, SeenAt: long}, false},
		"dismissed":               {notify.Notification{CreatedAt: long, AcknowledgedAt: long}, false},
		"over":                    {notify.Notification{CreatedAt: long, ResolvedAt: long}, false},
		"another took its place":  {notify.Notification{CreatedAt: long, ReplacedAt: long}, false},
		"it waits behind another": {notify.Notification{CreatedAt: long, Waits: true}, false},
	} {
		tab := newToasts()
		require.Equal(t, c.want, tab.wants(c.n), name)
	}
}
