package sync

import (
	"context"
	"iter"
	"runtime/debug"
	"sync"

	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience/turns"
)

// panicked is a panic of another goroutine, with its stack.
type panicked struct {
	value any
	stack []byte
}

// ahead reads a span, and lets the adapter fetch the next page while the caller stores this one, unless this one is so
// large that there is no memory for two: then it holds the turn of the adapter's call. When the sequence ends, so has
// the adapter. A panic of the adapter is raised in the caller.
func ahead(
	ctx context.Context, turn *turns.Turn, source providers.ListenSource, span library.Span,
) iter.Seq2[providers.ListenPage, error] {
	type item struct {
		page  providers.ListenPage
		err   error
		large bool // the adapter waits until this page is stored
		panic *panicked
	}
	return func(yield func(providers.ListenPage, error) bool) {
		reading, stop := context.WithCancel(ctx)
		items := make(chan item)
		send := func(i item) bool {
			select {
			case items <- i:
				return true
			case <-reading.Done():
				return false
			}
		}
		var reader sync.WaitGroup
		stored := make(chan struct{}, 1)
		reader.Go(func() {
			defer close(items)
			defer func() {
				if r := recover(); r != nil {
					send(item{panic: &panicked{r, debug.Stack()}})
				}
			}()
			for page, err := range source.Listens(reading, span) {
				large := turn.Held()
				if !send(item{page: page, err: err, large: large}) {
					return
				}
				if !large {
					continue
				}
				page = providers.ListenPage{}
				select {
				case <-stored:
				case <-reading.Done():
					return
				}
			}
		})
		defer reader.Wait()
		defer stop()
		for i := range items {
			if i.panic != nil {
				panic(*i.panic)
			}
			if !yield(i.page, i.err) {
				return
			}
			if i.large {
				stored <- struct{}{}
			}
		}
		// The end of the context is not the end of the span.
		if err := ctx.Err(); err != nil {
			yield(providers.ListenPage{}, err)
		}
	}
}
