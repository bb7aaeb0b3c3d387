package core

import (
	"context"
	"strconv"
	"time"

	"reprise/internal/words"
)

// ViewAll returns the views of all; never nil.
func ViewAll[T, V any](all []T, view func(T) V) []V {
	views := make([]V, len(all))
	for i, v := range all {
		views[i] = view(v)
	}
	return views
}

// ViewsFor is [ViewAll] for views that say something to the reader of a context.
func ViewsFor[T, V any](ctx context.Context, all []T, view func(context.Context, T) V) []V {
	return ViewAll(all, func(v T) V { return view(ctx, v) })
}

// Text returns s for the API; nil if it is empty.
func Text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Took returns a duration in words, rounded to what matters.
func Took(ctx context.Context, d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return words.T(ctx, "health.no_time")
	case d < time.Second:
		return words.T(ctx, "health.milliseconds", "Number", strconv.FormatInt(d.Milliseconds(), 10))
	case d < 100*time.Second:
		return words.T(ctx, "health.seconds", "Number", words.From(ctx).Decimal(d.Seconds(), 1))
	}
	return words.T(ctx, "health.minutes", "Count", int(d.Round(time.Minute)/time.Minute))
}
