package main

import (
	"fmt"
	"io"
	"log/slog"
	"time"
)

// tellMoving returns a function that tells how far an upgrade has moved the listens of an older version: in words at
// the start, and in the log every few seconds.
func tellMoving(log *slog.Logger, out io.Writer) func(done, all int64, since time.Duration) {
	const often = 5 * time.Second
	told, next := false, time.Duration(0)
	return func(done, all int64, since time.Duration) {
		if !told {
			told = true
			fmt.Fprintf(out, "Reprise is moving your listens to a smaller form. This happens once, and is safe to "+
				"interrupt: the next start goes on.\n")
		}
		if since >= next || done == all {
			next = since + often
			log.Info("moving listens", "done", done, "all", all)
		}
	}
}
