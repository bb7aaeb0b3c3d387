package ui

import (
	"context"
	"strings"
	"unicode/utf8"

	"reprise/internal/words"
)

// initial returns the letter for a service without a mark.
func initial(provider string) string {
	_, n := utf8.DecodeRuneInString(provider)
	return strings.ToUpper(provider[:n])
}

// figures says how far a bar has come; empty for nowhere.
func figures(ctx context.Context, b Bar) string {
	switch {
	case b.Done == 0:
		return ""
	case b.Total == 0:
		return words.From(ctx).Number(b.Done)
	}
	return words.T(ctx, "ui.of", "Done", b.Done, "Total", b.Total)
}

// slotTitle says what a bar means, with times in UTC for browsers without JavaScript.
func slotTitle(ctx context.Context, s Slot) string {
	const form = "15:04"
	return words.T(ctx, "ui.slot", "From", s.From.UTC().Format(form), "To", s.To.UTC().Format(form), "Words", s.Words)
}

// StateMark returns a state with its word.
func StateMark(ctx context.Context, state string) Mark {
	return Mark{Shape: state, Word: words.Each("mark.", state).T(ctx)}
}
