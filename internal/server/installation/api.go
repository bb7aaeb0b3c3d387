package installation

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"reprise/internal/config"
	"reprise/internal/server/core"
	"reprise/internal/settings"
	"reprise/internal/words"
)

// Setting is a setting in the API.
type Setting struct {
	Path         string   `json:"path"`
	Group        string   `json:"group"`
	Provider     string   `json:"provider,omitempty" doc:"Whose setting it is; missing for the server's own."`
	Kind         string   `json:"kind" enum:"text,contact,url,duration,integer,fraction,boolean,choice,rate,price,list,secret,secrets"`
	Label        string   `json:"label"`
	Help         string   `json:"help"`
	Value        any      `json:"value" doc:"For secrets the last four characters; null when nothing is set."`
	Default      any      `json:"default" doc:"Null when empty."`
	Source       string   `json:"source" enum:"default,database,file,environment,command_line"`
	Secret       bool     `json:"secret"`
	Editable     bool     `json:"editable"`
	Why          string   `json:"reason,omitempty" doc:"Why you cannot edit it."`
	NeedsRestart bool     `json:"needs_restart"`
	Problem      string   `json:"problem,omitempty" doc:"What is wrong with the stored value. Reprise does not use it."`
	Choices      []string `json:"choices"`
	Least        string   `json:"least,omitempty"`
	Most         string   `json:"most,omitempty"`
}

type listSettingsAnswer struct {
	Settings []Setting `json:"settings"`
}

func (h *Handler) list(c echo.Context, _ *core.None) (out listSettingsAnswer, _ error) {
	ctx := c.Request().Context()
	view := func(i settings.Item) Setting {
		return Setting{Path: i.Path, Group: string(i.Group), Provider: i.Provider, Kind: string(i.Kind),
			Label: Label(ctx, i), Help: Help(ctx, i), Value: typed(i, i.Value), Default: typed(i, i.Default),
			Source: string(i.Source), Secret: i.Secret(), Editable: i.Fixed.IsZero(), Why: i.Fixed.T(ctx),
			NeedsRestart: i.Restart(), Problem: i.Wrong.T(ctx), Choices: append([]string{}, i.Choices...),
			Least: i.Least, Most: i.Most}
	}
	return listSettingsAnswer{Settings: core.ViewAll(h.settings.All(), view)}, nil
}

// typed returns a text as JSON has values of its kind; nil for none.
func typed(i settings.Item, text string) any {
	var v any
	var err error
	switch {
	case text == "":
		return nil
	case i.List():
		i.Value = text
		return i.Values()
	case i.Kind == config.Integer:
		v, err = strconv.Atoi(text)
	case i.Kind == config.Fraction, i.Kind == config.Rate, i.Kind == config.Price:
		v, err = strconv.ParseFloat(text, 64)
	case i.Kind == config.Boolean:
		v, err = strconv.ParseBool(text)
	default:
		return text
	}
	if err != nil { // what another layer has, which would not have let the server start
		return text
	}
	return v
}

// changes are settings as a call gives them.
type changes struct {
	texts map[string]*string // by path; nil goes back to the default
	wrong string             // a path whose value cannot be the value of any setting
}

// Schema implements huma.SchemaProvider.
func (changes) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// UnmarshalJSON takes text, numbers, booleans, lists of them, and null.
func (all *changes) UnmarshalJSON(b []byte) error {
	var raw map[string]any
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&raw); err != nil {
		return err
	}
	all.texts = make(map[string]*string, len(raw))
	for path, v := range raw {
		if v == nil {
			all.texts[path] = nil
			continue
		}
		text, ok := asText(v)
		if !ok {
			all.wrong = path
		}
		all.texts[path] = &text
	}
	return nil
}

func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	case []any:
		all := make([]string, len(v))
		for n, one := range v {
			text, ok := one.(string)
			if !ok {
				return "", false
			}
			all[n] = text
		}
		return strings.Join(all, "\n"), true
	}
	return "", false
}

type changeSettingsRequest struct {
	DryRun bool    `query:"dry_run" doc:"Only check the change."`
	Body   changes `doc:"For each path a text, a number, true or false, or a list of texts; null restores the default. Send the last four characters of a stored secret, as listed, to keep that secret."`
}

func (h *Handler) patch(c echo.Context, in *changeSettingsRequest) (out listSettingsAnswer, _ error) {
	bad := func(detail words.Text) error {
		return core.BadRequest(words.New("setting.api.bad"), detail)
	}
	body := in.Body
	if body.wrong != "" {
		return out, bad(words.New("setting.api.value", "Path", body.wrong))
	}
	if _, there := body.texts["admin_token"]; there && h.core.ByPersonalToken(c) {
		return out, bad(words.New("setting.api.by_token"))
	}
	act := h.change
	if in.DryRun {
		act = h.check
	}
	if err := act(c, body.texts); err != nil {
		return out, asRefusal(err)
	}
	return h.list(c, nil)
}

// asRefusal returns the refusal for a refused change, with a sentence for each setting.
func asRefusal(err error) error {
	refused, ok := errors.AsType[*settings.Refused](err)
	if !ok {
		return err
	}
	r := &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("setting.api.refused"),
		Detail: words.New("setting.api.nothing"), Fields: refused.Fields}
	if refused.Fixed {
		r.Status, r.Title = http.StatusConflict, words.New("setting.api.fixed")
	}
	return r
}
