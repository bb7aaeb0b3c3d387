package cli

import (
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"golang.org/x/term"
)

// NewLog returns a logger. The format "auto" writes for people on a terminal, and JSON elsewhere.
func NewLog(format string, level slog.Leveler, out io.Writer) *slog.Logger {
	_, terminal := terminalOf(out)
	if format == "json" || format == "auto" && !terminal {
		return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: milliseconds}))
	}
	times := time.RFC3339 // in a file, programs and later readers need the day
	if terminal {
		times = time.TimeOnly
	}
	return slog.New(tint.NewTextHandler(out, &tint.Options{Level: level, TimeFormat: times, NoColor: !terminal,
		ReplaceAttr: milliseconds}))
}

// terminalOf returns the terminal at the other end of a stream, if people read or write there.
func terminalOf(stream any) (terminal *os.File, ok bool) {
	terminal, ok = stream.(*os.File)
	return terminal, ok && term.IsTerminal(int(terminal.Fd()))
}

// milliseconds logs every duration as a whole number whose name has its unit: "took" becomes "took_ms". Scripts then
// need not know how Go writes durations.
func milliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Int64(a.Key+"_ms", a.Value.Duration().Milliseconds())
}
