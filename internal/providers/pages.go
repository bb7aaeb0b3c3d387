package providers

import (
	"context"
	"iter"
	"slices"
	"time"

	"reprise/internal/library"
)

// ByNumber reads a history whose pages are numbered from 0 on, the newest play first, for [ListenSource]. read returns
// one page with its oldest play's time, and whether there may be more; endpoint names its calls.
//
// A play that comes in meanwhile moves all others on by one, so that a page begins with plays that were read already,
// and none is missed.
func ByNumber(
	ctx context.Context, span library.Span, endpoint string,
	read func(ctx context.Context, number int) (page ListenPage, more bool, err error),
) iter.Seq2[ListenPage, error] {
	return func(yield func(ListenPage, error) bool) {
		var last []library.Listen
		for number := 0; ; number++ {
			page, more, err := read(ctx, number)
			if err == nil && len(last) > 0 && len(page.Listens) == len(last) &&
				page.Listens[0].SourceID == last[0].SourceID &&
				page.Listens[len(last)-1].SourceID == last[len(last)-1].SourceID {
				err = Broken(endpoint, "the same page once more")
			}
			if err != nil {
				yield(ListenPage{}, err)
				return
			}
			last = slices.Clone(page.Listens)
			if !span.Before.IsZero() {
				end := span.Before.Add(time.Second) // services that keep seconds cut them off
				page.Listens = slices.DeleteFunc(page.Listens, func(l library.Listen) bool {
					return l.PlayedAt.After(end)
				})
			}
			if len(page.Listens) > 0 && !yield(page, nil) {
				return
			}
			if !more || len(last) == 0 || !page.Oldest.IsZero() && !page.Oldest.After(span.After) {
				return
			}
		}
	}
}

// OldestOf returns the time of the earliest play of a page; zero without plays.
func OldestOf(listens []library.Listen) (oldest time.Time) {
	for i := range listens {
		if at := listens[i].PlayedAt; oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return oldest
}
