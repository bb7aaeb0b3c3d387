package music

import (
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
)

// FilterOf returns the filter in the query of a request, with the parameters of /listens. Its bounds may be days in a
// zone.
func FilterOf(c echo.Context, zone *time.Location) (library.ListenFilter, error) {
	return filterOf(c, zone)
}

// DayIn returns the value of the date field "from" or "to" for a bound in a request.
func DayIn(name, text string, zone *time.Location) string { return dayIn(name, text, zone) }
