package digests

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reprise/internal/digest"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/server/core"
	"reprise/internal/words"
	"reprise/web/ui"
)

// digestView is the digest of a week.
type digestView struct {
	ID               string      `json:"id"`
	Week             string      `json:"week"`
	State            string      `json:"state"`
	Text             string      `json:"text"`
	Language         string      `json:"language"`
	Cut              bool        `json:"cut"`
	Model            string      `json:"model"`
	Prompt           *promptView `json:"prompt"`
	PromptTokens     int         `json:"prompt_tokens"`
	CompletionTokens int         `json:"completion_tokens"`
	Cost             *costView   `json:"cost"`
	Reason           string      `json:"reason,omitempty"`
	CreatedAt        string      `json:"created_at"`
	WrittenAt        *string     `json:"written_at"`

	Detail     string    `json:"-"`
	Name       string    `json:"-"` // of the week, for people
	Paragraphs []string  `json:"-"`
	Mark       ui.Mark   `json:"-"` // empty if it is written
	Written    time.Time `json:"-"`
}

// promptView is the exact text that is sent to a model.
type promptView struct {
	Instructions string `json:"instructions"`
	Text         string `json:"text"`
}

type costView struct {
	Amount   string `json:"amount"` // a decimal number
	Currency string `json:"currency"`
}

func viewPrompt(p providers.Prompt) *promptView {
	if p.User == "" {
		return nil
	}
	return &promptView{p.System, p.User}
}

func viewCost(c digest.Cost) *costView {
	if c.Currency == "" {
		return nil
	}
	return &costView{amount(c.Micros), c.Currency}
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
	to := from.AddDate(0, 0, 6)
	if from.Month() == to.Month() {
		return words.New("digest.week_in_month", "From", from.Day(), "To", words.Day(to)).In(l)
	}
	return words.New("digest.week", "From", words.Day(from), "To", words.Day(to)).In(l)
}

// marks holds the states of digests as pages show them.
var marks = map[digest.State]string{digest.Waiting: "scheduled", digest.Failed: "dead"}

func viewDigest(ctx context.Context, d digest.Digest) digestView {
	v := digestView{ID: strconv.FormatInt(d.ID, 10), Week: d.Week, State: string(d.State), Text: d.Text,
		Language: d.Language, Cut: d.Cut, Model: d.Model, Prompt: viewPrompt(d.Prompt),
		PromptTokens: d.PromptTokens, CompletionTokens: d.CompletionTokens, Reason: d.Reason.T(ctx),
		CreatedAt: library.Stamp(d.CreatedAt), WrittenAt: core.Moment(d.WrittenAt),
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
	Cost             *costView // nil if it is not known
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

// obstacleView says whether the model can be called now.
type obstacleView struct {
	State         string  `json:"state"`    // ready, waiting, held or needs_admin
	Category      *string `json:"category"` // of the failure that prevents it; nil without one
	Message       string  `json:"message,omitempty"`
	NextAttemptAt *string `json:"next_attempt_at"`
}
