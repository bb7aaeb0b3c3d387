package digests

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reprise/internal/digest"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// Digest is the digest of a week.
type Digest struct {
	ID               string         `json:"id"`
	Week             string         `json:"week" format:"date" doc:"Its Monday."`
	State            string         `json:"state" enum:"waiting,written,failed"`
	Text             string         `json:"text" doc:"Plain text."`
	Language         string         `json:"language" doc:"The code of the one it is written in."`
	Cut              bool           `json:"cut" doc:"It ended at the model's length limit."`
	Model            string         `json:"model"`
	Prompt           *Prompt        `json:"prompt" doc:"Exactly what was sent."`
	PromptTokens     int            `json:"prompt_tokens" minimum:"0" doc:"Of all answers about this week."`
	CompletionTokens int            `json:"completion_tokens" minimum:"0"`
	Cost             *Cost          `json:"cost" doc:"Null when the prices are not configured."`
	Reason           string         `json:"reason,omitempty" doc:"Why it failed."`
	CreatedAt        core.Time      `json:"created_at"`
	WrittenAt        core.MaybeTime `json:"written_at"`

	Detail     string    `json:"-"`
	Name       string    `json:"-"` // of the week, for people
	Paragraphs []string  `json:"-"`
	Mark       ui.Mark   `json:"-"` // empty if it is written
	Written    time.Time `json:"-"`
}

// Prompt is the exact text that is sent to a model.
type Prompt struct {
	Instructions string `json:"instructions" required:"false"`
	Text         string `json:"text" required:"false"`
}

type Cost struct {
	Amount   string `json:"amount" required:"false" doc:"A decimal number."`
	Currency string `json:"currency" required:"false"`
}

func viewPrompt(p providers.Prompt) *Prompt {
	if p.User == "" {
		return nil
	}
	return &Prompt{p.System, p.User}
}

func viewCost(c digest.Cost) *Cost {
	if c.Currency == "" {
		return nil
	}
	return &Cost{amount(c.Micros), c.Currency}
}

// amount returns millionths as a decimal number with at least two places.
func amount(micros int64) string {
	places := fmt.Sprintf("%06d", micros%1e6)
	return fmt.Sprintf("%d.%s%s", micros/1e6, places[:2], strings.TrimRight(places[2:], "0"))
}

// WeekName returns the name of a week, given the date of its Monday.
func WeekName(l *words.Language, monday string) string {
	from, err := time.Parse(time.DateOnly, monday)
	if err != nil {
		return monday
	}
	return l.Week(from)
}

// marks holds the states of digests as pages show them.
var marks = map[digest.State]string{digest.Waiting: "scheduled", digest.Failed: "dead"}

func viewDigest(ctx context.Context, d digest.Digest) Digest {
	v := Digest{ID: strconv.FormatInt(d.ID, 10), Week: d.Week, State: string(d.State), Text: d.Text,
		Language: d.Language, Cut: d.Cut, Model: d.Model, Prompt: viewPrompt(d.Prompt),
		PromptTokens: d.PromptTokens, CompletionTokens: d.CompletionTokens, Reason: d.Reason.T(ctx),
		CreatedAt: core.Stamp(d.CreatedAt), WrittenAt: core.Moment(d.WrittenAt),
		Detail: d.Detail, Name: WeekName(words.From(ctx), d.Week), Written: d.WrittenAt}
	if shape := marks[d.State]; shape != "" {
		v.Mark = ui.Mark{Shape: shape, Word: words.Each("digest.state.", v.State).T(ctx)}
	}
	if d.PromptTokens+d.CompletionTokens > 0 {
		v.Cost = viewCost(d.Cost)
	}
	for line := range strings.SplitSeq(d.Text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			v.Paragraphs = append(v.Paragraphs, line)
		}
	}
	return v
}

// spendingView is the cost of a month's digests.
type spendingView struct {
	Month            string
	Digests          int
	PromptTokens     int
	CompletionTokens int
	Cost             *Cost // nil if it is not known
}

// byMonth sums up spending by month and currency, the newest month first.
func byMonth(l *words.Language, all []digest.Spent, zone *time.Location) (months []spendingView) {
	var sum int64
	currency := ""
	for _, s := range all {
		month := l.Month(s.At.In(zone))
		if n := len(months); n == 0 || months[n-1].Month != month || currency != s.Cost.Currency {
			months, sum, currency = append(months, spendingView{Month: month}), 0, s.Cost.Currency
		}
		m := &months[len(months)-1]
		sum += s.Cost.Micros
		m.Digests++
		m.PromptTokens += s.PromptTokens
		m.CompletionTokens += s.CompletionTokens
		m.Cost = viewCost(digest.Cost{Micros: sum, Currency: s.Cost.Currency})
	}
	return months
}

// ModelState says whether the model can be called now.
type ModelState struct {
	State         string         `json:"state" enum:"ready,waiting,held,needs_admin"`
	Category      *string        `json:"category" doc:"Of the failure; null without one."`
	Message       string         `json:"message,omitempty"`
	NextAttemptAt core.MaybeTime `json:"next_attempt_at"`
}
