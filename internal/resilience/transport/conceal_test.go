package transport

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/resilience"
)

// TestNoSecretOfARequestComesBack: a server may repeat what it was sent, in an answer or in what is no HTTP.
//
// Promise: The secrets in a request never come back: people share logs and screenshots.
func TestNoSecretOfARequestComesBack(t *testing.T) {
	t.Parallel()
	const secret = "26719a1196d2a940705a59634eb18eab"
	signed := func(req *http.Request) { req.Header.Set("X-Nd-Authorization", "Bearer "+secret) }
	for name, prepare := range map[string]func(*http.Request){
		"a header":                  signed,
		"a password":                func(req *http.Request) { req.SetBasicAuth("alice", secret) },
		"S3's header":               func(req *http.Request) { req.Header.Set("Authorization", "Signature="+secret) },
		"Subsonic's t":              func(req *http.Request) { req.URL.RawQuery = "u=alice&s=0123456&t=" + secret },
		"Subsonic's s":              func(req *http.Request) { req.URL.RawQuery = "u=alice&t=0123456&s=" + secret },
		"Subsonic's p":              func(req *http.Request) { req.URL.RawQuery = "u=alice&p=" + "enc%3A" + secret },
		"a form with a session key": func(req *http.Request) { setForm(req, "method=a.b&sk="+secret) },
		"a form with a signature":   func(req *http.Request) { setForm(req, "method=a.b&api_sig="+secret) },
		"a form with a token":       func(req *http.Request) { setForm(req, "refresh_token="+secret) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{200, 401, 500, 0} {
				far := roundTripper(func(req *http.Request) (*http.Response, error) {
					sent, _ := io.ReadAll(req.Body)
					_, password, _ := req.BasicAuth()
					text := "refused: " + req.URL.String() + " " + string(sent) + password + " " +
						req.Header.Get("Authorization") + req.Header.Get("X-Nd-Authorization")
					require.Contains(t, text, secret)
					if status == 0 {
						return nil, errors.New("malformed HTTP response " + text)
					}
					return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
						Body: io.NopCloser(strings.NewReader(text))}, nil
				})
				all := func(e *resilience.AnswerError) bool {
					e.Message = resilience.Excerpt(string(e.Body))
					return true
				}
				reader := resilience.Reader{Explain: func(e *resilience.AnswerError) { all(e) }, Refused: all}
				req, err := http.NewRequestWithContext(t.Context(), "POST", "https://api.example.org/",
					strings.NewReader(""))
				require.NoError(t, err)
				prepare(req)
				_, err = resilience.Call{Client: NewClient(&Transport{Base: far})}.Send(req,
					resilience.Endpoint{Name: "POST /",
						Reader: reader})
				require.ErrorContains(t, err, "refused: ")
				require.NotContains(t, err.Error(), secret)
				require.Contains(t, err.Error(), "…")
			}
		})
	}
}

func setForm(req *http.Request, form string) {
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(form)), nil }
	req.Body, _ = req.GetBody()
}
