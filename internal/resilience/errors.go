package resilience

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Cause is why something failed, or what helps, as a value. Who shows it finds the words for it: words.Of takes a
// text as it is, and looks for any other cause under its name.
type Cause interface{ String() string }

// AnswerError reports an answer of the upstream that is a failure, by its HTTP status or by its body.
type AnswerError struct {
	Endpoint string // method and route template, never with ids
	Status   int    // HTTP status, 100 to 599
	Code     string // the provider's own code for it, if it has one
	Message  string // what the provider said, for "Details"; bounded, without secrets
	Server   string // what the server calls itself, such as "gonic"; empty if it doesn't say
	HTML     bool   // the answer was a page where data was due
	MovedTo  string // scheme and host of a redirect that was not followed; empty for none
	Body     []byte // the whole answer (bounded), for the adapter's table; never logged

	// NotBefore and BadWait are the wait that the answer dictated; see [AnswerError.ReadRetryAfter].
	NotBefore time.Time
	BadWait   bool

	// Meaning is the row of the provider's table that matched; nil leaves it to the general table by status.
	Meaning *Meaning

	Header  http.Header // of the answer; never logged
	Attempt int         // its number, as the log shows it; 0 for an answer that no transport has received
	Unread  bool        // it was no answer of the service's kind, and has got advice since

	pooled  bool     // the request carried a key of a pool
	verdict *Verdict // fixed when it was received; nil for an answer that no transport has received
}

// Means gives an answer the meaning of a row of the provider's table, and with it another verdict: an adapter may know
// more of what was asked than the table does.
func (e *AnswerError) Means(m *Meaning) {
	e.Meaning = m
	if e.verdict != nil {
		*e.verdict = e.judge()
	}
}

// Unauthorized reports whether the answer refuses the credential that the request carried, so that a fresh one may
// help.
func (e *AnswerError) Unauthorized() bool { return e.Status == http.StatusUnauthorized && !e.HTML }

// Astray reports whether something answers that does not speak the service's protocol: it redirects elsewhere, or shows
// a page. The address may be wrong then. Pages of a server that has trouble, or too much to do, are none of these.
func (e *AnswerError) Astray() bool {
	return e.MovedTo != "" || e.HTML && !e.Busy()
}

// Busy reports whether the answer concerns the state of the server and not the request.
func (e *AnswerError) Busy() bool {
	return ServerFault(e.Status) || e.Status == http.StatusTooManyRequests
}

// Advice returns the advice of the meaning that the provider's table gives the answer; nil without one.
func (e *AnswerError) Advice() Cause {
	if e.Meaning == nil {
		return nil
	}
	return e.Meaning.Advice
}

func (e *AnswerError) Error() string {
	var b strings.Builder
	b.WriteString(e.Endpoint)
	b.WriteString(" answered ")
	b.WriteString(strconv.Itoa(e.Status))
	if e.Code != "" {
		b.WriteString(" (" + e.Code + ")")
	}
	if e.HTML {
		b.WriteString(" with a page instead of data")
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

// Advised returns err with advice for a person, if it is an answer of the upstream. What it means stays as it is.
func Advised(err error, advice Cause) error {
	v := VerdictOf(err)
	e, ok := errors.AsType[*AnswerError](err)
	if c, broken := errors.AsType[*ContractError](err); !ok && broken {
		e, ok = &AnswerError{Endpoint: c.Endpoint, Status: http.StatusOK, Message: "unexpected answer: " + c.What,
			Unread: true}, true
	}
	if !ok {
		return err
	}
	e.Means(&Meaning{Class: v.Class, Category: v.Category, Scope: v.Scope, FatalAfter: v.FatalAfter, Advice: advice})
	return e
}

// NetworkError reports that no complete answer arrived: refused, reset, timed out, not resolved, no TLS, or cut off
// in the middle of the body.
type NetworkError struct {
	Endpoint   string
	Err        error         // never holds the request's URL
	FirstDelay time.Duration // see [Verdict.FirstDelay]
	Attempt    int           // as of an AnswerError
}

func (e *NetworkError) Error() string { return e.Endpoint + ": " + e.Err.Error() }
func (e *NetworkError) Unwrap() error { return e.Err }

// ContractError reports a complete answer of the right kind that breaks the documented shape.
type ContractError struct {
	Endpoint string
	What     string // which part of the shape, in words
}

func (e *ContractError) Error() string { return e.Endpoint + ": unexpected answer: " + e.What }

// SettingError reports that a setting of the installation is missing or malformed, so that the call could not be made.
type SettingError struct {
	Setting string // its path, as in configs/reprise.yaml
	Problem Cause  // what is wrong with it and what to do
}

func (e *SettingError) Error() string {
	if e.Problem == nil {
		return e.Setting
	}
	return e.Setting + ": " + e.Problem.String()
}

// LocalError reports a fault of our own, such as a full disk. No upstream is to blame.
type LocalError struct {
	Problem Cause
	Err     error
}

func (e *LocalError) Error() string { return e.Err.Error() }
func (e *LocalError) Unwrap() error { return e.Err }

// IsItem reports whether err is about one item alone, so that the others can go on.
func IsItem(err error) bool { return err != nil && VerdictOf(err).Scope == ScopeItem }

// maxWait is the longest wait that is believed; a longer one is taken for a mistake of the upstream.
const maxWait = 48 * time.Hour

// ReadRetryAfter notes the wait that the answer's Retry-After names.
func (e *AnswerError) ReadRetryAfter() {
	e.NotBefore, e.BadWait = parseRetryAfter(e.Header.Get("Retry-After"), time.Now())
}

// parseRetryAfter reads a Retry-After header in both its forms, seconds and HTTP date (RFC 9110, section 10.2.3). It
// returns the zero time when there is none, and bad when there is one that cannot be used: unreadable, in the past,
// zero, negative, or more than 48 h ahead.
func parseRetryAfter(value string, now time.Time) (notBefore time.Time, bad bool) {
	value = strings.TrimSpace(value)
	if value == "" {
		return time.Time{}, false
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return After(seconds, now)
	}
	at, err := http.ParseTime(value)
	if err != nil || !at.After(now) || at.Sub(now) > maxWait {
		return time.Time{}, true
	}
	return at, false
}

// ByClock returns an instant that was noted earlier as the system clock has it now, which may have been set since, or
// have gone on while the machine was suspended. An instant without a monotonic reading is a time of day, and stays.
func ByClock(at, now time.Time) time.Time {
	if at == at.Round(0) {
		return at
	}
	return now.Add(at.Sub(now))
}

// After returns the instant so many seconds after now, or bad if that is none to wait for: now, in the past, or more
// than 48 h ahead.
func After(seconds float64, now time.Time) (notBefore time.Time, bad bool) {
	if !(seconds <= maxWait.Seconds()) { // also NaN
		return time.Time{}, true
	}
	wait := time.Duration(max(seconds, 0) * float64(time.Second))
	if wait == 0 {
		return time.Time{}, true
	}
	return now.Add(wait), false
}
