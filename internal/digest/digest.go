// Package digest has a language model write, once a week and for each person who wants it, about what they heard.
//
// It is off twice until somebody switches it on: the installation has to name a model, and each person has to want it.
// What leaves the house are titles, artists and how often they were played; the page shows the exact words. A week is
// written about once: the answer is stored at once, and what cannot be written now stays due. A process that is killed
// between a model's answer and its storing has paid for an answer that nobody reads, and asks once more; one that is
// stopped waits for the answer a while. Weeks begin on Monday at midnight in the server's time zone.
package digest

import (
	"errors"
	"math"
	"time"

	"reprise/internal/providers"
)

// State says where a digest stands.
type State string

// The states: waiting → written or failed. One that nobody asked for by hand is stored only when it is written or failed.
// What its person deletes stays as a mark that its week is done, without a word of it.
const (
	Waiting State = "waiting"
	Written State = "written"
	Failed  State = "failed"
	Deleted State = "deleted"
)

// Digest is what was written about one week of one person.
type Digest struct {
	ID     int64
	User   int64
	Week   string // the date of its Monday, as in 2026-11-16
	State  State
	Prompt providers.Prompt // what was sent
	providers.Completion
	Cost      Cost
	Reason    string // why it failed, in words
	Detail    string // the same as the server put it
	CreatedAt time.Time
	WrittenAt time.Time // when the latest answer came that took something; zero while there is none
}

// Cost is what an answer has cost.
type Cost struct {
	Micros   int64  // millionths of the currency
	Currency string // empty when the price is not known
}

// Prices are what a model costs per million tokens. A zero Currency means that they are not known.
type Prices struct {
	In, Out  float64
	Currency string
}

// Of is the cost of an answer.
func (p Prices) Of(c providers.Completion) Cost {
	if p.Currency == "" {
		return Cost{}
	}
	return Cost{Micros: int64(math.Round(float64(c.PromptTokens)*p.In + float64(c.CompletionTokens)*p.Out)), Currency: p.Currency}
}

// Spent is what one digest has cost, and when.
type Spent struct {
	At               time.Time
	PromptTokens     int
	CompletionTokens int
	Cost             Cost
}

// Week is a week from Monday to Sunday.
type Week struct {
	From, To time.Time // From is in it, To is not
}

// Name is the date of its Monday. It is the same week wherever the server stands.
func (w Week) Name() string { return w.From.Format(time.DateOnly) }

// Before is the week before. A week may have an hour more or less than others.
func (w Week) Before() Week { return Week{From: w.From.AddDate(0, 0, -7), To: w.From} }

// named is the week of that name in a zone.
func named(name string, zone *time.Location) (Week, error) {
	from, err := time.ParseInLocation(time.DateOnly, name, zone)
	return Week{From: from, To: from.AddDate(0, 0, 7)}, err
}

// LastFull is the latest week that was over at that time, in its zone.
func LastFull(now time.Time) Week {
	sinceMonday := (int(now.Weekday()) + 6) % 7
	year, month, day := now.Date()
	to := time.Date(year, month, day-sinceMonday, 0, 0, 0, 0, now.Location())
	return Week{From: to.AddDate(0, 0, -7), To: to}
}

var (
	// ErrThere says that there is a digest of that week already, or that one is being written.
	ErrThere = errors.New("there is a digest of that week")
	// ErrAnother says that a digest was asked for of a week that is not the last full one any more.
	ErrAnother = errors.New("another week has ended since")
	// ErrSilent says that nothing was heard in that week.
	ErrSilent = errors.New("nothing was heard in that week")
	// ErrOff says that the installation has no model to write with.
	ErrOff = errors.New("no model is configured")
)
