package music

import (
	"context"
	"time"

	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// daysOf returns listens, the newest first, in their days in the zone of now.
func daysOf(ctx context.Context, rows []Row, now time.Time) []ui.Day {
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
	for i := range all {
		all[i].Note = words.T(ctx, "listens.of_day", "Count", len(all[i].Items))
	}
	return all
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
