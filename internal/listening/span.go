package listening

import (
	"fmt"
	"time"
)

// The names of spans, as they stand in addresses.
const (
	Day   = "day"
	Week  = "week" // from Monday
	Month = "month"
	Year  = "year"
	All   = "all"
	Any   = "" // from one day to another
)

// Span is a time that is looked at, in a zone: From to before To. All time has no bounds.
type Span struct {
	Name     string
	From, To time.Time
}

// NewSpan returns the span with a name that a time is in.
func NewSpan(name string, at time.Time) (Span, error) {
	y, m, d := at.Date()
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, at.Location()) }
	switch name {
	case Day:
		return Span{Day, day(y, m, d), day(y, m, d+1)}, nil
	case Week:
		d -= (int(at.Weekday()) + 6) % 7
		return Span{Week, day(y, m, d), day(y, m, d+7)}, nil
	case Month:
		return Span{Month, day(y, m, 1), day(y, m+1, 1)}, nil
	case Year:
		return Span{Year, day(y, 1, 1), day(y+1, 1, 1)}, nil
	case All:
		return Span{Name: All}, nil
	}
	return Span{}, fmt.Errorf("no such span: %q", name)
}

// Recent returns the whole days up to the end of the day of a time, as many years and days back.
func Recent(now time.Time, years, days int) Span {
	y, m, d := now.Date()
	to := time.Date(y, m, d+1, 0, 0, 0, 0, now.Location())
	return Span{From: to.AddDate(-years, 0, -days), To: to}
}

// Before returns the span of the same length before s; false for all time.
func (s Span) Before() (Span, bool) {
	switch s.Name {
	case All:
		return s, false
	case Any:
		days := int(s.To.Sub(s.From).Round(24*time.Hour) / (24 * time.Hour))
		return Span{From: s.From.AddDate(0, 0, -days), To: s.From}, true
	}
	before, err := NewSpan(s.Name, s.From.AddDate(0, 0, -1))
	return before, err == nil
}

// After returns the span of the same length after s; false for all time.
func (s Span) After() (Span, bool) {
	switch s.Name {
	case All:
		return s, false
	case Any:
		days := int(s.To.Sub(s.From).Round(24*time.Hour) / (24 * time.Hour))
		return Span{From: s.To, To: s.To.AddDate(0, 0, days)}, true
	}
	after, err := NewSpan(s.Name, s.To)
	return after, err == nil
}

// Unit returns how long the pieces are in which the span is drawn over time.
func (s Span) Unit() string {
	switch days := s.To.Sub(s.From).Hours() / 24; {
	case s.Name == All:
		return Month
	case days <= 62:
		return Day
	case days <= 200:
		return Week
	case days <= 1500:
		return Month
	}
	return Year
}

// unix returns the bounds in Unix seconds.
func (s Span) unix() (from, to int64) {
	if s.Name == All {
		return -1 << 62, 1 << 62
	}
	return s.From.Unix(), s.To.Unix()
}

// clock tells the day, the weekday and the hour of times in one zone. Times that follow each other are cheap.
type clock struct {
	zone     *time.Location
	from, to int64 // between which the offset holds
	offset   int64 // seconds east of UTC
	today    int64 // the day that was asked for last
	midnight int64 // when it began, in seconds of the clock on the wall
}

const daySeconds = 24 * 60 * 60

// day returns the number of the day that t is in (day 0 is 1 January 1970) and the seconds since midnight by the clock
// on the wall.
func (c *clock) day(t int64) (day, second int64) {
	if t < c.from || t >= c.to || c.to == 0 {
		at := time.Unix(t, 0).In(c.zone)
		start, end := at.ZoneBounds()
		_, offset := at.Zone()
		c.from, c.to, c.offset = -1<<62, 1<<62, int64(offset)
		if !start.IsZero() {
			c.from = start.Unix()
		}
		if !end.IsZero() {
			c.to = end.Unix()
		}
	}
	t += c.offset
	// Listens come in order of time, so that most are on the day of the one before.
	if second = t - c.midnight; second >= 0 && second < daySeconds {
		return c.today, second
	}
	day = t / daySeconds
	if second = t % daySeconds; second < 0 {
		day, second = day-1, second+daySeconds
	}
	c.today, c.midnight = day, t-second
	return day, second
}

// weekday returns the weekday of a day: 0 for Monday.
func weekday(day int64) int { return int(((day+3)%7 + 7) % 7) }

// Date returns the date of a day.
func Date(day int64) time.Time { return time.Unix(day*daySeconds, 0).UTC() }

// DayOf returns the number of the day of a date.
func DayOf(date time.Time) int64 {
	y, m, d := date.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / daySeconds
}
