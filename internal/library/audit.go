package library

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Month is a month of UTC, counted from the year 0. The zero Month is [Before].
type Month int

// Before is everything before the first month of an account's history.
const Before Month = 0

// MonthOf returns the month that a time lies in.
func MonthOf(at time.Time) Month {
	at = at.UTC()
	return Month(at.Year()*12 + int(at.Month()) - 1)
}

// Start returns the first instant of the month.
func (m Month) Start() time.Time {
	return time.Date(int(m/12), time.Month(m%12)+1, 1, 0, 0, 0, 0, time.UTC)
}

// End returns the first instant after the month.
func (m Month) End() time.Time { return (m + 1).Start() }

// String returns the month as in "2019-03", or "before".
func (m Month) String() string {
	if m == Before {
		return "before"
	}
	return fmt.Sprintf("%04d-%02d", m/12, m%12+1)
}

// ParseMonth is the reverse of [Month.String]. It reports false for anything else.
func ParseMonth(text string) (Month, bool) {
	if text == Before.String() {
		return Before, true
	}
	year, month, _ := strings.Cut(text, "-")
	y, errY := strconv.Atoi(year)
	n, errM := strconv.Atoi(month)
	m := Month(y*12 + n - 1)
	return m, errY == nil && errM == nil && y >= 1970 && y <= 9999 && n >= 1 && n <= 12 && m.String() == text
}

// Audit is what comparing one month of a connection's history with what is here has shown.
type Audit struct {
	Month Month
	// Counted is how many plays the service says that it has: -1 if it doesn't say, and with Before NotKept if it keeps
	// no history. Listed is how many it listed at a reading that this comparison needed, -1 if it needed none.
	Counted, Listed int
	// Here is how many plays of that month are here that the connection has reported. Those that their person deleted
	// are among them.
	Here     int
	Refilled int // of Here: they were missing until a comparison
	Renamed  int // plays that the service lists under another name, or at another time, than here
	Short    int // plays that the service counts and does not list
	Tries    int // how often it was so in a row
	// Held are the ids of plays that the service lists all of a sudden in a month that was compared before: they are
	// stored only if their person says so. Refused are those that they don't want, and Take says that they want the
	// others.
	Held, Refused []string
	Take          bool
	// Suspect are the ids of plays that are here and that the service did not list, at a reading at SuspectAt. Gone are
	// those of them that it did not list a day or more later either, and Decided those about which their person has
	// decided.
	Suspect, Gone, Decided []string
	SuspectAt              time.Time
	Days                   []DayCount // of the reading, in order; without days that have no plays
	CheckedAt              time.Time  // zero: not compared yet
	FailedAt               time.Time  // when comparing failed since; zero if it did not
	Wanted                 bool       // its person asks for it to be read now
}

// Compared reports whether the month was ever compared.
func (a Audit) Compared() bool { return !a.CheckedAt.IsZero() }

// Plays returns how many plays the service has, as far as is known; -1 if nothing is.
func (a Audit) Plays() int {
	if a.Counted >= 0 {
		return a.Counted
	}
	return a.Listed
}

// NotKept says that a server doesn't keep a history, so that nothing can be compared.
const NotKept = -2

// DayCount is how many plays of a day there are.
type DayCount struct {
	Day   int `json:"d"` // of the month
	There int `json:"t"` // at the service
	Here  int `json:"h"` // of those, and of what it no longer lists
}

// Reported is a play as a connection has reported it.
type Reported struct {
	ID      string // its SourceID
	At      time.Time
	Listen  int64
	Removed bool // its person has deleted the listen
	Title   string
	Artist  string
}

// Ledger is what is known of how complete a connection's history is here.
type Ledger struct {
	Connection ConnectionID
	Since      time.Time // when it was connected
	Read       time.Time // everything that was played before has been read; zero before the first reading
	Kept       bool      // the service keeps the history, as far as is known of it
	Audits     []Audit   // the latest month first
	Gaps       []Gap     // the latest first
	Files      []Span    // what imports of its exports cover
}
