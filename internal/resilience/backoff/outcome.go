package backoff

import (
	"time"

	"reprise/internal/resilience"
)

// NotBeforeError reports that a call was not made: its connection may not call now, or something that all users share
// (a breaker, a pace, the uplink) forbids it, which is no failure of the connection.
type NotBeforeError struct {
	State    State
	Endpoint string // that was not called; empty when the connection may not call at all
	Offline  bool   // our own connection to the internet is lost
	Busy     bool   // too many large answers are being read; see turns.Queue
	Met      bool   // the state came while the run was under way, which ends by it
}

func (e *NotBeforeError) Error() string {
	text := "not called"
	if e.Endpoint != "" {
		text = e.Endpoint + " " + text
	}
	switch {
	case e.State.Until.IsZero():
		return text + ": " + e.State.Kind.String()
	case e.Busy:
		text += ", because other large answers are being read,"
	case e.Offline:
		text += ", because the uplink is lost,"
	case e.State.Category == resilience.CircuitOpen:
		text += ", because its breaker is open,"
	}
	return text + " before " + e.State.Until.UTC().Format(time.RFC3339)
}

// Verdict puts the call off until its time, without counting a failure of the connection.
func (e *NotBeforeError) Verdict() resilience.Verdict {
	return resilience.Verdict{Class: resilience.Retriable, Category: e.State.Category,
		Scope: resilience.ScopeEndpoint, NotBefore: e.State.Until}
}

// Failure is a call that failed, with what that means and what it has changed. It is made once, where the outcome is
// judged, and read by everybody above.
type Failure struct {
	Change Change // for a call that needed no permit, its verdict alone
	Err    error
}

// Verdict returns what the outcome means for the whole call.
func (e *Failure) Verdict() resilience.Verdict { return e.Change.Verdict }

func (e *Failure) Error() string { return e.Err.Error() }
func (e *Failure) Unwrap() error { return e.Err }
