package admin

import (
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/keys"
	"reprise/internal/resilience/transport"
	"reprise/internal/words"
	"reprise/web/ui/uitest"
)

// Each key says whether it can be used, and why not; only one that cannot be used can be tried.
func TestKeysSayWhetherTheyCanBeUsed(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		key  keys.Status
		says string
	}{
		"ready":     {keys.Status{}, "key.state.ready"},
		"spent":     {keys.Status{Until: until, Category: resilience.Quota}, "key.state.cooling"},
		"too often": {keys.Status{Until: until, Category: resilience.RateLimit}, "key.state.cooling"},
		"refused":   {keys.Status{Invalid: true, Category: resilience.Auth}, "key.state.refused"},
		"not for this": {keys.Status{Invalid: true, Category: resilience.Config},
			"key.state.refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.key.LastFour, c.key.Project = "a/b?", uitest.Hostile
			require.Equal(t, c.says, state(c.key).ID())
			require.Equal(t, name != "ready", !why(c.key).IsZero())
			show := keysPart([]key{{c.key, "youtube", "YouTube"}})
			html := uitest.HTML(t, words.English, show)
			if name == "ready" {
				require.NotContains(t, html, "/reset")
			} else {
				require.Contains(t, html, `href="/settings/server/keys/youtube/a%2Fb%3F/reset"`)
			}
			uitest.Sound(t, func(*words.Language) templ.Component { return show })
		})
	}
}

// A column with nothing in it is left out, and every row has a cell for each that is there.
func TestKeysHaveNoEmptyColumns(t *testing.T) {
	t.Parallel()
	ready := keys.Status{LastFour: "0001"}
	named, spent := ready, ready
	named.Project, spent.Invalid = "home", true
	for name, c := range map[string]struct {
		keys    []keys.Status
		columns []string
	}{
		"all ready": {[]keys.Status{ready, ready}, []string{"Service", "Key", "Status"}},
		"a project": {[]keys.Status{ready, named}, []string{"Service", "Key", "Project", "Status"}},
		"one refused": {[]keys.Status{ready, named, spent},
			[]string{"Service", "Key", "Project", "Status", "Action"}},
	} {
		var all []key
		for _, k := range c.keys {
			all = append(all, key{k, "youtube", "YouTube"})
		}
		g := keyTable(t.Context(), all)
		require.Equal(t, c.columns, g.Columns, name)
		for _, line := range g.Rows {
			require.Len(t, line.Cells, len(c.columns), name)
		}
	}
}

func TestEndpointsThatArePausedAreListed(t *testing.T) {
	t.Parallel()
	none := uitest.HTML(t, words.English, breakersPart(nil, 3))
	require.Contains(t, none, "3")
	require.NotContains(t, none, "<table")
	open := breakersPart([]transport.BreakerStatus{
		{Endpoint: "GET api.spotify.com/v1/me", State: transport.BreakerOpen, Since: time.Now(), Until: time.Now()},
		{Endpoint: "GET example.org/" + uitest.Mark, State: transport.BreakerHalfOpen, Since: time.Now()}}, 3)
	html := uitest.HTML(t, words.English, open)
	require.Contains(t, html, `value="GET api.spotify.com/v1/me"`)
	require.Contains(t, html, words.T(t.Context(), "breaker.trying"))
}
