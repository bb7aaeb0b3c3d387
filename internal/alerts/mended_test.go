package alerts_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/activity"
	"reprise/internal/resilience"
)

func TestWhoPressedRetryHasMendedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own, app := activity.Entry{User: member, Connection: "spotify"}, activity.Entry{Connection: "spotify"}
		for name, c := range map[string]struct {
			did   activity.Entry
			by    int64
			after time.Duration
			want  bool // whether the member has mended it
		}{
			"the person":        {own, member, time.Minute, true},
			"an hour ago":       {own, member, time.Hour, false},
			"the administrator": {app, admin, time.Minute, false},
			"another service":   {activity.Entry{User: member, Connection: "lastfm"}, member, time.Minute, false},
			"nobody":            {own, 0, time.Minute, false},
		} {
			a, m := setup()
			ctx := t.Context()
			require.NoError(t, a.Failed(ctx, listensOf(member), stop(resilience.Auth, resilience.ScopeConnection, 5)))
			a.Acted(activity.WithActor(ctx, activity.Actor{ID: c.by}), c.did)
			time.Sleep(c.after)
			require.NoError(t, a.Succeeded(ctx, listensOf(member), success(6)))
			require.Equal(t, map[int64]bool{member: c.want}, m.menders, name)
		}
	})
}

func TestTheAdministratorMendedTheApp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, m := setup()
		ctx := t.Context()
		require.NoError(t, a.Failed(ctx, listensOf(member), stop(resilience.Config, resilience.ScopeApp, 5)))
		a.Acted(activity.WithActor(ctx, activity.Actor{ID: admin}),
			activity.Entry{Action: activity.KeyReset, Connection: "spotify"})
		require.NoError(t, a.Succeeded(ctx, listensOf(member), success(6)))
		require.Equal(t, map[int64]bool{admin: true}, m.menders)
	})
}

func TestAReconnectNeedsNoMessage(t *testing.T) {
	a, m := setup()
	ctx := activity.WithActor(t.Context(), activity.Actor{ID: member})
	require.NoError(t, a.Failed(ctx, listensOf(member), stop(resilience.Auth, resilience.ScopeConnection, 5)))
	require.NoError(t, a.Connected(ctx, spotify, connectionOf(member)))
	require.Equal(t, map[int64]bool{member: true}, m.menders)
}
