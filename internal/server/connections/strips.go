package connections

import (
	"fmt"
	"time"

	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/web"
)

// stripView draws the last day of a stream, with one cell for each quarter of an hour.
type stripView struct {
	Stream, Title string
	Width         int
	Cells         []cellView // those in which something ran
}

type cellView struct {
	X              int
	Outcome, Words string // "full", "empty", "retriable" or "fatal"
}

// strips returns the strips of all streams.
func strips(streams []string, quarters []library.RunQuarter, from time.Time) (all []stripView) {
	for _, stream := range streams {
		v := stripView{Stream: stream, Width: cellWidth * dayCells}
		var sum library.RunQuarter
		for _, q := range quarters {
			if q.Stream != stream {
				continue
			}
			sum.Runs, sum.Rows, sum.Retriable, sum.Fatal = sum.Runs+q.Runs, sum.Rows+q.Rows,
				sum.Retriable+q.Retriable, sum.Fatal+q.Fatal
			begin := q.Start.In(from.Location())
			v.Cells = append(v.Cells, cellView{X: int(q.Start.Sub(from)/metrics.QuarterLength) * cellWidth,
				Outcome: outcomeOf(q),
				Words: begin.Format("15:04") + "–" + begin.Add(metrics.QuarterLength).Format("15:04 MST") + ": " +
					runWords(stream, q)})
		}
		v.Title = runWords(stream, sum)
		all = append(all, v)
	}
	return all
}

// dayCells is the number of quarters of an hour in a day.
const dayCells = int(24 * time.Hour / metrics.QuarterLength)

// outcomeOf returns the worst outcome of the runs in a quarter of an hour.
func outcomeOf(q library.RunQuarter) string {
	switch {
	case q.Fatal > 0:
		return "fatal"
	case q.Retriable > 0:
		return "retriable"
	case q.Full > 0:
		return "full"
	}
	return "empty"
}

// runWords describes the outcome of runs.
func runWords(stream string, q library.RunQuarter) string {
	if q.Runs == 0 {
		return "nothing ran"
	}
	text := web.Count(q.Runs, "run", "runs") + ", " + broughtBy(stream, q.Rows)
	if q.Retriable > 0 {
		text += fmt.Sprintf("; %d failed and could be tried again", q.Retriable)
	}
	if q.Fatal > 0 {
		text += fmt.Sprintf("; %d failed and needed a person", q.Fatal)
	}
	return text
}

// broughtBy describes what the runs of a stream read.
func broughtBy(stream string, rows int) string {
	switch {
	case rows == 0:
		return "nothing new"
	case stream == library.Playlists:
		return web.Count(rows, "playlist", "playlists") + " read"
	}
	return web.Count(rows, "new listen", "new listens")
}

// cellWidth is the width of a quarter of an hour, with one unit of space.
const cellWidth = 5
