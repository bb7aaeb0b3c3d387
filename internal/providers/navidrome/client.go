package navidrome

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/words"
)

const (
	apiVersion = "1.16.1"
	// firstDelay is the first backoff delay when the server cannot be reached. A person's own server is usually back
	// soon; see docs/providers.md.
	firstDelay = 5 * time.Second
)

// way is how calls authenticate and send their parameters.
type way struct {
	auth string // "token", "password" or "apikey"; empty when not known yet
	form bool   // in a POST form instead of the URL
}

// verb returns the HTTP method of calls.
func (w way) verb() string {
	if w.form {
		return http.MethodPost
	}
	return http.MethodGet
}

type adapter struct {
	call     resilience.Call
	base     *url.URL
	err      error // the error of invalid credentials
	user     string
	password string
	apiKey   string
	insecure bool

	way      way
	native   bool // Navidrome's own API can be used
	held     *sessions
	signIns  int      // logins at Navidrome's own API in this run
	moved    *url.URL // redirect target of the latest call
	askedWay bool     // the way was negotiated again during this run

	navidrome bool // the latest answer came from a Navidrome
	// plain says that the server knows Subsonic's own API only, which does not tell when songs were played
	plain bool
	// titlesOnly says that the server searches the titles of songs only, as gonic and supysonic do
	titlesOnly bool
}

// ask makes one call of the Subsonic API and returns a successful answer, or [providers.ErrNotOffered].
func (a *adapter) ask(ctx context.Context, method string, params url.Values) (*response, error) {
	if err := a.ready(ctx); err != nil {
		return nil, err
	}
	r, err := a.send(ctx, a.way, method, params)
	if refused(err, codeNoToken, codeNoWay, codeWaysClash) && !a.askedWay {
		a.askedWay = true
		if _, err := a.negotiate(ctx); err != nil {
			return nil, err
		}
		r, err = a.send(ctx, a.way, method, params)
	}
	return r, offered(err)
}

// ready negotiates the way to call this server if it is unknown.
func (a *adapter) ready(ctx context.Context) error {
	if a.err != nil || a.way.auth != "" {
		return a.err
	}
	pong, err := a.negotiate(ctx)
	if err != nil {
		return err
	}
	a.native = a.mayUseNative(pong)
	return nil
}

func (a *adapter) send(ctx context.Context, w way, method string, params url.Values) (*response, error) {
	form := url.Values{"f": {"json"}, "c": {clientName}, "v": {apiVersion}}
	maps.Copy(form, params)
	a.sign(form, w)
	u := a.base.JoinPath("rest", method+".view")
	verb, body := w.verb(), ""
	if w.form {
		body = form.Encode()
	} else {
		u.RawQuery = form.Encode()
	}
	effect := resilience.Write
	if reads(method) { // in this API the verb does not say: forms read, and a GET may write
		effect = resilience.Read
	}
	req, err := http.NewRequestWithContext(ctx, verb, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, badAddress(words.New("field.web_address"))
	}
	if w.form {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := a.do(effect, req, verb+" /rest/"+method,
		providers.Refusals{Table: subsonic, Explain: explain, InSuccess: failed})
	if err != nil {
		return nil, err
	}
	return a.read(answer)
}

// reads reports whether a method of the Subsonic API changes nothing.
func reads(method string) bool {
	return strings.HasPrefix(method, "get") || strings.HasPrefix(method, "search") || method == "ping" ||
		method == "tokenInfo"
}

// sign adds the authentication. Every call gets a new token, as the API requires.
func (a *adapter) sign(form url.Values, w way) {
	switch w.auth {
	case "apikey":
		form.Set("apiKey", a.apiKey)
		return // with a key, the user's name is not sent
	case "password":
		form.Set("p", "enc:"+hex.EncodeToString([]byte(a.password)))
	default:
		salt := rand.Text()
		token := md5.Sum([]byte(a.password + salt))
		form.Set("s", salt)
		form.Set("t", hex.EncodeToString(token[:]))
	}
	form.Set("u", a.user)
}

// do sends a request to either API.
func (a *adapter) do(
	effect resilience.Effect, req *http.Request, endpoint string, r providers.Refusals,
) (*resilience.Answer, error) {
	call := a.call
	call.Effect, call.FirstDelay = effect, firstDelay
	answer, err := r.Send(call, req, endpoint)
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		e.Message = a.redact(e.Message)
	}
	return answer, err
}

// read decodes the envelope of an answer.
func (a *adapter) read(answer *resilience.Answer) (*response, error) {
	var env envelope
	if err := providers.DecodeJSON(answer, &env); err != nil {
		return nil, err
	}
	r := env.Response
	switch {
	case r == nil:
		return nil, &resilience.ContractError{Endpoint: answer.Endpoint, What: "no subsonic-response"}
	case r.Status != "ok":
		return nil, &resilience.ContractError{Endpoint: answer.Endpoint, What: "a status that is neither ok nor failed"}
	}
	r.endpoint = answer.Endpoint
	a.navidrome = strings.EqualFold(r.Type, "navidrome")
	a.plain = r.Type == "" && !r.OpenSubsonic
	a.titlesOnly = a.titlesOnly || strings.EqualFold(r.Type, "gonic")
	return r, nil
}

// explain reads code and message of a failure with an HTTP error status.
func explain(e *resilience.AnswerError) {
	var env envelope
	if json.Unmarshal(e.Body, &env) == nil && env.Response != nil && !resilience.ServerFault(e.Status) {
		env.Response.describe(e)
	}
}

// failed reads a failure with status 200, which is usual in this API. Bodies without the word are not parsed.
func failed(e *resilience.AnswerError) bool {
	var env envelope
	if !bytes.Contains(e.Body, []byte(`"failed"`)) || json.Unmarshal(e.Body, &env) != nil || env.Response == nil ||
		env.Response.Status != "failed" {
		return false
	}
	e.Code = codeGeneric
	env.Response.describe(e)
	return true
}

// redact takes the credentials out of the upstream's message, in case it repeats them.
func (a *adapter) redact(text string) string {
	for _, secret := range []string{hex.EncodeToString([]byte(a.password)), a.password, a.apiKey} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

// meaning returns err with another meaning than the table gives it.
func meaning(err error, m resilience.Meaning) error {
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		e.Means(&m)
	}
	return err
}

// whole returns err for a call that concerns more than one play or playlist. An item failure without one of these
// codes then means that a proxy routes /rest/ elsewhere.
func whole(err error, codes ...string) error {
	if resilience.IsItem(err) && !refused(err, codes...) {
		return meaning(err, ourMistake)
	}
	return err
}

// refused reports whether err is an answer with one of these codes.
func refused(err error, codes ...string) bool {
	e, ok := errors.AsType[*resilience.AnswerError](err)
	return ok && slices.Contains(codes, e.Code)
}

// offered replaces the error of a disabled feature with [providers.ErrNotOffered].
func offered(err error) error {
	if switchedOff(err) {
		return providers.ErrNotOffered
	}
	return err
}

// watchRedirects returns a client that records redirects. It does not follow a redirect that would drop the form.
func (a *adapter) watchRedirects(client *http.Client) *http.Client {
	c := *client
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		a.moved = req.URL
		if req.Method != via[0].Method || client.CheckRedirect == nil {
			return http.ErrUseLastResponse
		}
		return client.CheckRedirect(req, via)
	}
	return &c
}

// follow adopts the redirect target of the latest call as the server's address if it has the same host name and does
// not downgrade from https. It reports whether the address changed.
func (a *adapter) follow() bool {
	to := a.moved
	a.moved = nil
	if to == nil || to.Hostname() != a.base.Hostname() || to.Scheme != "https" && to.Scheme != a.base.Scheme ||
		!strings.Contains(to.Path, "/rest/") {
		return false
	}
	base, err := normalise((&url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}).String())
	if err != nil || *base == *a.base {
		return false
	}
	a.base = base
	return true
}

// mayReveal reports whether the password itself may be sent to this server.
func (a *adapter) mayReveal() bool {
	return a.base.Scheme == "https" || a.insecure || loopback(a.base.Hostname())
}
