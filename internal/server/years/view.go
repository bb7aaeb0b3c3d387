package years

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/words"
)

// yearView describes a year, for its person or for others.
type yearView struct {
	Title  string
	SoFar  string // says that the year has not ended; empty if it has
	Empty  string // says that nothing was heard; empty if something was
	Lead   []string
	Prizes []prize
	Lists  []listView
	Months []monthView
	Facts  []string // streak, day and hour
	From   []sourceView
	Card   cardView
}

// prize is the artist, the album or the track of the year.
type prize struct {
	Kind, Label string
	Name, By    string
	Note        string // how much
	Row         listening.Row
	Entity      library.Entity
	URL         string // empty for others
	Picture     string // file name; empty for none
}

// listView is a list of artists, albums or tracks.
type listView struct {
	ID, Title, Lead string
	Rows            []rowView
}

// rowView is a row of a list.
type rowView struct {
	Name, By, Note string
	URL            string // empty for others
	N              string
	Part           int    // percent of the first
	Said           string // N and what it counts
	Row            listening.Row
	Entity         library.Entity
	Picture        string
}

// monthView is a month with its top artist.
type monthView struct {
	Month, Short, URL string
	Leader            string
	Note              string
	Part              int
	Listens           int
	Said              string
}

// sourceView is a source and how much it reported.
type sourceView struct {
	Name, Note string
}

// cardView is the card on a page.
type cardView struct{ Light, Dark, Alt, Theme string }

// view describes parts of a year. own means for its person, not for others.
func (s *story) view(ctx context.Context, parts shown, own bool) yearView {
	year := strconv.Itoa(s.year)
	v := yearView{Title: words.T(ctx, "year.public", "Year", year)}
	if own {
		v.Title = words.T(ctx, "year.your", "Year", year)
	}
	if s.found.Totals.Listens == 0 {
		v.Empty = words.T(ctx, "year.none_then", "Year", year)
		return v
	}
	if s.underWay() {
		v.SoFar = words.T(ctx, "year.so_far", "Year", year, "Day", words.From(ctx).Day(s.now))
	}
	if parts[numbers] {
		v.Lead = s.lead(ctx)
		v.Facts = s.facts(ctx)
	}
	for _, one := range []struct {
		part, kind string
		label      words.Text
		title      words.Text
		rows       []listening.Row
	}{
		{artists, library.KindArtist, words.New("year.artist"), words.New("listening.top_artists"), s.found.Artists},
		{albums, library.KindAlbum, words.New("year.album"), words.New("listening.top_albums"), s.found.Albums},
		{tracks, library.KindTrack, words.New("year.track"), words.New("listening.top_tracks"), s.found.Tracks},
	} {
		if !parts[one.part] || len(one.rows) == 0 {
			continue
		}
		first := s.row(ctx, one.rows, 0, own)
		if len(one.rows) == 1 || first.Row.Listens > 1 { // if each was heard once, none came first
			v.Prizes = append(v.Prizes, prize{Kind: one.kind, Label: one.label.T(ctx), Name: first.Name, By: first.By,
				Note: first.Said, Row: first.Row, Entity: first.Entity, URL: first.URL})
		}
		if len(one.rows) > 1 {
			list := listView{ID: one.part, Title: one.title.T(ctx)}
			for i := range one.rows {
				list.Rows = append(list.Rows, s.row(ctx, one.rows, i, own))
			}
			v.Lists = append(v.Lists, list)
		}
	}
	if parts[artists] {
		v.Lists = append(v.Lists, s.discoveries(ctx, own)...)
	}
	if parts[months] && len(s.found.Days) > 0 {
		v.Months = s.months(ctx, own)
	}
	return v
}

// unlisted returns the prizes of kinds that have only one row, and therefore no list.
func (v *yearView) unlisted() (all []prize) {
	for _, p := range v.Prizes {
		if !slices.ContainsFunc(v.Lists, func(l listView) bool { return l.ID == p.Kind+"s" }) {
			all = append(all, p)
		}
	}
	return all
}

// hours returns the time listened, as a number and its unit.
func (s *story) hours(ctx context.Context) (n int, label string) {
	d := s.found.Totals.Time
	if d < 2*time.Hour {
		n = int(d.Round(time.Minute) / time.Minute)
		return n, words.T(ctx, "listening.minutes", "Count", n)
	}
	n = int(d.Round(time.Hour) / time.Hour)
	return n, words.T(ctx, "listening.hours", "Count", n)
}

// lead describes how much was heard, compared with the year before.
func (s *story) lead(ctx context.Context) []string {
	now, before := s.found.Totals, s.found.Before
	n, unit := s.hours(ctx)
	l := words.From(ctx)
	long := l.Number(n) + " " + unit
	if now.Guessed*10 > now.Listens { // a few guesses hardly matter
		long = words.T(ctx, "year.about", "Long", long)
	}
	all := []string{words.T(ctx, "year.heard", "Count", now.Listens, "Long", long,
		"Artists", words.T(ctx, "year.artists", "Count", now.Artists))}
	if before.Listens == 0 {
		if s.found.First.Before(s.span.From) {
			return all
		}
		return append(all, words.T(ctx, "year.first", "Day", l.Day(s.found.First.In(s.now.Location()))))
	}
	earlier, percent := strconv.Itoa(s.year-1), (now.Listens-before.Listens)*100/before.Listens
	compared := func(id string) string {
		return words.Each("year.compare.", id, "Percent", max(percent, -percent), "Year", earlier).T(ctx)
	}
	which := "same"
	switch {
	case now.Listens >= 2*before.Listens:
		times := l.Decimal(float64(now.Listens)/float64(before.Listens), 1)
		return append(all, words.T(ctx, "year.times", "Times", times, "Year", earlier))
	case percent > 0:
		which = "more"
	case percent < 0:
		which = "less"
	}
	if s.underWay() {
		which += "_so_far"
	}
	return append(all, compared(which))
}

// facts describes streaks, the busiest day and hour, and new artists.
func (s *story) facts(ctx context.Context) (all []string) {
	l := words.From(ctx)
	if run := s.found.Longest; run.Days > 1 {
		all = append(all, words.T(ctx, "year.streak", "Count", int(run.Days), "From", l.Day(listening.Date(run.First)),
			"To", l.Day(listening.Date(run.First+run.Days-1))))
	}
	if day, ok := s.busiest(); ok && day.Listens > 1 && len(s.found.Days) > 1 {
		all = append(all, words.T(ctx, "year.busiest", "Count", day.Listens, "Day", l.Day(listening.Date(day.Day))))
	}
	if hour, ok := s.hour(); ok {
		all = append(all, words.T(ctx, "year.hour", "From", clock(hour), "To", clock(hour+1)))
	}
	if n := s.found.Totals; n.NewArtists > 0 && s.found.First.Before(s.span.From) {
		all = append(all, words.T(ctx, "year.new", "Count", n.NewArtists))
	}
	return all
}

func clock(hour int) string { return fmt.Sprintf("%02d:00", hour%24) }

// busiest returns the day with the most listens.
func (s *story) busiest() (listening.DayCount, bool) {
	if len(s.found.Days) == 0 {
		return listening.DayCount{}, false
	}
	return slices.MaxFunc(s.found.Days, func(a, b listening.DayCount) int { return a.Listens - b.Listens }), true
}

// fewest is the number of listens from which the favorite hour is shown.
const fewest = 20

// hour returns the hour of the day with the most listens.
func (s *story) hour() (hour int, ok bool) {
	var by [24]int
	for _, day := range s.found.Hours {
		for h, n := range day {
			by[h] += n
		}
	}
	for h, n := range by {
		if n > by[hour] {
			hour = h
		}
	}
	return hour, s.found.Totals.Listens >= fewest
}

// row returns a row of a list.
func (s *story) row(ctx context.Context, rows []listening.Row, i int, own bool) rowView {
	r := rows[i]
	e := s.names[r.ID]
	v := rowView{Name: e.Title, By: e.Artist, N: words.From(ctx).Number(r.Listens), Row: r, Entity: e,
		Said: words.T(ctx, "listening.count", "Count", r.Listens)}
	if e.Kind == library.KindArtist {
		v.Name, v.By = e.Artist, ""
	}
	if first := rows[0].Listens; first > 0 {
		v.Part = min(100, r.Listens*100/first)
	}
	if own {
		v.URL = s.filtered(e.Kind, r.ID)
	}
	return v
}

// filtered returns the address of Listening for the year, filtered by an artist, an album or a track.
func (s *story) filtered(kind string, id uint32) string {
	return fmt.Sprintf("/listening?%s=%d&at=%d-01-01&span=year", kind, id, s.year)
}

// discoveries returns the lists of new artists who stayed, and of those who came back.
func (s *story) discoveries(ctx context.Context, own bool) (all []listView) {
	stayed := listView{ID: "stayed", Title: words.T(ctx, "year.stayed"), Lead: words.T(ctx, "year.stayed_lead")}
	for i, r := range s.found.Stayed {
		if r.Pieces < 2 || !s.found.First.Before(s.span.From) { // in the first year, every artist is new
			continue
		}
		row := s.row(ctx, s.found.Stayed, i, own)
		row.Note = words.T(ctx, "year.in_months", "Count", r.Pieces)
		stayed.Rows = append(stayed.Rows, row)
	}
	back := listView{ID: "back", Title: words.T(ctx, "listening.back")}
	for i, r := range s.found.Back {
		row := s.row(ctx, s.found.Back, i, own)
		row.Note = words.T(ctx, "listening.away", "Count", int(r.Away.Hours()/24/365))
		back.Rows = append(back.Rows, row)
	}
	for _, list := range []listView{stayed, back} {
		if len(list.Rows) == 0 {
			continue
		}
		highest := 0
		for _, r := range list.Rows {
			highest = max(highest, r.Row.Listens)
		}
		for i := range list.Rows {
			list.Rows[i].Part = list.Rows[i].Row.Listens * 100 / highest
		}
		all = append(all, list)
	}
	return all
}

// months returns the months with the top artist of each.
func (s *story) months(ctx context.Context, own bool) (all []monthView) {
	l := words.From(ctx)
	highest := 1
	for _, p := range s.found.Over {
		highest = max(highest, p.Listens)
	}
	for _, p := range s.found.Over {
		v := monthView{Month: l.Month(p.From), Short: l.ShortMonth(p.From),
			Listens: p.Listens, Part: p.Listens * 100 / highest,
			Said: words.T(ctx, "listening.count", "Count", p.Listens)}
		if p.Lead.ID != 0 {
			v.Leader = s.names[p.Lead.ID].Artist
			v.Note = words.T(ctx, "listening.count", "Count", p.Lead.Listens)
		}
		if own {
			v.URL = "/listening?at=" + p.From.Format(time.DateOnly) + "&span=month"
		}
		all = append(all, v)
	}
	return all
}
