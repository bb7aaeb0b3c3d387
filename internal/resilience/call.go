package resilience

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"reprise/internal/resilience/turns"
)

// Call is one call of an upstream: who makes it, how, and what permits it. The guard that permits a call makes it, and
// each request of the call carries it to the transport. It is a plain value: a copy that differs is another call.
type Call struct {
	Client   *http.Client // on a transport.Transport; it adds the access token or the key that the call needs
	User     int64        // on whose behalf; 0 for the installation
	Provider string       // for logs and metrics
	Stream   string       // of the user's connection; empty for a call that belongs to none
	Effect   Effect
	// Proof says that the call finds out whether what a person has just entered works. A failure may be the person's
	// mistake: it does not count against the service.
	Proof bool
	// Eager says that a person waits for the answer: the request is repeated where that may help, and an open breaker
	// lets it through as its probe.
	Eager bool
	// Typed says that the call tries what a person has just typed, which may be a wrong address. It is repeated for a
	// few seconds only, because a mistake should show soon.
	Typed    bool
	Patience time.Duration // how long the upstream may take for an answer; 0 means CallTimeout
	// FirstDelay replaces the base of the backoff when the server cannot be reached; 0 means the usual one.
	FirstDelay time.Duration
	// Attempt is the number of the first try at each request, from 1, of what was tried in other calls before, such as
	// a delivery. 0 numbers it behind the failures in a row that the permit knows of.
	Attempt int
	Permit  Permit // nil for a call that needs none
	// Turn lets answers be large, one after the other. With nil a large answer is a broken contract.
	Turn *turns.Turn
}

// CallTimeout is how long an upstream may take for an answer; see docs/resilience.md.
const CallTimeout = 30 * time.Second

// Permit is what the backoff gives for a call, and what is asked again before each of its requests.
type Permit interface {
	// Ask returns an error if the nth attempt at a request may not go out any more.
	Ask(endpoint string, n int) error
	// Attempt returns the number of the first try at each request, from 1.
	Attempt() int
	// Clean reports whether nothing was known to fail when the permit was given.
	Clean() bool
}

// First returns the number of the first try at each request, from 1.
func (c Call) First() int {
	if c.Attempt == 0 && c.Permit != nil {
		return max(c.Permit.Attempt(), 1)
	}
	return max(c.Attempt, 1)
}

// Effect is what a call changes at its upstream, and so whether a request may be sent twice.
type Effect uint8

// The effects.
const (
	ByMethod Effect = iota // HTTP's meaning of the method: GET and HEAD change nothing
	Read                   // none, or none more if it is sent twice
	Write                  // one each time: it is not repeated, unless it certainly has not been sent
)

// Endpoint is what is known of an endpoint before it is called.
type Endpoint struct {
	Name   string // method and route template, for logs, metrics and breakers
	Reader Reader // of the provider's own answers
	XML    bool   // its answers may be XML: only HTML is a page then
	// Files says that it is on a server of files, which answers with a page if it does not have a file, or wants fewer
	// requests. Only such pages are its own answers.
	Files bool
	// Pages says that its answer may be a page when it succeeds. The contents are ignored.
	Pages bool
}

// Reader reads a provider's own answers, and notes what the provider's table says about them, before they are judged.
type Reader struct {
	// Explain notes on a failed answer what it means.
	Explain func(*AnswerError)
	// Refused reports whether an answer with a successful status is a refusal, and then notes what it means. Nil if
	// the provider does not do so.
	Refused func(*AnswerError) bool
}

// Send sends a request and returns the answer, its body read and closed. Every error is one of this package's types, or
// the context's if the caller has stopped; none holds the URL.
func (c Call) Send(req *http.Request, to Endpoint) (*Answer, error) {
	c.Turn.End() // also before it waits for a credential that another call renews
	resp, err := c.Client.Do(Request{Call: c, To: to}.On(req))
	if err != nil {
		if ue, ok := errors.AsType[*url.Error](err); ok {
			err = ue.Err // typed by Transport; url.Error would print the URL
		}
		return nil, err
	}
	defer resp.Body.Close()
	read, ok := resp.Body.(interface{ Bytes() []byte })
	if !ok {
		return nil, &NetworkError{Endpoint: to.Name, Err: errors.New("the client does not stand on a Transport")}
	}
	unchanged := resp.StatusCode == http.StatusNotModified && req.Header.Get("If-None-Match") != ""
	if !unchanged && !Succeeded(resp.StatusCode) { // a redirect: a portal, or a server that moved
		return nil, c.Redirected(to, resp)
	}
	return &Answer{Endpoint: to.Name, Status: resp.StatusCode, Header: resp.Header, Body: read.Bytes()}, nil
}

// Redirected returns the error of an answer that is a redirect, which was not followed.
func (c Call) Redirected(to Endpoint, resp *http.Response) *AnswerError {
	e := &AnswerError{Endpoint: to.Name, Status: resp.StatusCode, Message: "redirects to another address"}
	from := resp.Request.URL
	if to, err := resp.Location(); err == nil && to.Host != "" && (to.Host != from.Host || to.Scheme != from.Scheme) {
		e.MovedTo = to.Scheme + "://" + to.Host
		e.Message = "redirects to " + e.MovedTo
	}
	return e
}

// Transport returns the http.RoundTripper of the call's requests to an endpoint, for a library that sends them itself.
func (c Call) Transport(to Endpoint) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		return c.Client.Transport.RoundTrip(Request{Call: c, To: to}.On(req))
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Request is a call on its way to an endpoint: what each HTTP request of the call carries.
type Request struct {
	Call
	To  Endpoint
	Key string // last four characters of the pooled key that it carries; empty without
}

type carriedKey struct{}

// On returns req, carrying r. A context is the only thing that comes through an http.Client and the transports around
// ours, so this is the one value of a call that travels hidden.
func (r Request) On(req *http.Request) *http.Request {
	return req.WithContext(context.WithValue(req.Context(), carriedKey{}, r))
}

// Received notes on the error of a request what is known of the request, and fixes the verdict on an answer.
func (r Request) Received(err error) {
	if e, ok := errors.AsType[*AnswerError](err); ok {
		e.Attempt, e.pooled = r.First(), r.Key != ""
		v := e.judge()
		e.verdict = &v
	} else if e, ok := errors.AsType[*NetworkError](err); ok {
		e.Attempt, e.FirstDelay = r.First(), r.FirstDelay
	}
}

// RequestOf returns what req carries.
func RequestOf(req *http.Request) Request {
	r, _ := req.Context().Value(carriedKey{}).(Request)
	if r.To.Name == "" { // the path may hold ids and names
		r.To.Name = req.Method + " " + req.URL.Host
	}
	return r
}

// Copies takes the body of req, which carries r, and returns what makes copies of it to be sent one after the other,
// each with the whole body. A copy after a failure, with another key or credential, numbers its attempts from there.
func (r Request) Copies(req *http.Request) (func(failed error) (*http.Request, error), error) {
	body, err := replay(req)
	return func(failed error) (*http.Request, error) {
		if failed != nil {
			r.Attempt = max(r.First(), attemptOf(failed)) + 1
			req = r.On(req)
		}
		out := req.Clone(req.Context())
		if body == nil {
			return out, nil
		}
		var err error
		out.Body, err = body()
		out.GetBody = body
		return out, err
	}, err
}

// replay takes the request's body and returns a way to send it more than once; nil if there is none.
func replay(req *http.Request) (func() (io.ReadCloser, error), error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	defer req.Body.Close()
	if req.GetBody != nil {
		return req.GetBody, nil
	}
	text, err := io.ReadAll(req.Body)
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, err
}

// attemptOf returns the number of the attempt that failed with err; 0 if err does not know it.
func attemptOf(err error) int {
	if e, ok := errors.AsType[*AnswerError](err); ok {
		return e.Attempt
	}
	if e, ok := errors.AsType[*NetworkError](err); ok {
		return e.Attempt
	}
	return 0
}
