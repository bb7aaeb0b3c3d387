package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// The bounds of repeating inside one call; see docs/resilience.md. The waits are the "decorrelated jitter" of
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter.
const (
	mostTries   = 6
	repeatBase  = 500 * time.Millisecond
	repeatCap   = time.Minute
	repeatFor   = 3 * time.Minute // from the first try, where a person waits for the answer
	repeatAlone = time.Minute     // the same where nobody waits: what lasts longer is left to the schedules
	// The same for what a person has just typed: with the 5 seconds that connecting may take, a wrong address is said
	// to be wrong within the 10 seconds for which people stay with a page:
	// https://www.nngroup.com/articles/response-times-3-important-limits.
	repeatTyped = 3 * time.Second
)

// repeat repeats a call whose first try began and failed, as long as that may help: where a person waits for the
// answer, or where a stream reads that had no trouble before. Otherwise a schedule makes the next try. Each try passes
// every guard. The error is that of the last try that was made.
func (t *Transport) repeat(req *http.Request, c resilience.Request, began time.Time, err error) (*http.Response,
	error) {
	ctx := req.Context()
	eager := c.Eager
	if !eager && (c.Permit == nil || !c.Permit.Clean()) {
		return nil, err
	}
	end := began.Add(repeatAlone)
	switch {
	case c.Typed:
		end = began.Add(repeatTyped)
	case eager:
		end = began.Add(repeatFor)
	}
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	delay, first := repeatBase, c.First()
	for n := 1; n < mostTries && mayRepeat(req, c, eager, err); n++ {
		delay = t.spread(delay)
		if !time.Now().Add(delay).Before(end) || !t.Breakers.bears(req.URL.Host, c.To.Name, eager) {
			break
		}
		if pause(ctx, delay) != nil {
			return nil, context.Canceled
		}
		if !t.Breakers.bears(req.URL.Host, c.To.Name, eager) { // others have failed meanwhile
			break
		}
		again, bodyErr := replayed(req)
		if bodyErr != nil {
			break
		}
		c.Attempt = first + n
		resp, e := t.try(again, c)
		if e == nil {
			return resp, nil
		}
		if refused, ok := errors.AsType[*backoff.NotBeforeError](e); ok {
			if explains(refused, err) {
				err = e
			}
			break
		}
		err = e
	}
	return nil, err
}

// explains reports whether a refused try is the better account of why a call failed than err, the failure before it:
// the run has met a hold or a stop, or it was our own connection that failed.
func explains(e *backoff.NotBeforeError, err error) bool {
	return e.Met || e.Busy || e.Offline && resilience.VerdictOf(err).Category == resilience.Network
}

// mayRepeat reports whether a request that failed with err may help if it is sent again, and do no harm.
func mayRepeat(req *http.Request, c resilience.Request, eager bool, err error) bool {
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return false
	}
	if !passing(err) {
		return false
	}
	switch {
	case c.Effect == resilience.Read, c.Effect == resilience.ByMethod &&
		(req.Method == http.MethodGet || req.Method == http.MethodHead):
		return true
	}
	return eager && neverLeft(err)
}

// passing reports whether a failure is of a kind that often passes in a moment: one of the network, or a gateway or
// server that is not there now and names no wait.
func passing(err error) bool {
	v := resilience.VerdictOf(err)
	if v.Class != resilience.Retriable || v.FatalAfter > 0 {
		return false
	}
	if e, ok := errors.AsType[*resilience.AnswerError](err); ok {
		gone := e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable ||
			e.Status == http.StatusGatewayTimeout
		return gone && v.Category == resilience.Upstream && v.NotBefore.IsZero() && !v.BadWait
	}
	_, ok := errors.AsType[*resilience.NetworkError](err)
	return ok && !lasting(err)
}

// lasting reports whether a failure of the network is more likely a mistake in an address than a moment's trouble: a
// person should be told at once.
func lasting(err error) bool {
	if e, ok := errors.AsType[*net.DNSError](err); ok && e.IsNotFound {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.RecordHeaderError](err) // no TLS there
	return ok
}

// neverLeft reports whether a request failed before any of it can have arrived.
func neverLeft(err error) bool {
	if e, ok := errors.AsType[*net.OpError](err); ok && e.Op == "dial" {
		return true
	}
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

// spread returns the next wait: U[base, min(cap, 3 · previous)].
func (t *Transport) spread(previous time.Duration) time.Duration {
	uniform := rand.Float64
	if t.Rand != nil {
		uniform = t.Rand
	}
	most := min(repeatCap, 3*previous)
	return repeatBase + time.Duration(float64(most-repeatBase)*uniform())
}

// pause waits. The error is that of a context that ended first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// replayed returns the request with its body from the beginning.
func replayed(req *http.Request) (*http.Request, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, err
	}
	again := req.WithContext(req.Context())
	again.Body = body
	return again, nil
}
