package core

import (
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/goccy/go-yaml"
	"github.com/labstack/echo/v4"
)

const about = "The JSON API of a Reprise server, under `/api/v1`. Sign in with the session cookie that `POST /setup` " +
	"and `POST /session` set, or with a token in the header `Authorization: Bearer …`: a personal one, created " +
	"under Settings, Programs, or for `/admin/…` the server's `admin_token`. A personal token has a scope: `read` " +
	"allows every GET, `operate` also changes to what its owner has, `admin` also `/admin/…` while its owner is an " +
	"administrator. A wrong, revoked or expired token gets a 401; a token whose scope is too small gets a 403 that " +
	"names the scope it needs. Errors are `application/problem+json` (RFC 9457). Times are RFC 3339 in UTC. If the " +
	"server's `base_url` has a path (`https://example.org/music`), calls have it in front: " +
	"`/music/api/v1/listens`. Paths in answers, such as the `url` of an action, don't: put `base_url` in front of " +
	"them."

// Version is that of the API.
const Version = "0.1.0"

// These are the answers that many calls share, by their names in the description.
const (
	badRequest  = "BadRequest"
	notSignedIn = "NotSignedIn"
	notAllowed  = "NotAllowed"
	notFound    = "NotFound"
	anyProblem  = "Problem"
)

// problemSays are the texts of the answers that many calls share.
var problemSays = map[string]string{
	badRequest:  "The call doesn't match this description, for example has an unknown parameter.",
	notSignedIn: "There is no session, or the token is unknown, revoked or expired.",
	notAllowed:  "The token's scope is too small, the person isn't an administrator, or another site made the call.",
	notFound:    "The account has nothing of that name or number.",
	anyProblem:  "What went wrong and what to do.",
}

// schemaPrefix is how references to schemas begin.
const schemaPrefix = "#/components/schemas/"

// describe returns the description of an API without calls.
func describe() *huma.OpenAPI {
	schemas := huma.NewMapRegistry(schemaPrefix, schemaName)
	problem := problemContent(schemas)
	responses := map[string]*huma.Response{}
	for name, text := range problemSays {
		responses[name] = &huma.Response{Description: text, Content: problem}
	}
	return &huma.OpenAPI{OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "Reprise", Version: Version, Description: about,
			License: &huma.License{Name: "MIT", Identifier: "MIT"}},
		Servers:  []*huma.Server{{URL: "../v1", Description: "Relative to this file's own address."}},
		Security: []map[string][]string{{"session": {}}, {"token": {}}},
		Components: &huma.Components{Schemas: schemas, Responses: responses,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"session": {Type: "apiKey", In: "cookie", Name: sessionCookie,
					Description: "If `base_url` begins with https, the cookie is `__Host-reprise_session`."},
				"token": {Type: "http", Scheme: "bearer"},
			}}}
}

func problemContent(schemas huma.Registry) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{problemType: {Schema: schemas.Schema(reflect.TypeFor[Problem](), true, "")}}
}

// problemType is the media type of problems.
const problemType = "application/problem+json"

// schemaName returns the name of a type in the description: that of its Go type.
func schemaName(t reflect.Type, hint string) string {
	return strings.TrimSuffix(huma.DefaultSchemaNamer(t, hint), "Record")
}

// operation returns what huma needs to know of a call, without its types.
func (a *API) operation(method, path string, call Call) *huma.Operation {
	op := &huma.Operation{OperationID: call.ID, Method: method, Path: path, Summary: call.Summary,
		Description: call.Description, DefaultStatus: call.Status, Middlewares: a.with,
		BodyReadTimeout: -1, // it has been read
		Responses:       map[string]*huma.Response{}}
	refuse := func(status, name string) {
		op.Responses[status] = &huma.Response{Ref: "#/components/responses/" + name}
	}
	refuse(strconv.Itoa(http.StatusBadRequest), badRequest)
	refuse("default", anyProblem)
	switch {
	case call.Open:
		op.Security = []map[string][]string{}
	case call.Scope == BySession:
		op.Security = []map[string][]string{{"session": {}}}
	}
	if !call.Open {
		refuse(strconv.Itoa(http.StatusUnauthorized), notSignedIn)
		refuse(strconv.Itoa(http.StatusForbidden), notAllowed)
	}
	if strings.Contains(path, "{") {
		refuse(strconv.Itoa(http.StatusNotFound), notFound)
	}
	for status, text := range call.Refusals {
		if text == "" && status == http.StatusNotFound {
			refuse(strconv.Itoa(status), notFound)
			continue
		}
		if text == "" {
			refuse(strconv.Itoa(status), anyProblem)
			continue
		}
		r := &huma.Response{Description: text, Content: problemContent(a.huma.OpenAPI().Components.Schemas)}
		if status == http.StatusTooManyRequests {
			r.Headers = map[string]*huma.Param{echo.HeaderRetryAfter: {Schema: &huma.Schema{Type: huma.TypeInteger}}}
		}
		op.Responses[strconv.Itoa(status)] = r
	}
	return op
}

// success describes the answers of a call that does what it is asked for.
func (a *API) success(op *huma.Operation, answer reflect.Type, call Call) {
	none := answer == reflect.TypeFor[None]()
	if op.DefaultStatus == 0 {
		op.DefaultStatus = http.StatusOK
		if none && len(call.Types) == 0 {
			op.DefaultStatus = http.StatusNoContent
		}
	}
	content := map[string]*huma.MediaType{}
	if !none {
		content[echo.MIMEApplicationJSON] = &huma.MediaType{Schema: a.huma.OpenAPI().Components.Schemas.Schema(answer,
			true, op.OperationID+"Answer")}
	}
	for _, kind := range call.Types {
		content[kind] = &huma.MediaType{Schema: File()}
		if strings.HasSuffix(kind, "json") && kind != "application/x-ndjson" {
			content[kind].Schema = &huma.Schema{Type: huma.TypeObject}
		}
	}
	op.Responses[strconv.Itoa(op.DefaultStatus)] = &huma.Response{Description: call.Answer, Content: content}
	for status, text := range call.Also {
		r := &huma.Response{Description: text}
		if status < http.StatusMultipleChoices && status != http.StatusNoContent {
			r.Content = content
		}
		op.Responses[strconv.Itoa(status)] = r
	}
}

// File is the schema of a body of which nothing more is said.
func File() *huma.Schema { return &huma.Schema{Type: huma.TypeString, Format: "binary"} }

// complete describes what a call takes beside what its type says.
func (a *API) complete(op *huma.Operation, call Call) {
	if call.Optional {
		op.RequestBody.Required = false
	}
	if call.Takes != nil { // not before huma has it, or it would read the body
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{}}
	}
	for kind, schema := range call.Takes {
		op.RequestBody.Content[kind] = &huma.MediaType{Schema: schema}
	}
	for name, values := range call.Choices {
		a.choose(op, name, values)
	}
}

// choose says which values a parameter of a call may have, or a field of its body.
func (a *API) choose(op *huma.Operation, name string, values []string) {
	var of []*huma.Schema
	for _, p := range op.Parameters {
		if p.Name == name {
			of = append(of, p.Schema)
		}
	}
	if body := op.RequestBody; body != nil && body.Content[echo.MIMEApplicationJSON] != nil {
		s := body.Content[echo.MIMEApplicationJSON].Schema
		if s.Ref != "" {
			s = a.huma.OpenAPI().Components.Schemas.SchemaFromRef(s.Ref)
		}
		of = append(of, s.Properties[name])
	}
	for _, s := range of {
		s.Enum = Enum(values...)
		s.PrecomputeMessages()
	}
}

// Describe returns a function that returns the description as YAML, once all calls are added.
func (a *API) Describe() func() ([]byte, error) {
	d := a.huma.OpenAPI()
	taken, all := map[*huma.Schema]bool{}, map[*huma.Schema]bool{}
	for op := range a.operations() {
		for _, p := range op.Parameters {
			p.Description = code(p.Description)
			reach(d.Components.Schemas, p.Schema, taken)
		}
		if op.RequestBody != nil {
			for _, m := range op.RequestBody.Content {
				reach(d.Components.Schemas, m.Schema, taken)
			}
		}
		for _, r := range op.Responses {
			for _, m := range r.Content {
				reach(d.Components.Schemas, m.Schema, all)
			}
		}
	}
	nullable(d.Components.Schemas, taken)
	maps.Copy(all, taken)
	for s := range all {
		shareEnum(d.Components.Schemas.Map(), s)
		if s.Type == huma.TypeInteger { // a number of JSON has no size
			s.Format = ""
		}

		if s.AdditionalProperties == false && !taken[s] {
			s.AdditionalProperties = nil // an answer may get more fields
		}
	}
	for s := range all {
		s.Description = code(s.Description)
		if s.Nullable && len(s.Enum) > 0 {
			s.Enum = append(s.Enum, nil)
		}
	}
	return sync.OnceValues(func() ([]byte, error) {
		text, err := d.MarshalJSON()
		if err != nil {
			return nil, err
		}
		var parts map[string]any
		if err := yaml.Unmarshal(text, &parts); err != nil {
			return nil, err
		}
		var all yaml.MapSlice
		for _, name := range []string{"openapi", "info", "servers", "security", "paths", "components"} {
			all = append(all, yaml.MapItem{Key: name, Value: parts[name]})
		}
		return yaml.Marshal(all)
	})
}

// reach adds a schema and those inside it to all.
func reach(r huma.Registry, s *huma.Schema, all map[*huma.Schema]bool) {
	if s == nil || all[s] {
		return
	}
	all[s] = true
	if s.Ref != "" {
		reach(r, r.SchemaFromRef(s.Ref), all)
	}
	reach(r, s.Items, all)
	for _, p := range s.Properties {
		reach(r, p, all)
	}
	for _, p := range s.OneOf {
		reach(r, p, all)
	}
	if more, ok := s.AdditionalProperties.(*huma.Schema); ok {
		reach(r, more, all)
	}
}

// quoted is a name that is quoted in the tag of a field, where backquotes can't be.
var quoted = regexp.MustCompile(`(^|[\s(])'([^'\s]+)'`)

// code returns a description with quoted names as code.
func code(text string) string { return quoted.ReplaceAllString(text, "$1`$2`") }

// nullable lets the fields of answers be null that point to an object; huma has this for other types only.
func nullable(all huma.Registry, taken map[*huma.Schema]bool) {
	for name, s := range all.Map() {
		if taken[s] {
			continue
		}
		t := all.TypeFromRef(schemaPrefix + name)
		if t == nil { // a set of values
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			tag, omitted, _ := strings.Cut(f.Tag.Get("json"), ",")
			field := s.Properties[tag]
			if f.Type.Kind() == reflect.Pointer && field != nil && field.Ref != "" && omitted == "" {
				s.Properties[tag] = &huma.Schema{OneOf: []*huma.Schema{field, {Type: "null"}},
					Description: field.Description}
				field.Description = ""
			}
		}
	}
}
