package oauth_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/oauth"
	"reprise/internal/resilience"
)

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzTokenAnswer has a token endpoint answer anything: a token is one, an error is judged, and neither shows a secret.
func FuzzTokenAnswer(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(f, err)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(200, "application/json", body)
		f.Add(400, "application/json", body)
	}
	for _, body := range []string{`{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r"}`,
		`{"access_token":"a","expires_in":"3600"}`, `{"access_token":"a","expires_in":1e400}`, `{"access_token":["a"]}`,
		`{"error":"invalid_grant","error_description":"refresh-1"}`, `access_token=a&expires_in=99999999999999`,
		``, `[]`} {
		f.Add(200, "application/json", []byte(body))
		f.Add(401, "application/x-www-form-urlencoded", []byte(body))
		f.Add(200, "text/plain", []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		if status < 200 || status > 599 || status/100 == 3 {
			return
		}
		rt := answering(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, ContentLength: -1,
				Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
		})
		c := connection()
		tokens := oauth.NewTokens(&memory{connection: &c}, client(rt))
		token, err := tokens.Fresh(t.Context(), resilience.Call{}, provider("https://accounts.example/token"), c,
			"access-1")
		if err == nil {
			require.NotEmpty(t, token)
			return
		}
		require.Empty(t, token)
		v := resilience.VerdictOf(err)
		require.True(t, v.Failed(), "%v", err)
		if !bytes.Contains(body, []byte("refr")) { // only an escaped one is not found
			require.False(t, strings.Contains(err.Error(), "refresh-1"))
		}
	})
}

// FuzzCallback sends anything to the address that a provider leads back to: without the state of this browser's own
// request nothing is exchanged, and the request stays open for the right answer.
func FuzzCallback(f *testing.F) {
	for _, query := range []string{"", "state=", "state=x&code=y", "state[]=x", "code=the-code", "error=access_denied",
		"state=%00&code=%ff", "state=x&state=y&code=z", "%zz", "state=x;code=y", "iss=https://accounts.example&state=x",
		"state=" + strings.Repeat("A", 26) + "&code=the-code"} {
		f.Add(query, "alice's browser")
	}
	f.Add("STATE&code=c", "another browser")
	f.Fuzz(func(t *testing.T, query, session string) {
		asked := 0
		rt := answering(func(r *http.Request) (*http.Response, error) {
			asked++
			return &http.Response{StatusCode: http.StatusBadRequest, Body: http.NoBody, Request: r}, nil
		})
		flow := oauth.NewFlow(&memory{}, client(rt))
		r := request(provider("https://accounts.example/token"))
		to, err := flow.Begin(t.Context(), r)
		require.NoError(t, err)
		u, err := url.Parse(to)
		require.NoError(t, err)
		state := u.Query().Get("state")

		// with another session not even the right state is good, and neither is anything else with the right session
		r.Session = session
		if session == "alice's browser" {
			query = strings.ReplaceAll(query, state, "")
		} else {
			query = strings.ReplaceAll(query, "STATE", "state="+state)
		}
		answer, _ := url.ParseQuery(query) // as net/http takes it, with what can be read of it
		grant, err := flow.Complete(t.Context(), r, answer)
		require.ErrorIs(t, err, oauth.ErrState)
		require.Zero(t, grant)
		require.Zero(t, asked)
	})
}
