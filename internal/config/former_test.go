package config

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers/registry"
)

// since says what settings would be called if they had been renamed.
var since = names{"poll.every": "sync.listens_every", "token": "admin_token"}

func TestARenamedSettingGoesOnWorking(t *testing.T) {
	t.Parallel()
	file := write(t, "poll:\n  every: 7m\n")
	secret := write(t, "a token of an administrator")
	l := read(file, []string{"REPRISE_TOKEN_FILE=" + secret}, nil, registry.Descriptions(), since)
	r, err := l.With(nil)
	require.NoError(t, err)
	require.Equal(t, 7*time.Minute, r.Config.ListensEvery)
	require.Equal(t, "a token of an administrator", string(r.Config.AdminToken))
	require.Equal(t, []string{
		file + ": the setting poll.every is now called sync.listens_every. It still works; please rename it.",
		"The environment variable REPRISE_TOKEN_FILE is now called REPRISE_ADMIN_TOKEN_FILE. It still works; " +
			"please rename it.",
	}, l.Warnings())
}

func TestARenamedSettingInTheDatabase(t *testing.T) {
	t.Parallel()
	l := read("", nil, nil, registry.Descriptions(), since)
	r, err := l.With(map[string]string{"poll.every": "7m"})
	require.NoError(t, err)
	require.Equal(t, 7*time.Minute, r.Config.ListensEvery)
	require.Empty(t, r.Faults)

	r, err = l.With(map[string]string{"poll.every": "7m", "sync.listens_every": "8m"})
	require.NoError(t, err)
	require.Equal(t, 8*time.Minute, r.Config.ListensEvery, "set since")
	require.Empty(t, r.Faults)
}

func TestBothNamesOfASettingAreRefused(t *testing.T) {
	t.Parallel()
	file := write(t, "poll:\n  every: 7m\nsync:\n  listens_every: 8m\n")
	l := read(file, []string{"REPRISE_POLL_EVERY=1m", "REPRISE_SYNC_LISTENS_EVERY=2m"}, nil, registry.Descriptions(),
		since)
	_, err := l.With(nil)
	require.Equal(t, Problems{
		file + ": poll.every is now called sync.listens_every, and both are set. Keep sync.listens_every.",
		"REPRISE_POLL_EVERY is now called REPRISE_SYNC_LISTENS_EVERY, and both are set. " +
			"Keep REPRISE_SYNC_LISTENS_EVERY.",
	}, err)
}

func TestFormerNamesLeadToSettings(t *testing.T) {
	t.Parallel()
	all := map[string]bool{}
	for _, s := range All(registry.Descriptions()) {
		all[s.Path] = true
	}
	for was, is := range former {
		require.False(t, all[was], was)
		require.True(t, all[is], is)
	}
}
