package imports

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// importsView is the page of imports.
type importsView struct {
	Readers []readerView
	Imports []Import
	Problem string // with the file that was sent last
	Wrong   wrong
}

// wrong are answers about a file that cannot be.
type wrong struct {
	id      string // of the import
	answers imports.Answers
	problem string
}

// readerView is a service whose export can be imported.
type readerView struct{ Name, DisplayName, Expected string }

func (h *Handler) page(c echo.Context) error {
	return h.show(c, http.StatusOK, importsView{})
}

func (h *Handler) show(c echo.Context, status int, v importsView) (err error) {
	ctx := c.Request().Context()
	for _, id := range imports.All() {
		v.Readers = append(v.Readers, readerView{string(id), h.nameOf(ctx, id, nil),
			imports.Expected(string(id)).T(ctx)})
	}
	if v.Imports, err = h.all(ctx, core.UserOf(c).ID, ""); err != nil {
		return err
	}
	for i := range v.Imports {
		if one := &v.Imports[i]; one.ID == v.Wrong.id {
			one.Answers, one.Problem = v.Wrong.answers, v.Wrong.problem
		}
	}
	return h.core.Show(c, status, words.T(ctx, "import.title"), importsPage(v))
}

// sendForm takes a file from a page: that of imports says first what is in it, and that of a connection whose it is.
func (h *Handler) sendForm(c echo.Context) error {
	id := library.ConnectionID(c.QueryParam("provider"))
	v, err := h.receive(c, imports.Sent{Connection: id, Preview: id == "", Zone: core.Zone(c).String()})
	if err != nil {
		p := h.core.Problem(c, err)
		return h.show(c, p.Status, importsView{Problem: p.Detail})
	}
	to, said := "/imports#import-"+strconv.FormatInt(v.ID, 10), words.New("import.started", "File", v.Name)
	if id == "" || id.Provider() == v.Connection.Provider() {
		if v.Preview {
			return c.Redirect(http.StatusSeeOther, to)
		}
		return h.core.Done(c, "/imports", said)
	}
	taken := h.nameOf(c.Request().Context(), library.ConnectionID(id.Provider()), nil)
	is := words.Join(imports.What(v.Connection.Provider()), words.New("import.not_from", "Service", taken))
	if !v.Preview {
		is = words.Join(said, is)
	}
	return h.core.Done(c, to, is)
}

func (h *Handler) startForm(c echo.Context) error {
	v, err := h.start(c)
	if err != nil {
		p := h.core.Problem(c, err)
		return h.show(c, p.Status, importsView{Problem: p.Detail})
	}
	return h.core.Done(c, "/imports", words.New("import.started", "File", v.Name))
}

func (h *Handler) explainForm(c echo.Context) error {
	id, err := core.Number(c.Param("id"))
	if err != nil {
		return err
	}
	answers := imports.Answers{TimeZone: c.FormValue("time_zone"), Days: c.FormValue("days"),
		Videos: c.FormValue("videos")}
	if c.FormValue("title") != "" {
		number := func(name string) int {
			n, err := strconv.Atoi(c.FormValue(name))
			if err != nil {
				return -1 // which Check refuses
			}
			return n
		}
		answers.Columns = &imports.Columns{Artist: number("artist"), Title: number("title"), Album: number("album"),
			Time: number("time"), Length: number("length")}
	}
	_, err = h.runner.Explain(c.Request().Context(), core.UserOf(c).ID, id, answers)
	if _, refused := errors.AsType[*imports.RefusedError](err); refused && answers.Check() != nil {
		p := h.core.Problem(c, err)
		return h.show(c, p.Status, importsView{Wrong: wrong{c.Param("id"), answers, p.Detail}})
	}
	if err != nil {
		p := h.core.Problem(c, err)
		return h.show(c, p.Status, importsView{Problem: p.Detail})
	}
	return c.Redirect(http.StatusSeeOther, "/imports#import-"+c.Param("id"))
}

func (h *Handler) cancelForm(c echo.Context) error {
	// it may have been removed in another tab
	if err := h.cancel(c); err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	return c.Redirect(http.StatusSeeOther, h.core.CameFrom(c))
}

// Part is the part of a connection's page about imports.
type Part struct {
	readerView
	Imports []Import
}

// Part returns what the page of a connection shows of its imports; nil if its service has no export to read.
func (h *Handler) Part(ctx context.Context, c library.Connection, p *providers.Provider) (*Part, error) {
	if !imports.Reads(p.Name) {
		return nil, nil
	}
	all, err := h.all(ctx, c.User, c.ID)
	reader := readerView{string(c.ID), c.Label(p.DisplayName), imports.Expected(p.Name).T(ctx)}
	return &Part{reader, all[:min(len(all), 3)]}, err
}

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
	return strings.Join(append(parts, leftOut(ctx, v)...), ", ") + "."
}

// leftOut says which rows are no listens; nothing where all are.
func leftOut(ctx context.Context, v Import) (parts []string) {
	if v.Skipped > 0 {
		parts = append(parts, words.T(ctx, "import.skipped", "Count", v.Skipped))
	}
	if v.Bad > 0 {
		parts = append(parts, words.T(ctx, "import.bad", "Count", v.Bad))
	}
	return parts
}

// actions are what a person can do with an import.
func actions(ctx context.Context, v Import) (all []ui.Action) {
	at := "/imports/" + v.ID
	if v.State == "ready" && v.Looked && v.Added > 0 {
		all = append(all, ui.Action{ID: "import-start-" + v.ID, Label: words.T(ctx, "import.start", "Count", v.Added),
			Post: at + "/start", Main: true})
	}
	end := ui.Action{ID: "import-cancel-" + v.ID, Label: words.T(ctx, "import.remove"), Post: at + "/cancel",
		DescribedBy: "import-name-" + v.ID}
	if v.Open {
		end.Label = words.T(ctx, "import.cancel")
	}
	return append(all, end)
}

// found says what a preview has counted.
func found(ctx context.Context, v Import) string {
	plays := v.Added + v.Known
	if plays == 0 {
		return words.T(ctx, "import.nothing", "What", v.What)
	}
	first, last := v.FirstAt.Time, v.LastAt.Time
	parts := []string{words.T(ctx, "import.found", "Count", plays, "What", v.What, "From", words.Day(first),
		"To", words.Day(last))}
	if first.Format(time.DateOnly) == last.Format(time.DateOnly) {
		parts[0] = words.T(ctx, "import.found_on", "Count", plays, "What", v.What, "Day", words.Day(first))
	}
	switch v.Added {
	case plays:
		parts = append(parts, words.T(ctx, "import.all_new", "Count", plays))
	case 0:
		parts = append(parts, words.T(ctx, "import.none_new", "Count", plays))
	default:
		parts = append(parts, words.T(ctx, "import.some_new", "Count", v.Added))
	}
	if rest := leftOut(ctx, v); len(rest) > 0 {
		parts = append(parts, strings.Join(rest, ", ")+".")
	}
	return strings.Join(parts, " ")
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
	if imports.Sample(v.Sample).Slashed() {
		f.Fields = append(f.Fields, ui.Field{Name: "days", ID: id("days"), Label: words.T(ctx, "import.days"),
			Value: v.Answers.Days, Help: words.T(ctx, "import.days_help"), Options: []ui.Option{{},
				{Value: imports.DayFirst, Label: words.T(ctx, "import.day_first")},
				{Value: imports.MonthFirst, Label: words.T(ctx, "import.month_first")}}})
	}
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
	if v.Problem == "" || len(f.Fields) == 0 {
		return f
	}
	at := slices.IndexFunc(f.Fields, func(one ui.Field) bool { return one.Name == v.Answers.Unfit() })
	f.Fields[max(at, 0)].Problem, f.Fields[max(at, 0)].Autofocus = v.Problem, true
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
