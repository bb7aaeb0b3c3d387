package digests

import (
	"context"
	"strconv"
	"strings"

	"reprise/internal/words"
	"reprise/web/ui"
)

// blocked says whether the page shows what keeps the model from being called: to the people concerned.
func (v pageView) blocked() bool {
	return v.Obstacle.State != "ready" && (v.Enabled || v.Busy || v.Admin)
}

// mark returns the state of the model.
func (v ModelState) mark(ctx context.Context) ui.Mark {
	m := ui.StateMark(ctx, v.State)
	if v.State == "waiting" {
		m.Word = words.T(ctx, "digest.state.unreachable")
	}
	return m
}

// facts says who wrote a digest and what it cost, after the time.
func (d Digest) facts(ctx context.Context) string {
	var b strings.Builder
	if d.Model != "" {
		b.WriteString(" " + words.T(ctx, "digest.by", "Model", d.Model))
	}
	b.WriteString(".")
	if d.Cost != nil {
		b.WriteString(" " + words.T(ctx, "digest.cost_of", "Cost", d.Cost.said(ctx)))
	}
	return b.String()
}

// exactly says how many tokens a digest took and the exact cost; empty if that is not known.
func (d Digest) exactly(ctx context.Context) string {
	if d.PromptTokens+d.CompletionTokens == 0 {
		return ""
	}
	l := words.From(ctx)
	said := words.T(ctx, "digest.tokens", "In", l.Number(d.PromptTokens), "Out", l.Number(d.CompletionTokens))
	if d.Cost != nil {
		said += ": " + d.Cost.exact(ctx)
	}
	return said + "."
}

// remove returns the label of the button that deletes a digest, or does without it.
func (d Digest) remove(ctx context.Context) string {
	if d.State == "waiting" {
		return words.T(ctx, "digest.skip_do")
	}
	return words.T(ctx, "digest.delete_do")
}

// exact returns a cost with all its digits.
func (c Cost) exact(ctx context.Context) string {
	_, digits, _ := strings.Cut(c.Amount, ".")
	return words.T(ctx, "digest.cost", "Amount", words.From(ctx).Decimal(c.number(), len(digits)),
		"Currency", c.Currency)
}

func (c Cost) number() float64 {
	x, _ := strconv.ParseFloat(c.Amount, 64) // ours: see amount
	return x
}

// said returns a cost as people say it, in hundredths.
func (c Cost) said(ctx context.Context) string {
	x := c.number()
	switch {
	case x < 0.01 && (c.Currency == "USD" || c.Currency == "EUR"):
		return words.T(ctx, "digest.under_a_cent")
	case x < 0.01:
		return words.T(ctx, "digest.cost_under", "Amount", words.From(ctx).Decimal(0.01, 2), "Currency", c.Currency)
	}
	return words.T(ctx, "digest.cost", "Amount", words.From(ctx).Decimal(x, 2), "Currency", c.Currency)
}

// price returns what a month's digests cost.
func (m spendingView) price(ctx context.Context) string {
	if m.Cost == nil {
		return words.T(ctx, "digest.unknown")
	}
	return m.Cost.said(ctx)
}
