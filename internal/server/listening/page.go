package listening

import (
	"cmp"
	"context"
	"fmt"
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

// pageView is the page.
type pageView struct {
	Title         string
	Sharing       sharing
	Spans         []ui.Chip
	When          string
	Reviews       []ui.Named // pages for looking back; none on the page of somebody else
	Before, After string     // addresses
	From, To      string     // dates, of the form for any span
	Hidden        []ui.Hidden
	Filters       []filter
	Figures       []figure
	Lead          string // what is remarkable
	Empty         string // why there is nothing; empty if there is something
	Next          []ui.Action
	Digest        *digestView // nil for none
	Over          bars
	Days          calendar
	Hours         week
	Tops          []top
	More          []top
	Tags          []ui.Chip
	Sources       ui.Grid
	SourcesCSV    string
	Players       ui.Grid
	PlayersCSV    string
	Earlier       []earlier
}

// filter is a filter that is set, with the address of the page without it.
type filter struct {
	Label   ui.Sentence
	Without string
}

// figure is a number with what it counts, and how it compares.
type figure struct {
	N, Label, Note string
	URL            string
}

// top is a list of what was heard most.
type top struct {
	ID, Title string
	Rows      []ui.Item
	CSV       string // the address of the whole list as a table
}

// earlier is this day in an earlier year.
type earlier struct {
	Text ui.Sentence
	URL  string
}

// heard returns a 404 if the address names an artist, an album or a track that the owner has never heard, since only
// others in the household may have.
func (h *Handler) heard(ctx context.Context, a *asked, found listening.Answer) error {
	named := []listening.Filter{{Artist: a.Highlight}}
	if found.First.IsZero() {
		named = append(named, listening.Filter{Artist: a.Filter.Artist}, listening.Filter{Album: a.Filter.Album},
			listening.Filter{Track: a.Filter.Track})
	}
	for _, one := range named {
		id := max(one.Artist, one.Album, one.Track)
		if id == 0 {
			continue
		}
		heard, err := h.store.HasHeard(ctx, a.owner.ID, id)
		if heard && a.other { // not only what rules keep from being sent anywhere
			var sent listening.Answer
			sent, err = h.count(ctx, a.owner.ID, true, listening.Question{Now: a.Now, Filter: one, Bare: true,
				Span: listening.Span{Name: listening.All}})
			heard = !sent.First.IsZero()
		}
		if err != nil {
			return err
		}
		if !heard {
			return core.HTTPProblem(http.StatusNotFound)
		}
	}
	return nil
}

func (h *Handler) page(c echo.Context) error {
	ctx := c.Request().Context()
	a, err := h.ask(c)
	if err != nil {
		return err
	}
	found, err := h.found(ctx, &a)
	if err != nil {
		return err
	}
	if err := h.heard(ctx, &a, found); err != nil {
		return err
	}
	tracks := []uint32{a.Filter.Artist, a.Filter.Album, a.Filter.Track}
	for _, e := range found.Earlier {
		tracks = append(tracks, e.Track)
	}
	tracks = append(tracks, a.Highlight)
	names, err := h.namesOf(ctx, tracks, found.Artists, found.Albums, found.Tracks, found.New, found.Back)
	if err != nil {
		return err
	}
	for _, id := range tracks[:3] {
		if _, ok := names[id]; id != 0 && !ok {
			return core.HTTPProblem(http.StatusNotFound)
		}
	}
	v := a.view(ctx, found, names)
	if v.Sharing, err = h.sharing(c, &a); err != nil {
		return err
	}
	if v.Empty == "" {
		if err := h.tops(c, &v, &a, found, names); err != nil {
			return err
		}
		if v.Sources, err = h.sources(c, &a, found); err != nil {
			return err
		}
		v.SourcesCSV = a.csv("sources")
		v.Players, v.PlayersCSV = a.players(ctx, found), a.csv("players")
		if len(v.Filters) == 0 && !a.other { // a digest is about everything, and for its reader
			if v.Digest, err = h.digest(ctx, a.owner.ID, &a); err != nil {
				return err
			}
		}
	}
	return h.core.Show(c, http.StatusOK, v.Title, overview(v))
}

// view puts an answer into words and numbers, its lists apart.
func (a *asked) view(ctx context.Context, found listening.Answer, names map[uint32]library.Entity) pageView {
	v := pageView{Title: a.title(ctx), When: a.when(ctx), Filters: a.filters(ctx, names), Reviews: a.reviews(ctx)}
	for _, s := range []string{listening.Day, listening.Week, listening.Month, listening.Year, listening.All} {
		at := a.at
		if a.Span.Name == listening.Any {
			at = a.Span.To.AddDate(0, 0, -1)
		}
		v.Spans = append(v.Spans, ui.Chip{Label: words.Each("listening.span.", s).T(ctx),
			URL: a.spanned(listening.Span{Name: s}, at), Current: s == a.Span.Name})
	}
	if before, ok := a.Span.Before(); ok && found.First.Before(a.Span.From) && !found.First.IsZero() {
		v.Before = a.spanned(before, before.From)
	}
	if after, ok := a.Span.After(); ok && after.From.Before(a.Now) {
		v.After = a.spanned(after, after.From)
	}
	if a.Span.Name != listening.All {
		v.From, v.To = a.Span.From.Format(time.DateOnly), a.Span.To.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	v.Hidden = a.hidden()
	switch {
	case found.First.IsZero() && len(v.Filters) == 0 && a.other:
		v.Empty = words.T(ctx, "listening.nothing_of", "Person", a.owner.Name)
		return v
	case found.First.IsZero() && len(v.Filters) == 0:
		v.Empty = words.T(ctx, "listening.nothing")
		v.Next = []ui.Action{{Label: words.T(ctx, "listens.connect"), URL: "/", Main: true},
			{Label: words.T(ctx, "listens.import"), URL: "/imports"}}
		return v
	case found.Totals.Listens == 0:
		v.Empty = words.T(ctx, "listening.nothing_then")
		if !found.Last.IsZero() {
			last := found.Last.In(a.Now.Location())
			v.Next = append(v.Next, ui.Action{Label: words.T(ctx, "listening.latest"), Main: true,
				URL: a.spanned(listening.Span{Name: cmp.Or(a.Span.Name, listening.Month)}, last)})
		}
		if len(v.Filters) > 0 {
			v.Next = append(v.Next, ui.Action{Label: words.T(ctx, "listening.no_filter"), URL: a.unfiltered()})
		}
		return v
	}
	v.Figures = a.figures(ctx, found)
	v.Lead = a.lead(ctx, found)
	v.Over = a.over(ctx, found, names)
	if days := a.Span.To.Sub(a.Span.From); a.Span.Name == listening.All || days > 8*24*time.Hour {
		v.Days = a.calendar(ctx, found)
	}
	v.Hours = a.week(ctx, found)
	for _, e := range found.Earlier {
		if len(v.Earlier) == 5 {
			break
		}
		track := names[e.Track]
		v.Earlier = append(v.Earlier, earlier{URL: a.onDay(e.Day), Text: ui.Sentence{
			Text: words.T(ctx, "listening.on_this_day", "Count", e.Listens,
				"Year", strconv.Itoa(listening.Date(e.Day).Year()), "Track", "{track}", "Artist", "{artist}"),
			Slots: map[string]ui.Named{"{track}": {Text: track.Title, URL: a.page(library.KindTrack, e.Track)},
				"{artist}": {Text: track.Artist}}}})
	}
	return v
}

// when names the span.
func (a *asked) when(ctx context.Context) string {
	l, from, last := words.From(ctx), a.Span.From, a.Span.To.AddDate(0, 0, -1)
	switch a.Span.Name {
	case listening.Day:
		return l.DayOf(from, a.Now)
	case listening.Week:
		return words.T(ctx, "listening.week_of", "Day", l.Day(from))
	case listening.Month:
		return l.Month(from)
	case listening.Year:
		return strconv.Itoa(from.Year())
	case listening.All:
		return words.T(ctx, "listening.span.all")
	}
	if from.Equal(last) {
		return l.Day(from)
	}
	return words.T(ctx, "listening.from_to", "From", l.Day(from), "To", l.Day(last))
}

// hidden returns the filters as fields of the form for any span.
func (a *asked) hidden() (all []ui.Hidden) {
	address, err := url.Parse(a.query("", ""))
	if err != nil {
		return nil
	}
	for name, values := range address.Query() {
		if name != "span" && name != "at" && name != "from" && name != "to" {
			all = append(all, ui.Hidden{Name: name, Value: values[0]})
		}
	}
	slices.SortStableFunc(all, func(x, y ui.Hidden) int { return cmp.Compare(x.Name, y.Name) })
	return all
}

// unfiltered returns the address of the page without any filter but the span.
func (a *asked) unfiltered() string {
	if a.other {
		return a.bare(a.owner.Name)
	}
	return a.bare("")
}

// reviews returns links to the reviews of weeks and years; of the span itself, if that is a week or a year. There are
// none on the page of somebody else.
func (a *asked) reviews(ctx context.Context) []ui.Named {
	if a.other {
		return nil
	}
	own := ui.Named{Text: words.T(ctx, "ownlibrary.link"), URL: "/listening/library"}
	week := ui.Named{Text: words.T(ctx, "week.review"), URL: "/listening/weeks"}
	year := ui.Named{Text: words.T(ctx, "year.review"), URL: "/listening/years"}
	switch a.Span.Name {
	case listening.Week:
		week.URL += "/" + a.Span.From.Format(time.DateOnly)
	case listening.Year:
		year.URL += "/" + strconv.Itoa(a.Span.From.Year())
	}
	return []ui.Named{week, year, own}
}

// filters returns the filters that are set.
func (a *asked) filters(ctx context.Context, names map[uint32]library.Entity) (all []filter) {
	for _, one := range []struct {
		kind string
		id   uint32
	}{{library.KindArtist, a.Filter.Artist}, {library.KindAlbum, a.Filter.Album}, {library.KindTrack, a.Filter.Track}} {
		if one.id == 0 {
			continue
		}
		all = append(all, filter{Without: a.query(one.kind, ""), Label: ui.Sentence{Text: "{name}",
			Slots: map[string]ui.Named{"{name}": {Text: title(names[one.id]), URL: a.page(one.kind, one.id)}}}})
	}
	add := func(name, text string) {
		all = append(all, filter{Without: a.query(name, ""), Label: ui.Sentence{Text: text}})
	}
	if a.tag != "" {
		all = append(all, filter{Without: a.query("tag", ""), Label: ui.Sentence{Text: "{name}",
			Slots: map[string]ui.Named{"{name}": {Text: a.tag}}}})
	}
	if a.Filter.Source != "" {
		add("source", words.T(ctx, "listening.from_source", "Source", string(a.Filter.Source)))
	}
	if a.Filter.Player != "" {
		add("player", words.T(ctx, "listening.with_player", "Player", a.Filter.Player))
	}
	if a.day >= 0 {
		add("weekday", words.From(ctx).Weekday(time.Weekday((a.day+1)%7)))
	}
	if a.hour >= 0 {
		add("hour", hours(a.hour))
	}
	return all
}

// hours returns an hour of the day: "14:00–15:00".
func hours(n int) string { return fmt.Sprintf("%02d:00–%02d:00", n, (n+1)%24) }

// listens returns the address of the listens that the page counts; empty for somebody else's statistics.
func (a *asked) listens() string {
	if a.other {
		return ""
	}
	_, text, _ := strings.Cut(a.query("highlight", ""), "?")
	q, err := url.ParseQuery(text)
	if err == nil && a.Span.Name == listening.All {
		q.Del("span")
		q.Del("at")
	}
	return strings.TrimSuffix("/listens?"+q.Encode(), "?")
}

// lead says what is remarkable about the days.
func (a *asked) lead(ctx context.Context, found listening.Answer) string {
	switch {
	case found.Streak.Days > 2 && a.Now.Before(a.Span.To) || found.Streak.Days > 2 && a.Span.Name == listening.All:
		days, longest := int(found.Streak.Days), int(max(found.Longest.Days, found.Streak.Days))
		if a.other {
			return words.T(ctx, "listening.streak_of", "Count", days, "Longest", longest, "Person", a.owner.Name)
		}
		return words.T(ctx, "listening.streak", "Count", days, "Longest", longest)
	case found.Longest.Days > 2:
		return words.T(ctx, "listening.longest", "Count", int(found.Longest.Days),
			"Day", words.From(ctx).Day(listening.Date(found.Longest.First)))
	}
	return ""
}
