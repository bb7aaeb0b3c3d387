package test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
	"reprise/internal/soak"
)

// chaos spoils connections to upstreams at random: it resets them, cuts answers off, delays them and lets them drip.
type chaos struct {
	mu     sync.Mutex
	random *rand.Rand
	left   int // faults
	done   map[string]int
	halt   chan struct{}

	listening []net.Listener
	conns     sync.WaitGroup
}

// faults are what happens to an answer, all equally often.
var faults = []string{"reset before", "reset within", "end within", "delay", "drip", "silence"}

// oneIn is of how many answers one is spoilt. More would keep the breakers open, which then wait for minutes.
const oneIn = 4

// newChaos returns one that spoils nothing before begin.
func newChaos(t *testing.T) *chaos {
	c := &chaos{random: soak.Rand(t), done: map[string]int{}, halt: make(chan struct{})}
	t.Cleanup(func() {
		close(c.halt)
		for _, ln := range c.listening {
			_ = ln.Close()
		}
		c.conns.Wait()
	})
	return c
}

// begin has so many faults happen.
func (c *chaos) begin(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = n
}

// next returns the fault of the next answer, empty for none, and a random number from 0 to 1.
func (c *chaos) next() (fault string, share float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 || c.random.IntN(oneIn) > 0 {
		return "", 0
	}
	c.left--
	fault = faults[c.random.IntN(len(faults))]
	return fault, c.random.Float64()
}

// remaining returns how many faults are still to come.
func (c *chaos) remaining() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// before returns the address of a proxy in front of a host.
func (c *chaos) before(t *testing.T, host string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.conns.Go(func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			c.conns.Go(func() { c.join(in.(*net.TCPConn), host) })
		}
	})
	c.listening = append(c.listening, ln)
	return ln.Addr().String()
}

// join connects a client with a host until either goes, or a fault ends it.
func (c *chaos) join(in *net.TCPConn, host string) {
	defer in.Close()
	dialed, err := net.Dial("tcp", host)
	if err != nil {
		return
	}
	defer dialed.Close()
	var copying sync.WaitGroup
	defer copying.Wait()
	finished := make(chan struct{})
	defer close(finished)
	copying.Go(func() { // ends both when the test does
		select {
		case <-c.halt:
		case <-finished:
		}
		_ = in.Close()
		_ = dialed.Close()
	})
	var asked atomic.Bool
	copying.Go(func() {
		pass(dialed, in, &asked)
		_ = dialed.(*net.TCPConn).CloseWrite()
	})
	part := make([]byte, 4<<10)
	fault, share, before := "", 0.0, 0 // so many parts of the answer pass first
	for {
		n, err := dialed.Read(part)
		if n > 0 && asked.Swap(false) && fault == "" {
			fault, share = c.next()
			before = int(share * 3)
		}
		now := ""
		if before--; before < 0 {
			now, fault = fault, ""
		}
		if n > 0 && !c.tell(in, part[:n], now, share) || err != nil {
			return
		}
	}
}

// pass copies what comes until the end, and notes that something was asked.
func pass(to, from net.Conn, asked *atomic.Bool) {
	part := make([]byte, 4<<10)
	for {
		n, err := from.Read(part)
		if n > 0 {
			asked.Store(true)
			if _, err := to.Write(part[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// tell sends a part of an answer, with or without a fault, and reports whether the connection is still good.
func (c *chaos) tell(in *net.TCPConn, part []byte, fault string, share float64) bool {
	if fault != "" {
		c.mu.Lock()
		c.done[fault]++
		c.mu.Unlock()
	}
	some := part[:int(share*float64(len(part)))]
	switch fault {
	case "reset before":
		_ = in.SetLinger(0)
		return false
	case "reset within":
		_, _ = in.Write(some)
		_ = in.SetLinger(0)
		return false
	case "end within":
		_, _ = in.Write(some)
		return false
	case "delay":
		c.wait(time.Duration(share * float64(time.Second)))
	case "silence":
		c.wait(time.Second)
		return false
	case "drip":
		for _, b := range some[:min(len(some), 50)] {
			if _, err := in.Write([]byte{b}); err != nil {
				return false
			}
			c.wait(5 * time.Millisecond)
		}
		part = part[min(len(some), 50):]
	}
	_, err := in.Write(part)
	return err == nil
}

func (c *chaos) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.halt:
	}
}

// through replaces the hosts in settings by proxies in front of them.
func (c *chaos) through(t *testing.T, env []string, urls ...string) []string {
	t.Helper()
	joined := strings.Join(env, "\n")
	for _, u := range urls {
		host := hostOf(t, u)
		joined = strings.ReplaceAll(joined, host, c.before(t, host))
	}
	return strings.Split(joined, "\n")
}

func hostOf(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u.Host
}

// TestAThousandFaultsLoseAndDoubleNothing spoils connections at random while plays are read and sent on.
func TestAThousandFaultsLoseAndDoubleNothing(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	n := 15
	if soak.All() {
		n = 1000 // six minutes
	}
	pause := 100 * time.Millisecond
	clock := newHourglass(time.Now().Add(-90 * 24 * time.Hour))
	w := newWorld(t, demo.Options{Plays: 300, Now: clock.now, TokenLife: 10_000 * time.Hour})
	c := newChaos(t)
	env := append(worldEnv(w), "REPRISE_DELIVERY_FIRST_DELAY=100ms", "REPRISE_DELIVERY_MAX_DELAY=1s")
	p := start(t, t.TempDir(), c.through(t, env, w.Spotify.URL, w.ListenBrainz.URL)...)
	v := p.newcomer()
	v.consent(agree(), 200)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Bob)}, 200)
	home := "http://" + c.before(t, hostOf(t, w.Navidrome.URL))
	v.call("PUT", "/connections/navidrome",
		object{"url": home, "username": demo.Bob, "password": w.Navidrome.Password(demo.Bob)}, 200)
	names := []string{"spotify", "listenbrainz", "navidrome"}
	for _, name := range names {
		v.becomes(name, "healthy")
	}
	for _, name := range names[1:] {
		v.call("PUT", "/connections/"+name+"/forwarding", object{"earlier": true}, 200)
	}

	c.begin(n)
	began := time.Now()
	var played []demo.Play
	for patient := time.Now().Add(20 * time.Minute); c.remaining() > 0; time.Sleep(pause) {
		require.True(t, time.Now().Before(patient), "%d faults never came", c.remaining())
		if len(played)%20 == 0 && len(played) > 0 { // Spotify tells of the last 50 plays only
			v.read(played[len(played)-1])
		}
		clock.turn(11 * time.Minute)
		played = append(played, w.PlayOwned())
	}
	t.Logf("%d faults in %v with %d plays: %v", n, time.Since(began).Round(time.Second), len(played), c.done)

	clock.turn(11 * time.Minute)
	played = append(played, w.PlayOwned())
	v.eventually("everything to be carried", func() bool {
		return count(w.Navidrome.Scrobbled())[idOf(played[len(played)-1])] > 0 &&
			count(w.ListenBrainz.Listens(demo.Bob))[idOf(played[len(played)-1])] > 0 && v.underWay() == 0
	})
	for _, name := range names {
		v.becomes(name, "healthy")
	}
	require.Empty(t, v.openAlerts(), "what failed in between is over")
	for _, d := range v.call("GET", "/deliveries?state=dead&limit=100", nil, http.StatusOK)["deliveries"].([]any) {
		require.Regexp(t, "isn't in your library|not clear which song", d.(object)["reason"],
			"nothing was given up for a fault")
	}
	brainz, house, kept := count(w.ListenBrainz.Listens(demo.Bob)), count(w.Navidrome.Scrobbled()), v.kept(t)
	for i, one := range played {
		require.Equal(t, 1, kept[idOf(one)], "Reprise, play %d: %s at %s", i, one.Title, one.At)
		require.Equal(t, 1, brainz[idOf(one)], "ListenBrainz, play %d: %s at %s", i, one.Title, one.At)
		require.Equal(t, 1, house[idOf(one)], "Navidrome, play %d: %s at %s", i, one.Title, one.At)
	}
	require.Empty(t, p.errors())
}

// read waits until a play is the newest listen.
func (v *person) read(p demo.Play) {
	v.t.Helper()
	second := p.At.UTC().Format("2006-01-02T15:04:05")
	v.eventually("the last play to be read", func() bool {
		newest := v.call("GET", "/listens?limit=1", nil, http.StatusOK)["listens"].([]any)
		return len(newest) == 1 && strings.HasPrefix(newest[0].(object)["played_at"].(string), second)
	})
}

// underWay returns how many deliveries are neither done nor dead.
func (v *person) underWay() (n int) {
	counts := v.call("GET", "/deliveries", nil, http.StatusOK)["counts"].(object)
	for _, state := range []string{"scheduled", "running", "retrying", "parked"} {
		n += int(counts[state].(float64))
	}
	return n
}

// kept returns all listens by what they are.
func (v *person) kept(t *testing.T) map[playID]int {
	t.Helper()
	all, next := map[playID]int{}, ""
	for {
		page := v.call("GET", "/listens?limit=1000"+next, nil, http.StatusOK)
		for _, l := range page["listens"].([]any) {
			l := l.(object)
			at, err := time.Parse(time.RFC3339, fmt.Sprint(l["played_at"]))
			require.NoError(t, err)
			all[playID{at.Unix(), fmt.Sprint(l["track"])}]++
		}
		if page["next"] == nil {
			return all
		}
		next = "&before=" + url.QueryEscape(page["next"].(string))
	}
}
