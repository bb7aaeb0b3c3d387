package recipes

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	made "reprise/internal/recipes"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// kindsView is the page that offers the kinds of recipes.
type kindsView struct {
	Head  ui.Heading
	Made  []ui.Item // the person's own
	Kinds []ui.Item
}

// editView is the page of a recipe.
type editView struct {
	Head    ui.Heading
	Look    string // address that shows what it would choose
	Save    string // address that stores it
	Kind    string
	Fields  []ui.Field
	Checks  []ui.Field
	Problem string
	Found   string // how many songs it chooses
	Songs   []ui.Item
	More    []ui.Action
}

const path = "/playlists/recipes"

// kindName returns what a kind of recipe is called.
func kindName(ctx context.Context, k made.Kind) string {
	return words.Each("recipes.kind.", string(k)).T(ctx)
}

func (h *Handler) kindsPage(c echo.Context) error {
	ctx := c.Request().Context()
	v := kindsView{Head: ui.Heading{Title: words.T(ctx, "recipes.title"), Lead: words.T(ctx, "recipes.lead"),
		Back: "/playlists", BackTo: words.T(ctx, "playlists.title")}}
	for _, k := range made.Kinds {
		v.Kinds = append(v.Kinds, ui.Item{ID: "kind-" + string(k),
			Title: ui.Named{Text: kindName(ctx, k), URL: path + "/new?kind=" + string(k)},
			By:    []ui.Named{{Text: words.Each("recipes.about.", string(k)).T(ctx)}}})
	}
	all, err := h.store.Recipes(ctx, core.UserOf(c).ID)
	if err != nil {
		return err
	}
	for _, r := range all {
		id := strconv.FormatInt(r.ID, 10)
		v.Made = append(v.Made, ui.Item{ID: "recipe-" + id, Title: ui.Named{Text: r.Name, URL: path + "/" + id},
			By: []ui.Named{{Text: kindName(ctx, r.Kind)}, {Text: words.Each("recipes.every.", r.Every).T(ctx)}}})
	}
	return h.core.Show(c, http.StatusOK, v.Head.Title, kindPage(v))
}

// fresh returns a recipe of a kind as it is offered.
func fresh(ctx context.Context, user int64, k made.Kind) made.Recipe {
	r := made.Recipe{User: user, Kind: k, Name: kindName(ctx, k), Songs: 50, Every: "week"}
	switch k {
	case made.Forgotten:
		r.Months = 6
	case made.Discovered, made.Returned:
		r.Months = 1
	case made.Anniversary:
		r.Every = "day"
	}
	return r
}

// asked returns a recipe as the fields of a form have it. Numbers that are none become -1, which Check refuses.
func asked(c echo.Context, r made.Recipe) made.Recipe {
	number := func(name string, otherwise int) int {
		text := c.FormValue(name)
		if text == "" {
			return otherwise
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return -1
		}
		return n
	}
	r.Name, r.Every, r.Season = library.Name(c.FormValue("name")), c.FormValue("every"), c.FormValue("season")
	r.Months, r.Songs = number("months", r.Months), number("songs", -1)
	r.Year, r.Minutes = number("year", 0), number("minutes", 0)
	r.Loved, r.Disliked = c.FormValue("loved") == "yes", c.FormValue("disliked") == "yes"
	r.Library = library.ConnectionID(c.FormValue("library"))
	return only(r)
}

func (h *Handler) newPage(c echo.Context) error {
	r := fresh(c.Request().Context(), core.UserOf(c).ID, made.Kind(c.QueryParam("kind")))
	return h.edit(c, r)
}

func (h *Handler) onePage(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	return h.edit(c, r)
}

// edit shows a recipe with what it chooses, as the form has it if that was sent.
func (h *Handler) edit(c echo.Context, r made.Recipe) error {
	if c.QueryParams().Has("songs") {
		r = asked(c, r)
	}
	return h.showEdit(c, http.StatusOK, r)
}

func (h *Handler) showEdit(c echo.Context, status int, r made.Recipe) error {
	ctx := c.Request().Context()
	if !slices.Contains(made.Kinds, r.Kind) {
		return c.Redirect(http.StatusSeeOther, path)
	}
	title := kindName(ctx, r.Kind)
	v := editView{Kind: string(r.Kind), Look: path + "/new", Save: path,
		Head: ui.Heading{Title: title, Lead: words.Each("recipes.about.", string(r.Kind)).T(ctx), Back: path,
			BackTo: words.T(ctx, "recipes.title")}}
	if r.ID != 0 {
		v.Look = path + "/" + strconv.FormatInt(r.ID, 10)
		v.Save, v.Head.Title = v.Look, r.Name
		v.More = append(v.More, ui.Action{Label: words.T(ctx, "recipes.delete"), URL: v.Look + "/delete"})
		lists, err := h.lists(ctx, r.User)
		if err != nil {
			return err
		}
		if id := lists[strconv.FormatInt(r.ID, 10)]; id != "" {
			v.More = append([]ui.Action{{Label: words.T(ctx, "recipes.open"), URL: "/playlists/" + id}}, v.More...)
		}
	}
	if err := v.fields(c, h, r); err != nil {
		return err
	}
	wrong, err := h.wrong(ctx, r)
	if err != nil {
		return err
	}
	if !wrong.IsZero() {
		v.Problem = wrong.T(ctx)
		return h.core.Show(c, status, v.Head.Title, editPage(v))
	}
	songs, err := h.songs(c, r)
	if err != nil {
		return err
	}
	v.Found = words.T(ctx, "recipes.found", "Count", len(songs))
	for i, s := range songs {
		v.Songs = append(v.Songs, ui.Item{ID: "song-" + strconv.Itoa(i+1), Title: ui.Named{Text: s.Track},
			By: []ui.Named{{Text: s.Artist}}, Note: s.Why})
	}
	return h.core.Show(c, status, v.Head.Title, editPage(v))
}

// fields adds the fields of the form.
func (v *editView) fields(c echo.Context, h *Handler, r made.Recipe) error {
	ctx := c.Request().Context()
	label := func(name string) string { return words.Each("recipes.field.", name).T(ctx) }
	number := func(name string, n int) ui.Field {
		f := ui.Field{Name: name, Label: label(name), Type: "number", Optional: name == "minutes",
			Required: name != "minutes"}
		if n > 0 {
			f.Value = strconv.Itoa(n)
		}
		return f
	}
	choice := func(name, value string, options ...ui.Option) ui.Field {
		return ui.Field{Name: name, Label: label(name), Value: value, Options: options}
	}
	v.Fields = append(v.Fields, ui.Field{Name: "name", Label: label("name"), Value: r.Name, MaxLength: "200",
		Required: true})
	switch r.Kind {
	case made.Forgotten, made.Discovered, made.Returned:
		v.Fields = append(v.Fields, number("months", r.Months))
	case made.Top:
		years := []ui.Option{{Value: "0", Label: words.T(ctx, "recipes.last_year")}}
		next := time.Now().In(core.Zone(c)).Year() + 1 // whose winter begins this year
		for y := next; y > next-40 || y >= r.Year && r.Year != 0; y-- {
			years = append(years, ui.Option{Value: strconv.Itoa(y), Label: strconv.Itoa(y)})
		}
		seasons := []ui.Option{{Value: "", Label: words.T(ctx, "recipes.season.all")}}
		for _, s := range made.Seasons {
			seasons = append(seasons, ui.Option{Value: s, Label: words.Each("recipes.season.", s).T(ctx)})
		}
		v.Fields = append(v.Fields, choice("year", strconv.Itoa(r.Year), years...),
			choice("season", r.Season, seasons...))
	}
	v.Fields = append(v.Fields, number("songs", r.Songs), number("minutes", r.Minutes))
	var every []ui.Option
	for _, e := range made.Periods {
		every = append(every, ui.Option{Value: e, Label: words.Each("recipes.every.", e).T(ctx)})
	}
	v.Fields = append(v.Fields, choice("every", r.Every, every...))
	all, err := h.store.UserConnections(ctx, r.User)
	if err != nil {
		return err
	}
	from := []ui.Option{{Value: "", Label: words.T(ctx, "recipes.anywhere")}}
	for _, one := range all {
		if p := h.core.Registry.Get(one.Provider()); p != nil && p.Pulls(library.Listens) {
			from = append(from, ui.Option{Value: string(one.ID), Label: one.Label(p.Called().T(ctx))})
		}
	}
	v.Fields = append(v.Fields, choice("library", string(r.Library), from...))
	listed := func(o ui.Option) bool { return o.Value == string(r.Library) }
	if !slices.ContainsFunc(from, listed) {
		from = append(from, ui.Option{Value: string(r.Library),
			Label: words.T(ctx, "recipes.not_connected", "Name", h.core.NameOf(ctx, r.Library))})
		v.Fields[len(v.Fields)-1].Options = from
	}
	check := func(name string, on bool) ui.Field {
		return ui.Field{Name: name, Label: label(name), Type: "checkbox", Checked: on}
	}
	if r.Kind == made.Forgotten {
		v.Checks = append(v.Checks, check("loved", r.Loved))
	}
	v.Checks = append(v.Checks, check("disliked", r.Disliked))
	return nil
}

// saveForm stores a recipe, or shows what is wrong with it.
func (h *Handler) saveForm(c echo.Context) error {
	r := made.Recipe{User: core.UserOf(c).ID, Kind: made.Kind(c.FormValue("kind"))}
	if c.Param("id") != "" {
		known, err := h.find(c)
		if err != nil {
			return err
		}
		r = known
	}
	r = asked(c, r)
	wrong, err := h.wrong(c.Request().Context(), r)
	if err != nil {
		return err
	}
	if !wrong.IsZero() {
		return h.showEdit(c, http.StatusUnprocessableEntity, r)
	}
	if r, err = h.save(c, r); err != nil {
		return err
	}
	lists, err := h.lists(c.Request().Context(), r.User)
	if err != nil {
		return err
	}
	return h.core.Done(c, "/playlists/"+lists[strconv.FormatInt(r.ID, 10)], words.New("recipes.saved"))
}

// deletePage asks before a recipe is deleted.
func (h *Handler) deletePage(c echo.Context) error {
	r, err := h.find(c)
	if err != nil {
		return err
	}
	ctx, at := c.Request().Context(), path+"/"+strconv.FormatInt(r.ID, 10)
	return h.core.Confirm(c, core.Confirmation{Title: words.T(ctx, "recipes.ask.title", "Name", r.Name),
		Lead: words.T(ctx, "recipes.ask.lead"), Action: at + "/delete", Button: words.T(ctx, "recipes.delete"),
		Warn: true, Back: at})
}

func (h *Handler) deleteForm(c echo.Context) error {
	if err := h.delete(c); err != nil {
		return err
	}
	return h.core.Done(c, "/playlists", words.New("recipes.deleted"))
}
