package resilience

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// FuzzWaits reads any Retry-After and rate limit: what is believed lies ahead, and not further than two days.
func FuzzWaits(f *testing.F) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{"", "120", "0", "-1", "1e3", "1e308", "NaN", "Inf", "0x10", "1777636900", " 7 ",
		"Fri, 01 May 2026 12:01:00 GMT", "Friday, 01-May-26 12:01:00 GMT", "Fri May  1 12:01:00 2026", "tomorrow"} {
		f.Add(value, "0", value)
	}
	f.Fuzz(func(t *testing.T, retryAfter, left, reset string) {
		at, bad := parseRetryAfter(retryAfter, now)
		require.False(t, bad && !at.IsZero())
		waits := []time.Time{at,
			spentUntil(http.Header{"X-Ratelimit-Remaining": {left}, "X-Ratelimit-Reset-In": {reset}}, now),
			spentUntil(http.Header{"X-Ratelimit-Remaining": {left}, "X-Ratelimit-Reset": {reset}}, now)}
		for _, at := range waits {
			if !at.IsZero() {
				require.True(t, at.After(now) && !at.After(now.Add(maxWait)), "%v", at)
			}
		}
	})
}

// FuzzAnswer reads any answer: what adapters get is UTF-8 or not text, and every error is one of this package's.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{"", "{}", "[{}]", "<html>",
		"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>\xf6</a>",
		"{\"a\":\"\xf6\"}", "\xff\xfe{\x00}\x00", "\ufeff[]", "<?xml encoding='x", "<a", "<!DOCTYPE html", "<<<"} {
		f.Add("application/json", 200, false, []byte(body))
		f.Add("text/html; charset=shift_jis", 503, true, []byte(body))
		f.Add("application/xml", 200, true, []byte(body))
	}
	f.Fuzz(func(t *testing.T, kind string, status int, xmlIsDue bool, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, ContentLength: -1,
				Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
		})
		call := Call{Client: NewClient(&Transport{Base: base, Turns: NewTurns()}), Turn: &Turn{}}
		a, err := askAs(t, t.Context(), call, Endpoint{XML: xmlIsDue})
		switch e := err.(type) {
		case nil:
			if begins(a.Body, "{[") && !xmlIsDue {
				require.True(t, utf8.Valid(a.Body), "%q", a.Body)
			}
		case *AnswerError:
			require.LessOrEqual(t, len(e.Body), len(body)*3)
		case *ContractError:
		default:
			require.Fail(t, "another error", "%T", err)
		}
		require.NotEqual(t, Unknown, VerdictOf(err).Category)
	})
}
