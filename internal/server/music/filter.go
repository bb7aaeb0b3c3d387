package music

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/words"
)

// FilterOf returns the filter in the query of a request. Its bounds may be days if there is a zone.
func FilterOf(c echo.Context, zone *time.Location) (library.ListenFilter, error) {
	f := library.ListenFilter{User: core.UserOf(c).ID, Tag: c.QueryParam("tag"),
		Source: library.ConnectionID(c.QueryParam("source")), Player: library.Player(c.QueryParam("player"))}
	if err := ids(c, &f); err != nil {
		return f, err
	}
	if err := clock(c, &f); err != nil {
		return f, err
	}
	for name, at := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		text := c.QueryParam(name)
		if text == "" {
			continue
		}
		if zone != nil {
			parsed, err := bound(name, text, zone)
			if err != nil {
				return f, err
			}
			*at = parsed
			continue
		}
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return f, core.NotATime(name)
		}
		*at = parsed.UTC().Truncate(time.Millisecond)
	}
	return f, spanned(c, &f)
}

// Refuse returns the problem of a parameter that the statistics share.
func Refuse(why words.Text) error {
	return core.BadRequest(words.New("problem.stats.title"), why)
}

// ids reads the IDs that select listens. An artist may also be given by name.
func ids(c echo.Context, f *library.ListenFilter) error {
	for name, id := range map[string]*uint32{"artist": &f.ArtistID, "album": &f.AlbumID, "track": &f.TrackID} {
		text := strings.TrimSpace(c.QueryParam(name))
		n, err := strconv.ParseUint(text, 10, 32)
		switch {
		case text == "":
		case err == nil && n > 0:
			*id = uint32(n)
		case name == "artist":
			f.Artist = text
		default:
			return Refuse(words.New("problem.stats.number"))
		}
	}
	return nil
}

// clock reads the hour and the weekday of a request.
func clock(c echo.Context, f *library.ListenFilter) error {
	if text := c.QueryParam("hour"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > 23 {
			return Refuse(words.New("problem.stats.hour"))
		}
		f.Hours = 1 << n
	}
	if text := c.QueryParam("weekday"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 7 {
			return Refuse(words.New("problem.stats.weekday"))
		}
		f.Weekdays = 1 << (n - 1)
	}
	if f.Hours != 0 || f.Weekdays != 0 {
		f.Zone = core.Zone(c).String()
	}
	return nil
}

// spanned reads the span of a request.
func spanned(c echo.Context, f *library.ListenFilter) error {
	name := c.QueryParam("span")
	if name == "" || name == listening.All || !f.From.IsZero() || !f.To.IsZero() {
		return nil
	}
	at, err := dayOf(c)
	if err != nil {
		return err
	}
	span, err := listening.NewSpan(name, at)
	if err != nil {
		return Refuse(words.New("problem.stats.span"))
	}
	f.From, f.To = span.From.UTC(), span.To.UTC()
	return nil
}

// dayOf returns the day in a request, in the reader's zone; now if there is none.
func dayOf(c echo.Context) (time.Time, error) {
	zone := core.Zone(c)
	text := c.QueryParam("at")
	if text == "" {
		return time.Now().In(zone), nil
	}
	at, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil || at.Year() < 1900 || at.Year() > 2200 {
		return at, Refuse(words.New("problem.stats.at"))
	}
	return at, nil
}

type listListensRequest struct {
	core.MusicQuery
	core.ArtistOrName
	core.PageLimit
	From   string `query:"from" format:"date-time" doc:"Played at this time or later."`
	To     string `query:"to" format:"date-time" doc:"Played before this time."`
	Before string `query:"before" doc:"The 'next' of the page before this one. It includes that page's filter, so leave the filter out."`
}

type listListensAnswer struct {
	Listens []Listen `json:"listens"`
	Next    *string  `json:"next" doc:"Cursor of the next page; null at the end."`
}

func (h *Handler) listensAPI(c echo.Context, in *listListensRequest) (out listListensAnswer, _ error) {
	f, err := FilterOf(c, nil)
	if err != nil {
		return out, err
	}
	page, next, err := h.store.FindListens(c.Request().Context(), f, in.Before, in.Limit)
	if err != nil {
		return out, err
	}
	all, err := h.rows.Listens(c.Request().Context(), f.User, page...)
	return listListensAnswer{Listens: all, Next: core.Text(next)}, err
}

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
