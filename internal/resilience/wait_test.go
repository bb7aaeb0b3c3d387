package resilience

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Promise: Waits of more than 48 h are ignored: the service must be mistaken.
func TestParseRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	date := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		value string
		wait  time.Duration // 0 for none
		bad   bool
	}{
		"none":                     {"", 0, false},
		"blank":                    {"  ", 0, false},
		"seconds":                  {"120", 2 * time.Minute, false},
		"seconds with space":       {" 120 ", 2 * time.Minute, false},
		"a day":                    {"86400", 24 * time.Hour, false},
		"fractional":               {"1.5", 1500 * time.Millisecond, false},
		"48 hours":                 {"172800", 48 * time.Hour, false},
		"more than 48 hours":       {"172801", 0, true},
		"zero":                     {"0", 0, true},
		"as good as zero":          {"1e-10", 0, true},
		"negative":                 {"-5", 0, true},
		"a billion":                {"1000000000", 0, true},
		"a billion, short":         {"1e9", 0, true},
		"soon":                     {"soon", 0, true},
		"two values":               {"120, 240", 0, true},
		"not a number":             {"NaN", 0, true},
		"infinite":                 {"Inf", 0, true},
		"minus infinite":           {"-Inf", 0, true},
		"more than a number holds": {"1e999", 0, true},
		"date":                     {date(time.Hour), time.Hour, false},
		"date, old form":           {now.Add(time.Hour).Format(time.RFC850), time.Hour, false},
		"date, C's form":           {now.Add(time.Hour).Format(time.ANSIC), time.Hour, false},
		"date in 48 hours":         {date(48 * time.Hour), 48 * time.Hour, false},
		"date after 48 hours":      {date(48*time.Hour + time.Second), 0, true},
		"date of this second":      {date(0), 0, true},
		"date in the past":         {date(-time.Hour), 0, true},
		"date without zone":        {"2026-11-21 09:00", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, bad := parseRetryAfter(c.value, now)
			require.Equal(t, c.bad, bad)
			if c.wait == 0 {
				require.Zero(t, at)
			} else {
				require.Equal(t, now.Add(c.wait), at)
			}
		})
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at, bad := After(90.25, now)
	require.Equal(t, now.Add(90*time.Second+250*time.Millisecond), at)
	require.False(t, bad)
	for _, seconds := range []float64{0, -1, 1e-12, 172800.001, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)} {
		at, bad := After(seconds, now)
		require.True(t, bad, seconds)
		require.Zero(t, at, seconds)
	}
}

// FuzzRetryAfter reads any Retry-After: what is believed lies ahead, and not further than two days.
func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{"", "120", "0", "-1", "1e3", "1e308", "NaN", "Inf", "0x10", "1777636900", " 7 ",
		"Fri, 01 May 2026 12:01:00 GMT", "Friday, 01-May-26 12:01:00 GMT", "Fri May  1 12:01:00 2026", "tomorrow"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		at, bad := parseRetryAfter(value, now)
		require.False(t, bad && !at.IsZero())
		require.True(t, at.IsZero() || at.After(now) && !at.After(now.Add(maxWait)), "%v", at)
	})
}
