package test

import (
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
	"reprise/internal/demo"
	"reprise/internal/postgrestest"
	"reprise/internal/soak"
)

// balance starts a load balancer in front of servers, and returns its address. It ends with the test.
func balance(t testing.TB, servers ...string) string {
	t.Helper()
	at := childtest.Address(t)
	var settings strings.Builder
	settings.WriteString("defaults\n mode http\n timeout connect 2s\n timeout client 1m\n timeout server 1m\n" +
		"frontend music\n bind " + at + "\n default_backend reprise\n" +
		"backend reprise\n option httpchk GET /readyz\n option redispatch\n retries 3\n" +
		" http-response set-header Served-By %s\n")
	for i, s := range servers {
		fmt.Fprintf(&settings, " server s%d %s check inter 1s fall 2 rise 1 on-marked-down shutdown-sessions\n", i, s)
	}
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	require.NoError(t, os.WriteFile(path, []byte(settings.String()), 0o600))
	proxy := childtest.Tie(exec.Command(haproxy, "-db", "-f", path), syscall.SIGKILL)
	require.NoError(t, proxy.Start())
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait()
	})
	until(t, func() bool {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, "the load balancer")
	return "http://" + at
}

const haproxy = "/usr/sbin/haproxy"

// seat is the place of a server in a cluster: it is started there again after a kill.
type seat struct {
	*process
	relay *relay
	args  []string
	env   []string
}

// Promise: Servers that are killed, stopped, cut off and upgraded again and again, with a database that restarts,
// lose no play and double none.
func TestServersLoseAndDoubleNothing(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	_, err := exec.LookPath(haproxy)
	require.NoError(t, err, "This test needs the Debian package haproxy (apt-get install it).")
	disruptions, fans, every := 1, 20, time.Second
	if soak.All() { // ten minutes
		disruptions, fans, every = 24, 1000, 15*time.Second
	}
	clock := newHourglass(time.Now().Add(-30 * 24 * time.Hour))
	w := newWorld(t, demo.Options{Plays: 300, Now: clock.now, TokenLife: 1000 * time.Hour})
	postgres := postgrestest.Start(t)
	database := postgres.Database("reprise")
	kept, err := sql.Open("pgx", database)
	require.NoError(t, err)
	defer kept.Close()
	var seats []*seat
	var addresses []string
	for range 3 {
		s := &seat{}
		var through string
		s.relay, through = newRelay(t, database)
		s.env = append(clusterOf(through, w), "REPRISE_DELIVERY_FIRST_DELAY=100ms", "REPRISE_DELIVERY_MAX_DELAY=1s",
			"REPRISE_ALLOWED_HOSTS=*", "REPRISE_SYNC_LISTENS_EVERY="+every.String(),
			"REPRISE_SYNC_PLAYLISTS_EVERY="+(4*every).String())
		s.args = []string{"-data-dir", t.TempDir(), "-listen", "127.0.0.1:0"}
		s.process = startWith(t, s.args, s.env...)
		address := strings.TrimPrefix(s.url, "http://")
		s.args[3] = address
		seats, addresses = append(seats, s), append(addresses, address)
	}
	v := seats[0].newcomer()
	v.consent(agree(), 200)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Bob)}, 200)
	v.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL, "username": demo.Bob, "password": w.Navidrome.Password(demo.Bob)}, 200)
	for _, name := range []string{"spotify", "listenbrainz", "navidrome"} {
		v.becomes(name, "healthy")
	}
	for _, name := range []string{"listenbrainz", "navidrome"} {
		v.call("PUT", "/connections/"+name+"/forwarding", object{"earlier": true}, 200)
	}
	people := audienceOf(t, v, seats[0].process, fans)
	v.base = balance(t, addresses...)
	people.at(v.base)
	leads := func() *seat {
		var leader *seat
		until(t, func() bool {
			resp, b := v.send("GET", "/admin/servers", nil)
			for _, s := range seats {
				if resp.StatusCode == http.StatusOK && strings.Contains(string(b), `"leads"`) && s.leading() {
					leader = s
				}
			}
			return leader != nil
		}, "a leader")
		return leader
	}
	secret := v.call("POST", "/players", object{"name": "Radio", "kind": "listenbrainz"}, 201)["secret"].(string)
	var heard []string // what the radio has sent, to any of the servers
	radio := func() {
		for range 3 {
			title := fmt.Sprintf("Song %d of the radio", len(heard))
			at := clock.now().Add(-time.Minute - time.Duration(len(heard))*time.Second) // not the newest
			until(t, func() bool { return devices["listenbrainz"](v.base, secret, title, at) }, "it to be acknowledged")
			heard = append(heard, title)
		}
	}
	random := soak.Rand(t)
	var played []demo.Play
	play := func() {
		for range 3 {
			clock.turn(11 * time.Minute)
			played = append(played, w.PlayOwned())
		}
		people.play(random)
		radio()
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond) // so that each step of the work is met
	}
	arrived := func() {
		last := played[len(played)-1].At.UTC().Format("2006-01-02T15:04:05")
		v.eventually("the last play to be read", func() bool {
			resp, b := v.send("GET", "/listens?limit=1", nil)
			return resp.StatusCode == http.StatusOK && strings.Contains(string(b), last)
		})
	}
	for n := range disruptions {
		leader := leads()
		if n%3 == 0 {
			people.here.asksToWait(20 * time.Second)
			until(t, func() bool {
				var until int64
				err := kept.QueryRow("SELECT coalesce(max(until), 0) FROM holds").Scan(&until)
				return err == nil && until > time.Now().UnixMilli()
			}, "the wait to be stored: nobody can know what a server heard just before it died")
		}
		play()
		other := seats[(slices.Index(seats, leader)+1)%len(seats)]
		switch n % 8 {
		case 1:
			mend := leader.relay.swallow()
			play()
			arrived() // by another server
			mend()
		case 3:
			require.NoError(t, leader.cmd.Process.Signal(syscall.SIGSTOP))
			play()
			arrived()
			require.NoError(t, leader.cmd.Process.Signal(syscall.SIGCONT))
		case 5:
			postgres.Stop()
			postgres.Resume()
			play()
			arrived()
		case 7: // an upgrade
			for _, s := range seats {
				require.NoError(t, s.stop(syscall.SIGTERM))
				play()
				s.process = startWith(t, s.args, s.env...)
			}
			arrived()
		default:
			broken := leader
			if n%8 == 2 || n%8 == 6 {
				broken = other
			}
			require.Error(t, broken.stop(syscall.SIGKILL))
			play()
			arrived()
			broken.process = startWith(t, broken.args, broken.env...)
		}
		if n == disruptions/2 {
			people.loseTokens()
		}
	}
	v.eventually("everything to be carried", func() bool {
		counts := v.call("GET", "/deliveries", nil, http.StatusOK)["counts"].(object)
		for _, state := range []string{"scheduled", "running", "retrying", "parked"} {
			if counts[state].(float64) > 0 {
				return false
			}
		}
		return count(w.ListenBrainz.Listens(demo.Bob))[idOf(played[len(played)-1])] > 0
	})
	brainz, home := count(w.ListenBrainz.Listens(demo.Bob)), count(w.Navidrome.Scrobbled())
	for _, one := range played {
		require.Equal(t, 1, brainz[idOf(one)], "ListenBrainz: %s at %s", one.Title, one.At)
		require.Equal(t, 1, home[idOf(one)], "Navidrome: %s at %s", one.Title, one.At)
	}
	for _, title := range heard {
		n := 0
		for _, one := range w.ListenBrainz.Listens(demo.Bob) {
			if one.Title == title {
				n++
			}
		}
		require.Equal(t, 1, n, "ListenBrainz: %s", title)
	}
	for one, n := range home {
		require.Equal(t, 1, n, "Navidrome has %s double", one.title)
	}
	people.accountFor()
}

// leading reports whether this server's last word is that it leads.
func (s *seat) leading() bool {
	log := s.log.String()
	return strings.LastIndex(log, "this server leads") > strings.LastIndex(log, "no longer leads")
}
