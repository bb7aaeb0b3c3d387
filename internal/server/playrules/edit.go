package playrules

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// editView is the page of a rule.
type editView struct {
	Head     ui.Heading
	Look     string // address that tries it
	Save     string // address that stores it
	Kind     string
	Groups   []group
	Checks   []ui.Field
	Hint     string // below them
	Problem  string
	Did      string // what it has done; empty for nothing
	Found    string // how many listens it is about
	Examples []ui.Item
	More     []ui.Action
}

// group is fields of the form that belong together.
type group struct {
	Title  string // empty for none
	Fields []ui.Field
}

// fresh returns the rule that a page for a new one begins with.
func fresh(c echo.Context) (r playrules.Rule) {
	ctx := c.Request().Context()
	r.Kind = playrules.Kind(c.QueryParam("kind"))
	for _, f := range playrules.Finished {
		if f.Key == c.QueryParam("finished") {
			r = f.Rule
			r.Name = words.Each("playrules.finished.", f.Key).T(ctx)
		}
	}
	if r.Kind == playrules.Rewrite && r.Field == "" {
		r.Field = "title"
	}
	return r
}

// asked returns a rule changed as the fields of a form say.
func (h *Handler) asked(c echo.Context, r playrules.Rule) playrules.Rule {
	seconds := func(name string) int {
		n, err := strconv.Atoi(c.FormValue(name))
		if c.FormValue(name) == "" {
			return 0
		}
		if err != nil || n > int(24*time.Hour/time.Second) {
			return -1 // which Check refuses
		}
		return n
	}
	text := c.FormValue
	f := PlayRuleBody{Record: playrules.Record{Name: text("name"), Kind: text("kind"), Off: r.Off,
		Title: text("title"), Artist: text("artist"), Album: text("album"), Player: text("player"),
		Source: text("source"), Shorter: seconds("shorter"), Longer: seconds("longer"),
		Begins: text("begins"), Ends: text("ends"), Field: text("field"), With: text("with")}}
	if form, err := core.Form(c); err == nil {
		f.To = form["to"]
	}
	return h.ruleOf(c, f, r.ID)
}

func (h *Handler) newPage(c echo.Context) error {
	r := fresh(c)
	if c.QueryParams().Has("name") {
		r = h.asked(c, r)
	}
	return h.edit(c, http.StatusOK, r)
}

func (h *Handler) onePage(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	if c.QueryParams().Has("name") {
		r = h.asked(c, r)
	}
	return h.edit(c, http.StatusOK, r)
}

// edit shows a rule with what it would have done.
func (h *Handler) edit(c echo.Context, status int, r playrules.Rule) error {
	ctx := c.Request().Context()
	if !slices.Contains(playrules.Kinds, r.Kind) {
		return c.Redirect(http.StatusSeeOther, path)
	}
	v := editView{Kind: string(r.Kind), Look: path + "/new", Save: path,
		Head: ui.Heading{Title: kindName(ctx, r.Kind), Lead: words.Each("playrules.about.", string(r.Kind)).T(ctx),
			Back: path, BackTo: words.T(ctx, "playrules.title")}}
	r.User = core.UserOf(c).ID
	if r.ID != 0 {
		v.Look, v.Save, v.Head.Title = pathOf(r), pathOf(r), cmp.Or(r.Name, v.Head.Title)
		if r.OfNames() && r.Kind != playrules.Withhold {
			v.More = append(v.More, ui.Action{Label: words.T(ctx, "playrules.apply"), URL: pathOf(r) + "/apply"})
		}
		done, err := h.store.DoneBy(ctx, r.User)
		if err != nil {
			return err
		}
		v.Did = didWords(ctx, done[r.ID])
		v.More = append(v.More, ui.Action{Label: words.T(ctx, "playrules.delete"), URL: pathOf(r) + "/delete"})
	}
	if err := v.fields(ctx, h, r); err != nil {
		return err
	}
	wrong := r.Check()
	switch {
	case wrong.IsZero():
		if err := v.try(c, h, r); err != nil {
			return err
		}
	case r.ID != 0 || c.QueryParams().Has("name") || status != http.StatusOK:
		v.Problem = wrong.T(ctx)
	}
	return h.core.Show(c, status, v.Head.Title, editPage(v))
}

// try adds what the rule would have done to the last month.
func (v *editView) try(c echo.Context, h *Handler, r playrules.Rule) error {
	ctx := c.Request().Context()
	tried, err := h.preview(c, r)
	if err != nil {
		return err
	}
	v.Found = words.T(ctx, "playrules.found_none")
	if tried.Count > 0 {
		v.Found = words.T(ctx, "playrules.found", "Count", tried.Count)
	}
	for i, one := range tried.Examples {
		item := ui.Item{ID: "listen-" + strconv.Itoa(i+1), Title: ui.Named{Text: one.Track},
			By: []ui.Named{{Text: one.Artist}}, At: one.PlayedAt.Time}
		if one.Becomes != nil {
			item.Note = words.T(ctx, "playrules.becomes", "Name", *one.Becomes)
			if *one.Becomes == "" {
				item.Note = words.T(ctx, "playrules.becomes_empty")
			}
		}
		v.Examples = append(v.Examples, item)
	}
	return nil
}

// fields adds the fields of the form.
func (v *editView) fields(ctx context.Context, h *Handler, r playrules.Rule) error {
	label := func(name string) string { return words.Each("playrules.field.", name).T(ctx) }
	text := func(name, value string) ui.Field {
		return ui.Field{Name: name, Label: label(name), Value: value, MaxLength: "500", Optional: true, Exact: true}
	}
	number := func(name string, n int) ui.Field {
		f := ui.Field{Name: name, Label: label(name), Type: "number", Optional: true}
		if n != 0 {
			f.Value = strconv.Itoa(n)
		}
		return f
	}
	clock := func(name, value string) ui.Field {
		return ui.Field{Name: name, Label: label(name), Type: "time", Value: value, Optional: true}
	}
	about := []ui.Field{{Name: "name", Label: label("name"), Value: r.Name, MaxLength: "100", Required: true}}
	if r.Kind == playrules.Rewrite {
		var options []ui.Option
		for _, f := range playrules.Fields {
			options = append(options, ui.Option{Value: f, Label: words.Each("playrules.in.", f).T(ctx)})
		}
		with := text("with", r.With)
		with.Help = words.T(ctx, "playrules.with_help")
		about = append(about, ui.Field{Name: "field", Label: label("field"), Value: r.Field, Options: options}, with)
	}
	title := text("title", r.Title)
	title.Help = words.T(ctx, "playrules.pattern_help")
	all, err := h.store.UserConnections(ctx, r.User)
	if err != nil {
		return err
	}
	from := []ui.Option{{Label: words.T(ctx, "playrules.anywhere")}}
	for _, one := range all {
		p := h.core.Registry.Get(one.Provider())
		if p == nil {
			continue
		}
		name := one.Label(p.Called().T(ctx))
		if p.Pulls(library.Listens) || one.ID == r.Source {
			from = append(from, ui.Option{Value: string(one.ID), Label: name})
		}
		if r.Kind == playrules.Withhold && p.Takes.Listens != "" {
			v.Checks = append(v.Checks, ui.Field{Name: "to", ID: "to-" + string(one.ID), Type: "checkbox",
				Value: string(one.ID), Label: words.T(ctx, "playrules.not_to", "Name", name),
				Checked: slices.Contains(r.To, one.ID)})
			v.Hint = words.T(ctx, "playrules.not_to_hint")
		}
	}
	sending, err := h.store.Players(ctx, r.User)
	if err != nil {
		return err
	}
	for _, p := range sending {
		from = append(from, ui.Option{Value: string(p.ID), Label: p.Name})
	}
	for _, to := range r.To {
		if !slices.ContainsFunc(v.Checks, func(f ui.Field) bool { return f.Value == string(to) }) {
			name := h.core.NameOf(ctx, to)
			v.Checks = append(v.Checks, ui.Field{Name: "to", ID: "to-" + string(to), Type: "checkbox",
				Value: string(to), Label: words.T(ctx, "playrules.not_to", "Name", name), Checked: true})
		}
	}
	if r.Source != "" && !slices.ContainsFunc(from, func(o ui.Option) bool { return o.Value == string(r.Source) }) {
		from = append(from, ui.Option{Value: string(r.Source), Label: h.core.NameOf(ctx, r.Source)})
	}
	v.Groups = []group{{Fields: about},
		{words.T(ctx, "playrules.group.names"), []ui.Field{title, text("artist", r.Artist), text("album", r.Album)}},
		{words.T(ctx, "playrules.group.times"), []ui.Field{number("shorter", int(r.Shorter/time.Second)),
			number("longer", int(r.Longer/time.Second)), clock("begins", r.Begins), clock("ends", r.Ends)}},
		{words.T(ctx, "playrules.group.from"), []ui.Field{{Name: "source", Label: label("source"),
			Value: string(r.Source), Options: from}, text("player", r.Player)}}}
	return nil
}
