package imports

import (
	"context"
	"strings"

	"reprise/internal/imports"
	"reprise/internal/words"
	"reprise/web/ui"
)

// shapes are the shapes of the states of imports.
var shapes = map[imports.State]string{imports.Waiting: "scheduled", imports.Running: "syncing", imports.Done: "done",
	imports.Failed: "dead", imports.Canceled: "paused"}

// markOf returns the state of an import. One in trouble waits for the disk or the database.
func markOf(ctx context.Context, v Import) ui.Mark {
	if v.Trouble != "" {
		return ui.Mark{Shape: "waiting", Word: words.T(ctx, "import.state.trouble")}
	}
	return ui.Mark{Shape: shapes[imports.State(v.State)], Word: words.Each("import.state.", v.State).T(ctx)}
}

// cameTo says what the rows of an import came to.
func cameTo(ctx context.Context, v Import) string {
	parts := []string{words.T(ctx, "import.added", "Count", v.Added), words.T(ctx, "import.known", "Count", v.Known)}
	if v.Skipped > 0 {
		parts = append(parts, words.T(ctx, "import.skipped", "Count", v.Skipped))
	}
	if v.Bad > 0 {
		parts = append(parts, words.T(ctx, "import.bad", "Count", v.Bad))
	}
	return strings.Join(parts, ", ") + "."
}

// optionsOf returns the services whose exports can be imported, to choose from.
func optionsOf(all []readerView) (options []ui.Option) {
	for _, r := range all {
		options = append(options, ui.Option{Value: r.Name, Label: r.DisplayName})
	}
	return options
}

// expected says which files can be imported.
func expected(all []readerView) (facts []ui.Fact) {
	for _, r := range all {
		facts = append(facts, ui.Fact{Label: r.DisplayName, Value: ui.Say(r.Expected)})
	}
	return facts
}
