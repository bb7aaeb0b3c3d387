package transport

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// What a request proves itself with must appear nowhere, and some servers repeat what they refuse.
var (
	// credentials are the headers that hold some.
	credentials = []string{"Authorization", "Api-Key", "Client-Key", "X-Goog-Api-Key", "X-Nd-Authorization"}
	// secretFields are the parameters, of the address or of a form, that do: of Subsonic (t, s, p, apiKey), Last.fm
	// (api_key, api_sig, sk, token), and of token endpoints.
	secretFields = []string{"t", "s", "p", "apiKey", "api_key", "api_sig", "sk", "token", "key", "password", "code",
		"code_verifier", "client_secret", "access_token", "refresh_token"}
)

const (
	shortestSecret = 6        // bytes; replacing less would destroy words
	longestForm    = 64 << 10 // bytes of a form that are looked at
)

// conceal removes the request's own credentials from an answer.
func conceal(req *http.Request, body []byte) []byte {
	if len(body) == 0 {
		return body
	}
	for _, secret := range secretsOf(req) {
		if bytes.Contains(body, []byte(secret)) {
			body = bytes.ReplaceAll(body, []byte(secret), []byte("…"))
		}
	}
	return body
}

// concealed returns an error of the network without the request's own credentials: such errors quote what arrived.
func concealed(req *http.Request, err error) error {
	text := err.Error()
	if clean := string(conceal(req, []byte(text))); clean != text {
		return errors.New(clean)
	}
	return err
}

// secretsOf returns what a request proves itself with, in every form in which a server may repeat it, the longest
// first.
func secretsOf(req *http.Request) (all []string) {
	add := func(secret string) {
		if len(secret) >= shortestSecret {
			all = append(all, secret)
		}
	}
	for _, name := range credentials {
		value := req.Header.Get(name)
		add(value[strings.LastIndexByte(value, ' ')+1:]) // behind "Bearer" and the like
		add(value[strings.LastIndexByte(value, '=')+1:]) // the signature of S3
	}
	if _, password, ok := req.BasicAuth(); ok {
		add(password)
	}
	fields := func(values url.Values) {
		for _, name := range secretFields {
			for _, value := range values[name] {
				add(value)
				add(url.QueryEscape(value))
			}
		}
	}
	if req.URL.RawQuery != "" {
		fields(req.URL.Query())
	}
	if strings.HasPrefix(req.Header.Get("Content-Type"), "application/x-www-form-urlencoded") && req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			text, _ := io.ReadAll(io.LimitReader(body, longestForm))
			form, _ := url.ParseQuery(string(text)) // as far as it can be read
			fields(form)
			_ = body.Close()
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return slices.Compact(all)
}
