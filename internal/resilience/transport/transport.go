// Package transport sends every upstream call. [Transport] is the one http.RoundTripper of the program: it bounds
// bodies and times, and returns every failure as one of package resilience's types, with its verdict. It repeats a
// request only where a person waits, or where a run that began without trouble reads.
//
// Every request passes three guards, which all users share and which learn from its verdict: [Breakers] (an endpoint
// that fails for everybody), [Uplink] (our own connection to the internet) and [Paces] (how often an upstream may be
// asked; a request waits a few seconds for its turn). A call that one of the three forbids is not made: its error is a
// [backoff.NotBeforeError], and its stream waits without a failure being counted.
package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/resilience/hosts"
	"reprise/internal/resilience/turns"
)

// The bounds of every answer; see docs/resilience.md.
const (
	maxBody    = 10 << 20  // bytes
	maxFailure = 256 << 10 // bytes of a failed answer that are read
)

// Transport is the http.RoundTripper of every upstream call. It reads the whole body before it returns, so that a
// connection cut in the middle is a [NetworkError] and never half an answer, and returns every status but 2xx and 3xx,
// and every HTML page, as a [resilience.AnswerError]. A call that something shared by all users forbids is not made,
// and its error is a [backoff.NotBeforeError].
//
// A request that fails in passing, and may be sent twice, is repeated up to five times, where a person waits for the
// answer ([resilience.Call.Eager]) or where a run that began without trouble reads. All else is up to the schedules.
type Transport struct {
	Base      http.RoundTripper // what really sends, usually [hosts.NewBase]
	UserAgent string
	// Agent, if set, returns what UserAgent is now; it counts more.
	Agent func() string
	Log   *slog.Logger // one line per attempt, and per call that an open breaker ended; nil for none
	// Told, if set, is called with the same. It is called by the goroutine of the call, and must not block.
	Told func(context.Context, Attempt)
	Rand func() float64 // uniform in [0, 1); for tests
	Once bool           // nothing is repeated inside a call; for comparison

	Uplink   *Uplink // nil for none, as with the others
	Breakers *Breakers
	Paces    *Paces
	Turns    *turns.Queue
}

// NewClient returns an http.Client on rt that follows a redirect only within one host, so that credentials do not
// leave it, and only with the same method: a submission that became a read would look as if it had been accepted.
func NewClient(rt http.RoundTripper) *http.Client {
	return &http.Client{Transport: rt, CheckRedirect: sameRequest}
}

func sameRequest(req *http.Request, via []*http.Request) error {
	from, to := via[0].URL, req.URL
	downgraded := to.Scheme != from.Scheme && to.Scheme != "https"
	if len(via) >= 5 || to.Host != from.Host || downgraded || req.Method != via[0].Method {
		return http.ErrUseLastResponse
	}
	return nil
}

// lost returns the error of an answer that did not arrive whole: the end of the context, or a fault of the network. An
// error that says what is wrong with the answer stays as it is.
func lost(ctx, outer context.Context, endpoint string, err error) error {
	if errors.Is(outer.Err(), context.Canceled) {
		return outer.Err()
	}
	if errors.Is(err, hosts.ErrFenced) {
		return hosts.ErrFenced
	}
	if e, ok := errors.AsType[*resilience.SettingError](err); ok { // what connects may not do so
		return e
	}
	if _, ok := errors.AsType[*resilience.ContractError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*backoff.NotBeforeError](err); ok {
		return err
	}
	if outer.Err() == nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = context.DeadlineExceeded
	}
	return &resilience.NetworkError{Endpoint: endpoint, Err: err}
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := resilience.RequestOf(req)
	began := time.Now()
	resp, err := t.try(req, c)
	if err != nil && !t.Once {
		return t.repeat(req, c, began, err)
	}
	return resp, err
}

// try makes one attempt, if the guards allow it.
func (t *Transport) try(req *http.Request, c resilience.Request) (*http.Response, error) {
	c.Turn.End()
	pass, until, ok := t.Breakers.enter(c.Provider, req.URL.Host, c.To.Name, c.Eager)
	if !ok {
		err := shared(c.To.Name, resilience.CircuitOpen, until)
		t.tell(req.Context(), req.URL.Host, c, try{verdict: resilience.VerdictOf(err)})
		return nil, err
	}
	verdict := unmade // also of a call that panicked
	defer func() { pass.done(verdict) }()
	resp, v, err := t.reach(req, c)
	if err == nil || !c.Proof {
		verdict = v
	}
	return resp, err
}

// unmade is the verdict on a call that was not made: nothing is learned from it.
var unmade = resilience.Verdict{Class: resilience.Canceled}

// reach makes the call unless the uplink is lost, when it is its turn.
func (t *Transport) reach(req *http.Request, c resilience.Request) (resp *http.Response, v resilience.Verdict,
	err error) {
	host := req.URL.Host
	trip, until, ok := t.Uplink.enter(host)
	if !ok {
		return nil, unmade, shared(c.To.Name, resilience.Network, until)
	}
	v = unmade
	defer func() {
		if until, lost := trip.leave(v); lost {
			resp, v, err = nil, unmade, shared(c.To.Name, resilience.Network, until)
		}
	}()
	until, err = t.Paces.wait(req.Context(), host, c.Key)
	if err != nil {
		return nil, unmade, err
	}
	if c.Permit != nil {
		if err := c.Permit.Ask(c.To.Name, c.First()); err != nil { // last, since it may have waited
			return nil, unmade, err
		}
	}
	if !until.IsZero() {
		return nil, unmade, shared(c.To.Name, resilience.RateLimit, until)
	}
	start := time.Now()
	resp, header, err := t.send(req, c)
	if _, busy := errors.AsType[*backoff.NotBeforeError](err); busy { // it was answered, and is no failure
		return nil, unmade, err
	}
	c.Received(err)
	v = resilience.VerdictOf(err)
	tried := try{start: start, verdict: v}
	if resp != nil {
		tried.status = resp.StatusCode
	} else if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		tried.status = e.Status
	}
	t.tell(req.Context(), host, c, tried)
	t.Paces.learn(host, c.Key, header, v)
	return resp, v, err
}

// send sends the request. The header is that of the answer, whatever it means; nil without one.
func (t *Transport) send(req *http.Request, c resilience.Request) (*http.Response, http.Header, error) {
	endpoint := c.To.Name
	ctx, clock, cancel := startClock(req.Context(), cmp.Or(c.Patience, resilience.CallTimeout))
	defer cancel()
	out := req.WithContext(ctx)
	agent := t.UserAgent
	if t.Agent != nil {
		agent = t.Agent()
	}
	if agent != "" { // the caller's request must not be changed
		out.Header = req.Header.Clone()
		out.Header.Set("User-Agent", agent)
	}
	resp, err := t.Base.RoundTrip(out)
	if err != nil {
		return nil, nil, lost(ctx, req.Context(), endpoint, concealed(req, err))
	}
	in := &incoming{t: t, ctx: ctx, request: c, clock: clock, resp: resp}
	body, err := in.read()
	if err == nil {
		body, err = in.check(body)
	}
	if err != nil {
		return nil, resp.Header, lost(ctx, req.Context(), endpoint, err)
	}
	html := in.html(body) && !ownPage(c.To, resp.StatusCode)
	failed := in.failed() || html && resp.StatusCode < 300
	reader := c.To.Reader
	if failed || reader.Refused != nil && resp.StatusCode < 300 {
		e := &resilience.AnswerError{Endpoint: endpoint, Status: resp.StatusCode, HTML: html, Header: resp.Header,
			Body: conceal(req, body)}
		e.ReadRetryAfter()
		if read(reader, e, failed) {
			return nil, resp.Header, e
		}
	}
	if to := resp.Header.Get("Location"); to != "" {
		if _, err := url.Parse(to); err != nil {
			resp.Header.Del("Location") // http.Client would fail over it, and print it
		}
	}
	resp.Body = &memory{Reader: bytes.NewReader(body), all: body}
	return resp, resp.Header, nil
}

// shared returns the error of a call that something shared by all users forbids.
func shared(endpoint string, why resilience.Category, until time.Time) *backoff.NotBeforeError {
	return &backoff.NotBeforeError{Endpoint: endpoint, Offline: why == resilience.Network,
		State: backoff.State{Kind: backoff.Waiting, Category: why, Scope: resilience.ScopeEndpoint, Until: until}}
}
