package edge

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// door is a listener that accepts what a test puts into it.
type door struct {
	net.Listener
	t    *testing.T
	next chan any // a net.Conn or an error
	got  chan any // what the Listener makes of it
	log  bytes.Buffer
	in   *Listener
}

func newDoor(t *testing.T, r Room, proxies ...netip.Prefix) *door {
	d := &door{t: t, next: make(chan any), got: make(chan any, 1)}
	d.in = Listen(d, Options{Room: r, Proxies: func() []netip.Prefix { return proxies },
		Log: slog.New(slog.NewJSONHandler(&d.log, nil))})
	go func() {
		for {
			c, err := d.in.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				d.got <- err
			} else {
				d.got <- c
			}
		}
	}()
	t.Cleanup(func() { close(d.next) })
	return d
}

func (d *door) Accept() (net.Conn, error) {
	switch v := (<-d.next).(type) {
	case net.Conn:
		return v, nil
	case error:
		return nil, v
	}
	return nil, net.ErrClosed
}

// client is the far end of a connection.
type client struct {
	net.Conn
	t    *testing.T
	near net.Conn // as the server has it
}

type addressed struct {
	net.Conn
	from net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.from }

// comes lets somebody connect from an address. The near end is nil if there was no room.
func (d *door) comes(from string) *client {
	d.t.Helper()
	far, near := net.Pipe()
	d.t.Cleanup(func() { _ = far.Close() })
	d.next <- addressed{near, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(from), 1))}
	synctest.Wait()
	c := &client{Conn: far, t: d.t}
	select {
	case in := <-d.got:
		c.near = in.(net.Conn)
	default:
		answer, err := io.ReadAll(far)
		require.NoError(d.t, err)
		require.Contains(d.t, string(answer), "HTTP/1.1 503 ")
	}
	return c
}

// does tells what the server does on the connection.
func (d *door) does(c *client, s http.ConnState) *client {
	d.t.Helper()
	require.NotNil(d.t, c.near, "there was no room")
	d.in.State(c.near, s)
	return c
}

// isOpen reports whether the server still has the connection.
func (c *client) isOpen() bool {
	c.t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

func TestIdleConnectionsMakeRoomFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, Room{Total: 3, PerAddress: 3})
		busy := d.does(d.comes("192.0.2.1"), http.StateActive)
		time.Sleep(time.Second)
		idle := d.does(d.comes("192.0.2.1"), http.StateIdle)
		time.Sleep(time.Second)
		silent := d.comes("192.0.2.2")
		time.Sleep(time.Second)
		d.does(d.comes("192.0.2.3"), http.StateActive)
		require.False(t, idle.isOpen(), "nobody waits for it")
		d.does(d.comes("192.0.2.4"), http.StateActive)
		require.False(t, silent.isOpen(), "it has asked for nothing in a second")
		require.True(t, busy.isOpen())
		require.Nil(t, d.comes("192.0.2.5").near, "all are busy, and nobody has more than one")
		require.NoError(t, busy.near.Close())
		require.NotNil(t, d.comes("192.0.2.5").near)
	})
}

func TestGreediestAddressMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, Room{Total: 4, PerAddress: 4})
		mine := d.does(d.comes("192.0.2.1"), http.StateActive)
		var theirs []*client
		for range 3 {
			time.Sleep(time.Second)
			theirs = append(theirs, d.does(d.comes("192.0.2.66"), http.StateActive))
		}
		require.Nil(t, d.comes("192.0.2.66").near, "not for one more of theirs")
		require.NotNil(t, d.comes("192.0.2.2").near)
		require.False(t, theirs[0].isOpen())
		require.True(t, theirs[1].isOpen())
		require.True(t, mine.isOpen())
	})
}

func TestOneAddressHasABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, Room{Total: 100, PerAddress: 2}, netip.MustParsePrefix("10.0.0.0/24"))
		for _, c := range []struct{ first, second, third string }{
			{"192.0.2.1", "192.0.2.1", "192.0.2.1"},
			{"2001:db8::1", "2001:db8::ffff:2", "2001:db8::3"},
			{"::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7"},
		} {
			d.does(d.comes(c.first), http.StateActive)
			d.does(d.comes(c.second), http.StateActive)
			require.Nil(t, d.comes(c.third).near, c.third)
		}
		require.Equal(t, 1, strings.Count(d.log.String(), "there are too many"), "the log has one line a minute")
		require.NotNil(t, d.comes("2001:db8:0:1::1").near, "another network")
		for range 5 {
			d.does(d.comes("10.0.0.9"), http.StateActive)
			d.does(d.comes("127.0.0.1"), http.StateActive)
			d.does(d.comes("::1"), http.StateActive)
		}
	})
}

// Pages that make room for others come back by themselves; a page that does not load is broken.
func TestStreamsMakeRoomForPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, Room{Total: 4, PerAddress: 4})
		oldest := d.does(d.comes("127.0.0.1"), http.StateHijacked)
		for range 3 {
			time.Sleep(time.Second)
			d.does(d.comes("127.0.0.1"), http.StateHijacked)
		}
		require.NotNil(t, d.comes("127.0.0.1").near)
		require.False(t, oldest.isOpen())
	})
}

func TestDeafClientIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, Room{Total: 2, PerAddress: 2})
		c := d.does(d.comes("192.0.2.1"), http.StateActive)
		began := time.Now()
		_, err := c.near.Write(make([]byte, 1<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 20*time.Second, time.Since(began))

		slow := d.does(d.comes("192.0.2.2"), http.StateActive)
		var reading sync.WaitGroup
		reading.Go(func() {
			for b := make([]byte, 16<<10); ; time.Sleep(9 * time.Second) {
				if _, err := io.ReadFull(slow, b); err != nil {
					return
				}
			}
		})
		began = time.Now()
		n, err := slow.near.Write(make([]byte, 1<<20))
		require.NoError(t, err, "a slow line is no offence")
		require.Equal(t, 1<<20, n)
		require.Greater(t, time.Since(began), 5*time.Minute)

		require.NoError(t, slow.near.SetWriteDeadline(time.Now().Add(5*time.Second)))
		began = time.Now()
		_, err = slow.near.Write(make([]byte, 1<<20))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(began), "what a handler asks for holds as well")
		_ = slow.Close()
		reading.Wait()
	})
}

func TestDeafClientMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, Room{Total: 1, PerAddress: 1})
		c := d.does(d.comes("192.0.2.1"), http.StateActive)
		ended := make(chan error, 1)
		go func() {
			_, err := c.near.Write(make([]byte, 1<<20))
			ended <- err
		}()
		time.Sleep(999 * time.Millisecond)
		require.Nil(t, d.comes("192.0.2.2").near)
		time.Sleep(time.Millisecond)
		require.NotNil(t, d.comes("192.0.2.2").near)
		require.Error(t, <-ended)
	})
}

func TestFailedAcceptsAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, Room{Total: 10, PerAddress: 10})
		idle := d.does(d.comes("192.0.2.1"), http.StateIdle)
		busy := d.does(d.comes("192.0.2.1"), http.StateActive)
		for range 90 {
			d.next <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
			require.ErrorIs(t, (<-d.got).(error), syscall.EMFILE)
			time.Sleep(time.Second)
		}
		require.False(t, idle.isOpen(), "its file is needed")
		require.True(t, busy.isOpen())
		lines := strings.Split(strings.TrimSpace(d.log.String()), "\n")
		require.Len(t, lines, 2)
		require.Contains(t, lines[0], `"level":"WARN"`)
		require.Contains(t, lines[0], "too many open files")
		require.Contains(t, lines[1], `"unlogged":59`)
	})
}

func TestRoomLeavesFilesForTheRest(t *testing.T) {
	t.Parallel()
	for files, want := range map[uint64]Room{
		0:       {4096, 512, 100},
		20:      {8, 4, 2},
		64:      {24, 12, 6},
		256:     {128, 64, 32},
		1024:    {512, 256, 100},
		4096:    {3584, 512, 100},
		1 << 40: {4096, 512, 100},
	} {
		require.Equal(t, want, roomFor(files), files)
	}
}
