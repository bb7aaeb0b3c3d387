package connections

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
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

type connectRequest struct {
	core.ConnectionID
	Body fields `doc:"The fields of the provider."`
}

// fields are what a call gives a provider, text or true, by name.
type fields map[string]any

// Schema implements huma.SchemaProvider.
func (fields) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[anyFields]())
}

// anyFields are the fields of all providers.
type anyFields struct {
	_            struct{} `additionalProperties:"true"` // of other providers, which api refuses by name
	Token        string   `json:"token,omitempty" doc:"ListenBrainz"`
	URL          string   `json:"url,omitempty" doc:"Navidrome and other Subsonic servers; for ListenBrainz a compatible server, or empty; for a webhook its address."`
	Username     string   `json:"username,omitempty" doc:"Navidrome"`
	Password     string   `json:"password,omitempty" doc:"Navidrome"`
	APIKey       string   `json:"apikey,omitempty" doc:"Navidrome; instead of name and password where the server offers it"`
	Endpoint     string   `json:"endpoint,omitempty" doc:"S3; the storage's address; empty for Amazon"`
	Bucket       string   `json:"bucket,omitempty" doc:"S3"`
	AccessKey    string   `json:"access_key,omitempty" doc:"S3"`
	SecretKey    string   `json:"secret_key,omitempty" doc:"S3"`
	Secret       string   `json:"secret,omitempty" doc:"webhook; with it, Reprise signs its calls"`
	Region       string   `json:"region,omitempty" doc:"S3; usually not needed"`
	Prefix       string   `json:"prefix,omitempty" doc:"S3; the folder in the bucket"`
	Insecure     bool     `json:"insecure,omitempty" doc:"Navidrome; the password may be sent unprotected"`
	Name         string   `json:"name,omitempty" maxLength:"60" doc:"The name of the connection; empty keeps it."`
	OtherAccount string   `json:"other_account,omitempty" enum:"accept,moved"`
}

// api connects with the fields of a provider as JSON. With "other_account": "accept" it takes an account other than
// the previous one without asking, and with "moved" the same account of a server that has another address now.
func (h *connect) api(c echo.Context, in *connectRequest) (out Connection, _ error) {
	id, p, err := h.core.Connection(c)
	if err != nil {
		return out, err
	}
	if p.InBrowser() {
		return out, &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("connect.browser"),
			Detail: words.New("connect.browser_text", "Name", p.DisplayName,
				"Address", h.core.BaseURL()+"/connect/"+string(id))}
	}
	takes := []string{"name", "other_account"}
	for _, f := range p.Fields {
		takes = append(takes, f.Name)
	}
	texts := map[string]string{}
	for name, value := range in.Body {
		if !slices.Contains(takes, name) { // a field of another provider; those of none are refused before
			return out, core.Unknown("field", name, takes)
		}
		switch v := value.(type) {
		case string:
			texts[name] = v
		case bool:
			if v {
				texts[name] = "true"
			}
		default:
			return out, &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.input.sent"),
				Detail: words.New("problem.field.not_text", "Name", name)}
		}
	}
	fields, err := fieldsOf(c.Request().Context(), p, texts)
	if err != nil {
		return out, err
	}
	name, err := nameOf(texts["name"])
	if err != nil {
		return out, err
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
		return out, refused(h.named(c, id, fields, name, err), err)
	}
	return h.statuses.One(ctx, user, id)
}

// invalid returns the problem of a form or a call with something that cannot be used.
func invalid(id string, pairs ...any) error {
	return &core.Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("connect.check"),
		Detail: words.New(id, pairs...)}
}
