package edge

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"
)

const (
	part   = 32 << 10         // bytes that are written under one deadline
	taking = 20 * time.Second // how long a client may need to take them
	slack  = time.Second      // what may be missing of that, so that not every small write sets a timer
)

// conn is a connection of a Listener.
type conn struct {
	net.Conn
	listener *Listener
	from     netip.Prefix

	// Guarded by the listener's mutex.
	state http.ConnState
	since time.Time // of the last change of state

	mu      sync.Mutex
	limit   time.Time // for writing, as the handler has set it; zero for none
	writing time.Time // since when a write waits; zero for none
	set     time.Time // the deadline of the connection; zero for none
}

// Write implements net.Conn. It writes in parts, each with a deadline of its own.
func (c *conn) Write(p []byte) (n int, err error) {
	defer c.wrote()
	for {
		end := min(n+part, len(p))
		if err := c.willWrite(); err != nil {
			return n, err
		}
		m, err := c.Conn.Write(p[n:end])
		n += m
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.forget()
		}
		if err != nil || n >= len(p) {
			return n, err
		}
	}
}

func (c *conn) willWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = time.Now()
	next := c.deadlineLocked()
	if late := next.Sub(c.set); late >= 0 && late < slack {
		return nil
	}
	return c.setLocked(next)
}

func (c *conn) setLocked(deadline time.Time) error {
	c.set = deadline
	return c.Conn.SetWriteDeadline(deadline)
}

func (c *conn) wrote() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing = time.Time{}
}

// deadlineLocked returns the earlier one of the handler's deadline and ours.
func (c *conn) deadlineLocked() time.Time {
	if c.writing.IsZero() {
		return c.limit
	}
	ours := c.writing.Add(taking)
	if !c.limit.IsZero() && c.limit.Before(ours) {
		return c.limit
	}
	return ours
}

// SetWriteDeadline implements net.Conn. A write that waits keeps the deadline of its part.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = t
	return c.setLocked(c.deadlineLocked())
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.Conn.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// stalledFor returns how long a write has been waiting for the client; zero if none is.
func (c *conn) stalledFor(now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writing.IsZero() {
		return 0
	}
	return now.Sub(c.writing)
}

// forget throws away what the client has not taken, which the system would otherwise keep for minutes after the end.
func (c *conn) forget() {
	if t, ok := c.Conn.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
}

// drop closes a connection at once.
func (c *conn) drop() {
	c.forget()
	_ = c.Close()
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.listener.removeLocked(c)
	return err
}

// CloseWrite ends what is sent, as net/http does before it closes a connection on which a client still sends.
func (c *conn) CloseWrite() error {
	if t, ok := c.Conn.(*net.TCPConn); ok {
		return t.CloseWrite()
	}
	return nil
}
