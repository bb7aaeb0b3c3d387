package listening

import (
	"context"
	"slices"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/server/music"
	"reprise/internal/words"
	"reprise/web/ui"
)

// bars are listens over time. One artist at a time is highlighted in them.
type bars struct {
	Label   string
	CSV     string
	Highest string // listens of the highest bar
	Width   int
	All     []bar
	Axis    []string  // names of bars from the first to the last, evenly spaced
	Artists []ui.Chip // whose part can be highlighted, after "everything"
}

// bar is a piece of the span: all of it, and what is of each artist, in units of a height of 100.
type bar struct {
	X, Width int
	Title    string
	URL      string
	Parts    []part
	N        int
}

type part struct {
	Y, Height string
	Class     string
}

// step is the width of a bar with the gap beside it.
const step = 10

// over draws the pieces of the span.
func (a *asked) over(ctx context.Context, found listening.Answer, names map[uint32]library.Entity) bars {
	v := bars{Label: words.T(ctx, "listening.over"), CSV: a.csv("over"), Width: step * len(found.Over)}
	highest := 1
	for _, p := range found.Over {
		highest = max(highest, p.Listens)
	}
	v.Artists = a.highlights(ctx, found, names)
	highlighted := slices.Index(found.Stacked, a.Highlight)
	for i, p := range found.Over {
		b := bar{X: i * step, Width: step - 2, N: p.Listens, URL: a.spanned(listening.Span{Name: found.Unit}, p.From),
			Title: words.T(ctx, "listening.piece", "When", a.piece(ctx, found.Unit, p.From), "Count", p.Listens)}
		put := func(n int, class string) {
			if n <= 0 {
				return
			}
			height := 100 * float64(n) / float64(highest)
			b.Parts = append(b.Parts, part{decimal(100 - height), decimal(height), class})
		}
		if highlighted < 0 {
			put(p.Listens, "whole")
		} else {
			put(p.Listens, "rest")
			put(min(p.By[highlighted], p.Listens), "whole")
		}
		v.All = append(v.All, b)
	}
	v.Highest = words.T(ctx, "listening.highest", "Count", highest)
	for _, i := range ui.Marks(len(found.Over)) {
		v.Axis = append(v.Axis, music.ShortName(ctx, found.Unit, found.Over[i].From))
	}
	return v
}

// highlights returns the choices whose part of the bars is highlighted, none if there is nobody to choose.
func (a *asked) highlights(ctx context.Context, found listening.Answer, names map[uint32]library.Entity) []ui.Chip {
	if len(found.Stacked) == 0 {
		return nil
	}
	chips := []ui.Chip{{Label: words.T(ctx, "listening.highlight_none"), URL: a.query("highlight", "") + "#over",
		Current: a.Highlight == 0}}
	for _, id := range found.Stacked {
		chips = append(chips, ui.Chip{Label: names[id].Artist, Current: id == a.Highlight,
			URL: a.query("highlight", strconv.FormatUint(uint64(id), 10)) + "#over"})
	}
	return chips
}

func decimal(x float64) string { return strconv.FormatFloat(max(x, 0), 'f', 2, 64) }

// piece names a piece of the span.
func (a *asked) piece(ctx context.Context, unit string, from time.Time) string {
	l := words.From(ctx)
	switch unit {
	case listening.Week:
		return words.T(ctx, "listening.week_of", "Day", l.Day(from))
	case listening.Month:
		return l.Month(from)
	case listening.Year:
		return strconv.Itoa(from.Year())
	}
	return l.Day(from)
}

// calendar is a heat map: a column for each week, a row for each day of it.
type calendar struct {
	Label  string
	CSV    string
	Cells  []cell
	Months []month
	Days   []string // short names
	Width  int
}

type cell struct {
	X, Y       int
	Class      string // heat-0 to heat-4
	Title, URL string
	N          int
}

type month struct {
	X    int
	Name string
}

// mostWeeks is how many weeks the heat map has: a little over a year.
const mostWeeks = 54

// calendar draws the days of the span, of a long one the last year.
func (a *asked) calendar(ctx context.Context, found listening.Answer) calendar {
	last := found.Days[len(found.Days)-1].Day
	first := found.Days[0].Day
	if a.Span.Name != listening.All {
		first, last = listening.DayOf(a.Span.From), listening.DayOf(a.Span.To)-1
	}
	last = min(last, listening.DayOf(a.Now))
	first = max(min(first, last), last-7*(mostWeeks-1)+1)
	monday := first - int64((listening.Date(first).Weekday()+6)%7)
	on := map[int64]int{}
	var counts []int
	for _, d := range found.Days {
		if d.Day >= first && d.Day <= last {
			on[d.Day] = d.Listens
			counts = append(counts, d.Listens)
		}
	}
	slices.Sort(counts)
	v := calendar{Label: words.T(ctx, "listening.calendar"), CSV: a.csv("days"), Days: dayNames(ctx),
		Width: step * int((last-monday)/7+1)}
	l := words.From(ctx)
	for day := first; day <= last; day++ {
		date, x := listening.Date(day), step*int((day-monday)/7)
		n := on[day]
		if date.Day() == 1 || day == first && date.Day() < 20 {
			v.Months = append(v.Months, month{x, l.ShortMonth(date)})
		}
		v.Cells = append(v.Cells, cell{X: x, Y: step * int((day-monday)%7), Class: "heat-" + heat(n, counts), N: n,
			URL: a.onDay(day), Title: words.T(ctx, "listening.piece", "When", l.Day(date), "Count", n)})
	}
	return v
}

// heat returns how much a number is among others, which are sorted: 0 for nothing, 1 to 4 by quarters.
func heat(n int, sorted []int) string {
	if n == 0 || len(sorted) == 0 {
		return "0"
	}
	below, _ := slices.BinarySearch(sorted, n)
	return strconv.Itoa(1 + min(3, 4*below/len(sorted)))
}

// week is a heat map of the hours of the week.
type week struct {
	Label string
	CSV   string
	Cells []cell
	Days  []string // short names
}

// dayNames returns the short names of the days from Monday on.
func dayNames(ctx context.Context) (all []string) {
	for d := range 7 {
		all = append(all, words.Each("listening.short.d", strconv.Itoa(d)).T(ctx))
	}
	return all
}

// week draws the hours of the week.
func (a *asked) week(ctx context.Context, found listening.Answer) week {
	v := week{Label: words.T(ctx, "listening.clock"), CSV: a.csv("hours"), Days: dayNames(ctx)}
	var counts []int
	for _, day := range found.Hours {
		for _, n := range day {
			if n > 0 {
				counts = append(counts, n)
			}
		}
	}
	slices.Sort(counts)
	for d, day := range found.Hours {
		name := words.From(ctx).Weekday(time.Weekday((d + 1) % 7))
		for h, n := range day {
			other := *a
			other.hour, other.day = h, d
			v.Cells = append(v.Cells, cell{X: step * h, Y: step * d, Class: "heat-" + heat(n, counts), N: n,
				URL:   other.query("", ""),
				Title: words.T(ctx, "listening.piece", "When", name+" "+hours(h), "Count", n)})
		}
	}
	return v
}
