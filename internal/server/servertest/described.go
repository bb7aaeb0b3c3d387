package servertest

import (
	"bytes"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/labstack/echo/v4"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"reprise/internal/server"
)

// Description is what web/openapi.yaml says of answers. Every answer of the API in this package's tests is compared
// with it, see household.ServeHTTP.
type Description struct {
	root map[string]any

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // by call, status and media type
	seen    map[string]bool               // calls that have succeeded in some test
}

// Described is shared by all tests, since compiling schemas takes a while.
var Described = newDescription()

func newDescription() *Description {
	text, err := yaml.YAMLToJSON(APIText())
	if err != nil {
		panic(err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	return &Description{root: root.(map[string]any), schemas: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
}

// APIText returns what a server without any provider says of its API, in YAML.
func APIText() []byte {
	s, err := server.New(server.Config{Reach: server.Reach{BaseURL: "http://127.0.0.1:8420"},
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	text, err := s.Description()
	if err != nil {
		panic(err)
	}
	return text
}

// At returns the value below some names; nil if there is none.
func (d *Description) At(value any, names ...string) any {
	for _, name := range names {
		value = d.resolved(value)
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return d.resolved(value)
}

// resolved returns what a reference leads to.
func (d *Description) resolved(value any) any {
	object, _ := value.(map[string]any)
	if ref, ok := object["$ref"].(string); ok {
		return d.At(d.root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return value
}

// strict returns a schema without references that takes no property which it does not name. Parts of an allOf have only
// some of the properties, so the schema around them is the one that refuses the rest.
func (d *Description) strict(schema any, part bool) map[string]any {
	from, _ := d.resolved(schema).(map[string]any)
	out := maps.Clone(from)
	if properties, ok := from["properties"].(map[string]any); ok {
		all := map[string]any{}
		for name, one := range properties {
			all[name] = d.strict(one, false)
		}
		out["properties"] = all
	}
	for _, name := range []string{"items", "additionalProperties"} {
		if below, ok := from[name].(map[string]any); ok {
			out[name] = d.strict(below, false)
		}
	}
	for _, name := range []string{"allOf", "oneOf"} {
		if parts, ok := from[name].([]any); ok {
			all := make([]any, len(parts))
			for i, one := range parts {
				all[i] = d.strict(one, name == "allOf")
			}
			out[name] = all
		}
	}
	if !part && (out["properties"] != nil || out["allOf"] != nil) {
		out["unevaluatedProperties"] = false
	}
	return out
}

// response returns what the description says of an answer with a status, in the media types that it may have.
func (d *Description) response(t testing.TB, call string, status int) map[string]any {
	t.Helper()
	method, path, _ := strings.Cut(call, " ")
	all, ok := d.At(d.root, "paths", path, strings.ToLower(method), "responses").(map[string]any)
	require.True(t, ok, "%s is not described", call)
	one := d.resolved(all[strconv.Itoa(status)])
	if one == nil && status >= 400 {
		one = d.resolved(all["default"])
	}
	require.NotNil(t, one, "%s does not say that it answers %d", call, status)
	return one.(map[string]any)
}

// check compares an answer with the description. route is echo's, with the prefix of the API.
func (d *Description) check(t testing.TB, method, route string, w *httptest.ResponseRecorder) {
	t.Helper()
	call := method + " " + inColons.ReplaceAllString(strings.TrimPrefix(route, "/api/v1"), "{$1}")
	content, _ := d.response(t, call, w.Code)["content"].(map[string]any)
	kind, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	if content == nil {
		require.Empty(t, w.Body.String(), "%s: %d has no content by its description", call, w.Code)
	} else {
		require.Contains(t, content, kind, "%s: %d", call, w.Code)
	}
	if strings.HasSuffix(kind, "json") && kind != "application/x-ndjson" { // JSON Lines is not one document
		answer, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
		require.NoError(t, err, call)
		err = d.schema(t, call+" "+strconv.Itoa(w.Code), d.At(content, kind, "schema")).Validate(answer)
		require.NoError(t, err, "%s: %d %s", call, w.Code, w.Body)
	}
	if w.Code < 300 {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.seen[call] = true
	}
}

var inColons = regexp.MustCompile(`:(\w+)`)

// schema returns the compiled schema of an answer.
func (d *Description) schema(t testing.TB, name string, schema any) *jsonschema.Schema {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.schemas[name] == nil {
		c := jsonschema.NewCompiler()
		c.AssertFormat()
		require.NoError(t, c.AddResource("answer.json", d.strict(schema, false)), name)
		compiled, err := c.Compile("answer.json")
		require.NoError(t, err, name)
		d.schemas[name] = compiled
	}
	return d.schemas[name]
}

// EachSchema calls see with every schema in answers, and where it is.
func (d *Description) EachSchema(see func(where string, schema map[string]any)) {
	var walk func(where string, value any)
	walk = func(where string, value any) {
		switch v := value.(type) {
		case []any:
			for i, one := range v {
				walk(where+"/"+strconv.Itoa(i), d.resolved(one))
			}
		case map[string]any:
			see(where, v)
			for name, one := range v {
				walk(where+"/"+name, d.resolved(one))
			}
		}
	}
	for path, operations := range d.root["paths"].(map[string]any) {
		for method, operation := range operations.(map[string]any) {
			if method != "parameters" {
				walk(strings.ToUpper(method)+" "+path, d.At(operation, "responses"))
			}
		}
	}
}

// routeOf returns the route of a request, such as /api/v1/tokens/:id; empty if there is none.
func routeOf(s *server.Server, r *http.Request) string {
	c := s.Router().NewContext(r, nil)
	s.Router().Router().Find(r.Method, echo.GetPath(r), c)
	if strings.HasSuffix(c.Path(), "*") {
		return ""
	}
	return c.Path()
}

// elsewhere are the calls that succeed only in the tests of the whole program.
var elsewhere = []string{"POST /setup", "GET /events", "POST /admin/keys/{provider}/{last4}/reset"}

// Main runs the tests of a folder, and fails when none of them has seen one of the folder's calls succeed: then its
// answers were not compared with the description. It is for the TestMain of a test package, and ends the process.
func Main(m *testing.M) {
	flag.Parse()
	code := m.Run()
	for _, name := range []string{"run", "skip", "bench", "fuzz", "list"} {
		if flag.Lookup("test."+name).Value.String() != "" { // not all tests ran
			os.Exit(code)
		}
	}
	caller, _, _, _ := runtime.Caller(1)
	folder := strings.TrimSuffix(runtime.FuncForPC(caller).Name(), "_test.TestMain") + "."
	s, err := server.New(server.Config{Reach: server.Reach{BaseURL: "http://127.0.0.1:8420"},
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	unseen := 0
	for call, handler := range s.Handlers() {
		if strings.HasPrefix(handler, folder) && code == 0 && !Described.seen[call] &&
			!slices.Contains(elsewhere, call) {
			fmt.Println("FAIL: no test has made the call", call, "so that it succeeds")
			unseen = 1
		}
	}
	os.Exit(max(code, unseen))
}
