package core

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"reflect"
	"regexp"
	"runtime"
	"slices"

	"reprise/internal/accounts"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/labstack/echo/v4"
)

// API is the part of a server that programs call: calls, and their description. It is ready once all calls are added;
// then it is safe for concurrent use.
type API struct {
	huma   huma.API
	echo   *echo.Echo
	access *Access
	with   huma.Middlewares
}

// NewAPI returns an API that adds its calls to a group, and tells access who may make them.
func NewAPI(e *echo.Echo, g *echo.Group, access *Access) *API {
	return newAPI(e, g, access, describe())
}

func newAPI(e *echo.Echo, g *echo.Group, access *Access, d *huma.OpenAPI) *API {
	a := &API{echo: e, access: access}
	a.huma = humaecho.NewWithGroup(e, g.Group("", passOn), huma.Config{OpenAPI: d,
		Formats: map[string]huma.Format{echo.MIMEApplicationJSON: huma.DefaultJSONFormat,
			"json": huma.DefaultJSONFormat},
		DefaultFormat: echo.MIMEApplicationJSON, RejectUnknownQueryParameters: true})
	a.huma.UseMiddleware(readable)
	return a
}

// Handlers returns the names of the functions behind the calls, by method and path, such as "GET /playlists/{id}".
func (a *API) Handlers() map[string]string {
	all := map[string]string{}
	for op := range a.operations() {
		all[op.Method+" "+op.Path] = op.Metadata[handlerKey].(string)
	}
	return all
}

// operations are all calls, of all groups.
func (a *API) operations() iter.Seq[*huma.Operation] {
	return func(yield func(*huma.Operation) bool) {
		for _, item := range a.huma.OpenAPI().Paths {
			for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
				if op != nil && !yield(op) {
					return
				}
			}
		}
	}
}

// On returns the API for calls of another group, in the same description.
func (a *API) On(g *echo.Group) *API { return newAPI(a.echo, g, a.access, a.huma.OpenAPI()) }

// With returns the API for calls with more middleware. A group of echo's would answer for paths that nothing answers,
// too.
func (a *API) With(m echo.MiddlewareFunc) *API {
	return &API{a.huma, a.echo, a.access, append(slices.Clip(a.with), func(ctx huma.Context, next func(huma.Context)) {
		c := humaecho.Unwrap(ctx)
		handle := m(func(echo.Context) error {
			next(ctx)
			return nil
		})
		if err := handle(c); err != nil {
			c.Set(outcomeKey, outcome{err: err})
		}
	})}
}

// Call says of a call what its types don't.
type Call struct {
	ID          string // by which generated clients name the call; unique
	Summary     string // one line
	Description string // Markdown; empty where the summary says all
	Answer      string // what a success means
	// Status is that of a success; 0 stands for 200, and for 204 where the answer is [None].
	Status int
	// Also are other successes, by status.
	Also map[int]string
	// Types are the media types of an answer that is not JSON.
	Types []string
	// Takes is a body that is not JSON, by media type; the handler reads it.
	Takes map[string]*huma.Schema
	// Optional says that the body may be left out.
	Optional bool
	// Choices are the values that a parameter may have, where they are not the same on every server.
	Choices map[string][]string
	// Refusals are those beside 400, 401, 403 and, where the path has a parameter, 404, by status. An empty text stands
	// for what any problem says.
	Refusals map[int]string
	// Open calls need neither a session nor a token.
	Open bool
	// Scope is what a token needs; empty for "admin" below /admin, else "read" for a GET and "operate" for what changes
	// something.
	Scope accounts.Scope
	// ByAddress calls take a token in the address, too.
	ByAddress bool
}

// None is what a call takes that takes nothing, and what one answers that answers nothing.
type None struct{}

// Sent is the answer of a handler that has sent it by itself. T is its type in JSON.
type Sent[T any] struct{}

func (Sent[T]) sends() reflect.Type { return reflect.TypeFor[T]() }

// Answer is an answer with a status that the handler decides.
type Answer[T any] struct {
	Status int
	Body   T
}

func (a Answer[T]) answer() (status int, body any) { return a.Status, a.Body }
func (a Answer[T]) sends() reflect.Type            { return reflect.TypeFor[T]() }

// Handle is the function behind a call. I is what the call takes: a struct whose fields are parameters of the path, of
// the query and headers, by their tags, and Body, the JSON. O is the JSON that it answers, [None], [Sent] or [Answer].
type Handle[I, O any] func(c echo.Context, in *I) (O, error)

// Get adds a call with the method GET. path is below that of the API, with parameters in braces.
func Get[I, O any](a *API, path string, h Handle[I, O], call Call) {
	add(a, http.MethodGet, path, h, call)
}

// Post adds a call with the method POST, like [Get].
func Post[I, O any](a *API, path string, h Handle[I, O], call Call) {
	add(a, http.MethodPost, path, h, call)
}

// Put adds a call with the method PUT, like [Get].
func Put[I, O any](a *API, path string, h Handle[I, O], call Call) {
	add(a, http.MethodPut, path, h, call)
}

// Patch adds a call with the method PATCH, like [Get].
func Patch[I, O any](a *API, path string, h Handle[I, O], call Call) {
	add(a, http.MethodPatch, path, h, call)
}

// Delete adds a call with the method DELETE, like [Get].
func Delete[I, O any](a *API, path string, h Handle[I, O], call Call) {
	add(a, http.MethodDelete, path, h, call)
}

// handled is what huma is told to send: nothing, since passOn answers with what echo sends elsewhere, too.
type handled struct{ Body func(huma.Context) }

// outcome is what a handler returns.
type outcome struct {
	send func() error // nil when it has been sent
	err  error
}

const outcomeKey = "core.outcome"

// handlerKey is that of the name of a call's function in the metadata of its operation.
const handlerKey = "handler"

type echoKey struct{}

// inBraces is a parameter in a path.
var inBraces = regexp.MustCompile(`\{(\w+)\}`)

func add[I, O any](a *API, method, path string, h Handle[I, O], call Call) {
	op := a.operation(method, path, call)
	op.Metadata = map[string]any{handlerKey: runtime.FuncForPC(reflect.ValueOf(h).Pointer()).Name(),
		schemasKey: a.huma.OpenAPI().Components.Schemas}
	answer := reflect.TypeFor[O]()
	if typed, ok := any(*new(O)).(interface{ sends() reflect.Type }); ok {
		answer = typed.sends()
	}
	a.success(op, answer, call)
	a.access.calls[method+" /api/v1"+inBraces.ReplaceAllString(path, ":$1")] = access{
		need: cmp.Or(call.Scope, needOf(method, path)), byAddress: call.ByAddress}
	huma.Register(a.huma, *op, func(ctx context.Context, in *I) (*handled, error) {
		c := ctx.Value(echoKey{}).(echo.Context)
		out, err := h(c, in)
		c.Set(outcomeKey, outcome{sending(c, op.DefaultStatus, out), err})
		return &handled{func(huma.Context) {}}, nil
	})
	for added := range a.operations() { // a copy of op
		if added.OperationID == call.ID {
			a.complete(added, call)
		}
	}
}

// sending returns the function that sends an answer; nil if it has been sent.
func sending(c echo.Context, status int, out any) func() error {
	switch v := out.(type) {
	case None:
		return func() error { return c.NoContent(status) }
	case interface{ answer() (int, any) }:
		status, body := v.answer()
		return func() error { return c.JSON(status, body) }
	case interface{ sends() reflect.Type }:
		return nil
	}
	return func() error { return c.JSON(status, out) }
}

// passOn is middleware that gives echo what became of a call: its answer or its error.
func passOn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := next(c); err != nil {
			return err
		}
		o, _ := c.Get(outcomeKey).(outcome)
		if o.err != nil || o.send == nil {
			return o.err
		}
		return o.send()
	}
}
