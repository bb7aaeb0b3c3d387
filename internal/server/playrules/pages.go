package playrules

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/bounded"
	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

const path = "/rules"

func pathOf(r playrules.Rule) string { return path + "/" + strconv.FormatInt(r.ID, 10) }

// listView is the page of all rules.
type listView struct {
	Head     ui.Heading
	Rules    []ui.Item
	Kinds    []ui.Item
	Finished []ui.Item
	Download string // empty without rules
}

func kindName(ctx context.Context, k playrules.Kind) string {
	return words.Each("playrules.kind.", string(k)).T(ctx)
}

func (h *Handler) listPage(c echo.Context) error {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	all, err := h.store.PlayRules(ctx, user)
	if err != nil {
		return err
	}
	done, err := h.store.DoneBy(ctx, user)
	if err != nil {
		return err
	}
	v := listView{Head: ui.Heading{Title: words.T(ctx, "playrules.title"), Lead: words.T(ctx, "playrules.lead"),
		Back: "/listens", BackTo: words.T(ctx, "listens.title")}}
	for _, r := range all {
		one := ui.Item{ID: "rule-" + strconv.FormatInt(r.ID, 10), Title: ui.Named{Text: r.Name, URL: pathOf(r)},
			By: []ui.Named{{Text: kindName(ctx, r.Kind)}}}
		turn := ui.Action{Label: words.T(ctx, "playrules.off"), Post: pathOf(r) + "/switch", DescribedBy: one.ID}
		if r.Off {
			one.Tags, turn.Label = []string{words.T(ctx, "playrules.is_off")}, words.T(ctx, "playrules.on")
		}
		if d := done[r.ID]; d != (playrules.Done{}) {
			one.By = append(one.By, ui.Named{Text: didWords(ctx, d)})
		}
		one.Aside = ui.Button(turn)
		v.Rules, v.Download = append(v.Rules, one), path+"/download"
	}
	for _, k := range playrules.Kinds {
		v.Kinds = append(v.Kinds, ui.Item{ID: "kind-" + string(k),
			Title: ui.Named{Text: kindName(ctx, k), URL: path + "/new?kind=" + string(k)},
			By:    []ui.Named{{Text: words.Each("playrules.about.", string(k)).T(ctx)}}})
	}
	for _, f := range playrules.Finished {
		name := words.Each("playrules.finished.", f.Key).T(ctx)
		v.Finished = append(v.Finished, ui.Item{ID: "finished-" + f.Key,
			Title: ui.Named{Text: name, URL: path + "/new?finished=" + f.Key}})
	}
	return h.core.Show(c, http.StatusOK, v.Head.Title, listing(v))
}

// didWords says what a rule has done.
func didWords(ctx context.Context, d playrules.Done) string {
	var all []string
	for _, one := range []struct {
		name string
		n    int
	}{{"renamed", d.Renamed}, {"ignored", d.Ignored}, {"withheld", d.Withheld}} {
		if one.n > 0 {
			all = append(all, words.Each("playrules.did.", one.name, "Count", one.n).T(ctx))
		}
	}
	return strings.Join(all, ", ")
}

// editView is the page of a rule.
type editView struct {
	Head     ui.Heading
	Look     string // address that tries it
	Save     string // address that stores it
	Kind     string
	Fields   []ui.Field
	Checks   []ui.Field
	Hint     string // below them
	Problem  string
	Found    string // how many listens it is about
	Examples []ui.Item
	More     []ui.Action
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

// asked returns a rule as the fields of a form have it.
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
	f := PlayRuleBody{PlayRuleFields: PlayRuleFields{Name: text("name"), Kind: text("kind"), Off: r.Off,
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
	v.Fields = append(v.Fields, ui.Field{Name: "name", Label: label("name"), Value: r.Name, MaxLength: "100",
		Required: true})
	if r.Kind == playrules.Rewrite {
		var options []ui.Option
		for _, f := range playrules.Fields {
			options = append(options, ui.Option{Value: f, Label: words.Each("playrules.in.", f).T(ctx)})
		}
		with := text("with", r.With)
		with.Help = words.T(ctx, "playrules.with_help")
		v.Fields = append(v.Fields,
			ui.Field{Name: "field", Label: label("field"), Value: r.Field, Options: options}, with)
	}
	title := text("title", r.Title)
	title.Help = words.T(ctx, "playrules.pattern_help")
	v.Fields = append(v.Fields, title, text("artist", r.Artist), text("album", r.Album), text("player", r.Player),
		number("shorter", int(r.Shorter/time.Second)), number("longer", int(r.Longer/time.Second)),
		clock("begins", r.Begins), clock("ends", r.Ends))
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
	v.Fields = append(v.Fields,
		ui.Field{Name: "source", Label: label("source"), Value: string(r.Source), Options: from})
	return nil
}

func (h *Handler) saveForm(c echo.Context) error {
	r := playrules.Rule{}
	if c.Param("id") != "" {
		var err error
		if r, err = h.find(c); err != nil {
			return err
		}
	}
	r = h.asked(c, r)
	if !r.Check().IsZero() {
		return h.edit(c, http.StatusUnprocessableEntity, r)
	}
	r, err := h.save(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return h.core.Done(c, path, words.New("playrules.saved", "Name", r.Name))
}

func (h *Handler) switchForm(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	r.Off = !r.Off
	if _, err = h.store.SavePlayRule(c.Request().Context(), r); err != nil {
		return err
	}
	said := words.New("playrules.switched_on", "Name", r.Name)
	if r.Off {
		said = words.New("playrules.switched_off", "Name", r.Name)
	}
	return h.core.Done(c, path, said)
}

func (h *Handler) applyPage(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "playrules.apply_title", "Name", r.Name),
		Lead: words.T(ctx, "playrules.apply_lead"), Action: pathOf(r) + "/apply",
		Button: words.T(ctx, "playrules.apply"), Back: pathOf(r)})
}

func (h *Handler) applyForm(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	n, err := h.store.ApplyPlayRule(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return h.core.Done(c, pathOf(r), words.New("playrules.applied", "Count", n))
}

func (h *Handler) deletePage(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	ctx := c.Request().Context()
	done, err := h.store.DoneBy(ctx, r.User)
	if err != nil {
		return err
	}
	v := deleteView{Head: ui.Heading{Title: words.T(ctx, "playrules.delete_title", "Name", r.Name), Back: pathOf(r),
		BackTo: r.Name}, Lead: words.T(ctx, "playrules.delete_lead"),
		Do: []ui.Action{{Label: words.T(ctx, "playrules.delete_keep"), Post: pathOf(r) + "/delete", Main: true},
			{Label: words.T(ctx, "playrules.delete_undo"), Post: pathOf(r) + "/delete",
				Fields: []ui.Hidden{{Name: "undo", Value: "yes"}}}}}
	if d := done[r.ID]; d != (playrules.Done{}) {
		v.Did = didWords(ctx, d)
	}
	return h.core.Show(c, http.StatusOK, v.Head.Title, deleting(v))
}

// deleteView asks what becomes of what a rule has done.
type deleteView struct {
	Head ui.Heading
	Lead string
	Did  string // what it has done; empty if nothing is known
	Do   []ui.Action
}

func (h *Handler) deleteForm(c echo.Context) error {
	n, err := h.delete(c, c.FormValue("undo") != "")
	if err != nil {
		return err
	}
	said := words.New("playrules.deleted")
	if n > 0 {
		said = words.New("playrules.undone", "Count", n)
	}
	return h.core.Done(c, path, said)
}

// download answers with all rules as a file, in the form of the API.
func (h *Handler) download(c echo.Context) error {
	all, err := h.list(c, nil)
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="rules.json"`)
	return c.JSONPretty(http.StatusOK, all, "  ")
}

// mostUpload is the size of a file with rules, in bytes.
const mostUpload = 1 << 20

// uploadForm adds the rules of a file that the person does not have.
func (h *Handler) uploadForm(c echo.Context) error {
	rules, err := uploaded(c)
	if err != nil {
		return err
	}
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	have, err := h.store.PlayRules(ctx, user)
	if err != nil {
		return err
	}
	same := func(r playrules.Rule) bool {
		return slices.ContainsFunc(have, func(o playrules.Rule) bool {
			o.ID = 0
			return slices.Equal(o.To, r.To) && equal(o, r)
		})
	}
	var all []playrules.Rule
	for _, f := range rules { // first all are looked at, so that a wrong one leaves none behind
		r := h.ruleOf(c, f, 0)
		if err := check(r); err != nil {
			return err
		}
		all = append(all, r)
	}
	n := 0
	for _, r := range all {
		if same(r) {
			continue
		}
		if r, err = h.save(ctx, r); err != nil {
			return err
		}
		have, n = append(have, r), n+1
	}
	return h.core.Done(c, path, words.New("playrules.uploaded", "Count", n))
}

// equal reports whether two rules are the same, but for their targets.
func equal(a, b playrules.Rule) bool {
	a.To, b.To, a.Zone, b.Zone = nil, nil, "", ""
	one, _ := json.Marshal(a) // plain values
	other, _ := json.Marshal(b)
	return string(one) == string(other)
}

// uploaded returns the rules of the file of a form.
func uploaded(c echo.Context) ([]PlayRuleBody, error) {
	none := core.Check(words.New("playrules.no_file"))
	file, err := c.FormFile("file")
	if err != nil {
		return nil, none
	}
	f, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, mostUpload))
	if err != nil {
		return nil, err
	}
	var in struct {
		Rules []PlayRuleBody `json:"rules"`
	}
	if bounded.JSON(body, bounded.Answer) != nil || json.Unmarshal(body, &in) != nil || in.Rules == nil {
		return nil, none
	}
	return in.Rules, nil
}
