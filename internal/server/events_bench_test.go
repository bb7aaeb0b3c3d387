//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package server_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"reprise/internal/delivery"
	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/server/servertest"
	"reprise/internal/words"
)

// sockets is how many pages of one person are open in the benchmarks of events.
const sockets = 1000

// far is the browsers' end of many websockets. It does as little as can be done, and takes little memory.
type far struct {
	b     *testing.B
	conns []net.Conn
	got   chan time.Time // when each socket has got a message
	wg    sync.WaitGroup
}

// dial opens websockets, and reads a first message from each if there is one.
func dial(b *testing.B, address string, header http.Header, first bool) *far {
	b.Helper()
	f := &far{b: b, got: make(chan time.Time, sockets)}
	var all strings.Builder
	for name, values := range header {
		all.WriteString(name + ": " + strings.Join(values, "; ") + "\r\n")
	}
	r := bufio.NewReader(nil)
	for range sockets {
		conn, err := net.Dial("tcp", address)
		require.NoError(b, err)
		_, err = fmt.Fprintf(conn, "GET /api/v1/events HTTP/1.1\r\nHost: %s\r\n"+
			"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"+
			"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n%s\r\n", address, all.String())
		require.NoError(b, err)
		r.Reset(conn)
		answer, err := http.ReadResponse(r, nil)
		require.NoError(b, err)
		require.Equal(b, http.StatusSwitchingProtocols, answer.StatusCode)
		if first {
			_, _, err := frame(r, nil)
			require.NoError(b, err)
		}
		f.conns = append(f.conns, conn)
	}
	return f
}

// frame reads a frame from a server and returns its content, in b if that is large enough, and whether it is a ping.
func frame(r *bufio.Reader, b []byte) (_ []byte, ping bool, _ error) {
	head, err := r.Peek(2)
	if err != nil {
		return nil, false, err
	}
	ping = head[0]&0xf == 9
	size, skip := int(head[1]), 2
	if size == 126 {
		if head, err = r.Peek(4); err != nil {
			return nil, false, err
		}
		size, skip = int(binary.BigEndian.Uint16(head[2:])), 4
	}
	if _, err := r.Discard(skip); err != nil {
		return nil, false, err
	}
	b = slices.Grow(b[:0], size)[:size]
	_, err = io.ReadFull(r, b)
	return b, ping, err
}

// read notes every message that arrives, until the sockets are closed. It keeps the first as a sample.
func (f *far) read(sample func([]byte)) {
	for i, conn := range f.conns {
		f.wg.Go(func() {
			r := bufio.NewReader(conn)
			var b []byte
			var ping bool
			var err error
			for {
				if b, ping, err = frame(r, b); err != nil {
					return
				}
				if ping {
					_, _ = conn.Write(append([]byte{0x8a, 0x80 | byte(len(b)), 0, 0, 0, 0}, b...)) // a pong
					continue
				}
				at := time.Now()
				if i == 0 {
					sample(b)
				}
				f.got <- at
			}
		})
	}
}

func (f *far) close() {
	for _, conn := range f.conns {
		_ = conn.Close()
	}
	f.wg.Wait()
}

// pace is how fast messages have reached the sockets.
type pace struct {
	took  []time.Duration // each message
	spent time.Duration
	cpu   time.Duration // of both ends
}

func (p *pace) perSecond() float64 { return float64(len(p.took)) / p.spent.Seconds() }

// perMessage returns the processor time of a message in microseconds.
func (p *pace) perMessage() float64 { return float64(p.cpu.Microseconds()) / float64(len(p.took)) }

// most returns the milliseconds within which 99 of 100 sockets had a message.
func (p *pace) most() float64 {
	slices.Sort(p.took)
	return float64(p.took[len(p.took)*99/100].Microseconds()) / 1000
}

// rounds lets send happen again and again, each time when every socket has got the message before.
func (f *far) rounds(n int, into *pace, send func()) {
	began, cpu := time.Now(), cpuTime()
	for range n {
		sent := time.Now()
		send()
		for range sockets {
			select {
			case at := <-f.got:
				into.took = append(into.took, at.Sub(sent))
			case <-time.After(time.Minute):
				f.b.Fatal("a message is missing")
			}
		}
	}
	into.spent += time.Since(began)
	into.cpu += cpuTime() - cpu
}

// bare serves websockets with the library alone: a goroutine for each writes what it gets from a channel.
type bare struct {
	*httptest.Server
	mu  sync.Mutex
	all []chan []byte
}

func serveBare() *bare {
	s := &bare{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer socket.CloseNow()
		ctx := socket.CloseRead(context.Background())
		mine := make(chan []byte, 64)
		s.mu.Lock()
		s.all = append(s.all, mine)
		s.mu.Unlock()
		for {
			select {
			case <-ctx.Done():
				return
			case m := <-mine:
				if socket.Write(ctx, websocket.MessageText, m) != nil {
					return
				}
			}
		}
	}))
	return s
}

// footprint is the memory that is in use, and the goroutines, a while after something has happened: stacks that have
// grown for it shrink by half with every collection.
func footprint() (bytes uint64, goroutines int) {
	for range 6 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse, runtime.NumGoroutine()
}

// BenchmarkEvents measures what 1,000 open pages of one person cost, and how fast each kind of event reaches them,
// beside the websocket library alone with the same messages, in the same run.
func BenchmarkEvents(b *testing.B) {
	h := servertest.New(b, delivery.Options{})
	h.Unbounded(2 * sockets)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx, listener, time.Second) }()
	b.Cleanup(func() { stop(); require.NoError(b, <-ended) })
	h.Page("/")
	h.Heard("Svefn-g-englar")
	require.NoError(b, h.Notifier.Open(b.Context(), notify.Notification{User: h.User, Connection: "spotify",
		Cause: "auth", Severity: notify.Error, Title: words.Plain("Spotify needs to be reconnected")}))
	open, err := h.DB.Notifications(b.Context(), h.User, true)
	require.NoError(b, err)
	header := http.Header{}
	for _, c := range h.Session {
		header.Add("Cookie", c.Name+"="+c.Value)
	}

	bytes, goroutines := footprint()
	ours := dial(b, listener.Addr().String(), header, true)
	b.Cleanup(ours.close)
	after, more := footprint()
	var mu sync.Mutex
	var last []byte
	ours.read(func(m []byte) {
		mu.Lock()
		defer mu.Unlock()
		last = slices.Clone(m)
	})
	alone := serveBare()
	b.Cleanup(alone.Close)
	theirs := dial(b, alone.Listener.Addr().String(), nil, false)
	b.Cleanup(theirs.close)
	theirs.read(func([]byte) {})

	for _, e := range []events.Event{
		{Type: events.Connection, Connection: "spotify"},
		{Type: events.Notification, ID: strconv.FormatInt(open[0].ID, 10)},
		{Type: events.Listens, Done: 1},
		{Type: events.Progress, Connection: "spotify", Stream: "listens", Done: 1},
		{Type: events.Deliveries, Connection: "lastfm"},
	} {
		b.Run(string(e.Type), func(b *testing.B) {
			mine := func() { h.Bus.Publish(h.User, e) }
			ours.rounds(2, &pace{}, mine)
			mu.Lock()
			message := slices.Clone(last)
			mu.Unlock()
			bare := func() {
				for _, one := range alone.all {
					one <- message
				}
			}
			var with, without pace
			for b.Loop() {
				for range 6 { // in turns, so that both get their share of whatever else the machine does
					ours.rounds(5, &with, mine)
					theirs.rounds(5, &without, bare)
				}
			}
			b.ReportMetric(with.perSecond(), "msg/s")
			b.ReportMetric(without.perSecond(), "bare-msg/s")
			b.ReportMetric(100*with.perSecond()/without.perSecond(), "%ofbare")
			b.ReportMetric(with.perMessage(), "cpu-µs/msg")
			b.ReportMetric(without.perMessage(), "bare-cpu-µs/msg")
			b.ReportMetric(100*without.perMessage()/with.perMessage(), "cpu-%ofbare")
			b.ReportMetric(with.most(), "p99-ms")
			b.ReportMetric(without.most(), "bare-p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
	b.Run("socket", func(b *testing.B) {
		for b.Loop() { // it was measured before
		}
		b.ReportMetric(float64(after-bytes)/sockets/1024, "KiB/socket")
		b.ReportMetric(float64(more-goroutines)/sockets, "goroutines/socket")
		b.ReportMetric(0, "ns/op")
	})
}

// cpuTime is the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
