package keys

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"reprise/internal/resilience"
)

// Transport is an http.RoundTripper that gives every request a key of a pool, so that an adapter need not know
// that there are several. A request that fails through the fault of its key is sent again with the next key at once,
// at most as often as the pool has keys. Without a usable key no request is sent, and the error is an [Error].
type Transport struct {
	Base http.RoundTripper // usually of a client on the transport of every call
	Pool *Pool
	// Put writes a key onto a request, which is a copy.
	Put    func(*http.Request, resilience.Secret)
	Advice resilience.Cause // what the administrator should do when a provider refuses every key
	Spent  resilience.Cause // what the administrator should know when the quota of every key is used up
	// Save stores waits for the next start; nil for none. If it fails, Failed is called and the request goes on.
	Save   func(context.Context, []Cooldown) error
	Failed func(error)
	// Rotated, if set, is called for every request that goes on with the next key, with what was wrong with the last
	// one.
	Rotated func(resilience.Category)
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	again, err := resilience.RequestOf(req).Copies(req)
	if err != nil {
		return nil, err
	}
	var last error
	for range t.Pool.Size() {
		lease, _, ok := t.Pool.acquire()
		if !ok {
			break
		}
		if last != nil && t.Rotated != nil {
			t.Rotated(resilience.VerdictOf(last).Category)
		}
		out, err := again(last)
		if err != nil {
			return nil, err
		}
		t.Put(out, lease.Key().Secret)
		c := resilience.RequestOf(out)
		c.Key = lease.Key().LastFour()
		resp, err := t.Base.RoundTrip(c.On(out))
		v := resilience.VerdictOf(err)
		t.save(req.Context(), lease.done(v))
		if !ofKey(v) {
			return resp, err
		}
		last = err
	}
	return nil, t.short(resilience.RequestOf(req).To.Name, last)
}

func (t *Transport) save(ctx context.Context, begun []Cooldown) {
	if len(begun) == 0 || t.Save == nil {
		return
	}
	// What the provider dictated must be kept although the run's own time may be over.
	if err := t.Save(context.WithoutCancel(ctx), begun); err != nil && t.Failed != nil {
		t.Failed(err)
	}
}

// short returns the error of a request for which no key is left. last is the outcome of its own latest try; nil
// without one.
func (t *Transport) short(endpoint string, last error) error {
	s, short := t.Pool.Short()
	if !short { // one has come back meanwhile, but this request has had its tries
		s = Shortage{Keys: t.Pool.Size(), Category: resilience.VerdictOf(last).Category,
			Until: time.Now().Add(time.Second)}
	}
	e := &Error{Endpoint: endpoint, Shortage: s, Last: last}
	switch {
	case s.Until.IsZero():
		e.Advice = t.Advice
	// also without an answer to this request: the keys may cool since before a restart
	case s.Category == resilience.Quota:
		e.Advice = t.Spent
	}
	return e
}

// Error reports that no key of a pool can be used: all are cooling, or the provider has refused every one.
type Error struct {
	Endpoint string
	Shortage
	Advice resilience.Cause // see [resilience.Meaning]
	Last   error            // the latest answer to this request; nil when it was not sent
}

// Verdict is about all keys of a pool, and so about everybody who shares them: until the first key can be used again,
// or until the administrator has set others.
func (e *Error) Verdict() resilience.Verdict {
	if e.Until.IsZero() {
		return resilience.Verdict{Class: resilience.Fatal, Category: e.Category, Scope: resilience.ScopeApp}
	}
	return resilience.Verdict{Class: resilience.Retriable, Category: e.Category, Scope: resilience.ScopeApp,
		NotBefore: e.Until}
}

// Error includes Last, but Error does not wrap it: Last is about one key, Error about all.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: none of %d keys can be used", e.Endpoint, e.Keys)
	if !e.Until.IsZero() {
		text += " before " + e.Until.UTC().Format(time.RFC3339)
	}
	if e.Last != nil {
		text += ": " + e.Last.Error()
	}
	return text
}
