package core

import (
	"encoding/json"
	"io"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"reprise/internal/bounded"
	"reprise/internal/words"
	"reprise/web"
)

// bodyLimits bounds the JSON that a call carries. The longest list in any call is one of notifications to acknowledge.
var bodyLimits = bounded.Limits{
	Depth: 8, Elements: 2000, Fields: 200, String: 64 << 10, InAll: 2000, Values: 4000,
}

// JSON reads the JSON of calls within limits, without fields that the call does not take, and writes that of answers.
// It is safe for concurrent use.
type JSON struct{ echo.DefaultJSONSerializer }

// Deserialize implements echo.JSONSerializer.
func (JSON) Deserialize(c echo.Context, v any) error {
	text, err := io.ReadAll(c.Request().Body) // has few bytes, by the limit on all bodies
	if err != nil {
		return err
	}
	refused := func(why words.Text) error {
		return BadRequest(words.New("problem.json.shape"), why)
	}
	if err := bounded.JSON(text, bodyLimits); err != nil {
		return refused(words.New("problem.json.limits", "Why", err.Error()))
	}
	if !utf8.Valid(text) {
		return refused(words.New("problem.json.utf8"))
	}
	if call := web.Calls()[c.Request().Method+" "+c.Path()]; call.Body != nil {
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return err
		}
		if p := knownFields(value, call.Body); p != nil {
			return p
		}
	}
	return json.Unmarshal(text, v)
}
