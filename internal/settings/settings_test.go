package settings_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/activity"
	"reprise/internal/config"
	"reprise/internal/providers/registry"
	"reprise/internal/settings"
	"reprise/internal/store"
	"reprise/internal/storetest"
	"reprise/internal/words"
)

// installation is the settings of a server, on a database of the test.
type installation struct {
	*settings.Settings
	t      *testing.T
	store  *store.Store
	layers *config.Layers
	logged strings.Builder
	ctx    context.Context // of the administrator
}

func install(t *testing.T, file string, environ ...string) *installation {
	t.Helper()
	path := ""
	if file != "" {
		path = filepath.Join(t.TempDir(), "reprise.yaml")
		require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	}
	i := &installation{t: t, store: storetest.Open(t, t.TempDir()),
		layers: config.Read(path, environ, nil, registry.Descriptions())}
	t.Cleanup(func() { require.NoError(t, i.store.Close()) })
	u, err := i.store.AddUser(t.Context(), accounts.User{Name: "Alice", PasswordHash: "-", Role: accounts.Admin}, true)
	require.NoError(t, err)
	i.ctx = activity.WithActor(t.Context(), activity.Actor{ID: u.ID, Name: u.Name})
	i.start()
	return i
}

// start reads the settings as a start of the server does.
func (i *installation) start() {
	s, err := settings.Open(i.t.Context(), settings.Options{Layers: i.layers, Known: registry.Descriptions(),
		Store: i.store, Log: slog.New(slog.NewTextHandler(&i.logged, nil))})
	require.NoError(i.t, err)
	i.Settings = s
}

func (i *installation) change(pairs ...string) error { return i.Change(i.ctx, changes(pairs...)) }

// changes returns what is to be changed, by path; "default" goes back to that.
func changes(pairs ...string) map[string]*string {
	all := map[string]*string{}
	for n := 0; n < len(pairs); n += 2 {
		all[pairs[n]] = &pairs[n+1]
		if pairs[n+1] == "default" {
			all[pairs[n]] = nil
		}
	}
	return all
}

func (i *installation) one(path string) settings.Item {
	i.t.Helper()
	item, ok := i.One(path)
	require.True(i.t, ok)
	return item
}

func refusedOf(t *testing.T, err error) *settings.Refused {
	t.Helper()
	refused, ok := errors.AsType[*settings.Refused](err)
	require.True(t, ok, "%v", err)
	return refused
}

func TestAChangeHoldsAtOnceAndAfterARestart(t *testing.T) {
	t.Parallel()
	i := install(t, "")
	var applied []string
	i.Follow(func(_ context.Context, before, now config.Config) error {
		applied = append(applied, before.Contact+" → "+now.Contact)
		return nil
	})
	require.NoError(t, i.change("contact", " me@example.org ", "providers.spotify.client_secret", "the-client-secret"))
	require.Equal(t, []string{" → me@example.org"}, applied)
	require.Equal(t, "me@example.org", i.Config().Contact)
	require.Equal(t, config.FromDatabase, i.one("contact").Source)
	i.start()
	require.Equal(t, "me@example.org", i.Config().Contact)
	require.Equal(t, "the-client-secret", string(i.Config().Providers["spotify"].Secret("client_secret")))

	log, _, err := i.store.Activity(t.Context(), activity.Filter{Installation: true}, "", 10)
	require.NoError(t, err)
	require.Len(t, log, 2)
	for _, e := range log {
		require.Equal(t, "Alice", e.Actor)
		require.NotContains(t, e.Sentence(words.Text{}).String()+e.Detail.String(), "the-client-secret")
	}

	require.NoError(t, i.change("contact", "default", "providers.spotify.client_secret", ""))
	require.Empty(t, i.Config().Contact)
	require.Empty(t, i.Config().Providers["spotify"].Secret("client_secret"))
	require.Equal(t, config.FromDefault, i.one("contact").Source)
}

func TestFileAndEnvironmentWinAndStay(t *testing.T) {
	t.Parallel()
	i := install(t, "contact: file@example.org", "REPRISE_SYNC_WORKERS=3")
	require.NoError(t, i.store.SaveSettings(i.ctx, []settings.Stored{{Path: "contact", Value: "db@example.org"},
		{Path: "sync.workers", Value: "5"}, {Path: "sync.run_timeout", Value: "5m"}}, nil))
	i.start()
	require.Equal(t, "file@example.org", i.Config().Contact)
	require.Equal(t, 3, i.Config().Workers)
	require.Equal(t, "5m0s", i.Config().RunTimeout.String())
	refused := refusedOf(t, i.change("contact", "me@example.org", "sync.workers", "9", "listen", ":80"))
	require.True(t, refused.Fixed)
	require.Contains(t, refused.Fields["contact"].String(), "Set in the configuration file")
	require.Equal(t, "Set in the environment (REPRISE_SYNC_WORKERS).", refused.Fields["sync.workers"].String())
	require.Contains(t, refused.Fields["listen"].String(), "Needs a restart")
	require.Equal(t, "file@example.org", i.Config().Contact)
}

func TestAChangeIsCheckedAsAWhole(t *testing.T) {
	t.Parallel()
	i := install(t, "")
	require.NoError(t, i.change("backoff.max", "1m"))
	refused := refusedOf(t, i.change("backoff.base", "2m", "sync.workers", "many", "contact", "me@example.org",
		"sync.worker", "3", "providers.openai.price_in", "1"))
	require.False(t, refused.Fixed)
	const together = "providers.openai.price_in and providers.openai.price_out belong together: " +
		"set both, or neither."
	got := map[string]string{}
	for path, text := range refused.Fields {
		got[path] = text.String()
	}
	require.Equal(t, map[string]string{
		"backoff.max":                "backoff.max (1m0s) must not be shorter than backoff.base (2m0s).",
		"backoff.base":               "backoff.max (1m0s) must not be shorter than backoff.base (2m0s).",
		"sync.workers":               "“many” is not a whole number from 1 to 1000.",
		"sync.worker":                "There is no setting sync.worker; did you mean sync.workers?",
		"providers.openai.price_in":  together,
		"providers.openai.price_out": together,
	}, got)
	require.Empty(t, i.Config().Contact, "all or nothing")
	_, err := i.Check(changes("backoff.max", "1h", "backoff.base", "2m"))
	require.NoError(t, err)
	require.Equal(t, "1m0s", i.Config().BackoffMax.String(), "a check changes nothing")
	require.NoError(t, i.change("backoff.max", "1h", "backoff.base", "2m"))
	require.Equal(t, "2m0s", i.Config().BackoffBase.String())
}

func TestAWrongStoredValueDoesNotStopAStart(t *testing.T) {
	t.Parallel()
	i := install(t, "backoff: {base: 10m}")
	require.NoError(t, i.store.SaveSettings(i.ctx, []settings.Stored{{Path: "sync.workers", Value: "0"},
		{Path: "backoff.max", Value: "1m"}, {Path: "gone.since", Value: "x"},
		{Path: "contact", Value: "me@example.org"}}, nil))
	i.start()
	require.Equal(t, 8, i.Config().Workers)
	require.Equal(t, "30m0s", i.Config().BackoffMax.String())
	require.Equal(t, "me@example.org", i.Config().Contact, "what is right is used")
	for _, want := range []string{"sync.workers", "backoff.max (1m0s) must not", "gone.since"} {
		require.Contains(t, i.logged.String(), want)
	}
	require.Equal(t, "“0” is not a whole number from 1 to 1000.", i.one("sync.workers").Wrong.String())
	require.NoError(t, i.change("sync.listens_every", "10m"), "the others can be changed")
	require.NoError(t, i.change("sync.workers", "4"))
	require.True(t, i.one("sync.workers").Wrong.IsZero())
}

func TestSecretsShowTheirLastFour(t *testing.T) {
	t.Parallel()
	i := install(t, "")
	require.NoError(t, i.change("providers.youtube.keys", "first-key-abcd\nhome:second-key-efgh",
		"providers.spotify.client_secret", "the-client-secret", "notify.urls", "ntfy://ntfy.sh/topic-ijkl",
		"providers.lastfm.client_id", "the-client-id"))
	require.Equal(t, []string{"…abcd", "home:…efgh"}, i.one("providers.youtube.keys").Values())
	require.Equal(t, "…cret", i.one("providers.spotify.client_secret").Value)
	require.Equal(t, "the-client-id", i.one("providers.lastfm.client_id").Value)

	require.NoError(t, i.change("providers.youtube.keys", "…abcd, third-key-mnop",
		"providers.spotify.client_secret", "…cret", "notify.urls", "…ijkl, ntfy://ntfy.sh/another"))
	require.Equal(t, []string{"…abcd", "…mnop"}, i.one("providers.youtube.keys").Values())
	keys := i.Config().Providers["youtube"].Keys("keys")
	require.Equal(t, "first-key-abcd", string(keys[0].Secret))
	require.Equal(t, "the-client-secret", string(i.Config().Providers["spotify"].Secret("client_secret")))
	require.Len(t, i.Config().NotifyURLs, 2)
	require.Equal(t, "ntfy://ntfy.sh/topic-ijkl", string(i.Config().NotifyURLs[0]))
	refused := refusedOf(t, i.change("providers.youtube.keys", "…efgh"))
	require.Contains(t, refused.Error(), "No stored value ends like …efgh")
	for _, item := range i.All() {
		require.NotContains(t, item.Value, "first-key")
		require.NotContains(t, item.Value, "the-client-secret")
	}
}

func TestACrashBeforeApplyingLosesNothing(t *testing.T) {
	t.Parallel()
	i := install(t, "")
	i.Follow(func(context.Context, config.Config, config.Config) error { panic("the process ends here") })
	require.Panics(t, func() { _ = i.change("contact", "me@example.org") })
	i.start()
	require.Equal(t, "me@example.org", i.Config().Contact)
}
