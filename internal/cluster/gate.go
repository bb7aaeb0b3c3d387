package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// cameFrom is the header with the address from which a request came to the server in front.
	cameFrom = "Reprise-Came-From"
	// forApp is the header of a request about an app that the server calls, with how often it has been passed on.
	forApp = "Reprise-For-App"
	// mostHops is how often that is at most: an app may move meanwhile.
	mostHops = 3
	// notLeading is the header of an answer that says that the server does not lead.
	notLeading = "Reprise-Not-Leading"
	// patience is how long a request waits for a leader.
	patience = 25 * time.Second
	// again is how long a request waits before it asks a leader again that did not answer.
	again = 250 * time.Millisecond
	// waiting is how many requests may wait for a leader at once.
	waiting = 1000
	// keptBody is the largest body, in bytes, that is kept to be sent again.
	keptBody = 256 << 10
	// bodies is how many are kept at once; others are passed on as they come.
	bodies = 256
	// endWithin is how long requests may go on when a server stops following.
	endWithin = 5 * time.Second
	// sendWithin is the longest pause in a body that is passed on.
	sendWithin = 30 * time.Second
)

// errNotLeading is the error of a request to a server that does not lead.
var errNotLeading = errors.New("the server does not lead")

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

// Gate answers the requests that come to a server: by itself if it leads or they need no leader, else by the leader.
type Gate struct {
	member    *Member
	front     Front
	log       *slog.Logger
	proxy     *httputil.ReverseProxy
	local     atomic.Pointer[Pages] // nil while the server does not lead
	following sync.RWMutex          // guards follower
	follower  *follower             // nil while it leads, or has not opened the database
	leaves    atomic.Bool
	room      chan struct{}
	bodies    chan struct{} // one for each body that is kept
	peers     *tls.Config
}

// NewGate returns a Gate for a member with an identity.
func NewGate(m *Member, id Identity, front Front, log *slog.Logger) *Gate {
	g := &Gate{member: m, front: front, log: log, room: make(chan struct{}, waiting),
		bodies: make(chan struct{}, bodies), peers: id.config}
	g.proxy = &httputil.ReverseProxy{
		Transport: &http.Transport{
			TLSClientConfig: id.config, DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
			TLSHandshakeTimeout: 3 * time.Second, MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Minute,
			ResponseHeaderTimeout: patience, // a leader that was stopped says nothing
			DisableCompression:    true,     // the answer is passed on as it is
		},
		Rewrite:        rewrite,
		FlushInterval:  -1, // streams are passed on at once
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ModifyResponse: refused,
		ErrorHandler:   func(_ http.ResponseWriter, r *http.Request, err error) { *tried(r.Context()) = err },
	}
	return g
}

func refused(answer *http.Response) error {
	if answer.Header.Get(notLeading) != "" {
		return errNotLeading
	}
	return nil
}

// rewrite passes on a request as it came, with the address from which it came.
func rewrite(p *httputil.ProxyRequest) {
	p.Out.URL.Scheme, p.Out.URL.Host = "https", p.In.Context().Value(toKey{}).(string)
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	p.Out.Host = p.In.Host
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if all := p.In.Header[name]; all != nil {
			p.Out.Header[name] = all
		}
	}
	p.Out.Header.Set(cameFrom, p.In.RemoteAddr)
	p.Out.Header.Del(forApp) // a browser's
	if hops, ok := p.In.Context().Value(hopsKey{}).(int); ok {
		p.Out.Header.Set(forApp, strconv.Itoa(hops))
	}
}

type toKey struct{}    // the address of the other server
type hopsKey struct{}  // how often a request about an app has been passed on
type triedKey struct{} // where the error of an attempt is put

func tried(ctx context.Context) *error { return ctx.Value(triedKey{}).(*error) }

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

// probed answers those who watch the process.
func (g *Gate) probed(w http.ResponseWriter, status int, text string) {
	g.front.Protect(w.Header())
	plain(w, status, text)
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// pass has the leader answer a request. While nobody leads, the request waits.
func (g *Gate) pass(w http.ResponseWriter, r *http.Request) {
	body, whole, done := g.keep(w, r)
	defer done()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	for {
		if h := g.local.Load(); h != nil {
			g.here(w, body(r), *h, 0)
			return
		}
		leader, term := g.member.Leader()
		var err error
		if !leader.Vacant() && leader.ID != g.member.me.ID {
			if err = g.askLeader(w, body(r), leader, term); err == nil {
				return
			}
			if r.Context().Err() != nil { // nothing would be an empty answer with status 200
				panic(http.ErrAbortHandler)
			}
			g.log.Debug("the leader did not answer", "err", err)
		}
		g.member.Ask()
		if err != nil && !mayRepeat(r, err, whole) || !g.wait(ctx, term.Done()) {
			g.front.ServeHTTP(w, r)
			return
		}
	}
}

// askLeader has the leader of a term answer a request; the error says that it did not. A leader that was stopped keeps
// its connections, so what it has not answered ends with its term, websockets included: browsers open them again.
func (g *Gate) askLeader(w http.ResponseWriter, r *http.Request, leader Leader, term context.Context) (err error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(term, cancel)()
	return g.ask(w, r.WithContext(ctx), leader.Address)
}

// ask has the server at an address answer a request.
func (g *Gate) ask(w http.ResponseWriter, r *http.Request, address string) (err error) {
	ctx := context.WithValue(context.WithValue(r.Context(), toKey{}, address), triedKey{}, &err)
	g.proxy.ServeHTTP(w, r.WithContext(ctx))
	return err
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

// keep returns a function that gives a request a fresh copy of its body, if it is small and there is room, and whether
// it does. done makes room for others.
func (g *Gate) keep(w http.ResponseWriter, r *http.Request) (
	body func(*http.Request) *http.Request, whole bool, done func()) {
	done = func() {}
	if r.ContentLength > 0 && r.ContentLength <= keptBody {
		select {
		case g.bodies <- struct{}{}:
			done = func() { <-g.bodies }
			b, err := io.ReadAll(r.Body)
			if err != nil { // the browser is gone, or withholds the rest
				done()
				panic(http.ErrAbortHandler)
			}
			return func(r *http.Request) *http.Request {
				copied := *r
				copied.Body = io.NopCloser(bytes.NewReader(b))
				return &copied
			}, true, done
		default:
		}
	} else if r.ContentLength != 0 { // a file may take as long as it makes progress
		r.Body = &sending{r.Body, http.NewResponseController(w)}
	}
	return func(r *http.Request) *http.Request { return r }, r.ContentLength == 0, done
}

// sending is a body that is passed on, without a deadline for the whole.
type sending struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements io.Reader.
func (b *sending) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(time.Now().Add(sendWithin)) // an error means that there is no deadline
	return b.ReadCloser.Read(p)
}

// mayRepeat reports whether a request may be sent again after an error: if the leader has not taken it, or taking it
// twice changes nothing.
func mayRepeat(r *http.Request, err error, whole bool) bool {
	if !whole {
		return false
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead || errors.Is(err, errNotLeading) {
		return true
	}
	at, ok := errors.AsType[*net.OpError](err)
	return ok && at.Op == "dial"
}

// Serve answers the other servers on l, until ctx ends.
func (g *Gate) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: http.HandlerFunc(g.answer), TLSConfig: g.peers.Clone(),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 80 << 10, // those of a browser, and ours
		ErrorLog:       slog.NewLogLogger(g.log.Handler(), slog.LevelDebug)}
	// A websocket needs HTTP/1.
	srv.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	err := srv.ServeTLS(l, "", "")
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// answer answers a request that another server has passed on.
func (g *Gate) answer(w http.ResponseWriter, r *http.Request) {
	from := r.Header.Get(cameFrom)
	if from == "" { // servers pass on requests, and make none of their own
		http.NotFound(w, r)
		return
	}
	hops, _ := strconv.Atoi(r.Header.Get(forApp))
	h, done := g.pages(hops > 0)
	defer done()
	if h == nil {
		w.Header().Set(notLeading, "yes")
		plain(w, http.StatusServiceUnavailable, "This server does not lead.")
		return
	}
	r.RemoteAddr = from
	r.Header.Del(cameFrom)
	r.Header.Del(forApp)
	r.TLS = nil // that is between the servers
	g.here(w, r, h, hops)
}

// pages returns the pages of this server while it leads, or if any will do, while it follows. done has to be called
// when the request is answered.
func (g *Gate) pages(any bool) (h Pages, done func()) {
	if leads := g.local.Load(); leads != nil {
		return *leads, func() {}
	}
	g.following.RLock()
	defer g.following.RUnlock()
	if f := g.follower; any && f != nil {
		f.requests.Add(1)
		return f, f.requests.Done
	}
	return nil, func() {}
}
