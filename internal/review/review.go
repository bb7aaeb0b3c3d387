// Package review counts what a person heard in a week or a year: how much, compared with the week or year before, and
// which artists, albums and tracks. It also has the sentences that weeks and years share.
package review

import (
	"cmp"
	"context"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/words"
)

// Store is the part of the store that this package reads.
type Store interface {
	// Columns returns a person's listens in order of time, and Meanings the music that they refer to.
	Columns(ctx context.Context, user int64) ([]*listening.Columns, error)
	Meanings(context.Context) (*listening.Music, error)
	// Entities returns the names of artists, albums and tracks.
	Entities(ctx context.Context, ids []uint32) (map[uint32]library.Entity, error)
}

// Review is what a person heard in a span, counted.
type Review struct {
	Span  listening.Span
	Now   time.Time // in the zone that the days of the span belong to
	Found listening.Answer
	Names map[uint32]library.Entity // of everything in the lists of Found
	// Earlier reports whether something was heard before the span.
	Earlier bool
}

// Most is the maximum length of a list in a review. Lists are cut from more candidates, so that ties are always decided
// by name.
const (
	Most       = 5
	candidates = 20
)

// Count counts what a person heard in a span. With lead, it also finds the top artist of each piece of the span, and
// which new artists stayed.
func Count(ctx context.Context, s Store, user int64, span listening.Span, now time.Time, lead bool) (Review, error) {
	r := Review{Span: span, Now: now}
	columns, err := s.Columns(ctx, user)
	if err != nil {
		return r, err
	}
	music, err := s.Meanings(ctx)
	if err != nil {
		return r, err
	}
	_, r.Earlier = listening.LastBefore(columns, span.From)
	r.Found = listening.Count(columns, music, listening.Question{Span: span, Now: now, Most: candidates, Lead: lead})
	r.Names, err = s.Entities(ctx, r.ids())
	for _, rows := range r.lists() {
		*rows = r.ranked(*rows)
	}
	return r, err
}

// lists returns the lists of the review.
func (r *Review) lists() []*[]listening.Row {
	f := &r.Found
	return []*[]listening.Row{&f.Artists, &f.Albums, &f.Tracks, &f.New, &f.Stayed, &f.Back}
}

// ranked returns the first rows of a list, with ties in order of name.
func (r *Review) ranked(rows []listening.Row) []listening.Row {
	slices.SortStableFunc(rows, func(x, y listening.Row) int {
		a, b := r.Names[x.ID], r.Names[y.ID]
		return cmp.Or(y.Pieces-x.Pieces, y.Listens-x.Listens, cmp.Compare(a.Title, b.Title),
			cmp.Compare(a.Artist, b.Artist))
	})
	return rows[:min(Most, len(rows))]
}

// ids returns the ids of everything that has a name in the review.
func (r *Review) ids() (ids []uint32) {
	for _, rows := range r.lists() {
		for _, row := range *rows {
			ids = append(ids, row.ID)
		}
	}
	for _, p := range r.Found.Over {
		ids = append(ids, p.Lead.ID)
	}
	slices.Sort(ids)
	return slices.DeleteFunc(slices.Compact(ids), func(id uint32) bool { return id == 0 })
}

// UnderWay reports whether the span has not ended.
func (r *Review) UnderWay() bool { return r.Now.Before(r.Span.To) }

// Amount returns the time listened as a number and its unit: hours if there are at least two, otherwise minutes.
func (r *Review) Amount(ctx context.Context) (n int, unit string) {
	return Amount(ctx, r.Found.Totals.Time)
}

// Amount returns a length of time in whole hours, or in minutes below two hours, and what they are called.
func Amount(ctx context.Context, d time.Duration) (n int, unit string) {
	if d < 2*time.Hour {
		n = int(d.Round(time.Minute) / time.Minute)
		return n, words.T(ctx, "listening.minutes", "Count", n)
	}
	n = int(d.Round(time.Hour) / time.Hour)
	return n, words.T(ctx, "listening.hours", "Count", n)
}

// Heard says how much was heard: listens, time and artists.
func (r *Review) Heard(ctx context.Context) string {
	n, unit := r.Amount(ctx)
	t := r.Found.Totals
	long := words.From(ctx).Number(n) + " " + unit
	if t.Guessed*10 > t.Listens { // a few guesses hardly matter
		long = words.T(ctx, "year.about", "Long", long)
	}
	return words.T(ctx, "year.heard", "Count", t.Listens, "Long", long,
		"Artists", words.T(ctx, "year.artists", "Count", t.Artists))
}

// Comparison compares the number of listens with that of the span before.
type Comparison struct {
	Which   string  // times for at least twice as many, else more, less or same, with _so_far while the span lasts
	Percent int     // how many more or less, in percent
	Times   float64 // how many times as many
}

// Compared compares the listens with those of the span before. ok is false if that had none.
func (r *Review) Compared() (c Comparison, ok bool) {
	now, before := r.Found.Totals.Listens, r.Found.Before.Listens
	if before == 0 {
		return c, false
	}
	percent := (now - before) * 100 / before
	c = Comparison{Which: "same", Percent: max(percent, -percent), Times: float64(now) / float64(before)}
	switch {
	case now >= 2*before:
		c.Which = "times"
		return c, true
	case percent > 0:
		c.Which = "more"
	case percent < 0:
		c.Which = "less"
	}
	if r.UnderWay() {
		c.Which += "_so_far"
	}
	return c, true
}

// Busiest returns the day with the most listens; false if there are no listens.
func (r *Review) Busiest() (listening.DayCount, bool) {
	if len(r.Found.Days) == 0 {
		return listening.DayCount{}, false
	}
	return slices.MaxFunc(r.Found.Days, func(a, b listening.DayCount) int { return a.Listens - b.Listens }), true
}

// fewest is the fewest listens for which the favorite hour is shown.
const fewest = 20

// Hour returns the hour of the day with the most listens; false if there are too few to say.
func (r *Review) Hour() (hour int, ok bool) {
	var by [24]int
	for _, day := range r.Found.Hours {
		for h, n := range day {
			by[h] += n
		}
	}
	for h, n := range by {
		if n > by[hour] {
			hour = h
		}
	}
	return hour, r.Found.Totals.Listens >= fewest
}

// Row is a row of a list, in words.
type Row struct {
	listening.Row
	Entity   library.Entity
	Name, By string // By is the artist; empty for an artist
	N, Said  string // the number of listens, alone and with what it counts
	Part     int    // percent of the highest of the list
	Note     string // empty for none
	Picture  string // the name of the picture's file; empty for none, and until it has been looked up
}

// Rows returns rows of a list with their names.
func (r *Review) Rows(ctx context.Context, rows []listening.Row) []Row {
	highest := 1
	for _, row := range rows {
		highest = max(highest, row.Listens)
	}
	all := make([]Row, len(rows))
	for i, row := range rows {
		e := r.Names[row.ID]
		v := Row{Row: row, Entity: e, Name: e.Title, By: e.Artist, N: words.From(ctx).Number(row.Listens),
			Said: words.T(ctx, "listening.count", "Count", row.Listens), Part: row.Listens * 100 / highest}
		if e.Kind == library.KindArtist {
			v.Name, v.By = e.Artist, ""
		}
		all[i] = v
	}
	return all
}
