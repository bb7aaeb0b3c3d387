package edge

import (
	"errors"
	"net"
	"os"
	"time"
)

// Lasting is a listener that stays open when a server closes it: who connects meanwhile waits for the next server,
// which begins with Reopen. One server at a time may use it.
type Lasting struct{ *net.TCPListener }

// Accept implements net.Listener.
func (l Lasting) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = net.ErrClosed
	}
	return c, err
}

// Close implements net.Listener. It ends Accept until Reopen.
func (l Lasting) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// Reopen lets Accept return connections again.
func (l Lasting) Reopen() error { return l.SetDeadline(time.Time{}) }

// CloseForGood closes the listener.
func (l Lasting) CloseForGood() error { return l.TCPListener.Close() }
