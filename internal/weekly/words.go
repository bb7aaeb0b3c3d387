package weekly

import (
	"cmp"
	"context"
	"time"

	"reprise/internal/listening"
	"reprise/internal/review"
	"reprise/internal/words"
)

// Said is a week in words.
type Said struct {
	Week   string // its days, such as "16–22 November 2026"
	Monday string // the date of its Monday
	SoFar  string // says that the week has not ended; empty if it has
	Empty  string // says that nothing was heard; empty if something was
	Lead   []string
	Days   []Day
	Lists  []List
	Loved  []string // sentences for what they began to love
	More   string   // says how many more there are; empty for none
}

// Day is a day of the week.
type Day struct {
	Date        string
	Name, Short string // of the weekday
	Listens     int
	Part        int // percent of the day with the most listens
	Said        string
}

// List is a list of artists, albums or tracks.
type List struct {
	ID, Title, Lead string
	Rows            []review.Row
}

// Say puts the week into the words of the reader of ctx.
func (w *Week) Say(ctx context.Context) Said {
	l := words.From(ctx)
	v := Said{Week: l.Week(w.Span.From), Monday: w.Span.From.Format(time.DateOnly)}
	if w.UnderWay() {
		v.SoFar = words.T(ctx, "week.so_far")
	}
	if w.Found.Totals.Listens == 0 {
		v.Empty = words.T(ctx, "week.none_then")
		return v
	}
	v.Lead, v.Days, v.Lists = w.lead(ctx), w.Days(ctx), w.lists(ctx)
	for _, t := range w.Loved {
		v.Loved = append(v.Loved, words.T(ctx, "year.card.by", "Name", t.Title, "Artist", t.Artist))
	}
	if more := w.Loves - len(w.Loved); more > 0 {
		v.More = words.T(ctx, "week.more_loved", "Count", more)
	}
	return v
}

// first reports whether the person's first listen is in the week.
func (w *Week) first() bool { return !w.Found.First.Before(w.Span.From) }

// lead says how much was heard, compared with the week before, and what was new.
func (w *Week) lead(ctx context.Context) []string {
	all := []string{w.Heard(ctx)}
	how, ok := w.Compared()
	switch {
	case ok && how.Which == "times":
		all = append(all, words.T(ctx, "week.times", "Times", words.From(ctx).Decimal(how.Times, 1)))
	case ok:
		all = append(all, words.Each("week.compare.", how.Which, "Percent", how.Percent).T(ctx))
	case w.first():
		first := w.Found.First.In(w.Now.Location())
		return append(all, words.T(ctx, "year.first", "Day", words.From(ctx).Day(first)))
	case !w.UnderWay(): // before that, only a part of the week before has been counted
		all = append(all, words.T(ctx, "week.quiet_before"))
	}
	if day, ok := w.Busiest(); ok && len(w.Found.Days) > 1 {
		all = append(all, words.T(ctx, "week.busiest", "Count", day.Listens,
			"Day", words.From(ctx).Weekday(listening.Date(day.Day).Weekday())))
	}
	return all
}

// Days returns the seven days, including those still to come.
func (w *Week) Days(ctx context.Context) []Day {
	l := words.From(ctx)
	by, highest := map[int64]int{}, 1
	for _, d := range w.Found.Days {
		by[d.Day] = d.Listens
		highest = max(highest, d.Listens)
	}
	first := listening.DayOf(w.Span.From)
	all := make([]Day, 7)
	for i := range all {
		date, n := listening.Date(first+int64(i)), by[first+int64(i)]
		all[i] = Day{Date: date.Format(time.DateOnly), Name: l.Weekday(date.Weekday()),
			Short: l.ShortWeekday(date.Weekday()), Listens: n, Part: n * 100 / highest,
			Said: words.T(ctx, "listening.count", "Count", n)}
	}
	return all
}

// lists returns the lists that have rows.
func (w *Week) lists(ctx context.Context) (all []List) {
	fresh := w.Found.New
	if w.first() { // everything is new
		fresh = nil
	}
	for _, list := range []struct {
		id    string
		title words.Text
		rows  []listening.Row
	}{
		{"artists", words.New("listening.top_artists"), w.Found.Artists},
		{"albums", words.New("listening.top_albums"), w.Found.Albums},
		{"tracks", words.New("listening.top_tracks"), w.Found.Tracks},
		{"new", words.New("week.new"), fresh},
		{"back", words.New("listening.back"), w.Found.Back},
	} {
		if len(list.rows) == 0 {
			continue
		}
		rows := w.Rows(ctx, list.rows)
		for i, r := range rows {
			if r.Away > 0 {
				rows[i].Note = words.T(ctx, "listening.away", "Count", int(r.Away.Hours()/24/365))
			}
		}
		v := List{ID: list.id, Title: list.title.T(ctx), Rows: rows}
		if more := w.Found.Totals.NewArtists - len(rows); list.id == "new" && more > 0 {
			v.Lead = words.T(ctx, "year.new", "Count", w.Found.Totals.NewArtists)
		}
		all = append(all, v)
	}
	return all
}

// Top returns the most heard artist, album and track. It leaves out a kind of which several were heard, but each just
// once.
func (v Said) Top() (all []review.Row) {
	for _, list := range v.Lists {
		first := list.Rows[0]
		ranked := list.ID == "artists" || list.ID == "albums" || list.ID == "tracks"
		if ranked && (first.Listens > 1 || len(list.Rows) == 1) {
			all = append(all, first)
		}
	}
	return all
}

// by returns a row's name with its artist.
func by(ctx context.Context, r review.Row) string {
	if r.By == "" {
		return r.Name
	}
	return words.T(ctx, "year.card.by", "Name", cmp.Or(r.Name, "–"), "Artist", r.By)
}
