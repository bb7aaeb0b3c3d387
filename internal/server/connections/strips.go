package connections

import (
	"context"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/words"
	"reprise/web/ui"
)

// dayLength is what strips show.
const dayLength = 24 * time.Hour

// dayStart returns when the strips of the last 24 hours begin, if each bar covers this long.
func dayStart(now time.Time, each time.Duration) time.Time {
	return now.Truncate(each).Add(each - dayLength)
}

// slots returns the bars of runs since from; each covers so much time, a multiple of a quarter of an hour.
func slots(ctx context.Context, quarters []library.RunQuarter, from time.Time, each time.Duration) []ui.Slot {
	in := make([][]library.RunQuarter, dayLength/each)
	for _, q := range quarters {
		if i := int(q.Start.Sub(from) / each); i >= 0 && i < len(in) && !q.Start.Before(from) {
			in[i] = append(in[i], q)
		}
	}
	all := make([]ui.Slot, len(in))
	for i, some := range in {
		if len(some) == 0 {
			continue
		}
		begin := from.Add(time.Duration(i) * each)
		all[i] = ui.Slot{Outcome: outcomeOf(some), From: begin, To: begin.Add(each), Words: runWords(ctx, some)}
	}
	return all
}

// ofStream returns the quarters of one stream.
func ofStream(quarters []library.RunQuarter, stream string) (some []library.RunQuarter) {
	for _, q := range quarters {
		if q.Stream == stream {
			some = append(some, q)
		}
	}
	return some
}

// outcomeOf returns the worst outcome of runs.
func outcomeOf(quarters []library.RunQuarter) string {
	outcome, rank := "empty", 0
	for _, q := range quarters {
		switch {
		case q.Fatal > 0:
			return "fatal"
		case q.Retriable > 0 && rank < 2:
			outcome, rank = "retriable", 2
		case q.Full > 0 && rank < 1:
			outcome, rank = "full", 1
		}
	}
	return outcome
}

// runWords says what runs came to.
func runWords(ctx context.Context, quarters []library.RunQuarter) string {
	var runs, retriable, fatal int
	rows := map[string]int{}
	for _, q := range quarters {
		runs, retriable, fatal = runs+q.Runs, retriable+q.Retriable, fatal+q.Fatal
		rows[q.Stream] += q.Rows
	}
	if runs == 0 {
		return words.T(ctx, "run.none")
	}
	text := words.T(ctx, "run.new", "Runs", words.New("run.runs", "Count", runs),
		"Brought", brought(ctx, rows))
	if retriable > 0 {
		text += ", " + words.T(ctx, "run.retriable", "Count", retriable)
	}
	if fatal > 0 {
		text += ", " + words.T(ctx, "run.fatal", "Count", fatal)
	}
	return text
}

// brought says what runs read, by stream.
func brought(ctx context.Context, rows map[string]int) string {
	var parts []string
	for _, stream := range library.Read {
		if n := rows[stream]; n > 0 {
			parts = append(parts, words.Each("run.", stream, "Count", n).T(ctx))
		}
	}
	if len(parts) == 0 {
		return words.T(ctx, "run.nothing")
	}
	return strings.Join(parts, ", ")
}

// halfHour is what a bar on a card covers, and quarterHour one on the page of a connection.
const (
	halfHour    = 2 * metrics.QuarterLength
	quarterHour = metrics.QuarterLength
)
