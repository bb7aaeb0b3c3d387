package resilience

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// KeyTransport is an http.RoundTripper that gives every request a key of a pool, so that an adapter need not know
// that there are several. A request that fails through the fault of its key is sent again with the next key at once,
// at most as often as the pool has keys. Without a usable key no request is sent, and the error is a [KeysError].
type KeyTransport struct {
	Base http.RoundTripper // usually of a client on a [Transport]
	Pool *KeyPool
	// Put writes a key onto a request, which is a copy.
	Put    func(*http.Request, Secret)
	Advice Cause // what the administrator should do when a provider refuses every key
	Spent  Cause // what the administrator should know when the quota of every key is used up
	// Save stores waits for the next start; nil for none. If it fails, Failed is called and the request goes on.
	Save   func(context.Context, []Cooldown) error
	Failed func(error)
	// Rotated, if set, is called for every request that goes on with the next key, with what was wrong with the last
	// one.
	Rotated func(Category)
}

// RoundTrip implements http.RoundTripper.
func (t *KeyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	again, err := Copies(req)
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
			t.Rotated(VerdictOf(last).Category)
		}
		out, err := again(last)
		if err != nil {
			return nil, err
		}
		t.Put(out, lease.Key().Secret)
		c := requestOf(out)
		c.key = lease.Key().LastFour()
		resp, err := t.Base.RoundTrip(c.on(out))
		v := VerdictOf(err)
		t.save(req.Context(), lease.done(v))
		if !ofKey(v) {
			return resp, err
		}
		last = err
	}
	return nil, t.short(EndpointOf(req), last)
}

// Copies takes the body of a request, and returns what makes copies of it to be sent one after the other, each with the
// whole body. A copy after a failure, with another key or credential, numbers its attempts from there.
func Copies(req *http.Request) (func(failed error) (*http.Request, error), error) {
	body, err := replay(req)
	return func(failed error) (*http.Request, error) {
		c := requestOf(req)
		if failed != nil {
			c.Attempt = max(c.First(), attemptOf(failed)) + 1
			req = c.on(req)
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

func (t *KeyTransport) save(ctx context.Context, begun []Cooldown) {
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
func (t *KeyTransport) short(endpoint string, last error) error {
	s, short := t.Pool.Short()
	if !short { // one has come back meanwhile, but this request has had its tries
		s = Shortage{Keys: t.Pool.Size(), Category: VerdictOf(last).Category, Until: time.Now().Add(time.Second)}
	}
	e := &KeysError{Endpoint: endpoint, Shortage: s, Last: last}
	switch {
	case s.Until.IsZero():
		e.Advice = t.Advice
	case s.Category == Quota: // also without an answer to this request: the keys may cool since before a restart
		e.Advice = t.Spent
	}
	return e
}

// KeysError reports that no key of a pool can be used: all are cooling, or the provider has refused every one.
type KeysError struct {
	Endpoint string
	Shortage
	Advice Cause // see [Meaning]
	Last   error // the latest answer to this request; nil when it was not sent
}

// Error includes Last, but KeysError does not wrap it: Last is about one key, KeysError about all.
func (e *KeysError) Error() string {
	text := fmt.Sprintf("%s: none of %d keys can be used", e.Endpoint, e.Keys)
	if !e.Until.IsZero() {
		text += " before " + e.Until.UTC().Format(time.RFC3339)
	}
	if e.Last != nil {
		text += ": " + e.Last.Error()
	}
	return text
}
