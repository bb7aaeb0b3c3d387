package core

import (
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/words"
)

// zoneCookie names the time zone of a browser. A script sets it for people who have chosen none (see times.js).
const zoneCookie = "reprise_zone"

// Zone returns the time zone in which a page groups by days: what its reader has chosen, else the browser's, else UTC.
func Zone(c echo.Context) *time.Location {
	if zone := knownZone(c); zone != nil {
		return zone
	}
	return time.UTC
}

// ZoneName returns the name of the time zone that a reader has chosen, or else that of the browser. It is empty if
// neither is known.
func ZoneName(c echo.Context) string {
	if zone := knownZone(c); zone != nil {
		return zone.String()
	}
	return ""
}

func knownZone(c echo.Context) *time.Location {
	if zone := words.Zone(c.Request().Context()); zone != nil {
		return zone
	}
	cookie, err := c.Request().Cookie(zoneCookie)
	if err != nil {
		return nil
	}
	name, err := url.QueryUnescape(cookie.Value)
	if err != nil {
		return nil
	}
	zone, ok := words.ZoneNamed(name)
	if !ok {
		return nil
	}
	return zone
}
