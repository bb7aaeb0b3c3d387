package test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reprise/internal/promtest"

	"github.com/stretchr/testify/require"
)

var metricNames = regexp.MustCompile(`\breprise_([a-z_]+)`)

// named returns the metrics that a text names, with the name of the histogram for each of its parts.
func named(text string) []string {
	found := map[string]bool{}
	for _, m := range metricNames.FindAllStringSubmatch(text, -1) {
		name := m[1]
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			name = strings.TrimSuffix(name, part)
		}
		found[name] = true
	}
	return slices.Sorted(maps.Keys(found))
}

func TestTheDashboardShowsEveryMetric(t *testing.T) {
	t.Parallel()
	text := promtest.ReadConfig(t, "grafana", "reprise.json")
	require.Equal(t, slices.Sorted(maps.Keys(promised)), named(text),
		"each of the contract's metrics, and none that does not exist")

	var board struct {
		UID           string
		SchemaVersion int
		Templating    struct{ List []struct{ Name, Type string } }
		Panels        []struct {
			ID                       int
			Type, Title, Description string
			GridPos                  struct{ X, Y, W, H int }
			Datasource               struct{ Type, UID string }
			FieldConfig              struct{ Defaults struct{ Unit string } }
			Targets                  []struct {
				Expr       string
				Datasource struct{ Type, UID string }
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &board))
	require.Equal(t, "reprise", board.UID)
	require.GreaterOrEqual(t, board.SchemaVersion, 38, "Grafana 10 reads it as it is")
	require.Equal(t, "datasource", board.Templating.List[0].Name)
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		require.False(t, ids[p.ID], "two panels have the number %d", p.ID)
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s lies on another panel", p.Title)
				require.Less(t, x, 24, p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		require.True(t, strings.HasSuffix(p.Description, "."), "%s says in a sentence what it shows", p.Title)
		require.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		require.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		for _, target := range p.Targets {
			require.Equal(t, "${datasource}", target.Datasource.UID, p.Title)
		}
	}
}

// TestTheDashboardCountsTriesPerSuccess evaluates the panel's expression: calls that an open breaker ended are no
// tries, and a service without a success has no mean.
func TestTheDashboardCountsTriesPerSuccess(t *testing.T) {
	takesLong(t)
	t.Parallel()
	type panel struct {
		Title   string
		Targets []struct{ Expr string }
	}
	var board struct{ Panels []panel }
	require.NoError(t, json.Unmarshal([]byte(promtest.ReadConfig(t, "grafana", "reprise.json")), &board))
	at := slices.IndexFunc(board.Panels, func(p panel) bool { return p.Title == "Tries per success" })
	require.Positive(t, at)
	expr := strings.ReplaceAll(board.Panels[at].Targets[0].Expr, "$provider", ".*")
	series := func(provider, outcome string, each int) map[string]string {
		return map[string]string{"values": fmt.Sprintf("0+%dx30", each),
			"series": fmt.Sprintf(`reprise_upstream_attempts_total{provider=%q, outcome=%q}`, provider, outcome)}
	}
	story, err := json.Marshal(map[string]any{"tests": []any{map[string]any{"interval": "1m",
		"input_series": []any{series("lastfm", "retriable", 3), series("lastfm", "success", 1),
			series("lastfm", "circuit_open", 9), series("spotify", "success", 2), series("s3", "fatal", 2)},
		"promql_expr_test": []any{map[string]any{"expr": expr, "eval_time": "30m", "exp_samples": []any{
			map[string]any{"labels": `{provider="lastfm"}`, "value": 4},
			map[string]any{"labels": `{provider="spotify"}`, "value": 1}}}}}}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "tries.yaml")
	require.NoError(t, os.WriteFile(file, story, 0o600)) // YAML includes JSON
	promtest.Promtool(t, "", "test", "rules", file)
}

// Promise: A selector with a label that does not exist matches nothing, and nobody notices.
func TestSelectorsUseLabelsThatExist(t *testing.T) {
	t.Parallel()
	selector := regexp.MustCompile(`reprise_([a-z_]+)\{([^}]*)\}`)
	matcher := regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)\\?"([^"\\]*)`)
	fresh := promtest.Parse(t, start(t, t.TempDir()).scrapeText())
	for _, path := range [][]string{{"grafana", "reprise.json"}, {"prometheus", "alerts.yaml"}} {
		found := 0
		for _, m := range selector.FindAllStringSubmatch(promtest.ReadConfig(t, path...), -1) {
			name := named("reprise_" + m[1])[0]
			require.Contains(t, promised, name)
			for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
				require.Contains(t, strings.Split(promised[name], ","), l[1], m[0])
				for value := range strings.SplitSeq(l[2], "|") {
					found++
					if value == "$provider" {
						continue
					}
					any := slices.ContainsFunc(slices.Collect(maps.Keys(fresh)), func(key string) bool {
						return strings.HasPrefix(key, name) && strings.Contains(key, l[1]+`="`+value+`"`)
					})
					require.True(t, any, "%s: nothing ever has %s=%q", m[0], l[1], value)
				}
			}
		}
		require.Greater(t, found, 10, path)
	}
}

func TestAlertRulesFireInTheirStoriesOnly(t *testing.T) {
	takesLong(t)
	t.Parallel()
	rules, stories := promtest.ReadConfig(t, "prometheus", "alerts.yaml"),
		promtest.ReadConfig(t, "prometheus", "alerts_test.yaml")
	require.Subset(t, slices.Collect(maps.Keys(promised)), named(rules))
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1) {
		require.Contains(t, stories, "# "+m[1]+": ", "every rule has a story")
		require.Contains(t, stories, "{alertname: "+m[1]+", eval_time: 1400m, exp_alerts: []}",
			"and is silent on a healthy day")
	}
	promtest.Promtool(t, "", "check", "rules", promtest.ConfigFile(t, "prometheus", "alerts.yaml"))
	promtest.Promtool(t, "", "check", "config", promtest.ConfigFile(t, "prometheus", "prometheus.yml"))
	promtest.Promtool(t, "", "test", "rules", promtest.ConfigFile(t, "prometheus", "alerts_test.yaml"))
}
