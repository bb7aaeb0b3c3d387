package connections

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	syncer "reprise/internal/sync"
	"reprise/internal/words"
)

// fieldsOf returns the fields that the provider asks for.
func fieldsOf(ctx context.Context, p *providers.Provider, given map[string]string) (library.Credentials, error) {
	fields := library.Credentials{}
	var missing []string
	for _, f := range p.Fields {
		value := strings.Trim(given[f.Name], "\r\n\t") // copied along by accident
		if f.Kind != "password" || strings.TrimSpace(value) == "" {
			value = strings.TrimSpace(value)
		}
		if strings.ContainsFunc(value, unicode.IsControl) {
			return nil, invalid("connect.unseen", "Field", f.Label)
		}
		if value == "" && !f.Optional {
			missing = append(missing, f.Label.T(ctx))
		}
		if value != "" {
			fields[f.Name] = value
		}
	}
	if len(missing) > 0 {
		return nil, invalid("connect.missing", "Fields", strings.Join(missing, ", "))
	}
	return fields, nil
}

// longestName is the most letters that the name of a connection may have.
const longestName = 60

// nameOf returns the name of a connection as a person typed it, trimmed.
func nameOf(typed string) (string, error) {
	name := strings.TrimSpace(typed)
	if utf8.RuneCountInString(name) > longestName || strings.ContainsFunc(name, unicode.IsControl) {
		return "", invalid("connect.long_name")
	}
	return name, nil
}

// api connects with the fields of a provider as JSON. With "other_account": "accept" it takes an account other than
// the previous one without asking, and with "moved" the same account of a server that has another address now.
func (h *connect) api(c echo.Context) error {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return err
	}
	if p.InBrowser() {
		return &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("connect.browser"),
			Detail: words.New("connect.browser_text", "Name", p.DisplayName,
				"Address", h.core.BaseURL()+"/connect/"+string(id))}
	}
	given, err := core.Body[map[string]any](c)
	if err != nil {
		return err
	}
	delete(given, "id") // echo adds what is in the path
	takes := []string{"name", "other_account"}
	for _, f := range p.Fields {
		takes = append(takes, f.Name)
	}
	texts := map[string]string{}
	for name, value := range given {
		if !slices.Contains(takes, name) { // a field of another provider; core refuses those of none
			return core.Unknown("field", name, takes)
		}
		switch v := value.(type) {
		case string:
			texts[name] = v
		case bool:
			if v {
				texts[name] = "true"
			}
		default:
			return &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.input.sent"),
				Detail: words.New("problem.field.not_text", "Name", name)}
		}
	}
	fields, err := fieldsOf(c.Request().Context(), p, texts)
	if err != nil {
		return err
	}
	name, err := nameOf(texts["name"])
	if err != nil {
		return err
	}
	waiting, done := core.Waits(c)
	defer done()
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	_, err = h.connections.Connect(waiting, p, library.Connection{User: user, ID: id, Name: name, Credentials: fields})
	if other, ok := errors.AsType[*syncer.OtherAccountError](err); ok {
		switch {
		case texts["other_account"] == "accept":
			_, err = h.connections.Choose(ctx, user, id, syncer.Replace)
		case texts["other_account"] == "moved" && other.Moved:
			_, err = h.connections.Choose(ctx, user, id, syncer.Moved)
		}
	}
	if err != nil {
		return refused(h.named(c, id, fields, name, err), err)
	}
	v, err := h.statuses.One(ctx, user, id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, v)
}

// invalid returns the problem of a form or a call with something that cannot be used.
func invalid(id string, pairs ...any) error {
	return &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("connect.check"),
		Detail: words.New(id, pairs...)}
}
