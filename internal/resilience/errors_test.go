package resilience

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// password must appear nowhere.
const password = "hunter2-secret"

func TestTheTextOfErrors(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"GET /v1/me answered 503": &AnswerError{Endpoint: "GET /v1/me", Status: 503,
			Body: []byte(password)},
		"GET /v1/me answered 200 (9): Invalid session key": &AnswerError{Endpoint: "GET /v1/me", Status: 200,
			Code: "9", Message: "Invalid session key"},
		"GET /v1/me answered 502 with a page instead of data": &AnswerError{Endpoint: "GET /v1/me", Status: 502,
			HTML: true},
		"GET /v1/me: EOF": &NetworkError{Endpoint: "GET /v1/me", Err: io.EOF},
		"GET /v1/me: unexpected answer: a string in items": &ContractError{Endpoint: "GET /v1/me",
			What: "a string in items"},
		"providers.spotify.client_id: It is missing.": &SettingError{Setting: "providers.spotify.client_id",
			Problem: said("It is missing.")},
		"disk full": &LocalError{Err: errors.New("disk full")},
	} {
		require.EqualError(t, err, want)
	}
}

// TestNames: the words of metrics, of the log and of the database; reading what was written gives the same.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for c := None; c <= Unknown; c++ {
		require.False(t, seen[c.String()], c)
		seen[c.String()] = true
		require.Equal(t, c, ParseCategory(c.String()))
	}
	require.Equal(t, Unknown, ParseCategory("no such category"))
	require.Equal(t, "ok canceled retriable fatal", fmt.Sprint(OK, " ", Canceled, " ", Retriable, " ", Fatal))
	require.Equal(t, "item stream connection key app endpoint",
		fmt.Sprint(ScopeItem, " ", ScopeStream, " ", ScopeConnection, " ", ScopeKey, " ", ScopeApp, " ", ScopeEndpoint))
}

func TestExcerpt(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Too many requests. Slow down.", Excerpt("  Too many\r\n\trequests.  Slow down. \n"))
	require.Empty(t, Excerpt(" \n"))
	require.Equal(t, "bad text", Excerpt("bad\xff text"))
	for _, long := range []string{strings.Repeat("x", 400), strings.Repeat("ä", 400), strings.Repeat("x", 299) +
		strings.Repeat("😀", 100)} {
		short := Excerpt(long)
		require.True(t, utf8.ValidString(short))
		require.LessOrEqual(t, len(short), 300+len("…"))
		require.Greater(t, len(short), 290)
		require.True(t, strings.HasSuffix(short, "…"))
	}
	require.Equal(t, strings.Repeat("x", 300), Excerpt(strings.Repeat("x", 300)))
}

func TestASecretShowsNowhere(t *testing.T) {
	t.Parallel()
	s := Secret(password)
	in := struct {
		Token Secret
		Keys  []Secret
	}{s, []Secret{s}}
	var out strings.Builder
	log := slog.New(slog.NewJSONHandler(&out, nil))
	log.Info("x", "token", s, "in", in)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "token", s, "in", in)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		_, _ = fmt.Fprintf(&out, format, s)
		_, _ = fmt.Fprintf(&out, format, in)
	}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	out.Write(text)
	require.NotContains(t, out.String(), password)
	require.NotContains(t, out.String(), fmt.Sprintf("%x", password))
	require.Contains(t, out.String(), "[redacted]")
	require.Equal(t, password, string(s))
}

// said is a Cause that is its own name.
type said string

func (s said) String() string { return string(s) }

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
