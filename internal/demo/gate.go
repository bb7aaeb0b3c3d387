package demo

import (
	"bytes"
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Mode is the behaviour of an upstream.
type Mode string

// The modes. WrongAccount is Spotify's, Last.fm's and YouTube's only, ReadOnly ListenBrainz's, Hidden, DailyLimit and
// Suspended are Last.fm's, KeySpent and KeyInvalid are YouTube's, Fanart.tv's and OpenAI's, KeysSpent is YouTube's and
// OpenAI's. MusicBrainz, Fanart.tv and OpenAI have no Revoked, and MusicBrainz, which throttles with 503, no
// RateLimited.
const (
	Normal       Mode = "normal"
	Unavailable  Mode = "503"           // every call is answered with 503
	RateLimited  Mode = "429"           // every call is answered with 429 and a wait of Options.RetryAfter
	Revoked      Mode = "revoked"       // what was authorized until now is void, for everybody
	ReadOnly     Mode = "read_only"     // reading works, submitting is answered with 403
	WrongAccount Mode = "wrong_account" // the browser is signed in as Bob
	Hidden       Mode = "hidden"        // the person hides their recent listening, also from the app
	DailyLimit   Mode = "daily_limit"   // reading works, every play that is sent is over the daily limit
	KeySpent     Mode = "key_spent"     // the first API key's quota is used up
	KeysSpent    Mode = "keys_spent"    // every API key's is
	KeyInvalid   Mode = "key_invalid"   // the last API key is refused
	Suspended    Mode = "suspended"     // the installation's own API key is suspended
	Portal       Mode = "html"          // a captive portal answers 200 with a page of its own
	Hang         Mode = "hang"          // accepts, and does not answer before the mode changes
	Slow         Mode = "slow"          // answers after Options.Slow
	Cut          Mode = "cut"           // the connection breaks in the middle of every answer
)

// Modes are all modes, in the order in which the page explains them.
var Modes = []Mode{Normal, Unavailable, RateLimited, Revoked, WrongAccount, ReadOnly, Hidden, DailyLimit, Suspended,
	KeySpent, KeysSpent, KeyInvalid, Portal, Hang, Slow, Cut}

const (
	maxBody   = 16 << 20 // bytes of a request
	keptCalls = 10_000
)

// Call is one request to an upstream.
type Call struct {
	Method, Path string
	User         string // whose credentials came with it, dead ones included; empty without
	Time         time.Time
	Status       int // 0 while it is not answered, and when the connection broke
}

// rules are what is special about one upstream's gate.
type rules struct {
	lacks   []Mode                                   // of those that others all know
	who     func(*http.Request) string               // whose credentials a request carries
	refuse  func(http.ResponseWriter, Mode)          // answers Unavailable and RateLimited in its own words
	concern func(*http.Request, Mode) bool           // whether a failure touches this request; nil for all
	next    func(http.ResponseWriter, *http.Request) // the upstream itself
}

// gate is in front of one upstream: it records every call and fails as switched.
type gate struct {
	rules
	world *World
	opts  *Options
	usual time.Duration   // see World.Lively
	modes []Mode          // what this upstream knows
	done  <-chan struct{} // closed by World.Close

	mu      sync.Mutex
	mode    Mode
	changed chan struct{}    // closed, and replaced, when mode changes
	calls   []*Call          // the last keptCalls
	faults  map[string]Fault // by path; empty for all
	total   int
}

// newGate returns an open gate. Beside the modes that all upstreams know, this one knows extra.
func (w *World) newGate(ctx context.Context, r rules, extra ...Mode) *gate {
	if r.concern == nil {
		r.concern = func(*http.Request, Mode) bool { return true }
	}
	modes := append([]Mode{Normal, Unavailable, RateLimited, Revoked}, extra...)
	modes = slices.DeleteFunc(append(modes, Portal, Hang, Slow, Cut),
		func(m Mode) bool { return slices.Contains(r.lacks, m) })
	return &gate{rules: r, world: w, opts: &w.opts, modes: modes, done: ctx.Done(), mode: Normal,
		changed: make(chan struct{}), faults: map[string]Fault{}}
}

func (g *gate) current() (Mode, <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mode, g.changed
}

func (g *gate) set(m Mode) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.setLocked(m)
}

func (g *gate) setLocked(m Mode) {
	g.mode = m
	close(g.changed)
	g.changed = make(chan struct{})
}

// heal ends Revoked, after a new authorization.
func (g *gate) heal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mode == Revoked {
		g.setLocked(Normal)
	}
}

func (g *gate) record(r *http.Request, user string) *Call {
	c := &Call{Method: r.Method, Path: r.URL.Path, User: user, Time: g.opts.Now()}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.calls) == keptCalls && !g.opts.InProcess {
		g.calls = slices.Delete(g.calls, 0, keptCalls/10)
	}
	g.calls = append(g.calls, c)
	g.total++
	return c
}

func (g *gate) answered(c *Call, status int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c.Status = status
}

func (g *gate) list() []Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := make([]Call, len(g.calls))
	for i, c := range g.calls {
		list[i] = *c
	}
	return list
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	call, err := g.receive(w, r)
	if err != nil {
		http.Error(w, "request body", http.StatusRequestEntityTooLarge)
		return
	}
	resp, err := g.fail(call, r)
	switch {
	case err != nil:
		panic(http.ErrAbortHandler)
	case resp != nil:
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		if _, err := io.Copy(w, resp.Body); err != nil {
			_ = http.NewResponseController(w).Flush() // an error: the client went first
			panic(http.ErrAbortHandler)
		}
	default:
		g.answer(call, w, r)
	}
}

// receive records a request, whose body can be read again from then on. All of it is read first: only then does the
// server notice a client that goes away while we hang.
func (g *gate) receive(w http.ResponseWriter, r *http.Request) (*Call, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	call := g.record(r, g.who(r))
	r.Body = io.NopCloser(bytes.NewReader(body))
	return call, nil
}

// answer answers as the upstream does in its mode.
func (g *gate) answer(call *Call, w http.ResponseWriter, r *http.Request) {
	g.linger(r)
	mode := g.wait(r)
	sw := &statusWriter{ResponseWriter: w, status: http.StatusOK}
	switch mode {
	case Unavailable, RateLimited:
		g.refuse(sw, mode)
	case Portal:
		servePortal(sw)
	case Cut:
		g.cut(w, r)
	default:
		g.next(sw, r)
	}
	g.answered(call, sw.status)
}

// linger takes the upstream's usual time, give or take a third.
func (g *gate) linger(r *http.Request) {
	if !g.world.lively.Load() || g.usual == 0 {
		return
	}
	timer := time.NewTimer(g.usual*2/3 + rand.N(g.usual*2/3))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.done:
	case <-r.Context().Done():
	}
}

// wait returns the mode for r, after the wait of Hang and Slow. It does not return when the client or the world is
// gone.
func (g *gate) wait(r *http.Request) Mode {
	for {
		mode, changed := g.current()
		if !g.concern(r, mode) {
			return Normal
		}
		var after <-chan time.Time
		switch mode {
		case Slow:
			timer := time.NewTimer(g.opts.Slow)
			defer timer.Stop()
			after = timer.C
		case Hang:
		default:
			return mode
		}
		select {
		case <-after:
			return Normal
		case <-changed:
		case <-g.done:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
			panic(http.ErrAbortHandler)
		}
	}
}

// cut sends the first half of the answer and breaks the connection.
func (g *gate) cut(w http.ResponseWriter, r *http.Request) {
	var whole answer
	g.next(&whole, r)
	maps.Copy(w.Header(), whole.header)
	w.Header().Set("Content-Length", strconv.Itoa(whole.body.Len()))
	w.WriteHeader(max(whole.status, http.StatusOK))
	_, _ = w.Write(whole.body.Bytes()[:whole.body.Len()/2]) // an error: the client went first
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// answer is an answer that is kept, not sent.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

const portalPage = `<!doctype html>
<html lang="en"><head><title>Guest network</title></head>
<body><h1>Welcome to the guest network</h1><p>Please accept the terms of use to go online.</p></body></html>
`

func servePortal(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, portalPage) // an error: the client went first
}

// later runs f every interval until ctx ends.
func later(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}
