package core

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/words"
)

// ForAdministrators is middleware that lets only administrators and the operator through where a path says so.
func ForAdministrators(next echo.HandlerFunc) echo.HandlerFunc {
	guarded := MustBeAdmin(next)
	return func(c echo.Context) error {
		if strings.HasPrefix(c.Path(), "/api/v1/admin/") {
			return guarded(c)
		}
		return next(c)
	}
}

// What a call may not take.
const (
	aParameter = "parameter"
	aField     = "field"
)

// longestName is how much of a wrong name is shown, in bytes.
const longestName = 100

// shortened returns as much of a wrong name as is shown.
func shortened(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), longestName)], "")
}

// Unknown returns the problem of a call with a parameter or a field that it does not take. known are those that it
// does.
func Unknown(what, name string, known []string) *Refusal {
	name = shortened(name)
	var hint words.Text
	switch near := words.Nearest(name, known); {
	case near != "":
		hint = words.New("problem.unknown.near", "Near", strconv.Quote(near))
	case len(known) == 0:
		hint = words.New("problem.unknown.none")
	default:
		hint = words.New("problem.unknown.known", "Known", strings.Join(known, ", "))
	}
	quoted := strconv.Quote(name)
	title, text := words.New("problem.parameter.title"), words.New("problem.parameter.text", "Name", quoted)
	if what == aField {
		title, text = words.New("problem.field.title"), words.New("problem.field.text", "Name", quoted)
	}
	return BadRequest(title, words.Join(text, hint))
}
