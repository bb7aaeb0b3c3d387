package channels_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/words"
)

// stop opens an alert that a stream of Spotify has stopped.
func (h *house) stopped(cause string) {
	h.t.Helper()
	require.NoError(h.t, h.notifier.Open(h.t.Context(), notify.Notification{User: h.user, Connection: "spotify",
		Cause: cause, Generation: 1, Severity: notify.Error, Category: "permission",
		Title:   words.Plain("Stop: " + cause),
		Message: words.Plain("It stopped."),
		Action:  notify.Action{Label: words.Plain("Reconnect"), URL: "/connect/spotify"}}))
}

func TestAConnectionRecoversInOneMessage(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		ctx := t.Context()
		h.stopped("permission:listens")
		h.pass(10 * time.Second)
		h.stopped("permission:deliveries")
		h.pass(10 * time.Minute)
		require.Equal(t, []string{"Stop: permission:listens", "Stop: permission:deliveries"}, h.phone.heard())

		require.NoError(t, h.notifier.Resolve(ctx, h.user, "spotify", "permission:listens"))
		h.pass(10 * time.Second)
		require.Empty(t, h.phone.heard(), "sending has not recovered")
		require.NoError(t, h.notifier.Resolve(ctx, h.user, "spotify", "permission:deliveries"))
		h.pass(time.Minute)
		require.Len(t, h.phone.got, 1)
		require.Contains(t, h.phone.got[0].Text, "after 10 minutes", "since the first of them")
		require.Equal(t, "https://reprise.example.org/connections/spotify", h.phone.got[0].Click)
		require.Equal(t, []string{"Spotify works again"}, h.phone.heard())

		h.stopped("permission:listens")
		h.stopped("permission:deliveries")
		h.pass(time.Minute)
		require.Equal(t, []string{"Stop: permission:deliveries"}, h.phone.heard(), "one, which says both")
		require.NoError(t, h.notifier.Resolve(ctx, h.user, "spotify"))
		h.pass(time.Minute)
		require.Equal(t, []string{"Spotify works again"}, h.phone.heard())
	})
}

func TestARecoverySaysWhatWasCaughtUp(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		run := func(rows int) {
			t.Helper()
			require.NoError(t, h.db.SaveRun(t.Context(), library.Run{User: h.user, Connection: "spotify",
				Stream: library.Listens, Started: time.Now().Add(-time.Second), Took: time.Second, Rows: rows,
				Result: "ok"}))
		}
		run(12)
		h.stopped("permission:listens")
		h.pass(time.Hour)
		h.phone.heard()
		require.NoError(t, h.notifier.Resolve(t.Context(), h.user, "spotify"))
		run(37)
		h.pass(time.Minute)
		require.Contains(t, h.phone.got[0].Text, "Reprise caught up on 37 listens.")
	})
}

func TestWhoMendedItNeedsNoMessage(t *testing.T) {
	inHouse(t, func(t *testing.T, h *house) {
		for _, c := range []struct {
			mender int64
			heard  []string
		}{{h.user, nil}, {h.user + 1, []string{"Spotify works again"}}} {
			h.stopped("auth")
			h.pass(time.Minute)
			h.phone.heard()
			require.NoError(t, h.notifier.Close(t.Context(), notify.Closing{User: h.user, Connection: "spotify",
				MendedBy: c.mender}))
			h.pass(time.Minute)
			require.Equal(t, c.heard, h.phone.heard())
			require.Zero(t, h.state().Waiting)
		}
	})
}
