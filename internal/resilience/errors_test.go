package resilience

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
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
