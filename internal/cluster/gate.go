package cluster

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reprise/internal/leases"
)

const (
	// mostHops is how often a request about an app is passed on at most: the app may move meanwhile.
	mostHops = 3
	// patience is how long a request waits for another server.
	patience = 25 * time.Second
	// again is how long a request waits before it asks once more.
	again = 250 * time.Millisecond
	// waiting is how many requests may wait for a leader at once.
	waiting = 1000
	// endWithin is how long requests may go on when a server stops following.
	endWithin = 5 * time.Second
)

// Front answers what needs no leader.
type Front interface {
	// Has reports whether this server answers a path just as the leader would.
	Has(path string) bool
	// Protect sets the headers of every answer that browsers get.
	Protect(http.Header)
	// ServeHTTP answers that, and otherwise says that no server leads at the moment.
	http.Handler
}

// Pages are what a server answers with the database open.
type Pages interface {
	http.Handler
	// NeedsNoLeader reports whether a request is answered from the database alone.
	NeedsNoLeader(*http.Request) bool
}

// Gate answers the requests that come to a server: by itself if it leads or they need no leader, else by the leader, or
// by the server that calls the service that they are about.
type Gate struct {
	member    *Member
	exchange  *exchange
	front     Front
	log       *slog.Logger
	local     atomic.Pointer[Pages] // nil while the server does not lead
	following sync.RWMutex          // guards follower
	follower  *follower             // nil while it leads, or has not opened the database
	leaves    atomic.Bool
	room      chan struct{}
	small     chan struct{} // one for each body that is kept
	large     chan struct{}
}

// NewGate returns a Gate for a member, which finds the requests of other servers on a desk.
func NewGate(m *Member, desk Desk, notes *Notes, front Front, log *slog.Logger) *Gate {
	return &Gate{member: m, exchange: newExchange(m.me.ID, desk, notes, log), front: front, log: log,
		room: make(chan struct{}, waiting), small: make(chan struct{}, smallBodies),
		large: make(chan struct{}, largeBodies)}
}

// Run answers what other servers pass on, until ctx ends.
func (g *Gate) Run(ctx context.Context) error {
	g.exchange.run(ctx, g.answer)
	return nil
}

// Lead makes the gate answer by itself; nil ends that.
func (g *Gate) Lead(h Pages) {
	if h == nil {
		g.local.Store(nil)
		return
	}
	g.local.Store(&h)
}

// follower answers what needs no leader, and knows how many requests it is answering.
type follower struct {
	Pages
	requests sync.WaitGroup
	ctx      context.Context // of all of them
	end      context.CancelFunc
}

// Follow makes the gate answer by itself what needs no leader. With nil that ends, and Follow returns when those
// requests have been answered; those that take longer than endWithin are ended.
func (g *Gate) Follow(h Pages) {
	var next *follower
	if h != nil {
		next = &follower{Pages: h}
		next.ctx, next.end = context.WithCancel(context.Background())
	}
	g.following.Lock()
	before := g.follower
	g.follower = next
	g.following.Unlock()
	if before == nil {
		return
	}
	answered := make(chan struct{})
	go func() {
		before.requests.Wait()
		close(answered)
	}()
	late := time.AfterFunc(endWithin, before.end)
	defer late.Stop()
	select {
	case <-answered:
	case <-time.After(2 * endWithin): // one doesn't notice that it was ended
	}
	before.end()
}

// answersAsFollower answers a request that needs no leader, and reports whether that was possible.
func (g *Gate) answersAsFollower(w http.ResponseWriter, r *http.Request) bool {
	g.following.RLock()
	h := g.follower
	if h == nil || !h.NeedsNoLeader(r) {
		g.following.RUnlock()
		return false
	}
	h.requests.Add(1)
	g.following.RUnlock()
	defer h.requests.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	h.ServeHTTP(w, r.WithContext(ctx))
	return true
}

// Leave has /readyz say that the server is about to stop.
func (g *Gate) Leave() { g.leaves.Store(true) }

// ServeHTTP implements http.Handler.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/readyz" && g.leaves.Load():
		g.probed(w, http.StatusServiceUnavailable, "draining")
	case g.local.Load() != nil:
		g.here(w, r, *g.local.Load(), 0)
	case r.URL.Path == "/livez":
		g.probed(w, http.StatusOK, "ok")
	case r.URL.Path == "/readyz" && !g.member.Heard():
		g.probed(w, http.StatusServiceUnavailable, "database: doesn't answer")
	case r.URL.Path == "/readyz":
		g.probed(w, http.StatusOK, "ok")
	case g.front.Has(r.URL.Path):
		g.front.ServeHTTP(w, r)
	case g.answersAsFollower(w, r):
	default:
		g.pass(w, r)
	}
}

// streams reports whether the answer to a request goes on without end, so that it can't be passed on.
func streams(r *http.Request) bool {
	return r.Header.Get("Upgrade") != "" || strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// probed answers those who watch the process.
func (g *Gate) probed(w http.ResponseWriter, status int, text string) {
	g.front.Protect(w.Header())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// pass has the leader answer a request. While nobody leads, the request waits. What can't be passed on waits until this
// server has opened the database.
func (g *Gate) pass(w http.ResponseWriter, r *http.Request) {
	body, full, done := g.keep(w, r)
	defer done()
	if full {
		g.front.ServeHTTP(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	for {
		if h := g.local.Load(); h != nil {
			g.here(w, with(r, body), *h, 0)
			return
		}
		if g.answersAsFollower(w, with(r, body)) {
			return
		}
		leader, term := g.member.Leader()
		var err error
		if body != nil && !streams(r) && !leader.Vacant() && leader.ID != g.member.me.ID {
			if err = g.askLeader(ctx, w, r, body, leader, term); err == nil {
				return
			}
			g.log.Debug("the leader did not answer", "err", err)
		}
		g.member.Ask()
		if err != nil && !mayRepeat(r, err) || !g.wait(ctx, term.Done()) {
			g.front.ServeHTTP(w, r)
			return
		}
	}
}

// askLeader has the leader of a term answer a request; the error says that it did not. What it has not answered when
// its term ends, it won't.
func (g *Gate) askLeader(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte, leader Leader,
	term context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(term, cancel)()
	return g.ask(ctx, w, r, body, leader.ID, 0)
}

// ask has a server answer a request. The error says that it did not; nothing is written then. It panics with
// http.ErrAbortHandler if the browser is gone.
func (g *Gate) ask(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte, server string,
	hops int) error {
	header := r.Header.Clone()
	header.Del("Connection")
	a, err := g.exchange.ask(ctx, server, passed{Method: r.Method, URI: r.URL.RequestURI(), Host: r.Host,
		From: r.RemoteAddr, Header: header, Body: body, Hops: hops})
	if err != nil {
		if r.Context().Err() != nil { // nothing would be an empty answer with status 200
			panic(http.ErrAbortHandler)
		}
		return err
	}
	for name, values := range a.Header {
		if name != "Connection" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
	return nil
}

// wait waits until it is worth asking again; false if that is too long.
func (g *Gate) wait(ctx context.Context, news <-chan struct{}) bool {
	select {
	case g.room <- struct{}{}:
		defer func() { <-g.room }()
	default:
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-news:
	case <-time.After(again):
	}
	return true
}

// mayRepeat reports whether a request may be sent again after an error: if no server has taken it, or taking it twice
// changes nothing.
func mayRepeat(r *http.Request, err error) bool { return reads(r) || errors.Is(err, errNotTaken) }

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// answer answers a request that another server has passed on.
func (g *Gate) answer(ctx context.Context, p passed) answered {
	h, ends, done := g.pages(p.Hops > 0)
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ends, cancel)()
	at, err := url.ParseRequestURI(p.URI)
	if h == nil || err != nil {
		return answered{}
	}
	r := &http.Request{Method: p.Method, URL: at, RequestURI: p.URI, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: p.Header, Host: p.Host, RemoteAddr: p.From, ContentLength: int64(len(p.Body))}
	if r.Header == nil { // gob leaves out what is empty
		r.Header = http.Header{}
	}
	return record(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.here(w, r, h, p.Hops) }),
		with(r.WithContext(ctx), append([]byte{}, p.Body...)))
}

// pages returns the pages of this server while it leads, or if any will do, while it follows, and what ends them. done
// has to be called when the request is answered.
func (g *Gate) pages(any bool) (h Pages, ends context.Context, done func()) {
	if leads := g.local.Load(); leads != nil {
		return *leads, context.Background(), func() {}
	}
	g.following.RLock()
	defer g.following.RUnlock()
	if f := g.follower; any && f != nil {
		f.requests.Add(1)
		return f, f.ctx, f.requests.Done
	}
	return nil, context.Background(), func() {}
}

// here answers a request by pages of this server. If it is about an app that another server calls, that one answers.
func (g *Gate) here(w http.ResponseWriter, r *http.Request, h Pages, hops int) {
	if streams(r) || h.NeedsNoLeader(r) {
		h.ServeHTTP(w, r)
		return
	}
	body, _, done := g.keep(w, r)
	defer done()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	for {
		watched, to := leases.Watch(r.Context())
		h.ServeHTTP(&undecided{w, to}, with(r, body).WithContext(watched))
		if to.Server == "" {
			return
		}
		clear(w.Header())
		if body == nil || hops == mostHops {
			break
		}
		err := g.askHolder(ctx, w, r, body, to.Server, hops+1)
		if err == nil {
			return
		}
		g.log.Debug("the server that calls an app did not answer", "app", to.App, "err", err)
		if !mayRepeat(r, err) || !g.wait(ctx, nil) {
			break
		}
	}
	g.front.ServeHTTP(w, r)
}

// askHolder has the server answer a request that calls an app. What can be repeated isn't waited for longer than until
// the app has moved from a server that was killed.
func (g *Gate) askHolder(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte, server string,
	hops int) error {
	if reads(r) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, leases.VacantAfter)
		defer cancel()
	}
	return g.ask(ctx, w, r, body, server, hops)
}

// undecided drops an answer once it is known that another server has to answer.
type undecided struct {
	http.ResponseWriter
	to *leases.Elsewhere
}

// WriteHeader implements http.ResponseWriter.
func (u *undecided) WriteHeader(status int) {
	if u.to.Server == "" {
		u.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (u *undecided) Write(b []byte) (int, error) {
	if u.to.Server != "" {
		return len(b), nil
	}
	return u.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (u *undecided) Unwrap() http.ResponseWriter { return u.ResponseWriter }
