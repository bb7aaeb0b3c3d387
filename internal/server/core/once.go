package core

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"reprise/internal/library"
	"reprise/internal/words"
)

const (
	keyHeader     = "Idempotency-Key"
	longestKey    = 200      // bytes
	largestAnswer = 16 << 10 // bytes; of a larger one, none is kept
	repeatPause   = 30 * time.Second
	unkeptKey     = "unkept" // in a request's context: no answer of it is kept
)

// answerStore keeps answers for a day, sealed.
type answerStore interface {
	// Answered returns the answer that a user's call with a key got, or library.ErrNotFound.
	Answered(ctx context.Context, user int64, key string) ([]byte, error)
	KeepAnswer(ctx context.Context, user int64, key string, answer []byte) error
}

// answered is an answer as it is kept.
type answered struct {
	Call   string // fingerprint of the path, the query and the body
	Status int
	Kind   string // media type
	Body   []byte
}

// underway are the keys of the calls that are answered just now.
type underway struct {
	mu   sync.Mutex
	keys map[string]bool
}

// enter returns a function that ends a call; false while another one has the key.
func (u *underway) enter(key string) (leave func(), ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.keys[key] {
		return nil, false
	}
	if u.keys == nil {
		u.keys = map[string]bool{}
	}
	u.keys[key] = true
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		delete(u.keys, key)
	}, true
}

// Keyed says whether a request is one that Once does once.
func Keyed(r *http.Request) bool { return r.Method == http.MethodPost && r.Header.Get(keyHeader) != "" }

// Once is middleware that does a POST with the header Idempotency-Key once: the same call with the same key by the same
// person gets the first answer again, for a day. Only answers of success are kept, since a refusal has done nothing. Of
// two at once, one is refused with 409; another call under the same key with 422. It runs once the caller is known.
//
// The answer is stored after the handler has stored what it creates, and before it is sent. If the process is killed in
// between, the repeat is done once more, and the data decides whether there are two: a listen, a name of an account or
// a token, an address of a channel, an ask and a digest exist once; an invitation then exists twice.
func (k *Core) Once(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		key := r.Header.Get(keyHeader)
		if !Keyed(r) {
			return next(c)
		}
		if len(key) > longestKey {
			return &Refusal{Status: http.StatusBadRequest, Title: words.New("problem.key.title"),
				Detail: words.New("problem.key.long", "Most", longestKey)}
		}
		user := UserOf(c).ID
		leave, ok := k.calls.enter(fmt.Sprint(user, " ", key))
		if !ok {
			c.Response().Header().Set("Retry-After", "1")
			return &Refusal{Status: http.StatusConflict, Title: words.New("problem.key.title"),
				Detail: words.New("problem.key.underway")}
		}
		defer leave()
		sum := sha256.New()
		fmt.Fprintf(sum, "%s?%s\n", r.URL.Path, r.URL.RawQuery)
		body := hashed{r.Body, sum}
		r.Body = body
		kept, err := k.store.Answered(r.Context(), user, key)
		if err == nil {
			return again(c, kept, body)
		}
		if !errors.Is(err, library.ErrNotFound) {
			return err
		}
		return k.first(c, next, body, key)
	}
}

// hashed is a body that is hashed while it is read.
type hashed struct {
	io.ReadCloser
	sum hash.Hash
}

// Read implements io.Reader.
func (h hashed) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.sum.Write(p[:n])
	return n, err
}

// all reads the rest of the body, and returns the fingerprint of the call.
func (h hashed) all(c echo.Context) (string, error) {
	control, piece := http.NewResponseController(c.Response()), make([]byte, 32<<10)
	for {
		_ = control.SetReadDeadline(time.Now().Add(repeatPause)) // a file takes as long as it makes progress
		switch _, err := h.Read(piece); {
		case errors.Is(err, io.EOF):
			return hex.EncodeToString(h.sum.Sum(nil)), nil
		case err != nil:
			return "", HTTPProblem(http.StatusBadRequest)
		}
	}
}

// again answers a call with what was kept, if it is the same.
func again(c echo.Context, kept []byte, body hashed) error {
	var a answered
	if err := json.Unmarshal(kept, &a); err != nil {
		return err
	}
	call, err := body.all(c)
	if err != nil {
		return err
	}
	if call != a.Call {
		return &Refusal{Status: http.StatusUnprocessableEntity, Title: words.New("problem.key.title"),
			Detail: words.New("problem.key.another")}
	}
	c.Response().Header().Set("Idempotent-Replayed", "true")
	if len(a.Body) == 0 {
		return c.NoContent(a.Status)
	}
	return c.Blob(a.Status, a.Kind, a.Body)
}

// held is an answer that is sent once it is kept.
type held struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (h *held) WriteHeader(status int) { h.status = status }

// Write implements http.ResponseWriter.
func (h *held) Write(b []byte) (int, error) { return h.body.Write(b) }

// Unwrap lets http.ResponseController find the connection.
func (h *held) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// first answers a call, and keeps the answer before it is sent.
func (k *Core) first(c echo.Context, next echo.HandlerFunc, body hashed, key string) error {
	w := c.Response()
	out := &held{ResponseWriter: w.Writer}
	w.Writer = out
	defer func() {
		if w.Writer == out { // else the session could not be stored, which is the answer
			w.Writer = out.ResponseWriter
		}
	}()
	if err := next(c); err != nil || out.status == 0 {
		return err
	}
	unkept, _ := c.Get(unkeptKey).(bool)
	if out.status < http.StatusMultipleChoices && out.body.Len() <= largestAnswer && !unkept {
		if err := k.keep(c, out, body, key); err != nil { // it is done nevertheless
			k.Log.Error("an answer cannot be kept", "err", err)
		}
	}
	out.ResponseWriter.WriteHeader(out.status)
	_, err := out.ResponseWriter.Write(out.body.Bytes())
	return err
}

// KeepNoAnswer has the answer of a call kept for no repeat of it, because nothing may show its secrets again.
func (k *Core) KeepNoAnswer(c echo.Context) { c.Set(unkeptKey, true) }

func (k *Core) keep(c echo.Context, out *held, body hashed, key string) error {
	call, err := body.all(c)
	if err != nil {
		return err
	}
	kept, err := json.Marshal(answered{Call: call, Status: out.status, Body: out.body.Bytes(),
		Kind: out.Header().Get(echo.HeaderContentType)})
	if err != nil {
		return err
	}
	return k.store.KeepAnswer(context.WithoutCancel(c.Request().Context()), UserOf(c).ID, key, kept)
}
