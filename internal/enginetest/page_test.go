package enginetest_test

import (
	"flag"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/providers/registry"
	"reprise/internal/resilience"
)

var update = flag.Bool("update", false, "rewrite the tables and the counts in docs/providers.md")

// TestThePageSaysWhatARepeatDoes: each service that takes listens either has a rule of its own for what is sent again,
// or is asked before.
func TestThePageSaysWhatARepeatDoes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| service | a play that is sent again | before a repeat |\n| --- | --- | --- |\n")
	for _, d := range registry.Descriptions() {
		takes := d.Takes
		require.Equal(t, takes.Listens != "", takes.Repeat != "", "%s says what a repeat does", d.Name)
		switch {
		case takes.Listens == "":
		case takes.Doubles:
			b.WriteString("| " + d.DisplayName + " | " + takes.Repeat + " | asked for these plays |\n")
		default:
			b.WriteString("| " + d.DisplayName + " | " + takes.Repeat + " | nothing is asked |\n")
		}
	}
	on(t, "../../docs/deliveries.md", "repeats", b.String())
}

func TestThePageListsEveryProvider(t *testing.T) {
	t.Parallel()
	onPage(t, "services", overviewOf(registry.Descriptions()))
}

// TestTheTablesAreThePage compares docs/providers.md with the tables of the code. Run with -update to rewrite it.
func TestTheTablesAreThePage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, d := range registry.Descriptions() {
		b.WriteString(markdownOf(d.Tables) + "\n")
	}
	b.WriteString(generalMarkdown())
	onPage(t, "tables", b.String())
}

// TestWhatThePageSaysOfTheTables is true: each has a source, and every code that is called ours is in one.
func TestWhatThePageSaysOfTheTables(t *testing.T) {
	t.Parallel()
	for _, d := range registry.Descriptions() {
		tables := d.Tables
		require.NotEmpty(t, tables.Reading, tables.Provider)
		require.NotEmpty(t, tables.Sources, tables.Provider)
		codes := map[string]bool{}
		for _, n := range tables.Of {
			require.NotEmpty(t, n.Table, "%s: %s", tables.Provider, n.Calls)
			for i, r := range n.Table {
				none := r.Meaning.Category == resilience.None && r.Meaning.Scope == resilience.ScopeNone
				require.Equal(t, r.Meaning.Class == resilience.OK, none,
					"%s: %s: %d %s has no whole meaning", tables.Provider, n.Calls, r.Status, r.Code)
				for _, before := range n.Table[:i] {
					hidden := (before.Status == 0 || before.Status == r.Status) &&
						(before.Code == "" || before.Code == r.Code)
					require.False(t, hidden, "%s: %s: the row %d %q never counts", tables.Provider, n.Calls, r.Status,
						r.Code)
				}
				codes[r.Code] = true
			}
		}
		for code := range tables.Own {
			require.True(t, codes[code], "%s: no row has our code %q", tables.Provider, code)
		}
	}
}

var pageMu sync.Mutex

// onPage compares what is between two markers of docs/providers.md with text, or writes it there.
func onPage(t *testing.T, name, text string) {
	t.Helper()
	on(t, "../../docs/providers.md", name, text)
}

// on is onPage for any page.
func on(t *testing.T, page, name, text string) {
	t.Helper()
	begin, end := "<!-- "+name+": written by go test ./internal/enginetest -update -->\n", "<!-- end of "+name+" -->"
	pageMu.Lock()
	defer pageMu.Unlock()
	b, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(b), begin)
	require.True(t, ok, "the page has a place for %s", name)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "%s have an end", name)
	want := before + begin + text + end + after
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, string(b), "run go test ./internal/enginetest -update")
}
