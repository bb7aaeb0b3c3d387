package core

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"reprise/internal/nearest"
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
		return &Problem{Status: http.StatusBadRequest, Title: "Not readable",
			Detail: "The part of the address after the question mark cannot be read. Encode it as a URL."}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(call.Query, name) {
			return Unknown("parameter", name, call.Query)
		}
	}
	return nil
}

// longestName is how much of a wrong name is shown, in bytes.
const longestName = 100

// Unknown returns the problem of a call with a parameter or a field that it does not take. known are those that it
// does.
func Unknown(what, name string, known []string) *Problem {
	name = strings.ToValidUTF8(name[:min(len(name), longestName)], "")
	detail := fmt.Sprintf("This call takes no %s %q. ", what, name)
	switch near := nearest.To(name, known); {
	case near != "":
		detail += fmt.Sprintf("Did you mean %q?", near)
	case len(known) == 0:
		detail += "It takes none at all."
	default:
		detail += "What it takes: " + strings.Join(known, ", ") + "."
	}
	return &Problem{Status: http.StatusBadRequest, Title: "No such " + what, Detail: detail}
}

// knownFields returns a problem if value has a field that is not among those that a call takes, at any depth.
func knownFields(value any, fields web.Fields) *Problem {
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
				return Unknown("field", name, slices.Sorted(maps.Keys(fields)))
			}
			if p := knownFields(v[name], below); p != nil {
				return p
			}
		}
	}
	return nil
}
