package music

import (
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/server/core"
)

// Bounded returns the filter that a call gives in fields: from and to are times as the API writes them.
func Bounded(user int64, artist, from, to string) (library.ListenFilter, error) {
	f := library.ListenFilter{User: user, Artist: strings.TrimSpace(artist)}
	for _, end := range []struct {
		name, text string
		at         *time.Time
	}{{"from", from, &f.From}, {"to", to, &f.To}} {
		if end.text == "" {
			continue
		}
		parsed, err := time.Parse(time.RFC3339, end.text)
		if err != nil {
			return f, core.NotATime(end.name)
		}
		*end.at = parsed.UTC().Truncate(time.Millisecond)
	}
	return f, nil
}

// Asked returns the filter of the page of listens in the query of a request, and that query alone.
func Asked(c echo.Context) (f library.ListenFilter, query url.Values, err error) {
	f, err = FilterOf(c, core.Zone(c))
	query = url.Values{}
	for _, name := range filterNames {
		if text := c.QueryParam(name); text != "" {
			query.Set(name, text)
		}
	}
	switch span := query.Get("span"); {
	case span == "" || query.Has("from") || query.Has("to"): // a day without a span is a place in the list
		query.Del("span")
		query.Del("at")
	case !query.Has("at"): // keep the same span tomorrow
		query.Set("at", time.Now().In(core.Zone(c)).Format(time.DateOnly))
	}
	return f, query, err
}

// filterNames are the parameters that select listens, which the statistics share.
var filterNames = []string{"artist", "album", "track", "tag", "source", "player", "weekday", "hour", "span", "at",
	"from", "to"}

// selecting is the parameter with which listens can be chosen.
const selecting = "select"
