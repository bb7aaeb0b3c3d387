package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"reprise/internal/bounded"

	"reprise/internal/resilience"
	"reprise/internal/resilience/turns"
)

// What an answer costs in memory is its bytes, and what its lists become when they are decoded.
const (
	smallAnswer = 1 << 20 // bytes; an answer of this cost needs no turn
	elementCost = 400     // bytes of a decoded element: a song with its names, and the garbage of a list that grows
)

// clock ends a call when the upstream's time is over. It pauses while the call waits for something of ours. Only
// the goroutine of the call uses it.
type clock struct {
	timer *time.Timer
	since time.Time
	left  time.Duration
}

// startClock returns a context that ends after d, with the cause [context.DeadlineExceeded].
func startClock(ctx context.Context, d time.Duration) (context.Context, *clock, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{since: time.Now(), left: d}
	c.timer = time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, c, func() {
		c.timer.Stop()
		cancel(nil)
	}
}

// pause runs wait without the upstream's time going on.
func (c *clock) pause(wait func() error) error {
	if !c.timer.Stop() {
		return context.DeadlineExceeded
	}
	c.left -= time.Since(c.since)
	err := wait()
	c.since = time.Now()
	c.timer.Reset(max(c.left, 0))
	return err
}

// incoming is an answer that is being read.
type incoming struct {
	t       *Transport
	ctx     context.Context
	request resilience.Request
	clock   *clock
	resp    *http.Response
}

// turn waits until the answer may be large.
func (in *incoming) turn() error {
	if in.t.Turns == nil {
		return nil
	}
	turn := in.request.Turn
	if turn == nil {
		return in.broken(fmt.Sprintf("an answer of more than %d MiB", smallAnswer>>20))
	}
	err := in.clock.pause(func() error { return turn.Take(in.ctx, in.t.Turns, in.request.User) })
	if errors.Is(err, turns.ErrNone) {
		if errors.Is(in.ctx.Err(), context.Canceled) && !errors.Is(context.Cause(in.ctx), context.DeadlineExceeded) {
			return context.Canceled
		}
		e := shared(in.request.To.Name, resilience.Unknown, time.Now().Add(time.Minute))
		e.Busy = true
		return e
	}
	return err
}

func (in *incoming) broken(what string) error {
	return &resilience.ContractError{Endpoint: in.request.To.Name, What: what}
}

func (in *incoming) failed() bool { return in.resp.StatusCode >= 400 }

// read returns the whole body; of a failure, and of a large page, no more than its beginning. Its memory is that of the
// body, and not of the copies that a growing buffer leaves behind.
func (in *incoming) read() ([]byte, error) {
	body, length := in.resp.Body, in.resp.ContentLength
	defer body.Close()
	switch {
	case in.failed():
		return filled(body, nil, maxFailure)
	case body == http.NoBody: // the answer to a HEAD names a length
		return nil, nil
	}
	if length < 0 { // it is not named
		length = 4<<10 - 1
	}
	start := make([]byte, 0, min(length, smallAnswer)+1)
	text, err := filled(body, start, smallAnswer+1)
	switch {
	case err != nil || len(text) <= smallAnswer || in.html(text):
		return text, err
	case length > maxBody:
		return nil, in.broken(tooLarge)
	}
	if err := in.turn(); err != nil {
		return nil, err
	}
	room := int64(maxBody)
	if length > smallAnswer {
		room = length
	}
	text, err = filled(body, append(make([]byte, 0, room+1), text...), maxBody+1)
	if err == nil && len(text) > maxBody {
		return nil, in.broken(tooLarge)
	}
	return text, err
}

// html reports whether a body is a page.
func (in *incoming) html(body []byte) bool {
	return isHTML(in.resp.Header.Get("Content-Type"), body, in.request.To.XML)
}

// filled appends the rest of a body to a text, up to a length of most.
func filled(body io.Reader, text []byte, most int) ([]byte, error) {
	for len(text) < most {
		if len(text) == cap(text) {
			text = append(make([]byte, 0, min(max(2*cap(text), 4<<10), most)), text...)
		}
		n, err := body.Read(text[len(text):min(cap(text), most)])
		text = text[:len(text)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read answer: %w", err)
		}
	}
	return text, nil
}

// refusal bounds what a failed answer may hold, which is decoded for a code and a message.
var refusal = bounded.Limits{Depth: 32, Elements: 1000, Fields: 1000, String: 64 << 10, InAll: 2000, Values: 10_000}

// check brings the body of an answer into UTF-8, and returns an error for one that cannot be read, or that would become
// too much when it is decoded. Of a failure nothing is left then but its status.
func (in *incoming) check(body []byte) ([]byte, error) {
	xmlIsDue := in.request.To.XML
	if !isText(in.resp.Header.Get("Content-Type"), body) || xmlIsDue && !begins(body, "<") {
		return body, nil
	}
	limits := bounded.Answer
	if in.failed() {
		limits = refusal
	}
	text, err := bounded.UTF8(body, charsetOf(in.resp.Header.Get("Content-Type"), body))
	if err == nil && len(text) > maxBody {
		return nil, in.broken(tooLarge)
	}
	var size bounded.Size
	if err == nil && begins(text, "{[") {
		size, err = bounded.Measure(text, limits)
	}
	switch e, ok := errors.AsType[*bounded.Error](err); {
	case !ok:
	case in.failed():
		return nil, nil
	case in.html(body):
		return body, nil // nobody reads it
	default:
		return nil, in.broken(e.What)
	}
	if len(text)+size.Elements*elementCost > smallAnswer && !in.failed() {
		return text, in.turn()
	}
	return text, nil
}

var tooLarge = fmt.Sprintf("an answer of more than %d MiB", maxBody>>20)

// isText reports whether an answer is declared as text, or begins like JSON, XML, or a text in UTF-16.
func isText(contentType string, body []byte) bool {
	contentType = strings.ToLower(contentType)
	for _, part := range []string{"json", "xml", "text/", "javascript"} {
		if strings.Contains(contentType, part) && !strings.HasPrefix(contentType, "image/") {
			return true
		}
	}
	return begins(body, "{[<") || bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff"))
}

// begins reports whether the first letter of a text is one of those.
func begins(text []byte, letters string) bool {
	text = bytes.TrimLeft(text[:min(len(text), 64)], " \t\r\n\x00\ufeff")
	return len(text) > 0 && strings.IndexByte(letters, text[0]) >= 0
}

// charsetOf returns the encoding that an answer declares; empty without one.
func charsetOf(contentType string, body []byte) string {
	if _, params, err := mime.ParseMediaType(contentType); err == nil && params["charset"] != "" {
		return params["charset"]
	}
	if !bytes.HasPrefix(body, []byte("<?xml")) {
		return ""
	}
	prolog, _, _ := bytes.Cut(body[:min(len(body), 200)], []byte("?>"))
	_, declared, _ := bytes.Cut(prolog, []byte("encoding="))
	if len(declared) < 2 {
		return ""
	}
	name, _, _ := bytes.Cut(declared[1:], declared[:1])
	return string(name)
}
