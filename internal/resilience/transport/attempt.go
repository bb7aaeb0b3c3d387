package transport

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"reprise/internal/resilience"
)

// Attempt is one try at an upstream, or a call that an open breaker refused. Log, metrics, health page and traces are
// all made of these.
type Attempt struct {
	User     int64 // on whose behalf; 0 for the installation
	Provider string
	Stream   string // that it belongs to; empty without
	Host     string
	Endpoint string    // method and route template
	Number   int       // from 1
	Key      string    // last four characters of the pooled key that it carried; empty without
	Start    time.Time // zero for a call that was not made
	Took     time.Duration
	Status   string  // HTTP status, or the category of a failure without one
	Outcome  Outcome // for people and scripts
	Category resilience.Category
	Proof    bool // see Call
}

// Outcome is what became of an attempt.
type Outcome string

// The outcomes of attempts.
const (
	Success      Outcome = "success"
	WasRetriable Outcome = "retriable"
	WasFatal     Outcome = "fatal"
	QuotaSpent   Outcome = "quota"
	BreakerStood Outcome = "circuit_open" // the call was not made
	WasCanceled  Outcome = "canceled"
)

// Outcomes are all outcomes of attempts.
var Outcomes = []Outcome{Success, WasRetriable, WasFatal, QuotaSpent, BreakerStood, WasCanceled}

// outcomeOf returns the outcome of an attempt with this verdict. What a provider's own table takes for a success is
// one.
func outcomeOf(v resilience.Verdict) Outcome {
	switch {
	case v.Category == resilience.Quota:
		return QuotaSpent
	case v.Category == resilience.CircuitOpen:
		return BreakerStood
	}
	return [...]Outcome{resilience.OK: Success, resilience.Canceled: WasCanceled, resilience.Retriable: WasRetriable,
		resilience.Fatal: WasFatal}[v.Class]
}

// Tell reports an attempt of a call that did not use this transport, such as one at a mail server, with its host,
// endpoint and start.
func (t *Transport) Tell(ctx context.Context, c resilience.Call, a Attempt, err error) {
	tried := try{start: a.Start, verdict: resilience.VerdictOf(err)}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		tried.status = e.Status
	}
	t.tell(ctx, a.Host, resilience.Request{Call: c, To: resilience.Endpoint{Name: a.Endpoint}}, tried)
}

// try is what an attempt came to.
type try struct {
	start   time.Time // zero when no call was made
	status  int       // of the answer; 0 without one
	verdict resilience.Verdict
}

// tell reports an attempt to the log and to Told.
func (t *Transport) tell(ctx context.Context, host string, c resilience.Request, tried try) {
	if t.Log == nil && t.Told == nil {
		return
	}
	v := tried.verdict
	a := Attempt{User: c.User, Provider: c.Provider, Stream: c.Stream, Host: host, Endpoint: c.To.Name, Key: c.Key,
		Number: c.First(), Start: tried.start, Outcome: outcomeOf(v), Category: v.Category,
		Status: v.Category.String(), Proof: c.Proof}
	if !tried.start.IsZero() {
		a.Took = time.Since(tried.start)
	}
	if tried.status != 0 {
		a.Status = strconv.Itoa(tried.status)
	}
	a.log(ctx, t.Log)
	if t.Told != nil {
		t.Told(ctx, a)
	}
}

func (a *Attempt) log(ctx context.Context, log *slog.Logger) {
	if log == nil || !log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	log.LogAttrs(ctx, slog.LevelInfo, "upstream attempt",
		slog.Int64("user_id", a.User), slog.String("provider", a.Provider), slog.String("endpoint", a.Endpoint),
		slog.Int("attempt", a.Number), slog.String("status", a.Status), slog.Int64("took_ms", a.Took.Milliseconds()),
		slog.String("outcome", string(a.Outcome)), known("stream", a.Stream), known("key", a.Key))
}

// known returns an attribute. Without a value it is empty, and handlers leave it out.
func known(name, value string) slog.Attr {
	if value == "" {
		return slog.Attr{}
	}
	return slog.String(name, value)
}
