package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	// redrawEvery is how often a bar on a terminal is drawn, and lineEvery how often another output gets a line.
	redrawEvery = 200 * time.Millisecond
	lineEvery   = 10 * time.Second
	// barWidth is how many characters a bar has.
	barWidth = 30
	// guessAfter is how long a work goes on before there is an estimate.
	guessAfter = 3 * time.Second
)

// progress returns a function that shows how much of a work is done, and about how long the rest takes: as a bar on a
// terminal, otherwise as a line now and then. It begins with the first call.
func progress(out io.Writer) func(done, all int64) {
	_, bar := terminalOf(out)
	every := lineEvery
	if bar {
		every = redrawEvery
	}
	var began, told time.Time
	return func(done, all int64) {
		now := time.Now()
		if began.IsZero() {
			began, told = now, now
		}
		ended := done >= all
		if all == 0 || now.Sub(told) < every && (!bar || !ended) {
			return
		}
		told = now
		text := fmt.Sprintf("%3d %%", 100*done/all) + left(done, all, now.Sub(began))
		if !bar {
			fmt.Fprintln(out, text)
			return
		}
		full := int(barWidth * done / all)
		fmt.Fprintf(out, "\r[%s%s] %-40s", strings.Repeat("#", full), strings.Repeat("-", barWidth-full), text)
		if ended {
			fmt.Fprintln(out)
		}
	}
}

// left says how long the rest takes, if the rest is as fast as what is done.
func left(done, all int64, took time.Duration) string {
	if done == 0 || done >= all || took < guessAfter {
		return ""
	}
	rest := time.Duration(float64(took) / float64(done) * float64(all-done))
	switch minutes := int(rest.Round(time.Minute) / time.Minute); {
	case rest < time.Minute:
		return ", less than a minute left"
	case minutes == 1:
		return ", about a minute left"
	case minutes < 120:
		return fmt.Sprintf(", about %d minutes left", minutes)
	default:
		return fmt.Sprintf(", about %d hours left", int(rest.Round(time.Hour)/time.Hour))
	}
}
