package words

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAStateHasOneName compares the table of states in docs/words.md with the catalogue: a card, the page Health and
// the heading above all cards must not call one state by several names.
func TestAStateHasOneName(t *testing.T) {
	all := catalogue(t, English)
	say := func(ids ...string) string {
		for _, id := range ids {
			if e, ok := all[id]; ok {
				form := e.forms["one"]
				if form == "" {
					form = e.forms["other"]
				}
				return strings.ReplaceAll(form, "{{.Name}}", "*name*")
			}
		}
		t.Fatalf("none of %v is in the catalogue", ids)
		return ""
	}
	heading := map[string]string{"waiting": "status.waits", "held": "status.waits",
		"needs_reconnect": "status.needs_you", "needs_admin": "status.needs_admin"}
	b, err := os.ReadFile("../../docs/words.md")
	require.NoError(t, err)
	for _, state := range []string{"healthy", "syncing", "new", "waiting", "held", "needs_reconnect", "needs_admin",
		"paused"} {
		above := heading[state]
		if above == "" {
			above = "status.all_good"
		}
		row := "| `" + state + "` | " + say("mark."+state) + " | " + say("health.state."+state, "mark."+state) + " | " +
			say(above) + " | "
		require.Contains(t, string(b), row)
	}
	for l := range banned { // an outage is one thing, whoever notices it
		all := catalogue(t, l)
		for _, state := range []string{"waiting", "left", "trying"} {
			require.Equal(t, all["mark.waiting"].forms, all["health.state."+state].forms, "%s in %s", state, l.Code())
		}
		require.Equal(t, all["health.head.waiting"].forms, all["health.head.left"].forms)
		require.Equal(t, all["health.head.waiting"].forms, all["health.head.trying"].forms)
	}
}
