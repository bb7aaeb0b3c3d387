package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// UntilSignal returns a context that the first signal to stop cancels. The second one ends the process at once, with
// 128 and the signal's number as exit code, as shells do.
func UntilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2) // both may arrive before the goroutine runs
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		second, _ := (<-signals).(syscall.Signal)
		os.Exit(128 + int(second))
	}()
	return ctx
}
