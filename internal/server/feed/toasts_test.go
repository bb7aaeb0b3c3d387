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
	require.True(t, first.of(t.Context(), n).Toast)
	n.SeenAt = n.CreatedAt.Add(time.Millisecond) // the first tab was quicker
	require.True(t, second.of(t.Context(), n).Toast)
	require.False(t, first.of(t.Context(), n).Toast)
	require.False(t, second.of(t.Context(), n).Toast)

	later := toasts{since: n.SeenAt.Add(time.Hour), said: map[string]bool{}}
	require.False(t, later.of(t.Context(), n).Toast, "a tab that is opened later")
	n.SeenAt, n.CreatedAt = time.Time{}, n.CreatedAt.Add(time.Hour)
	require.True(t, first.of(t.Context(), n).Toast, "it happened once more")
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
		require.Equal(t, c.want, tab.of(t.Context(), c.n).Toast, name)
	}
}
