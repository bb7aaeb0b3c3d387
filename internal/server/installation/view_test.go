package installation

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/config"
	"reprise/internal/providers/registry"
	"reprise/internal/settings"
	"reprise/internal/words"
	"reprise/web/ui"
)

func defaults() (all []settings.Item) {
	for _, s := range config.All(registry.Descriptions()) {
		all = append(all, settings.Item{Setting: s, Value: s.Default, Source: config.FromDefault})
	}
	return all
}

func TestTheServersSettingsAreFolded(t *testing.T) {
	t.Parallel()
	for _, l := range words.Languages() {
		ctx := words.With(t.Context(), l)
		show := func(all []settings.Item, refused *settings.Refused) (map[string]groupView, string) {
			v, got := viewOf(ctx, all, nil, refused, func(p string) string { return p }), map[string]groupView{}
			for _, g := range v.Groups {
				got[g.ID] = g
			}
			var b bytes.Buffer
			require.NoError(t, page(v).Render(ctx, &b))
			return got, b.String()
		}
		all := defaults()
		got, html := show(all, nil)
		for id, g := range got {
			require.Equal(t, id == "server", g.Open, id)
			require.NotEmpty(t, g.Note, id)
		}
		require.Equal(t, words.T(ctx, "setting.page.none_set_up"), got["services"].Note)
		// A browser opens the fold around what the address names, not one that is named itself.
		require.Contains(t, html, `<div id="network" class="inside">`)
		require.Contains(t, html, `<button class="second" form="browser-address">`)
		named := func(f ui.Field) string { return f.Name }
		require.ElementsMatch(t, []string{"admin_token", "log.level"},
			[]string{named(got["server"].Forms[0].Rest[0]), named(got["server"].Forms[0].Rest[1])})
		require.Contains(t, html, "1h30m")

		set := func(path, value string) {
			i := slices.IndexFunc(all, func(i settings.Item) bool { return i.Path == path })
			all[i].Value, all[i].Source = value, config.FromDatabase
		}
		set("providers.spotify.client_id", "abc")
		set("sync.workers", "3")
		wrong := &settings.Refused{Fields: settings.Problems{"backoff.max": words.New("setting.page.no_origin")}}
		got, html = show(all, wrong)
		require.Contains(t, got["services"].Note, "spotify")
		require.Contains(t, got["reading"].Note, words.T(ctx, "setting.label.sync.workers"))
		require.True(t, got["resilience"].Open, "it has a problem")
		require.False(t, got["network"].Open)
		require.Contains(t, html, words.T(ctx, "setting.page.set_up"))
	}
}

// Files and programs know settings by their names, people by their labels.
func TestAProblemNamesSettingsByTheirLabels(t *testing.T) {
	t.Parallel()
	refused := &settings.Refused{Fields: settings.Problems{"backoff.max": words.New("settings.wrong.backoff",
		"Max", time.Minute, "Base", time.Hour)}}
	v := viewOf(t.Context(), defaults(), nil, refused, func(p string) string { return p })
	var b bytes.Buffer
	require.NoError(t, page(v).Render(t.Context(), &b))
	require.Contains(t, b.String(),
		"Longest pause (1m0s) must not be shorter than First pause after a failure (1h0m0s).")
}

// A default that a field shows isn't said as well.
func TestADefaultIsSaidWhereTheValueIsAnother(t *testing.T) {
	t.Parallel()
	ctx, all := words.With(t.Context(), words.English), defaults()
	i := all[slices.IndexFunc(all, func(i settings.Item) bool { return i.Path == "backup.daily" })]
	require.NotContains(t, Help(ctx, i), "Default")
	i.Value = "true"
	require.Contains(t, Help(ctx, i), "Default: Off.")
}
