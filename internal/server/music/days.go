package music

import (
	"context"
	"time"

	"reprise/internal/listening"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// daysOf groups listens, newest first, by day in the zone of now. The outline also covers listens on other pages; it is
// nil if there are none. total is how many listens there are on all pages, which the page says above them.
func daysOf(ctx context.Context, rows []Row, now time.Time, out *listening.Outline, total int) []ui.Day {
	items := Items(ctx, rows)
	var all []ui.Day
	today := "day-" + now.Format(time.DateOnly)
	for i, item := range items {
		id := "day-" + rows[i].PlayedAt.In(now.Location()).Format(time.DateOnly)
		if len(all) == 0 || all[len(all)-1].ID != id {
			all = append(all, ui.Day{ID: id, Title: words.From(ctx).DayOf(rows[i].PlayedAt, now)})
		}
		if id != today {
			item.Kind = ui.Clock
		}
		day := &all[len(all)-1]
		day.Items = append(day.Items, item)
	}
	n := 0
	for i := range all {
		all[i].Note = words.T(ctx, "listens.of_day", "Count", len(all[i].Items))
		if out == nil {
			continue
		}
		listens, took := out.Day(rows[n].PlayedAt)
		switch {
		case listens > 0 && listens == total:
			all[i].Note = Length(ctx, took)
		case listens > 0:
			all[i].Note = words.T(ctx, "listens.of_day", "Count", listens) + ", " + Length(ctx, took)
		}
		for j := range all[i].Items {
			all[i].Items[j].Above = aboveOf(ctx, rows, n, out, listens, took)
			all[i].Items[j].Apart = j > 0 && all[i].Items[j].Above == "" && parted(rows, n, out)
			n++
		}
	}
	return all
}

// parted reports whether a row and the one above it belong to different sessions.
func parted(rows []Row, n int, out *listening.Outline) bool {
	_, this := out.Session(rows[n].PlayedAt)
	_, above := out.Session(rows[n-1].PlayedAt)
	return this != above
}

// aboveOf describes the session that ends with a row; empty if none does, or if the whole day is that session.
func aboveOf(ctx context.Context, rows []Row, n int, out *listening.Outline, listens int, took time.Duration) string {
	session, i := out.Session(rows[n].PlayedAt)
	if i < 0 || session.Listens < 2 || session.To != rows[n].PlayedAt.Unix() ||
		session.Listens == listens && session.Time == took {
		return ""
	}
	if n > 0 && rows[n-1].PlayedAt.Unix() == session.To { // two began in the same second
		return ""
	}
	return words.T(ctx, "listens.session", "Count", session.Listens, "Length", Length(ctx, session.Time))
}

// Length returns a duration as people say it: "1 h 12 min".
func Length(ctx context.Context, took time.Duration) string {
	minutes := max(1, int(took.Round(time.Minute)/time.Minute))
	l := words.From(ctx)
	if minutes < 60 {
		return words.T(ctx, "listens.minutes", "Minutes", l.Number(minutes))
	}
	return words.T(ctx, "listens.hours", "Hours", l.Number(minutes/60), "Minutes", l.Number(minutes%60))
}

// bound returns a bound of a filter of a page: the beginning of a day, which somebody has chosen, or a time. The day
// that is the last one is part of what is asked for.
func bound(name, text string, zone *time.Location) (time.Time, error) {
	day, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err == nil {
		if name == "to" {
			day = day.AddDate(0, 0, 1)
		}
		return day.UTC(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, core.NotATime(name)
	}
	return at.UTC().Truncate(time.Millisecond), nil
}

// dayIn returns the value of a field for a day.
func dayIn(name, text string, zone *time.Location) string {
	at, err := bound(name, text, zone)
	if err != nil {
		return ""
	}
	if name == "to" {
		at = at.Add(-time.Millisecond)
	}
	return at.In(zone).Format(time.DateOnly)
}
