package test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
	"reprise/internal/demo"
	"reprise/internal/soak"
)

// speaks answers every connection with a text, as a server does that does not speak HTTP; with an empty text it closes.
func speaks(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(text))
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// foreign returns addresses in the server's own network, by what is there.
func foreign(t *testing.T) map[string]string {
	t.Helper()
	answer := func(status int, kind, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in its queue
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	return map[string]string{"silent": silent.Addr().String(), "closed": childtest.Address(t),
		"ssh": speaks(t, "SSH-2.0-OpenSSH_9.9\r\n"), "cut": speaks(t, ""),
		"page":   answer(200, "text/html", "<html><title>Router</title></html>"),
		"locked": answer(401, "text/html", "<html>Sign in</html>"), "nothing": answer(404, "text/plain", "no"),
		"other": answer(200, "application/json", `{"printer":"ready"}`), "broken": answer(502, "text/plain", "")}
}

// Promise: A member who is no administrator cannot find out what listens in the network of the server.
func TestMembersCannotScanPorts(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	p := start(t, t.TempDir(), append(worldEnv(w), "REPRISE_BREAKER_FAILURES=100")...)
	admin := p.newcomer()
	admin.call("POST", "/admin/users", object{"name": "Bob", "password": password, "role": "member"}, 201)
	bob := p.visitor()
	bob.call("POST", "/session", object{"name": "Bob", "password": password}, 201)

	type attempt struct {
		what, said string
		took       time.Duration
	}
	addresses := foreign(t)
	var mu sync.Mutex
	all := map[string][]attempt{}
	note := func(form, what, said string, began time.Time) {
		said = strings.ReplaceAll(said, addresses[what], "the server") // what the member has typed
		mu.Lock()
		defer mu.Unlock()
		all[form] = append(all[form], attempt{what, said, time.Since(began)})
	}
	var trying sync.WaitGroup
	for what, at := range addresses {
		for form, fields := range map[string]object{
			"navidrome":    {"url": "http://" + at, "username": "x", "password": "y"},
			"listenbrainz": {"url": "http://" + at, "token": "00000000-0000-0000-0000-000000000000"},
			"s3": {"endpoint": "http://" + at, "bucket": "music", "access_key": "x", "secret_key": "y",
				"region": "eu"},
		} {
			trying.Go(func() {
				began := time.Now()
				resp, body := bob.send("PUT", "/connections/"+form, fields)
				require.Equal(t, 422, resp.StatusCode, "%s", body)
				note(form, what, string(body), began)
			})
		}
		for form, fields := range map[string]object{
			"gotify": {"server": "http://" + at, "token": "t"},
			"ntfy":   {"server": "http://" + at, "topic": "t"},
			"email":  {"to": "a@example.org", "from": "b@example.org", "server": at},
		} {
			trying.Go(func() {
				began := time.Now()
				_, body := bob.send("POST", "/channels", object{"kind": form, "name": form, "fields": fields})
				note(form, what, string(body), began)
			})
		}
	}
	trying.Wait()
	require.Len(t, all, 6)
	for form, attempts := range all {
		require.GreaterOrEqual(t, len(attempts), 3)
		attempts = slices.DeleteFunc(attempts, func(a attempt) bool {
			return a.what == "other" && (form == "ntfy" || form == "gotify") // it has taken the message
		})
		for _, a := range attempts {
			require.Equal(t, attempts[0].said, a.said, "%s: %s and %s", form, attempts[0].what, a.what)
			// The answer does not come early. TestHiddenFailuresTakeTheSameTime covers that it does not come late.
			require.GreaterOrEqual(t, a.took, 10*time.Second, "%s: %s: %s", form, a.what, a.said)
			require.Contains(t, a.said, "Servers whose errors members may see")
		}
	}
	for form, attempts := range all {
		slowest := slices.MaxFunc(attempts, func(a, b attempt) int { return int(a.took - b.took) })
		t.Logf("%s: the slowest took %v (%s)", form, slowest.took, slowest.what)
	}
	require.Contains(t, p.log.String(), "connection refused", "the log has the reason")

	// What the server of a member's choice says in its protocol is shown; and administrators read everything.
	wrong := bob.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL, "username": demo.Bob, "password": "wrong"}, 422)
	require.NotContains(t, wrong["detail"], "Servers whose errors members may see")
	closed := object{"url": "http://" + foreign(t)["closed"], "username": "x", "password": "y"}
	said := admin.call("PUT", "/connections/navidrome", closed, 422)
	require.Contains(t, said["detail"], "Your server isn't responding")
	// The server that an administrator has connected is no secret.
	admin.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL, "username": demo.Alice, "password": w.Navidrome.Password(demo.Alice)}, 200)
	require.NoError(t, w.Switch(demo.Navidrome, demo.Unavailable))
	said = bob.call("PUT", "/connections/navidrome",
		object{"url": w.Navidrome.URL, "username": demo.Bob, "password": "wrong"}, 422)
	require.NotContains(t, said["detail"], "allowed_upstreams", fmt.Sprint(said))
}
