package health

import (
	"fmt"
	"strings"
	"time"

	"reprise/internal/metrics"
	"reprise/web"
)

// Sizes of charts. A cell is a quarter of an hour, with one unit of space.
const (
	cellWidth   = 5
	chartHeight = 32
	stripHeight = 16
)

// chart draws a day of an endpoint: the attempts in each quarter of an hour, and how many of them failed.
type chart struct {
	Title, Desc            string
	Width                  int
	Attempts, Failed, Open string // paths
}

// drawDay draws quarters of an hour. The first one began at from.
func drawDay(name string, quarters []metrics.Tally, from time.Time) chart {
	c := chart{Width: cellWidth * len(quarters)}
	var all metrics.Tally
	most, worst := 0, 0
	for i, t := range quarters {
		all.Add(t)
		most = max(most, t.Attempts)
		if t.Failures > quarters[worst].Failures {
			worst = i
		}
	}
	c.Title = name + ": " + rateOf(all) + " failed"
	if w := quarters[worst]; w.Failures > 0 {
		c.Desc = fmt.Sprintf("Worst from %s on: %d of %s failed.",
			from.Add(time.Duration(worst)*metrics.QuarterLength).Format("15:04 MST"), w.Failures,
			web.Count(w.Attempts, "attempt", "attempts"))
	}
	const foot = 4 // below the bars, for the time in which the breaker was open
	var attempts, failed, open strings.Builder
	for i, t := range quarters {
		x := i * cellWidth
		full := (t.Attempts*(chartHeight-foot) + most - 1) / max(most, 1)
		bad := (t.Failures*(chartHeight-foot) + most - 1) / max(most, 1)
		bar(&attempts, x, chartHeight-foot-full, full-bad)
		bar(&failed, x, chartHeight-foot-bad, bad)
		if t.Open > 0 {
			bar(&open, x, chartHeight-foot+1, foot-1)
		}
	}
	c.Attempts, c.Failed, c.Open = attempts.String(), failed.String(), open.String()
	return c
}

// bar adds a bar of a cell's width to a path.
func bar(path *strings.Builder, x, y, height int) {
	if height > 0 {
		fmt.Fprintf(path, "M%d %dh%dv%dh-%dz", x, y, cellWidth-1, height, cellWidth-1)
	}
}
