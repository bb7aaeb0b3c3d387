package installation

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"reprise/internal/config"
	"reprise/internal/server/core"
	"reprise/internal/settings"
	"reprise/internal/words"
	"reprise/web/ui"
)

const address = "/settings/server"

// script validates while one types.
const script = "settings.js"

// form answers a form of the page: each field has the path of its setting as name.
func (h *Handler) form(c echo.Context) error {
	values, err := c.FormParams()
	if err != nil {
		return core.HTTPProblem(http.StatusBadRequest)
	}
	given := map[string]string{}
	for path := range values {
		given[path] = values.Get(path)
	}
	changes := Changed(h.settings.All(), given)
	if len(changes) == 0 {
		return h.core.Done(c, address, words.New("setting.page.unchanged"))
	}
	return h.save(c, changes, given)
}

// addressForm makes the address in the browser that of this server.
func (h *Handler) addressForm(c echo.Context) error {
	origin := c.Request().Header.Get(echo.HeaderOrigin)
	if !strings.HasPrefix(origin, "http") {
		problem := &settings.Refused{Fields: settings.Problems{"base_url": words.New("setting.page.no_origin")}}
		return h.show(c, http.StatusUnprocessableEntity, nil, problem)
	}
	return h.save(c, map[string]*string{"base_url": &origin}, map[string]string{"base_url": origin})
}

func (h *Handler) save(c echo.Context, changes map[string]*string, given map[string]string) error {
	err := h.change(c, changes)
	if refused, ok := errors.AsType[*settings.Refused](err); ok {
		return h.show(c, http.StatusUnprocessableEntity, given, refused)
	}
	if err != nil {
		return err
	}
	at := address
	if i, ok := h.settings.One(slices.Sorted(maps.Keys(changes))[0]); ok {
		at += "#" + string(i.Group)
	}
	return h.core.Done(c, at, words.New("setting.page.saved"))
}

// Changed returns what is to be changed when a form was sent with these values: those of settings that are not what
// the form showed.
func Changed(all []settings.Item, given map[string]string) map[string]*string {
	changes := map[string]*string{}
	for _, i := range all {
		text, there := given[i.Path]
		if !there || !i.Fixed.IsZero() {
			continue
		}
		typed := i
		typed.Value = strings.TrimSpace(text)
		if !slices.Equal(typed.Values(), i.Values()) {
			changes[i.Path] = &text
		}
	}
	return changes
}

// show answers with the page. given are the values that were typed, and refused what is wrong with them.
func (h *Handler) show(c echo.Context, status int, given map[string]string, refused *settings.Refused) error {
	ctx := c.Request().Context()
	v := viewOf(ctx, h.settings.All(), given, refused, func(provider string) string {
		return h.core.ProviderName(ctx, provider)
	})
	for _, part := range h.parts {
		shown, err := part(ctx)
		if err != nil {
			return err
		}
		v.Parts = append(v.Parts, shown)
	}
	return h.core.ShowSettings(c, status, words.T(ctx, "setting.page.title"), page(v))
}

// pageView is the page.
type pageView struct {
	Problem string
	Groups  []groupView
	Parts   []templ.Component // of other resources
	Fixed   []ui.Fact         // what needs a restart
}

// groupView is a part of the page.
type groupView struct {
	ID, Title string
	Forms     []formView
}

// formView is a form whose fields are saved together.
type formView struct {
	ID, Title string // no title where it is the only one of its group
	Fields    []ui.Field
	Rest      []ui.Field // those that few people need
	Open      bool       // whether Rest is shown
	Address   bool       // whether the address in the browser can be used
	Any       bool       // whether anything can be edited
}

func viewOf(ctx context.Context, all []settings.Item, given map[string]string, refused *settings.Refused,
	name func(string) string) (v pageView) {
	if refused != nil {
		v.Problem = words.T(ctx, "setting.page.refused")
	}
	for _, g := range config.Groups() {
		group := groupView{ID: string(g), Title: words.Each("setting.group.", string(g)).T(ctx)}
		for _, i := range all {
			switch {
			case i.Group != g:
			case g == config.Restart:
				v.Fixed = append(v.Fixed, factOf(ctx, i))
			default:
				group.add(ctx, i, FieldOf(ctx, i, given, refused), name)
			}
		}
		if len(group.Forms) > 0 {
			v.Groups = append(v.Groups, group)
		}
	}
	return v
}

// add adds the field of a setting to the form of its provider, or to that of the group.
func (g *groupView) add(ctx context.Context, i settings.Item, f ui.Field, name func(string) string) {
	id := "form-" + g.ID
	if i.Provider != "" {
		id = "form-" + i.Provider
	}
	at := slices.IndexFunc(g.Forms, func(o formView) bool { return o.ID == id })
	if at < 0 {
		at = len(g.Forms)
		form := formView{ID: id}
		if i.Provider != "" {
			form.Title = name(i.Provider)
		}
		g.Forms = append(g.Forms, form)
	}
	form := &g.Forms[at]
	if i.Provider != "" && (i.Kind == config.URL || i.Kind == config.Rate) {
		form.Rest = append(form.Rest, f)
		form.Open = form.Open || f.Problem != ""
	} else {
		form.Fields = append(form.Fields, f)
	}
	form.Any = form.Any || !f.Off
	form.Address = form.Address || i.Path == "base_url" && !f.Off
}

// factOf returns what a setting that needs a restart is, and where to change it.
func factOf(ctx context.Context, i settings.Item) ui.Fact {
	value := shown(ctx, i, i.Value)
	if value == "" {
		value = words.T(ctx, "setting.page.empty")
	}
	return ui.Fact{Label: Label(ctx, i), Value: ui.Name(value), Note: Help(ctx, i) + " " +
		words.T(ctx, "setting.page.variable", "Path", i.Path, "Variable", config.Variable(i.Path))}
}

// shown returns a value as a person reads it.
func shown(ctx context.Context, i settings.Item, text string) string {
	if i.Kind == config.Boolean {
		return words.Each("setting.page.", map[string]string{"true": "on", "false": "off"}[text]).T(ctx)
	}
	return text
}

// FieldOf returns the field of a setting: with what was typed, if it was, and what is wrong with it.
func FieldOf(ctx context.Context, i settings.Item, given map[string]string, refused *settings.Refused) ui.Field {
	f := ui.Field{Name: i.Path, ID: strings.ReplaceAll(i.Path, ".", "-"), Label: Label(ctx, i), Help: Help(ctx, i),
		Value: i.Value, Exact: true, Autocomplete: "off", Off: !i.Fixed.IsZero()}
	if i.List() {
		f.Lines, f.Value = min(max(len(i.Values())+1, 2), 8), strings.Join(i.Values(), "\n")
	}
	if text, there := given[i.Path]; there {
		f.Value = text
	}
	switch i.Kind {
	case config.Boolean:
		f.Options = []ui.Option{{Value: "true", Label: words.T(ctx, "setting.page.on")},
			{Value: "false", Label: words.T(ctx, "setting.page.off")}}
	case config.Choice:
		for _, name := range i.Choices {
			f.Options = append(f.Options, ui.Option{Value: name, Label: name})
		}
	case config.URL:
		f.Type = "url"
	}
	switch {
	case f.Off:
		f.Help = i.Fixed.T(ctx) + " " + f.Help
	case refused != nil && !refused.Fields[i.Path].IsZero():
		f.Problem = refused.Fields[i.Path].T(ctx)
	case !i.Wrong.IsZero():
		f.Problem = words.T(ctx, "setting.page.wrong_stored", "Problem", i.Wrong)
	}
	return f
}

// Fields shows fields below each other, for a form of any page.
func Fields(all []ui.Field) templ.Component { return fields(all) }
