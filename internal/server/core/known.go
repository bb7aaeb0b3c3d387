package core

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/words"
	"reprise/web"
)

// KnownParameters is middleware that refuses calls of the API whose query has a parameter that the call does not take.
// A mistyped filter would otherwise be a filter that is not there. It runs once the caller is known.
func KnownParameters(next echo.HandlerFunc) echo.HandlerFunc {
	known := func(c echo.Context) error {
		if err := CheckQuery(c); err != nil {
			return err
		}
		return next(c)
	}
	ofAdministrators := MustBeAdmin(known)
	return func(c echo.Context) error {
		if strings.HasPrefix(c.Path(), "/api/v1/admin/") {
			return ofAdministrators(c)
		}
		return known(c)
	}
}

// CheckQuery returns a problem if the query of a call has a parameter that the call does not take.
func CheckQuery(c echo.Context) error {
	if c.Request().URL.RawQuery == "" {
		return nil
	}
	call, ok := web.Calls()[c.Request().Method+" "+c.Path()]
	if !ok {
		return nil
	}
	query, err := url.ParseQuery(c.Request().URL.RawQuery)
	if err != nil {
		return &Refusal{Status: http.StatusBadRequest, Title: words.New("problem.unreadable.title"),
			Detail: words.New("problem.unreadable.query")}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(call.Query, name) {
			return Unknown(aParameter, name, call.Query)
		}
	}
	return nil
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

// knownFields returns a problem if value has a field that is not among those that a call takes, at any depth.
func knownFields(value any, fields web.Fields) *Refusal {
	if fields == nil {
		return nil
	}
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if p := knownFields(one, fields); p != nil {
				return p
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below, ok := fields[name]
			if !ok {
				return Unknown(aField, name, slices.Sorted(maps.Keys(fields)))
			}
			if p := knownFields(v[name], below); p != nil {
				return p
			}
		}
	}
	return nil
}
