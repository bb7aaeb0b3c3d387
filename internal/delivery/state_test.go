package delivery

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the diagram in docs/deliveries.md")

func TestTheStatesHangTogether(t *testing.T) {
	t.Parallel()
	known := map[State]bool{"": true}
	for _, s := range States {
		require.False(t, known[s], "%s stands once", s)
		known[s] = true
		require.Equal(t, s != Done && s != Dead, s.Live())
	}
	seen := map[[2]State]bool{}
	from := map[State][]State{}
	for _, v := range Transitions {
		way := [2]State{v.From, v.To}
		require.True(t, known[v.From] && known[v.To], "%v are states", way)
		require.NotEqual(t, v.From, v.To)
		require.False(t, seen[way], "%v stands once", way)
		require.NotEmpty(t, v.When)
		require.NotContains(t, v.When, ":", "Mermaid would not read it")
		require.NotContains(t, v.When, ";")
		seen[way] = true
		from[v.From] = append(from[v.From], v.To)
	}

	reached := map[State]bool{}
	for next := []State{""}; len(next) > 0; next = next[1:] {
		for _, s := range from[next[0]] {
			if !reached[s] {
				reached[s] = true
				next = append(next, s)
			}
		}
	}
	for s := range known {
		require.True(t, reached[s], "%q can be reached", s)
		require.NotEmpty(t, from[s], "%q can be left", s)
	}
	require.False(t, seen[[2]State{Running, ""}], "what is running cannot be taken away")
	require.Equal(t, []State{""}, from[Done], "what was taken is never sent again")
}

// TestTheDiagramIsTheTable compares the diagram in docs/deliveries.md with the table. Run with -update to
// rewrite it.
func TestTheDiagramIsTheTable(t *testing.T) {
	t.Parallel()
	const page, end = "../../docs/deliveries.md", "<!-- end of states -->"
	const begin = "<!-- states: written by go test ./internal/delivery -update -->\n"
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(b), begin)
	require.True(t, ok, "the page has a place for the diagram")
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "the diagram has an end")
	want := before + begin + "```mermaid\n" + diagram() + "```\n" + end + after
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(b))
}

// diagram draws the transitions as a Mermaid state diagram.
func diagram() string {
	var b strings.Builder
	b.WriteString("stateDiagram-v2\n")
	end := func(s State) string {
		if s == "" {
			return "[*]"
		}
		return string(s)
	}
	for _, t := range Transitions {
		fmt.Fprintf(&b, "    %s --> %s: %s\n", end(t.From), end(t.To), t.When)
	}
	return b.String()
}
