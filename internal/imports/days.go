package imports

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The answers to AskDays: 3/4/2026 is 3 April, or March 4.
const (
	DayFirst   = "day_first"
	MonthFirst = "month_first"
)

// slashed is a time with a date such as 3/4/2026 or 03/04/26.
var slashed = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})/(\d{4}|\d{2}),? (\d{1,2}:\d{2}.*)$`)

// clock reads the times of a table as its person has said they are written.
type clock struct {
	in   *time.Location // of times that name no zone
	days string         // DayFirst or MonthFirst; empty for unknown, where slashed times cannot be read
}

func (a Answers) clock() clock { return clock{a.zone(), a.Days} }

// moment is the function of that name, and reads slashed times, too.
func (k clock) moment(text string) (at time.Time, exact, ok bool) {
	part := slashed.FindStringSubmatch(text)
	if part == nil || k.days == "" {
		return moment(text, k.in)
	}
	number := func(s string) int { n, _ := strconv.Atoi(s); return n } // it has digits only
	day, month, year := number(part[1]), number(part[2]), number(part[3])
	if k.days == MonthFirst {
		day, month = month, day
	}
	if len(part[3]) == 2 {
		year += 2000
	}
	for _, layout := range []string{"15:04:05", "3:04:05 PM", "15:04", "3:04 PM"} {
		t, err := time.Parse(layout, strings.ToUpper(part[4]))
		if err != nil {
			continue
		}
		at = time.Date(year, time.Month(month), day, t.Hour(), t.Minute(), t.Second(), 0, k.in)
		return at, strings.Contains(layout, "05"), at.Day() == day && at.Month() == time.Month(month)
	}
	return at, false, false
}

// Slashed reports whether a table seems to have slashed times.
func (s Sample) Slashed() bool {
	for _, row := range s {
		for _, cell := range row {
			if slashed.MatchString(strings.TrimSpace(cell)) {
				return true
			}
		}
	}
	return false
}

// daysOf returns how the slashed times of a table that begins with head are written; empty where they don't show it.
func daysOf(head string) string {
	for _, row := range firstRows(head, 1000) {
		for _, cell := range row {
			part := slashed.FindStringSubmatch(strings.TrimSpace(cell))
			if part == nil {
				continue
			}
			if n, _ := strconv.Atoi(part[1]); n > 12 {
				return DayFirst
			}
			if n, _ := strconv.Atoi(part[2]); n > 12 {
				return MonthFirst
			}
		}
	}
	return ""
}
