package years

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/review"
	"reprise/internal/server/reviews"
	"reprise/internal/words"
)

// yearView describes a year, for its person or for others.
type yearView struct {
	Title  string
	SoFar  string // says that the year has not ended; empty if it has
	Empty  string // says that nothing was heard; empty if something was
	Lead   []string
	Prizes []prize
	Lists  []reviews.List
	Months []monthView
	Facts  []string // streak, day and hour
	From   []sourceView
	Card   cardView
}

// prize is the artist, the album or the track of the year.
type prize struct {
	reviews.Row
	Kind, Label string
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
	if s.Found.Totals.Listens == 0 {
		v.Empty = words.T(ctx, "year.none_then", "Year", year)
		return v
	}
	if s.UnderWay() {
		v.SoFar = words.T(ctx, "year.so_far", "Year", year, "Day", words.From(ctx).Day(s.Now))
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
		{artists, library.KindArtist, words.New("year.artist"), words.New("listening.top_artists"), s.Found.Artists},
		{albums, library.KindAlbum, words.New("year.album"), words.New("listening.top_albums"), s.Found.Albums},
		{tracks, library.KindTrack, words.New("year.track"), words.New("listening.top_tracks"), s.Found.Tracks},
	} {
		if !parts[one.part] || len(one.rows) == 0 {
			continue
		}
		rows := s.rows(ctx, one.rows, own)
		if first := rows[0]; len(rows) == 1 || first.Listens > 1 { // if all have one listen, none is on top
			first.Note = first.Said
			v.Prizes = append(v.Prizes, prize{Row: first, Kind: one.kind, Label: one.label.T(ctx)})
		}
		if len(rows) > 1 {
			v.Lists = append(v.Lists, reviews.List{ID: one.part, Title: one.title.T(ctx), Rows: rows})
		}
	}
	if parts[artists] {
		v.Lists = append(v.Lists, s.discoveries(ctx, own)...)
	}
	if parts[months] && len(s.Found.Days) > 0 {
		v.Months = s.months(ctx, own)
	}
	return v
}

// unlisted returns the prizes of kinds that have only one row, and therefore no list.
func (v *yearView) unlisted() (all []prize) {
	for _, p := range v.Prizes {
		if !slices.ContainsFunc(v.Lists, func(l reviews.List) bool { return l.ID == p.Kind+"s" }) {
			all = append(all, p)
		}
	}
	return all
}

// lead describes how much was heard, compared with the year before.
func (s *story) lead(ctx context.Context) []string {
	all := []string{s.Heard(ctx)}
	how, ok := s.Compared()
	if !ok {
		if s.Found.First.Before(s.Span.From) {
			return all
		}
		first := s.Found.First.In(s.Now.Location())
		return append(all, words.T(ctx, "year.first", "Day", words.From(ctx).Day(first)))
	}
	earlier := strconv.Itoa(s.year - 1)
	if how.Which == "times" {
		times := words.From(ctx).Decimal(how.Times, 1)
		return append(all, words.T(ctx, "year.times", "Times", times, "Year", earlier))
	}
	return append(all, words.Each("year.compare.", how.Which, "Percent", how.Percent, "Year", earlier).T(ctx))
}

// facts describes streaks, the busiest day and hour, and new artists.
func (s *story) facts(ctx context.Context) (all []string) {
	l := words.From(ctx)
	if run := s.Found.Longest; run.Days > 1 {
		all = append(all, words.T(ctx, "year.streak", "Count", int(run.Days), "From", l.Day(listening.Date(run.First)),
			"To", l.Day(listening.Date(run.First+run.Days-1))))
	}
	if day, ok := s.Busiest(); ok && day.Listens > 1 && len(s.Found.Days) > 1 {
		all = append(all, words.T(ctx, "year.busiest", "Count", day.Listens, "Day", l.Day(listening.Date(day.Day))))
	}
	if hour, ok := s.Hour(); ok {
		all = append(all, words.T(ctx, "year.hour", "From", clock(hour), "To", clock(hour+1)))
	}
	if n := s.Found.Totals; n.NewArtists > 0 && s.Found.First.Before(s.Span.From) {
		all = append(all, words.T(ctx, "year.new", "Count", n.NewArtists))
	}
	return all
}

func clock(hour int) string { return fmt.Sprintf("%02d:00", hour%24) }

// rows returns the rows of a list.
func (s *story) rows(ctx context.Context, rows []listening.Row, own bool) []reviews.Row {
	urlOf := s.filtered
	if !own {
		urlOf = nil
	}
	return reviews.Rows(s.Rows(ctx, rows), urlOf)
}

// filtered returns the address of Listening for the year, filtered by an artist, an album or a track.
func (s *story) filtered(r review.Row) string {
	return fmt.Sprintf("/listening?%s=%d&at=%d-01-01&span=year", r.Entity.Kind, r.ID, s.year)
}

// discoveries returns the lists of new artists who stayed, and of those who came back.
func (s *story) discoveries(ctx context.Context, own bool) (all []reviews.List) {
	stay := slices.Clone(s.Found.Stayed)
	if !s.Found.First.Before(s.Span.From) { // in the first year, every artist is new
		stay = nil
	}
	stay = slices.DeleteFunc(stay, func(r listening.Row) bool { return r.Pieces < 2 })
	stayed := reviews.List{ID: "stayed", Title: words.T(ctx, "year.stayed"), Lead: words.T(ctx, "year.stayed_lead"),
		Rows: s.rows(ctx, stay, own)}
	for i, r := range stayed.Rows {
		stayed.Rows[i].Note = words.T(ctx, "year.in_months", "Count", r.Pieces)
	}
	back := reviews.List{ID: "back", Title: words.T(ctx, "listening.back"), Rows: s.rows(ctx, s.Found.Back, own)}
	for i, r := range back.Rows {
		back.Rows[i].Note = words.T(ctx, "listening.away", "Count", int(r.Away.Hours()/24/365))
	}
	for _, list := range []reviews.List{stayed, back} {
		if len(list.Rows) > 0 {
			all = append(all, list)
		}
	}
	return all
}

// months returns the months with the top artist of each.
func (s *story) months(ctx context.Context, own bool) (all []monthView) {
	l := words.From(ctx)
	highest := 1
	for _, p := range s.Found.Over {
		highest = max(highest, p.Listens)
	}
	for _, p := range s.Found.Over {
		v := monthView{Month: l.Month(p.From), Short: l.ShortMonth(p.From),
			Listens: p.Listens, Part: p.Listens * 100 / highest,
			Said: words.T(ctx, "listening.count", "Count", p.Listens)}
		if p.Lead.ID != 0 {
			v.Leader = s.Names[p.Lead.ID].Artist
			v.Note = words.T(ctx, "listening.count", "Count", p.Lead.Listens)
		}
		if own {
			v.URL = "/listening?at=" + p.From.Format(time.DateOnly) + "&span=month"
		}
		all = append(all, v)
	}
	return all
}
