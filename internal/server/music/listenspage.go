package music

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// listensView is the page of listens.
type listensView struct {
	Title    string
	Lead     string // what is listed, or why there is nothing
	New      bool   // there are no listens at all
	All      bool   // Lead is followed by a link to all listens
	Next     []ui.Action
	Days     []ui.Day
	Filters  []ui.Filter
	From, To string // bounds of the filter
	Jump     string // the day that was jumped to
	Sources  []ui.Option
	Source   string
	Hidden   []ui.Hidden // the rest of the filter
	Kept     []ui.Hidden // the whole filter, for jumping to a day
	Later    string      // the address of the next later listens; empty for none
	Pages    ui.Pages
	Do       []ui.Link // what else can be done with listens
	Select   *choice   // nil unless listens are being chosen
}

// found describes the listens that a request selects.
type found struct {
	Artist string // in the filter; empty for none
	Some   bool   // there is a filter
	Then   bool   // the filter has a time
	Total  int    // listens that the filter selects
}

// heading sets the sentence above the list, and what to do if it is empty.
func (v *listensView) heading(ctx context.Context, f found) {
	v.All = f.Some
	if f.Some && f.Total == 0 {
		v.Next = []ui.Action{{Label: words.T(ctx, "listens.show_all"), URL: "/listens"}}
	}
	switch {
	case f.Total > 0 && f.Artist != "":
		v.Lead = words.T(ctx, "listens.by", "Count", f.Total, "Artist", f.Artist)
	case f.Total > 0:
		v.Lead = words.T(ctx, "listens.all", "Count", f.Total)
	case f.Artist != "" && f.Then:
		v.Lead = words.T(ctx, "listens.none_by_then", "Artist", f.Artist)
	case f.Artist != "":
		v.Lead = words.T(ctx, "listens.none_by", "Artist", f.Artist)
	case f.Then:
		v.Lead = words.T(ctx, "listens.none_then")
	case f.Some:
		v.Lead = words.T(ctx, "listens.none_match")
	default:
		v.New = true
		v.Lead = words.T(ctx, "listens.none")
		v.Next = []ui.Action{{Label: words.T(ctx, "listens.connect"), URL: "/", Main: true},
			{Label: words.T(ctx, "listens.import"), URL: "/imports"}}
	}
}

// shown is a page of listens, with the cursors of the pages around it, empty for none.
type shown struct {
	listens        []library.StoredListen
	later, earlier string
}

// around returns the listens of a request: the newest, those before or after a cursor, or those up to a day.
func (h *Handler) around(c echo.Context, f library.ListenFilter) (p shown, err error) {
	ctx := c.Request().Context()
	n, err := core.Limit(c)
	if err != nil {
		return p, err
	}
	before, after, more := c.QueryParam("before"), c.QueryParam("after"), false
	if before == "" && after == "" && c.QueryParam("at") != "" && c.QueryParam("span") == "" {
		day, err := dayOf(c)
		if err != nil {
			return p, err
		}
		before = library.Cursor{At: day.AddDate(0, 0, 1), Filter: f}.Text()
	}
	if after == "" {
		if p.listens, p.earlier, err = h.store.FindListens(ctx, f, before, n); err != nil {
			return p, err
		}
		after = before // nothing is that old
	}
	if len(p.listens) == 0 && after != "" {
		if p.listens, more, err = h.store.LaterListens(ctx, f, after, n); err != nil || len(p.listens) == 0 {
			return p, err
		}
		last := f.After(p.listens[len(p.listens)-1]).Text()
		older, _, err := h.store.FindListens(ctx, f, last, 1)
		if err != nil {
			return p, err
		}
		if len(older) > 0 {
			p.earlier = last
		}
	} else if before != "" && len(p.listens) > 0 {
		first := f.After(p.listens[0]).Text()
		newer, _, err := h.store.LaterListens(ctx, f, first, 1)
		if err != nil {
			return p, err
		}
		more = len(newer) > 0
	}
	if more {
		p.later = f.After(p.listens[0]).Text()
	}
	return p, nil
}

func (h *Handler) listensPage(c echo.Context) error {
	ctx, zone, user := c.Request().Context(), core.Zone(c), core.UserOf(c).ID
	f, asked, err := Asked(c)
	if err != nil {
		return err
	}
	if text := strings.TrimSpace(c.QueryParam("q")); text != "" {
		return h.look(c, text, asked)
	}
	p, err := h.around(c, f)
	if err != nil {
		return err
	}
	rows, err := h.rows.Of(ctx, user, p.listens)
	if err != nil {
		return err
	}
	total, err := h.store.CountFound(ctx, f)
	if err != nil {
		return err
	}
	out, err := h.outline(ctx, f, p.listens, zone)
	if err != nil {
		return err
	}
	v := listensView{Title: words.T(ctx, "listens.title"), Days: daysOf(ctx, rows, time.Now().In(zone), out, total),
		Source: string(f.Source), Jump: jump(c)}
	for name, to := range map[string]*string{"from": &v.From, "to": &v.To} {
		*to = dayIn(name, c.QueryParam(name), zone)
	}
	artist, err := h.filters(c, &v, f, asked)
	if err != nil {
		return err
	}
	v.Pages, v.Later = pagesOf(c, f, asked, p)
	v.heading(ctx, found{Artist: artist, Some: f.Some(), Total: total, Then: !f.From.IsZero() || !f.To.IsZero()})
	if day, err := dayOf(c); err == nil && jump(c) != "" && len(p.listens) > 0 {
		if first := p.listens[len(p.listens)-1].PlayedAt.In(zone); !first.Before(day.AddDate(0, 0, 1)) {
			v.Lead = words.T(ctx, "listens.before_first", "Day", words.Day(first))
		}
	}
	v.choose(ctx, c.QueryParam(selecting) != "", rows, total, asked)
	return h.core.Show(c, http.StatusOK, v.Title, listensList(v))
}

// jump returns the day that a request jumps to; empty if the day belongs to a span.
func jump(c echo.Context) string {
	if c.QueryParam("span") != "" {
		return ""
	}
	return c.QueryParam("at")
}

// outline returns the days and sessions of a page of listens, including their listens on other pages.
func (h *Handler) outline(ctx context.Context, f library.ListenFilter, page []library.StoredListen,
	zone *time.Location) (*listening.Outline, error) {
	if len(page) == 0 {
		return nil, nil
	}
	first, last := page[len(page)-1].PlayedAt.In(zone), page[0].PlayedAt.In(zone)
	y, m, d := first.Date()
	from := time.Date(y, m, d-1, 0, 0, 0, 0, zone)
	y, m, d = last.Date()
	return h.store.Outline(ctx, f, from, time.Date(y, m, d+2, 0, 0, 0, 0, zone), zone)
}

// look redirects to the listens of the artist with this name, or to the search if there is none.
func (h *Handler) look(c echo.Context, text string, asked url.Values) error {
	ctx := c.Request().Context()
	links, err := h.rows.Links(ctx, library.Track{Artist: text})
	if err != nil {
		return err
	}
	to := "/search?" + url.Values{"q": {text}}.Encode()
	if id := links[0].Artist; id != 0 {
		if _, err := h.store.Music(ctx, core.UserOf(c).ID, library.KindArtist, id); err == nil {
			asked.Del("album")
			asked.Del("track")
			asked.Set("artist", strconv.FormatInt(id, 10))
			to = "/listens?" + asked.Encode()
		}
	}
	return c.Redirect(http.StatusFound, to)
}

// filters adds the filters that are set, each with the address of the page without it, and returns the artist's name.
func (h *Handler) filters(c echo.Context, v *listensView, f library.ListenFilter, asked url.Values) (artist string,
	err error) {
	ctx, user := c.Request().Context(), core.UserOf(c).ID
	label, err := h.core.Labels(ctx, user)
	if err != nil {
		return "", err
	}
	all, err := h.store.UserConnections(ctx, user)
	if err != nil {
		return "", err
	}
	v.options(ctx, all, label)
	without := func(names ...string) string {
		rest := maps.Clone(asked)
		for _, name := range names {
			rest.Del(name)
		}
		return strings.TrimSuffix("/listens?"+rest.Encode(), "?")
	}
	add := func(text string, names ...string) {
		v.Filters = append(v.Filters, ui.Filter{Label: ui.Named{Text: text}, Without: without(names...),
			InField: slices.Contains([]string{"source", "from", "to"}, names[0])})
	}
	for _, one := range []struct {
		kind string
		id   uint32
	}{{library.KindArtist, f.ArtistID}, {library.KindAlbum, f.AlbumID}, {library.KindTrack, f.TrackID}} {
		if one.id == 0 {
			continue
		}
		m, err := h.store.Music(ctx, user, one.kind, int64(one.id))
		if err != nil {
			return "", err
		}
		name := m.Title
		if one.kind == library.KindArtist {
			name, artist = m.Artist, m.Artist
		}
		v.Filters = append(v.Filters, ui.Filter{Label: ui.Named{Text: name, URL: pageOf(one.kind, m.ID)},
			Without: without(one.kind)})
	}
	if f.Artist != "" {
		artist = f.Artist
		add(f.Artist, "artist")
	}
	if f.Tag != "" {
		add(f.Tag, "tag")
	}
	if f.Source != "" {
		add(words.T(ctx, "listening.from_source", "Source", label(f.Source)), "source")
	}
	if f.Player != "" {
		add(words.T(ctx, "listening.with_player", "Player", f.Player), "player")
	}
	v.times(ctx, f, asked, add)
	for _, name := range filterNames {
		if text := asked.Get(name); text != "" {
			field := ui.Hidden{Name: name, Value: text}
			if name != "from" && name != "to" && name != "source" && name != "span" && name != "at" {
				v.Hidden = append(v.Hidden, field)
			}
			if name != "span" && name != "at" { // a jump replaces the span
				v.Kept = append(v.Kept, field)
			}
		}
	}
	return artist, nil
}

// times adds the filters by hour, weekday and span.
func (v *listensView) times(ctx context.Context, f library.ListenFilter, asked url.Values,
	add func(text string, names ...string)) {
	l := words.From(ctx)
	if n, err := strconv.Atoi(asked.Get("weekday")); err == nil {
		add(l.Weekday(time.Weekday(n%7)), "weekday")
	}
	if n, err := strconv.Atoi(asked.Get("hour")); err == nil {
		add(Hours(n), "hour")
	}
	if name := asked.Get("span"); name != "" && name != listening.All {
		zone := words.Zone(ctx)
		if zone == nil {
			zone = time.UTC
		}
		if at, err := time.ParseInLocation(time.DateOnly, asked.Get("at"), zone); err == nil {
			if span, err := listening.NewSpan(name, at); err == nil {
				add(SpanName(ctx, span), "span", "at")
			}
		}
	}
	if day, err := time.Parse(time.DateOnly, v.From); err == nil {
		add(words.T(ctx, "listens.since", "Day", l.Day(day)), "from")
	}
	if day, err := time.Parse(time.DateOnly, v.To); err == nil {
		add(words.T(ctx, "listens.until", "Day", l.Day(day)), "to")
	}
}

// options adds the connections to filter by, if there are several.
func (v *listensView) options(ctx context.Context, all []library.Connection,
	label func(library.ConnectionID) string) {
	if len(all) < 2 && v.Source == "" {
		return
	}
	v.Sources = []ui.Option{{Label: words.T(ctx, "listens.any_source")}}
	listed := false
	for _, one := range all {
		v.Sources = append(v.Sources, ui.Option{Value: string(one.ID), Label: label(one.ID)})
		listed = listed || string(one.ID) == v.Source
	}
	if v.Source != "" && !listed { // no longer connected
		v.Sources = append(v.Sources, ui.Option{Value: v.Source, Label: label(library.ConnectionID(v.Source))})
	}
}

// Hours returns the name of an hour of the day: "14:00–15:00".
func Hours(n int) string {
	return time.Date(0, 1, 1, n, 0, 0, 0, time.UTC).Format("15:04") + "–" +
		time.Date(0, 1, 1, n+1, 0, 0, 0, time.UTC).Format("15:04")
}

// SpanName returns the name of a day, a week, a month or a year.
func SpanName(ctx context.Context, s listening.Span) string {
	l := words.From(ctx)
	switch s.Name {
	case listening.Week:
		return words.T(ctx, "listening.week_of", "Day", l.Day(s.From))
	case listening.Month:
		return l.Month(s.From)
	case listening.Year:
		return strconv.Itoa(s.From.Year())
	}
	return l.Day(s.From)
}

// pagesOf returns the links to the pages before and after this one.
func pagesOf(c echo.Context, f library.ListenFilter, asked url.Values, at shown) (p ui.Pages, later string) {
	query := maps.Clone(asked)
	if on := c.QueryParam(selecting); on != "" {
		query.Set(selecting, on)
	}
	address := func(name, cursor string) string {
		with := maps.Clone(query)
		if name != "" {
			with.Set(name, cursor)
		}
		return strings.TrimSuffix("/listens?"+with.Encode(), "?")
	}
	if c.QueryParam("before")+c.QueryParam("after")+jump(c) != "" {
		p.Newest = address("", "")
	}
	if at.later != "" {
		later = address("after", at.later)
	}
	if at.earlier != "" {
		p.Earlier = address("before", at.earlier)
		p.Oldest = address("after", library.Cursor{At: time.Unix(0, 0), Filter: f}.Text())
	}
	return p, later
}

// ShortName returns the short name of a day, a week, a month or a year, as in charts.
func ShortName(ctx context.Context, unit string, from time.Time) string {
	l := words.From(ctx)
	switch unit {
	case listening.Month:
		return l.ShortMonth(from) + " " + strconv.Itoa(from.Year())
	case listening.Year:
		return strconv.Itoa(from.Year())
	}
	return l.ShortDay(from)
}
