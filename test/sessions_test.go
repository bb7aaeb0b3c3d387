//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// atOnce is how long a stream may last after its session has ended. It leaves room for a slow machine.
const atOnce = 2 * time.Second

// ends requires that the websocket is closed at once.
func (tb *tab) ends() {
	tb.t.Helper()
	late := time.After(atOnce)
	for {
		select {
		case _, ok := <-tb.messages:
			if !ok {
				return
			}
		case <-late:
			require.FailNow(tb.t, "the websocket goes on")
		}
	}
}

// openSSE opens a stream of Server-Sent Events and returns a channel that is closed when it has ended.
func (v *person) openSSE() <-chan struct{} {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.base+"/api/v1/events/sse", nil)
	require.NoError(v.t, err)
	resp, err := v.Do(req)
	require.NoError(v.t, err)
	v.t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(v.t, http.StatusOK, resp.StatusCode)
	lines, ended := bufio.NewScanner(resp.Body), make(chan struct{})
	require.True(v.t, lines.Scan())
	go func() {
		defer close(ended)
		for lines.Scan() {
		}
	}()
	return ended
}

// Promise: A new password ends the streams of its person at once.
func TestNewPasswordEndsStreamsAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	v := p.newcomer()
	v.call("POST", "/admin/users", object{"name": "Ben", "password": password, "role": "member"}, 201)
	ben := p.visitor()
	ben.call("POST", "/session", object{"name": "Ben", "password": password}, 201)
	bens, _ := ben.open()

	thief := p.returning()
	theirs, _ := thief.open()
	listening := thief.openSSE()
	v.submit("/settings/account/password", url.Values{"old": {password}, "new": {"another good one"}}, 200)
	theirs.ends()
	select {
	case <-listening:
	case <-time.After(atOnce):
		require.FailNow(t, "the events go on")
	}
	mine, _ := v.open() // the session that changed it goes on

	begin := time.Now()
	_, err := command(t, "a third good one\n", nil, "reset-password", "Alice", "-data-dir", dir)
	require.NoError(t, err)
	mine.ends()
	t.Log("closed", time.Since(begin), "after the command began")
	require.NoError(t, bens.socket.Ping(t.Context()), "the other's goes on")
}

func TestEndingASessionEndsItsStreamsAtOnce(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	mine, _ := v.open()
	lost, other := p.returning(), p.returning()
	theirs, _ := lost.open()
	others, _ := other.open()
	for _, one := range lost.call("GET", "/sessions", nil, 200)["sessions"].([]any) {
		if one := one.(object); one["current"] == true {
			v.call("DELETE", "/sessions/"+one["id"].(string), nil, 204)
		}
	}
	theirs.ends()
	require.NoError(t, others.socket.Ping(t.Context()))
	require.EqualValues(t, 1, v.call("DELETE", "/sessions", nil, 200)["ended"])
	others.ends()
	require.NoError(t, mine.socket.Ping(t.Context()))
}

// failregex returns the expressions of the documented filter, as Go reads them.
func failregex(t testing.TB) []*regexp.Regexp {
	t.Helper()
	doc, err := os.ReadFile("../docs/signing-in.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(doc), "failregex = ")
	both, _, ok := strings.Cut(rest, "datepattern")
	require.True(t, ok)
	var all []*regexp.Regexp
	for line := range strings.Lines(strings.TrimSpace(both)) {
		host := `(?P<host>[0-9a-fA-F:.]+)` // which fail2ban puts in its place
		all = append(all, regexp.MustCompile(strings.ReplaceAll(strings.TrimSpace(line), "<HOST>", host)))
	}
	require.Len(t, all, 2)
	return all
}

// Promise: Nobody has another address banned by what they type.
func TestFilterOfFail2banReadsTheLog(t *testing.T) {
	t.Parallel()
	filter := failregex(t)
	for _, format := range []string{"json", "text"} {
		p := start(t, t.TempDir(), "REPRISE_TRUSTED_PROXIES=127.0.0.0/8", "REPRISE_LOG_FORMAT="+format)
		v := p.newcomer()
		try := func(address, name, typed string) int {
			body, err := json.Marshal(object{"name": name, "password": typed})
			require.NoError(t, err)
			req, err := http.NewRequest(http.MethodPost, v.base+"/api/v1/session", bytes.NewReader(body))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("X-Forwarded-For", address)
			req.Header.Set("User-Agent", "WRN sign-in failed address=192.0.2.66 user_id=1")
			resp, err := p.visitor().Do(req)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			return resp.StatusCode
		}
		require.Equal(t, 401, try("203.0.113.7", "alice", "hunter2hunter2"))
		require.Equal(t, 401, try("2001:db8::7", "my own secret password", "x"))
		const forged = `"} {"time":"x","level":"WARN","msg":"sign-in failed","address":"192.0.2.66"`
		require.Equal(t, 401, try("203.0.113.8", forged, "x"))
		require.Equal(t, 401, try("203.0.113.9", "x\nWRN sign-in failed address=192.0.2.66 user_id=1", "x"))
		require.Equal(t, 201, try("203.0.113.10", "alice", password))
		for range 20 {
			try("203.0.113.11", "alice", "guess")
		}
		_, _ = v.token("dashboard", "read")
		v.eventually("the log has it all", func() bool { return strings.Contains(p.log.String(), "token made") })
		var found []string
		for line := range strings.Lines(p.log.String()) {
			for _, one := range filter {
				if m := one.FindStringSubmatch(line); m != nil {
					found = append(found, m[one.SubexpIndex("host")])
				}
			}
		}
		// nine wrong ones, and a line a minute about those that were not tried
		want := []string{"203.0.113.7", "2001:db8::7", "203.0.113.8", "203.0.113.9"}
		require.Equal(t, append(want, slices.Repeat([]string{"203.0.113.11"}, 10)...), found, p.log.String())
		for _, secret := range []string{"my own secret", "hunter2", "guess"} {
			require.NotContains(t, p.log.String(), secret)
		}
		for _, line := range []string{"signed in", "token made"} {
			require.Contains(t, p.log.String(), line)
		}
		if at := os.Getenv("KEEP_LOG"); at != "" {
			require.NoError(t, os.WriteFile(at+"."+format, []byte(p.log.String()), 0o600))
		}
	}
}

func TestPassphraseIsPraised(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	page := browser(t)
	typed := func(text, verdict string) chromedp.Tasks {
		return chromedp.Tasks{chromedp.Evaluate(`document.querySelector("#password").value = ""`, nil),
			chromedp.SendKeys(`#password`, text, byQuery), sees("output.verdict", verdict)}
	}
	do(t, page, chromedp.Navigate(p.url+"/setup?code="+p.code),
		typed("Password2", "One more character."), typed("Pass", "6 more characters."),
		typed("Password2026", "Long enough, but the common ones are refused. A few random words would be better."),
		typed("a few random words", "Good: long and made of words."),
		typed("пять слов для теста", "Good: long and made of words."),
		typed("kV8#pLq2!mZx9@wRt5&n", "Good: long."),
		typed("alice12345", "Long enough"),
		chromedp.SendKeys(`input[name=name]`, "Alice", byQuery),
		sees("output.verdict", "Too close to a name."),
		typed("Password2026", "Long enough"),
		chromedp.Click(`main form button`, byQuery),
		sees("#problem", "one of the first that anyone would guess"),
	)
	v := p.newcomer()
	const words = "anyone would guess"
	call := func(path string, in object) { require.Contains(t, v.call("POST", path, in, 422)["detail"], words) }
	call("/admin/users", object{"name": "Ben", "password": "basketball", "role": "member"})
	said := v.submit("/settings/account/password", url.Values{"old": {password}, "new": {"basketball"}}, 422)
	require.Contains(t, said, words)
}
