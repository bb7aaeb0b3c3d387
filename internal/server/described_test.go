package server

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/labstack/echo/v4"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/web"
)

// description is what web/openapi.yaml says of answers. Every answer of the API in this package's tests is compared
// with it, see household.ServeHTTP.
type description struct {
	root map[string]any

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // by call, status and media type
	seen    map[string]bool               // calls that have succeeded in some test
}

// described is shared by all tests, since compiling schemas takes a while.
var described = newDescription()

func newDescription() *description {
	text, err := yaml.YAMLToJSON(web.OpenAPI(nil, nil))
	if err != nil {
		panic(err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	return &description{root: root.(map[string]any), schemas: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
}

// at returns the value below some names; nil if there is none.
func (d *description) at(value any, names ...string) any {
	for _, name := range names {
		value = d.resolved(value)
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return d.resolved(value)
}

// resolved returns what a reference leads to.
func (d *description) resolved(value any) any {
	object, _ := value.(map[string]any)
	if ref, ok := object["$ref"].(string); ok {
		return d.at(d.root, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return value
}

// strict returns a schema without references that takes no property which it does not name. Parts of an allOf have only
// some of the properties, so the schema around them is the one that refuses the rest.
func (d *description) strict(schema any, part bool) map[string]any {
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
func (d *description) response(t testing.TB, call string, status int) map[string]any {
	t.Helper()
	method, path, _ := strings.Cut(call, " ")
	all, ok := d.at(d.root, "paths", path, strings.ToLower(method), "responses").(map[string]any)
	require.True(t, ok, "%s is not described", call)
	one := d.resolved(all[strconv.Itoa(status)])
	if one == nil && status >= 400 {
		one = d.resolved(all["default"])
	}
	require.NotNil(t, one, "%s does not say that it answers %d", call, status)
	return one.(map[string]any)
}

// check compares an answer with the description. route is echo's, with the prefix of the API.
func (d *description) check(t testing.TB, method, route string, w *httptest.ResponseRecorder) {
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
		err = d.schema(t, call+" "+strconv.Itoa(w.Code), d.at(content, kind, "schema")).Validate(answer)
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
func (d *description) schema(t testing.TB, name string, schema any) *jsonschema.Schema {
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

// routeOf returns the route of a request, such as /api/v1/tokens/:id; empty if there is none.
func routeOf(e *echo.Echo, r *http.Request) string {
	c := e.NewContext(r, nil)
	e.Router().Find(r.Method, echo.GetPath(r), c)
	if strings.HasSuffix(c.Path(), "*") {
		return ""
	}
	return c.Path()
}

// eachSchema calls see with every schema in answers, and where it is.
func (d *description) eachSchema(see func(where string, schema map[string]any)) {
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
				walk(strings.ToUpper(method)+" "+path, d.at(operation, "responses"))
			}
		}
	}
}

// A list is in every answer, empty or not, so that a program can go through it without asking first.
func TestListsAreNeverAbsent(t *testing.T) {
	t.Parallel()
	lists := 0
	described.eachSchema(func(where string, schema map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for name, one := range properties {
			kind := described.at(one, "type")
			if several, ok := kind.([]any); ok {
				require.NotContains(t, several, "array", "%s: %s may be null", where, name)
			}
			if kind == "array" {
				lists++
				require.Contains(t, required, name, "%s: the list %s may be absent", where, name)
			}
		}
	})
	require.Greater(t, lists, 25)
}

// Somebody who has nothing yet gets lists all the same.
func TestEmptyListsOfANewcomer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		h := newHousehold(t, delivery.Options{})
		newcomer, err := h.db.AddUser(t.Context(), accounts.User{Name: "Eva", PasswordHash: "-", Role: accounts.Admin,
			CreatedAt: time.Now()}, false)
		require.NoError(t, err)
		h.as(newcomer.ID)
		asked := 0
		for call := range web.Calls() {
			method, route, _ := strings.Cut(call, " ")
			path := strings.TrimPrefix(route, "/api/v1")
			if method != http.MethodGet || strings.ContainsAny(path, ":.") || strings.HasPrefix(path, "/events") {
				continue
			}
			asked++
			answer := h.call(http.MethodGet, path, "", http.StatusOK) // compared with the description
			for name, value := range answer {
				list, ok := value.([]any)
				full := []string{"users", "sessions", "keys", "breakers", "endpoints", "settings"}
				if ok && !slices.Contains(full, name) {
					require.Empty(t, list, "%s: %s", path, name)
				}
			}
		}
		require.Greater(t, asked, 15)
	})
}

// notHere are the calls that succeed only in the tests of the whole program.
var notHere = []string{"POST /setup", "GET /events", "POST /admin/keys/{provider}/{last4}/reset"}

// TestMain fails when no test has seen a call succeed, since its answers were not compared with the description then.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	chosen, missing := false, 0
	for _, name := range []string{"run", "skip", "bench", "fuzz", "list"} {
		chosen = chosen || flag.Lookup("test."+name).Value.String() != ""
	}
	for call := range web.Calls() {
		method, route, _ := strings.Cut(call, " ")
		name := method + " " + inColons.ReplaceAllString(strings.TrimPrefix(route, "/api/v1"), "{$1}")
		if code == 0 && !chosen && !described.seen[name] && !slices.Contains(notHere, name) {
			fmt.Println("FAIL: no test has made the call", name, "so that it succeeds")
			missing++
		}
	}
	os.Exit(max(code, min(missing, 1)))
}
