package core

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humaecho"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/labstack/echo/v4"

	"reprise/internal/bounded"
	"reprise/internal/words"
)

// huma asks these variables for the answer to a call that does not match its description.
func init() {
	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
	huma.NewError = func(int, string, ...error) huma.StatusError { return &Problem{} }
	huma.NewErrorWithContext = func(ctx huma.Context, _ int, says string, errs ...error) huma.StatusError {
		return misfit(ctx.Operation(), says, errs).Problem(ctx.Context())
	}
}

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// Error implements error.
func (p *Problem) Error() string { return p.Title }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return problemType }

// readable is huma's middleware that refuses calls whose query or body can't be read, or has more in it than anybody
// sends.
func readable(ctx huma.Context, next func(huma.Context)) {
	c := humaecho.Unwrap(ctx)
	if err := takeIn(c, ctx.Operation()); err != nil {
		c.Set(outcomeKey, outcome{err: err})
		return
	}
	next(huma.WithContext(ctx, context.WithValue(ctx.Context(), echoKey{}, c)))
}

func takeIn(c echo.Context, op *huma.Operation) error {
	r := c.Request()
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return &Refusal{Status: http.StatusBadRequest, Title: words.New("problem.unreadable.title"),
			Detail: words.New("problem.unreadable.query")}
	}
	if op.RequestBody == nil || op.RequestBody.Content[echo.MIMEApplicationJSON] == nil || r.ContentLength == 0 {
		return nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType))
	// A form's fields would be left out, and curl sends one by default.
	if err != nil || kind != echo.MIMEApplicationJSON {
		return HTTPProblem(http.StatusUnsupportedMediaType)
	}
	r.Header.Set(echo.HeaderContentType, kind) // huma minds upper and lower case
	text, err := io.ReadAll(r.Body)            // has few bytes, by the limit on all bodies
	if he, ok := errors.AsType[*echo.HTTPError](err); ok {
		return HTTPProblem(he.Code)
	}
	if err != nil {
		return HTTPProblem(http.StatusBadRequest)
	}
	if err := bounded.JSON(text, bodyLimits); err != nil {
		return BadRequest(words.New("problem.json.shape"), words.New("problem.json.limits", "Why", err.Error()))
	}
	if !utf8.Valid(text) {
		return BadRequest(words.New("problem.json.shape"), words.New("problem.json.utf8"))
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return nil
}

// misfit returns the refusal of a call that does not match its description, by the first of huma's errors.
func misfit(op *huma.Operation, says string, errs []error) *Refusal {
	if says == "request body is required" {
		return BadRequest(words.New("problem.unreadable.title"), words.New("problem.unreadable.none"))
	}
	var all []*huma.ErrorDetail
	for _, err := range errs {
		if d, ok := errors.AsType[*huma.ErrorDetail](err); ok {
			all = append(all, d)
		}
	}
	if len(all) == 0 {
		return HTTPProblem(http.StatusBadRequest)
	}
	d := slices.MinFunc(all, func(a, b *huma.ErrorDetail) int { // what is unknown may be what is missing, mistyped
		if first := unknownFirst(a) - unknownFirst(b); first != 0 {
			return first
		}
		return strings.Compare(a.Location, b.Location)
	})
	in, where, _ := strings.Cut(d.Location, ".")
	switch in {
	case "path": // what is no number names nothing
		return HTTPProblem(http.StatusNotFound)
	case "query", "header":
		return misfitIn(op, where, d)
	}
	name := inBrackets.ReplaceAllString(where[strings.LastIndex(where, ".")+1:], "")
	if d.Message == validation.MsgUnexpectedProperty {
		return Unknown(aField, name, namesBeside(op, where))
	}
	r := wrong(name, nil, d)
	if name != "" || isMissing(d) {
		r.Status = http.StatusUnprocessableEntity
	}
	return r
}

// unknownFirst is 0 for an error about something that a call does not take, and 1 for one about the value of what it
// takes.
func unknownFirst(d *huma.ErrorDetail) int {
	if d.Message == validation.MsgUnexpectedProperty || d.Message == "unknown query parameter" {
		return 0
	}
	return 1
}

func isMissing(d *huma.ErrorDetail) bool {
	before, _, _ := strings.Cut(validation.MsgExpectedRequiredProperty, "%")
	return strings.HasPrefix(d.Message, before)
}

var inBrackets = regexp.MustCompile(`\[\d*\]`)

// namesBeside returns the names of the fields that an object in the body may have, by where one is that it may not.
func namesBeside(op *huma.Operation, where string) []string {
	s := op.RequestBody.Content[echo.MIMEApplicationJSON].Schema
	steps := strings.Split(inBrackets.ReplaceAllString(where, ""), ".")
	resolved := func() {
		for s.Ref != "" || s.Items != nil {
			if s.Items != nil {
				s = s.Items
			} else {
				s = op.Metadata[schemasKey].(huma.Registry).SchemaFromRef(s.Ref)
			}
		}
	}
	resolved()
	for _, step := range steps[:len(steps)-1] {
		if s.Properties[step] == nil {
			return nil
		}
		s = s.Properties[step]
		resolved()
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

const schemasKey = "schemas"

// misfitIn is misfit for a parameter.
func misfitIn(op *huma.Operation, name string, d *huma.ErrorDetail) *Refusal {
	var known []string
	var schema *huma.Schema
	for _, p := range op.Parameters {
		if p.Name == name {
			schema = p.Schema
		}
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	if schema == nil {
		slices.Sort(known)
		return Unknown(aParameter, name, known)
	}
	return wrong(name, schema, d)
}

// kinds are what huma says is wrong with a value, and the words for it. What follows is a number, a list or a name.
var kinds = []struct {
	says  string
	words string
}{
	{validation.MsgExpectedInteger, "problem.value.integer"},
	{"invalid integer", "problem.value.integer"},
	{validation.MsgExpectedArray, "problem.value.list"},
	{validation.MsgExpectedObject, "problem.value.object"},
	{validation.MsgExpectedMinimumNumber, "problem.value.least"},
	{validation.MsgExpectedMaximumNumber, "problem.value.most"},
	{fmt.Sprintf(validation.MsgExpectedMinLength, 1), "problem.value.empty"},
	{validation.MsgExpectedMinLength, "problem.value.short"},
	{validation.MsgExpectedMaxLength, "problem.value.long"},
	{validation.MsgExpectedMinItems, "problem.value.list_short"},
	{validation.MsgExpectedMaxItems, "problem.value.list_long"},
	{validation.MsgExpectedRequiredProperty, "problem.value.missing"},
	{"required ", "problem.value.missing"},
	{validation.MsgExpectedString, "problem.field.not_text"},
}

// wrong returns the refusal of a value that a parameter or a field can't have. schema may be nil.
func wrong(name string, schema *huma.Schema, d *huma.ErrorDetail) *Refusal {
	choice, _, _ := strings.Cut(validation.MsgExpectedOneOf, "%")
	if list, ok := strings.CutPrefix(d.Message, choice); ok {
		return NotAChoice(name, fmt.Sprint(d.Value), strings.Trim(list, `"`))
	}
	if d.Message == validation.MsgExpectedRFC3339DateTime || strings.HasPrefix(d.Message, "invalid date/time") {
		return NotATime(name)
	}
	if d.Message == validation.MsgExpectedBoolean || d.Message == "invalid boolean" {
		return NotAChoice(name, fmt.Sprint(d.Value), "true", "false")
	}
	title := words.New("problem.value.title")
	if schema != nil && schema.Minimum != nil && schema.Maximum != nil {
		return BadRequest(title, words.New("problem.value.range", "Name", name, "Least", fmt.Sprint(*schema.Minimum),
			"Most", fmt.Sprint(*schema.Maximum)))
	}
	for _, k := range kinds {
		before, after, _ := strings.Cut(k.says, "%v")
		before, _, _ = strings.Cut(before, "%d")
		before, _, _ = strings.Cut(before, "%s")
		rest, ok := strings.CutPrefix(d.Message, before)
		if !ok {
			continue
		}
		rest = strings.TrimSuffix(rest, strings.TrimSpace(after))
		if k.says == validation.MsgExpectedRequiredProperty {
			name, rest = strings.Fields(rest)[0], ""
		}
		return BadRequest(title, words.New(k.words, "Name", strconv.Quote(shortened(name)), "Bound", rest))
	}
	if name == "" {
		return HTTPProblem(http.StatusBadRequest) // it is no JSON
	}
	return BadRequest(title, words.New("problem.value.text", "Name", strconv.Quote(shortened(name))))
}
