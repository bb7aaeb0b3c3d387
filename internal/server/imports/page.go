package imports

import (
	"context"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"reprise/internal/imports"
	"reprise/internal/words"
	"reprise/web/ui"
)

// shapes are the shapes of the states of imports.
var shapes = map[imports.State]string{imports.Waiting: "scheduled", imports.Running: "syncing",
	imports.Ready: "waiting", imports.Done: "done",
	imports.Failed: "dead", imports.Canceled: "paused"}

// markOf returns the state of an import. One in trouble waits for the disk or the database.
func markOf(ctx context.Context, v Import) ui.Mark {
	if v.Trouble != "" {
		return ui.Mark{Shape: "waiting", Word: words.T(ctx, "import.state.trouble")}
	}
	if v.State == string(imports.Ready) && !v.Looked {
		return ui.Mark{Shape: shapes[imports.Ready], Word: words.T(ctx, "import.state.asks")}
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

// found says what a preview has counted.
func found(ctx context.Context, v Import) string {
	plays := v.Added + v.Known
	if plays == 0 {
		return words.T(ctx, "import.nothing", "What", v.What)
	}
	text := words.T(ctx, "import.found", "Count", plays, "What", v.What, "From", words.Day(v.FirstAt.Time),
		"To", words.Day(v.LastAt.Time), "New", v.Added)
	var rest []string
	if v.Skipped > 0 {
		rest = append(rest, words.T(ctx, "import.skipped", "Count", v.Skipped))
	}
	if v.Bad > 0 {
		rest = append(rest, words.T(ctx, "import.bad", "Count", v.Bad))
	}
	if len(rest) > 0 {
		text += " " + strings.Join(rest, ", ") + "."
	}
	return text
}

// sampleTable shows the first rows of a table, with the numbers of its columns.
func sampleTable(ctx context.Context, v Import) ui.Grid {
	g := ui.Grid{Class: "beginning"}
	most := 0
	for _, row := range v.Sample {
		most = max(most, len(row))
	}
	for i := range most {
		g.Columns = append(g.Columns, words.T(ctx, "import.column", "Number", i+1))
	}
	for _, row := range v.Sample {
		line := ui.Line{Cells: make([]templ.Component, most)}
		for i := range line.Cells {
			cell := ""
			if i < len(row) {
				cell = row[i]
			}
			line.Cells[i] = ui.Name(cell)
		}
		g.Rows = append(g.Rows, line)
	}
	return g
}

// questions is the form with what a file does not say; without fields where it says all.
func questions(ctx context.Context, v Import) ui.Form {
	f := ui.Form{ID: "import-answers-" + v.ID, Post: "/imports/" + v.ID + "/answers",
		Submit: words.T(ctx, "import.again")}
	id := func(name string) string { return name + "-" + v.ID }
	if len(v.Sample) > 0 {
		columns := v.Answers.Columns
		if columns == nil {
			columns = imports.Sample(v.Sample).Guess()
		}
		for _, c := range []struct {
			name  string
			value int
			none  string // what 0 means; empty where there has to be one
		}{{"artist", columns.Artist, words.T(ctx, "import.both")}, {"title", columns.Title, ""},
			{"album", columns.Album, words.T(ctx, "import.none")}, {"time", columns.Time, ""},
			{"length", columns.Length, words.T(ctx, "import.none")}} {
			f.Fields = append(f.Fields, ui.Field{Name: c.name, ID: id(c.name),
				Label: words.Each("import.holds.", c.name).T(ctx), Value: strconv.Itoa(c.value),
				Options: columnsOf(ctx, v.Sample[0], c.none)})
		}
	}
	if v.Question == string(imports.AskTimeZone) || len(v.Sample) > 0 {
		f.Fields = append(f.Fields, ui.Field{Name: "time_zone", ID: id("time_zone"),
			Label: words.T(ctx, "account.zone"), Value: v.Answers.TimeZone, Placeholder: "Europe/Berlin",
			Exact: true, Autocomplete: "off", Optional: true,
			Help: words.T(ctx, "import.zone_help")})
	}
	if v.Question == string(imports.AskVideos) {
		f.Fields = append(f.Fields, ui.Field{Name: "videos", ID: id("videos"), Label: words.T(ctx, "import.videos"),
			Value: v.Answers.Videos, Options: []ui.Option{
				{Value: imports.OnlyMusic, Label: words.T(ctx, "import.only_music")},
				{Value: imports.AllVideos, Label: words.T(ctx, "import.all_videos")}}})
	}
	return f
}

// columnsOf returns the columns of a table, to choose from.
func columnsOf(ctx context.Context, heading []string, none string) (options []ui.Option) {
	if none != "" {
		options = append(options, ui.Option{Value: "0", Label: none})
	}
	for i, name := range heading {
		options = append(options, ui.Option{Value: strconv.Itoa(i + 1), Label: words.T(ctx, "import.column_named",
			"Number", i+1, "Name", name)})
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
