package music

import (
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
)

// FilterOf returns the filter in the query of a request, as /listens takes it. Its bounds may be days in a zone.
func FilterOf(c echo.Context, zone *time.Location) (library.ListenFilter, error) {
	return filterOf(c, zone)
}

// DayIn returns the value of a field for a day, name "from" or "to", for a bound that somebody asked for.
func DayIn(name, text string, zone *time.Location) string { return dayIn(name, text, zone) }
