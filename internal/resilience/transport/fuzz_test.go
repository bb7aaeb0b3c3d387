package transport

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
	"reprise/internal/resilience/turns"
)

// FuzzRateLimits reads any rate limit: what is believed lies ahead, and not further than two days.
func FuzzRateLimits(f *testing.F) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for _, value := range []string{"", "120", "0", "-1", "1e3", "1e308", "NaN", "Inf", "0x10", "1777636900", " 7 "} {
		f.Add("0", value)
	}
	f.Fuzz(func(t *testing.T, left, reset string) {
		for _, at := range []time.Time{
			spentUntil(http.Header{"X-Ratelimit-Remaining": {left}, "X-Ratelimit-Reset-In": {reset}}, now),
			spentUntil(http.Header{"X-Ratelimit-Remaining": {left}, "X-Ratelimit-Reset": {reset}}, now)} {
			if !at.IsZero() {
				require.True(t, at.After(now) && !at.After(now.Add(48*time.Hour)), "%v", at)
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
		call := resilience.Call{Client: NewClient(&Transport{Base: base, Turns: turns.New()}), Turn: &turns.Turn{}}
		a, err := askAs(t, t.Context(), call, resilience.Endpoint{XML: xmlIsDue})
		switch e := err.(type) {
		case nil:
			if begins(a.Body, "{[") && !xmlIsDue {
				require.True(t, utf8.Valid(a.Body), "%q", a.Body)
			}
		case *resilience.AnswerError:
			require.LessOrEqual(t, len(e.Body), len(body)*3)
		case *resilience.ContractError:
		default:
			require.Fail(t, "another error", "%T", err)
		}
		require.NotEqual(t, resilience.Unknown, resilience.VerdictOf(err).Category)
	})
}
