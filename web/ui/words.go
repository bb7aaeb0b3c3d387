package ui

import (
	"context"
	"fmt"
	"time"

	"reprise/internal/words"
)

// Length returns the length of a track in minutes and seconds; empty for zero.
func Length(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	s := int((d + time.Second/2) / time.Second)
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// Size returns a number of bytes, 0 or more, in words.
func Size(ctx context.Context, n int) string {
	const kilo = 1000
	l := words.From(ctx)
	switch {
	case n < kilo:
		return words.T(ctx, "ui.bytes", "Count", n)
	case n < 10*kilo:
		return words.T(ctx, "ui.kilobytes", "Size", l.Decimal(float64(n)/kilo, 1))
	case n < kilo*kilo:
		return words.T(ctx, "ui.kilobytes", "Size", n/kilo)
	}
	return words.T(ctx, "ui.megabytes", "Size", l.Decimal(float64(n)/kilo/kilo, 1))
}

// PartDate returns "1999", "1999-06" or "1999-06-12" in words, and other texts unchanged.
func PartDate(ctx context.Context, text string) string {
	l := words.From(ctx)
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return l.Day(at)
	}
	if at, err := time.Parse("2006-01", text); err == nil {
		return l.Month(at)
	}
	return text
}

// WithColon returns a label with what stands between it and its value, such as "State: ".
func WithColon(ctx context.Context, label string) string { return label + words.T(ctx, "ui.colon") }
