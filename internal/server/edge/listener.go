package edge

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"syscall"
	"time"
)

const (
	fresh   = time.Second // for which a connection that has sent nothing yet is left alone
	stalled = time.Second // after which a client that takes nothing makes room for others
	logged  = time.Minute // the least time between two lines of one kind in the log
)

const words = "This server has too many connections. Try again in a few seconds.\n"

// refusal answers a connection for which there is no room.
var refusal = fmt.Appendf(nil, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"+
	"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", len(words), words)

// Options are what a Listener is made from.
type Options struct {
	Room
	// Proxies returns those who connect for others: PerAddress does not hold for them, nor for loopback. Nil for none.
	Proxies func() []netip.Prefix
	Log     *slog.Logger
}

// Everybody is Options.Proxies behind a load balancer, which limits the connections of an address itself.
func Everybody() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
}

// Listener accepts connections as long as there is room. Make it with Listen.
type Listener struct {
	net.Listener
	Options

	mu      sync.Mutex
	open    map[*conn]struct{}
	count   map[netip.Prefix]int
	trouble line
	refused line
}

// line is a line of the log that is written seldom.
type line struct {
	last   time.Time
	hidden int // since then
}

// Listen returns a Listener that accepts from l.
func Listen(l net.Listener, o Options) *Listener {
	return &Listener{Listener: l, Options: o, open: map[*conn]struct{}{}, count: map[netip.Prefix]int{}}
}

// Accept implements net.Listener. An error of the system's is logged at most once a minute, and makes room.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			l.failed(err)
			return nil, err
		}
		if in := l.admit(c); in != nil {
			return in, nil
		}
		_ = c.SetWriteDeadline(time.Now().Add(fresh))
		_, _ = c.Write(refusal)
		_ = c.Close()
	}
}

// State is a hook for http.Server's ConnState: it tells a Listener what its connections do.
func (l *Listener) State(c net.Conn, s http.ConnState) {
	if c, ok := c.(*conn); ok {
		l.mu.Lock()
		c.state, c.since = s, time.Now()
		l.mu.Unlock()
	}
}

// failed logs why nothing was accepted. Without file descriptors it closes a connection.
func (l *Listener) failed(err error) {
	if errors.Is(err, net.ErrClosed) {
		return
	}
	l.mu.Lock()
	hidden, due := l.trouble.next()
	var last *conn
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		if last = l.victimLocked(netip.Prefix{}); last != nil {
			l.removeLocked(last)
		}
	}
	l.mu.Unlock()
	if last != nil {
		last.drop()
	}
	if due {
		l.Log.Warn("connection not accepted", "err", err, "unlogged", hidden)
	}
}

// next counts an event and reports whether to log it, with the number of those before it that were not.
func (s *line) next() (hidden int, due bool) {
	if now := time.Now(); s.last.IsZero() || now.Sub(s.last) >= logged {
		hidden, s.hidden, s.last = s.hidden, 0, now
		return hidden, true
	}
	s.hidden++
	return 0, false
}

// admit returns a connection to serve, or nil when there is no room.
func (l *Listener) admit(c net.Conn) net.Conn {
	in := &conn{Conn: c, listener: l, from: networkOf(c.RemoteAddr()), since: time.Now()}
	l.mu.Lock()
	var last *conn
	room := true
	switch {
	case l.bounded(in.from) && l.count[in.from] >= l.PerAddress:
		last = l.idleLocked(func(o *conn) bool { return o.from == in.from })
		room = last != nil
	case len(l.open) >= l.Total:
		last = l.victimLocked(in.from)
		room = last != nil
	}
	if last != nil {
		l.removeLocked(last)
	}
	var hidden int
	var due bool
	if room {
		l.open[in] = struct{}{}
		l.count[in.from]++
	} else {
		hidden, due = l.refused.next()
	}
	open := len(l.open)
	l.mu.Unlock()
	if last != nil {
		last.drop()
	}
	if room {
		return in
	}
	if due {
		l.Log.Warn("connection refused, there are too many", "address", in.from.Addr(), "open", open,
			"unlogged", hidden)
	}
	return nil
}

// bounded reports whether PerAddress holds for a network. Others connect for many people.
func (l *Listener) bounded(n netip.Prefix) bool {
	if n.Addr().IsLoopback() {
		return false
	}
	if l.Proxies == nil {
		return true
	}
	for _, p := range l.Proxies() {
		if p.Overlaps(n) {
			return false
		}
	}
	return true
}

// victimLocked returns the connection that makes room for a new one from a network; nil when there is none.
func (l *Listener) victimLocked(from netip.Prefix) *conn {
	if c := l.idleLocked(func(*conn) bool { return true }); c != nil {
		return c
	}
	greediest := from
	for n, count := range l.count {
		if count > l.count[greediest] {
			greediest = n
		}
	}
	if l.count[greediest] > l.count[from]+1 {
		return l.oldestLocked(func(c *conn) bool { return c.from == greediest })
	}
	// The network of the new one holds the most itself. Its pages make room for each other: one that has lost its
	// stream comes back by itself, one that was not loaded does not.
	streams := 0
	for c := range l.open {
		if c.state == http.StateHijacked {
			streams++
		}
	}
	if streams <= l.Total/2 {
		return nil
	}
	return l.oldestLocked(func(c *conn) bool { return c.from == from && c.state == http.StateHijacked })
}

// idleLocked returns the connection of some that can best be missed: one without a request under way, or else one
// whose client has stopped reading; nil when all are busy.
func (l *Listener) idleLocked(among func(*conn) bool) *conn {
	now := time.Now()
	waits := func(c *conn) bool {
		return among(c) && (c.state == http.StateIdle || c.state == http.StateNew && now.Sub(c.since) >= fresh)
	}
	if c := l.oldestLocked(waits); c != nil {
		return c
	}
	return l.oldestLocked(func(c *conn) bool { return among(c) && c.stalledFor(now) >= stalled })
}

// oldestLocked returns the connection of some whose state changed the longest ago; nil if there is none.
func (l *Listener) oldestLocked(among func(*conn) bool) (oldest *conn) {
	for c := range l.open {
		if (oldest == nil || c.since.Before(oldest.since)) && among(c) {
			oldest = c
		}
	}
	return oldest
}

func (l *Listener) removeLocked(c *conn) {
	if _, ok := l.open[c]; !ok {
		return
	}
	delete(l.open, c)
	if l.count[c.from]--; l.count[c.from] == 0 {
		delete(l.count, c.from)
	}
}

// networkOf returns what counts as one address: an IPv4 address, or an IPv6 network of 64 bits.
func networkOf(a net.Addr) netip.Prefix {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := t.AddrPort().Addr().Unmap().WithZone("")
	bits := 64
	if ip.Is4() || ip.IsLoopback() {
		bits = ip.BitLen()
	}
	p, _ := ip.Prefix(bits)
	return p
}
