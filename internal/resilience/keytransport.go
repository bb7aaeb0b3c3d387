package resilience

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"reprise/internal/words"
)

// KeyTransport is an http.RoundTripper that gives every request a key of a pool, so that an adapter need not know
// that there are several. A request that fails through the fault of its key is sent again with the next key at once,
// at most as often as the pool has keys. Without a usable key no request is sent, and the error is a [KeysError].
type KeyTransport struct {
	Base http.RoundTripper // usually of a client on a [Transport]
	Pool *KeyPool
	// Put writes a key onto a request, which is a copy.
	Put func(*http.Request, Secret)
	// Advice is what the administrator should do when a provider refuses every key, in whole sentences.
	Advice words.Text
	// Spent is what the administrator should know when the quota of every key is used up, in whole sentences.
	Spent words.Text
	// Save stores waits for the next start; nil for none. If it fails, Failed is called and the request goes on.
	Save   func(context.Context, []Cooldown) error
	Failed func(error)
	// Rotated, if set, is called for every request that goes on with the next key, with what was wrong with the last
	// one.
	Rotated func(Category)
}

// RoundTrip implements http.RoundTripper.
func (t *KeyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := Replay(req)
	if err != nil {
		return nil, err
	}
	var last error
	ctx := req.Context()
	for range t.Pool.Size() {
		lease, _, ok := t.Pool.acquire()
		if !ok {
			break
		}
		if last != nil && t.Rotated != nil {
			t.Rotated(Classify(last).Category)
		}
		if last != nil {
			ctx = OnceMore(ctx, last)
		}
		resp, err := t.send(ctx, req, body, lease.Key())
		v := judge(err)
		t.save(req.Context(), lease.done(v))
		if !ofKey(v) {
			return resp, err
		}
		last = err
	}
	return nil, t.short(req.Context(), last)
}

// judge classifies an outcome. The general table knows no keys: what it takes for a missing permission of a person
// is, in a request that carries only a key, the fault of the key.
func judge(err error) Verdict {
	v := Classify(err)
	keys := v.Category == Permission || v.Category == RateLimit
	if e, ok := errors.AsType[*AnswerError](err); ok && e.Meaning == nil && keys {
		v.Scope = ScopeKey
	}
	return v
}

func (t *KeyTransport) send(
	ctx context.Context, req *http.Request, body func() (io.ReadCloser, error), key PoolKey,
) (*http.Response, error) {
	c := callOf(ctx)
	c.key = key.LastFour()
	out := req.Clone(context.WithValue(ctx, callKey{}, c))
	if body != nil {
		var err error
		if out.Body, err = body(); err != nil {
			return nil, err
		}
		out.GetBody = body
	}
	t.Put(out, key.Secret)
	return t.Base.RoundTrip(out)
}

// Replay takes the request's body and returns a way to send it more than once; nil if there is none.
func Replay(req *http.Request) (func() (io.ReadCloser, error), error) {
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
func (t *KeyTransport) short(ctx context.Context, last error) error {
	s, short := t.Pool.Short()
	if !short { // one has come back meanwhile, but this request has had its tries
		s = Shortage{Keys: t.Pool.Size(), Category: Classify(last).Category, Until: time.Now().Add(time.Second)}
	}
	e := &KeysError{Endpoint: callOf(ctx).endpoint, Shortage: s, Last: last}
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
	Advice words.Text // see [Meaning]
	Last   error      // the latest answer to this request; nil when it was not sent
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
