package installation

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/config"
	"reprise/internal/server/core"
	"reprise/internal/settings"
	"reprise/internal/words"
	"reprise/web/ui"
)

const address = "/settings/server"

// baseURL is the setting that can be taken from the browser.
const baseURL = "base_url"

// script validates while one types.
const script = "settings.js"

// form answers a form of the page: each field has the path of its setting as name.
func (h *Handler) form(c echo.Context) error {
	values, err := core.Form(c)
	if err != nil {
		return err
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
		problem := &settings.Refused{Fields: settings.Problems{baseURL: words.New("setting.page.no_origin")}}
		return h.show(c, http.StatusUnprocessableEntity, nil, problem)
	}
	if here, err := url.Parse(origin); err == nil && core.Loopback(here.Host) {
		problem := &settings.Refused{Fields: settings.Problems{baseURL: words.New("setting.page.only_here", "Here",
			origin)}}
		return h.show(c, http.StatusUnprocessableEntity, nil, problem)
	}
	to := origin + h.core.Path()
	return h.save(c, map[string]*string{baseURL: &to}, map[string]string{baseURL: to})
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
		at += "#" + cmp.Or(setOf(i), string(i.Group))
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
	v.backups(ctx, h.backups.Status())
	signIn, err := h.signIn(ctx)
	if err != nil {
		return err
	}
	v.above(config.SignIn, signIn)
	for _, part := range h.parts {
		shown, err := part(ctx)
		if err != nil {
			return err
		}
		v.Parts = append(v.Parts, shown)
	}
	return h.core.ShowSettings(c, status, words.T(ctx, "setting.page.title"), page(v))
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
