// Package digest has a language model write a text about the music that a person heard in a week.
//
// It needs two consents: the installation names a model, and each person switches digests on. The prompt holds titles,
// artists and numbers of plays only, and people can read it on the page. There is one digest per week and person: an
// answer is stored as soon as it arrives, and a digest that cannot be written now stays due. A process that is stopped
// waits a while for an answer under way; one that is killed before it has stored an answer asks, and pays, again. Weeks
// begin on Monday at midnight in the server's time zone.
package digest

import (
	"errors"
	"math"
	"time"

	"reprise/internal/providers"
	"reprise/internal/words"
)

// State is the state of a digest.
type State string

// The states: waiting → written or failed → deleted. Only a digest that a person asked for is stored as waiting. A
// deleted one keeps its week, so that it is not written again, and loses its text.
const (
	Waiting State = "waiting"
	Written State = "written"
	Failed  State = "failed"
	Deleted State = "deleted"
)

// Digest is the text about one week of one person.
type Digest struct {
	ID       int64
	User     int64
	Week     string // the date of its Monday, as in 2026-11-16
	State    State
	Language string           // code of the language that it is written in
	Prompt   providers.Prompt // what was sent
	providers.Completion
	Cost      Cost
	Reason    words.Text // why it failed; one of an earlier version is a plain English text
	Detail    string     // why it failed, in the server's words
	CreatedAt time.Time
	WrittenAt time.Time // when the latest answer came that cost something; zero before
}

// Cost is the price of an answer.
type Cost struct {
	Micros   int64  // millionths of the currency
	Currency string // empty when the price is not known
}

// prices are a model's prices for a million tokens. An empty Currency means that they are unknown.
type prices struct {
	In, Out  float64
	Currency string
}

// pricesOf returns the prices in a model's settings.
func pricesOf(s providers.Settings) prices {
	in, known := s.Number("price_in")
	out, both := s.Number("price_out")
	if !known || !both {
		return prices{}
	}
	return prices{In: in, Out: out, Currency: s.Text("currency")}
}

// of returns the cost of an answer.
func (p prices) of(c providers.Completion) Cost {
	if p.Currency == "" {
		return Cost{}
	}
	micros := math.Round(float64(c.PromptTokens)*p.In + float64(c.CompletionTokens)*p.Out)
	return Cost{Micros: int64(micros), Currency: p.Currency}
}

// Spent is the cost of one digest, and when it arose.
type Spent struct {
	At               time.Time
	PromptTokens     int
	CompletionTokens int
	Cost             Cost
}

// Week is a week from Monday to Sunday.
type Week struct {
	From, To time.Time // From is inside, To is outside
}

// Name returns the date of the Monday, which names the week in any time zone.
func (w Week) Name() string { return w.From.Format(time.DateOnly) }

// Before returns the week before. Weeks can differ by an hour.
func (w Week) Before() Week { return Week{From: w.From.AddDate(0, 0, -7), To: w.From} }

// named returns the week of that name in a time zone.
func named(name string, zone *time.Location) (Week, error) {
	from, err := time.ParseInLocation(time.DateOnly, name, zone)
	return Week{From: from, To: from.AddDate(0, 0, 7)}, err
}

// lastFull returns the latest week that had ended at a time, in the time's zone.
func lastFull(now time.Time) Week {
	sinceMonday := (int(now.Weekday()) + 6) % 7
	year, month, day := now.Date()
	to := time.Date(year, month, day-sinceMonday, 0, 0, 0, 0, now.Location())
	return Week{From: to.AddDate(0, 0, -7), To: to}
}

var (
	// ErrThere says that the week has a digest, or that one is being written.
	ErrThere = errors.New("there is a digest of that week")
	// ErrAnother says that the requested week is no longer the last full one.
	ErrAnother = errors.New("another week has ended since")
	// ErrSilent says that the person heard nothing in the week.
	ErrSilent = errors.New("nothing was heard in that week")
	// ErrOff says that the installation has no model.
	ErrOff = errors.New("no model is configured")
)
