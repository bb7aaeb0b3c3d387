package connections

import (
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/server/core"
)

func TestCardLeavesToTheBannerWhatItSays(t *testing.T) {
	t.Parallel()
	reconnect := &core.Action{Label: "Reconnect", URL: "/connect/spotify"}
	urgent := core.Notification{ID: "1", Severity: "error", Connection: "spotify", Action: reconnect}
	warning := core.Notification{ID: "2", Severity: "warning", Connection: "spotify", Title: "A notice",
		Action: reconnect}
	category := "auth"
	stopped := View{ID: "spotify", State: "needs_reconnect", Category: &category, Reads: true}

	c := newCard(stopped, []core.Notification{urgent, warning}, "/")
	require.True(t, c.Alerted)
	require.False(t, c.Loud)
	require.Equal(t, "/connect/spotify", c.Told)
	require.Empty(t, c.Notices, "the banner says more")

	c = newCard(stopped, []core.Notification{warning, {ID: "3", Severity: "error", Connection: "lastfm"}}, "/")
	require.False(t, c.Alerted)
	require.True(t, c.Loud)
	require.Equal(t, []notice{{ID: "2", Title: "A notice", Button: reconnect}}, c.Notices)
	require.Nil(t, newCard(stopped, []core.Notification{warning}, "/connect/spotify").Notices[0].Button)

	waiting := View{ID: "spotify", State: "waiting", Category: &category}
	c = newCard(waiting, []core.Notification{urgent}, "/")
	require.False(t, c.Alerted, "another trouble than the banner's")
	require.False(t, c.Calm)
	require.Equal(t, "written", c.Done)
	require.True(t, newCard(View{State: "healthy"}, nil, "/").Calm)
	require.False(t, newCard(View{State: "syncing", Category: &category}, nil, "/").Calm)
}

func TestHeadlineOfConnections(t *testing.T) {
	t.Parallel()
	of := func(states ...string) (all []View) {
		for _, s := range states {
			all = append(all, View{State: s})
		}
		return all
	}
	for _, c := range []struct {
		all            []View
		offline, admin bool
		want           string
	}{
		{of("healthy", "syncing", "new", "paused"), false, false, "Everything is in order"},
		{of("waiting", "healthy"), false, true, "One service is waiting; nothing for you to do"},
		{of("waiting", "held"), false, false, "2 services are waiting; nothing for you to do"},
		{of("waiting", "held"), true, false, "This server is offline"},
		{of("needs_admin", "held"), true, false, "One connection needs the administrator"},
		{of("needs_admin"), false, true, "One connection needs you"},
		{of("needs_admin", "needs_reconnect"), false, false, "2 connections need you"},
	} {
		require.Equal(t, c.want, headlineOf(c.all, c.offline, c.admin).Text)
	}
}
