package resilience

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

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
