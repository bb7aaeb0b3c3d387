//lint:file-ignore SA1019 the frame of this project names nhooyr.io/websocket; its successor has the same API

package test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"nhooyr.io/websocket"

	"reprise/internal/childtest"
	"reprise/internal/demo"
	"reprise/internal/soak"
)

// proxy is one of the reverse proxies that docs/proxies.md sets up.
type proxy struct {
	kind    string // as the page names the language of its configuration
	command func(dir, file string) *exec.Cmd
	before  string            // what a configuration for tests begins with
	after   string            // and ends with
	replace map[string]string // what is another in tests, with the proxy's address as {listen}
}

var proxies = []proxy{
	{
		kind: "nginx",
		command: func(dir, file string) *exec.Cmd {
			return exec.Command("/usr/sbin/nginx", "-p", dir, "-e", "stderr", "-c", file)
		},
		before: "daemon off; master_process off; pid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n" +
			"client_body_temp_path body; proxy_temp_path answers; fastcgi_temp_path f; uwsgi_temp_path u;\n" +
			"scgi_temp_path s;\n",
		after:   "}\n",
		replace: map[string]string{`listen 443 ssl;`: "listen {listen};", `(?m)^\s*ssl_.*$`: ""},
	},
	{
		kind: "caddyfile",
		command: func(dir, file string) *exec.Cmd {
			c := exec.Command("caddy", "run", "--adapter", "caddyfile", "--config", file)
			c.Env = []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "XDG_DATA_HOME=" + dir}
			return c
		},
		before:  "{\n\tadmin off\n}\n",
		replace: map[string]string{`(?m)^(music\.)?example\.org \{`: "http://{listen} {"},
	},
	{
		kind:    "haproxy",
		command: func(_, file string) *exec.Cmd { return exec.Command(haproxy, "-db", "-f", file) },
		replace: map[string]string{`bind :443 ssl crt \S+`: "bind {listen}",
			"X-Forwarded-Proto https": "X-Forwarded-Proto http"},
	},
	{
		kind: "yaml", // Traefik, which Debian doesn't have: tried where it is installed
		command: func(dir, file string) *exec.Cmd {
			c := exec.Command("traefik", "--configfile="+file)
			c.Dir = dir
			return c
		},
		replace: map[string]string{`":443"`: `"{listen}"`, `filename: \S+`: "filename: configuration.yml",
			`Host\(\S+\)`: "Host(`127.0.0.1`)", `(?m)^\s*tls: \{\}$`: ""},
	},
}

// configurationsOf returns the configurations of a kind in docs/proxies.md, in their order.
func configurationsOf(t *testing.T, kind string) (all []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/proxies.md")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?s)```"+kind+"\n(.*?)```").FindAllSubmatch(page, -1) {
		all = append(all, string(m[1]))
	}
	return all
}

// configuration returns what the page says for a proxy: for a name of its own, on a path, or behind a sign-in page.
func (p proxy) configuration(t *testing.T, what string) string {
	t.Helper()
	all := configurationsOf(t, p.kind)
	require.GreaterOrEqual(t, len(all), 2)
	switch {
	case p.kind == "yaml":
		return traefik(t, all, what)
	case what == "sign-in":
		return all[2]
	case what == "root":
		return all[0]
	case p.kind == "nginx":
		return regexp.MustCompile(`(?s) +location / \{.*?\}\n`).ReplaceAllLiteralString(all[0], all[1])
	case p.kind == "haproxy":
		return strings.Replace(all[0], "    default_backend reprise\n", all[1], 1)
	}
	return all[1]
}

// traefik returns what the page says for Traefik, whose two files can be one.
func traefik(t *testing.T, all []string, what string) string {
	t.Helper()
	require.Len(t, all, 7)
	switch what {
	case "sign-in":
		return all[1] + all[6]
	case "path":
		return all[1] + regexp.MustCompile(`(?m)^ +rule: .*\n`).ReplaceAllLiteralString(all[2], all[4])
	}
	return all[1] + all[2]
}

// run starts a proxy with a configuration of the page, in which programs have other addresses. It ends with the test.
func (p proxy) run(t *testing.T, text, listen string, at map[string]string) {
	t.Helper()
	for what, with := range p.replace {
		pattern := regexp.MustCompile(what)
		require.Regexp(t, pattern, text)
		text = pattern.ReplaceAllLiteralString(text, strings.ReplaceAll(with, "{listen}", listen))
	}
	for program, address := range at {
		require.Contains(t, text, program)
		text = strings.ReplaceAll(text, program, address)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "configuration.yml") // only Traefik minds the name
	require.NoError(t, os.WriteFile(file, []byte(p.before+text+p.after), 0o600))
	c, said := p.command(dir, file), &buffer{}
	if p.kind == "yaml" && c.Err != nil {
		t.Skip("Traefik isn't installed")
	}
	c.Stdout, c.Stderr = said, said
	require.NoError(t, childtest.Tie(c, syscall.SIGKILL).Start(), ".ci/tools installs the proxy")
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", p.kind, said)
		}
	})
	req, err := http.NewRequest(http.MethodGet, "http://"+listen+"/music/", nil)
	require.NoError(t, err)
	until(t, func() bool {
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode != http.StatusNotFound // Traefik listens before it knows where to
	}, "%s", p.kind)
}

// behind starts a server behind a proxy, which people reach at a path.
func (p proxy) behind(t *testing.T, what, path string, w *demo.World) *process {
	t.Helper()
	listen, server := childtest.Address(t), childtest.Address(t)
	p.run(t, p.configuration(t, what), listen, map[string]string{"127.0.0.1:8420": server})
	return startAt(t, t.TempDir(), server, append(worldEnv(w), "REPRISE_BASE_URL=http://"+listen+path,
		"REPRISE_TRUSTED_PROXIES=127.0.0.1")...)
}

// use does everything through a proxy for which it has to be set up: sign in, follow events, send a large file.
func (p *process) use(t *testing.T, w *demo.World, size int64) {
	t.Helper()
	v := p.newcomer()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, http.StatusOK)
	v.becomes("listenbrainz", "healthy")
	require.Contains(t, v.page("/listens", http.StatusOK), `href="`+v.path()+`/listening"`)

	socket, _ := v.open()
	events := v.streamed()
	w.Play()
	v.call("POST", "/connections/listenbrainz/sync", nil, http.StatusAccepted)
	socket.next("listens", func(object) bool { return true })
	until(t, func() bool { return <-events == "event: listens" }, "the same event in the other stream")

	line := `{"listened_at":1500000000,"track_metadata":{"track_name":"Long ago","artist_name":"Nobody"}}` + "\n"
	file := io.MultiReader(strings.NewReader(line), io.LimitReader(blank{}, size-int64(len(line))))
	resp := v.sendFile("provider=listenbrainz&name=large.jsonl", file)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	require.EqualValues(t, size, v.lastImport()["bytes_total"])
	v.eventually("it is read", func() bool { return v.lastImport()["state"] == "done" })
	require.EqualValues(t, 1, v.lastImport()["added"], "%v", v.lastImport())

	p.guess(t)
}

// guess tries a password from another address, under a false one. The log has the true one.
func (p *process) guess(t *testing.T) {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	elsewhere := &http.Transport{DialContext: dialer.DialContext}
	defer elsewhere.CloseIdleConnections()
	wrong := strings.NewReader(`{"name":"Alice","password":"wrong"}`)
	req, err := http.NewRequest(http.MethodPost, p.url+"/api/v1/session", wrong)
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Forwarded-For", "203.0.113.9")
	resp, err := elsewhere.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	until(t, func() bool { return strings.Contains(p.log.String(), `"address":"127.0.0.2"`) }, "the line of the log")
	require.NotContains(t, p.log.String(), "203.0.113.9")
}

// blank is a file of empty lines.
type blank struct{}

func (blank) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '\n'
	}
	return len(p), nil
}

// path returns the path at which the server is.
func (v *person) path() string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(v.base, "http://"), "/")
	return strings.TrimSuffix("/"+rest, "/")
}

// streamed returns the lines of a stream of Server-Sent Events, once it is open.
func (v *person) streamed() <-chan string {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.base+"/api/v1/events/sse", nil)
	require.NoError(v.t, err)
	resp, err := v.Do(req)
	require.NoError(v.t, err)
	v.t.Cleanup(func() { _ = resp.Body.Close() })
	require.Equal(v.t, http.StatusOK, resp.StatusCode)
	lines, all := bufio.NewScanner(resp.Body), make(chan string, 10_000)
	lines.Buffer(nil, 1<<20)
	require.True(v.t, lines.Scan())
	go func() {
		defer close(all)
		for lines.Scan() {
			all <- lines.Text()
		}
	}()
	return all
}

// Promise: The configurations of docs/proxies.md work, below a path and (in full) with a name of their own: with a
// file of 1 GB in full, else with one that no proxy accepts or buffers by default.
func TestProxies(t *testing.T) {
	t.Parallel()
	for _, p := range proxies {
		for what, path := range map[string]string{"root": "", "path": "/music"} {
			if what == "root" && !soak.All() {
				continue
			}
			t.Run(p.kind+" "+what, func(t *testing.T) {
				t.Parallel()
				size := int64(3 << 20)
				if soak.All() {
					size = 1 << 30
				}
				w := newWorld(t, demo.Options{Plays: 60})
				p.behind(t, what, path, w).use(t, w, size)
			})
		}
	}
}

// authelia answers as Authelia does: it lets everybody with its cookie through, and sends others to its sign-in page,
// with the status that the proxy expects.
func authelia(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, refusal := r.Header.Get("X-Original-URL"), http.StatusUnauthorized
		if r.URL.Path == "/api/authz/forward-auth" {
			asked = r.Header.Get("X-Forwarded-Proto") + "://" + r.Header.Get("X-Forwarded-Host") +
				r.Header.Get("X-Forwarded-Uri")
			refusal = http.StatusFound
		}
		if c, err := r.Cookie("authelia_session"); err == nil && c.Value != "" {
			if name, named := strings.CutPrefix(c.Value, "as "); named {
				w.Header().Set("Remote-User", name)
			}
			return
		}
		w.Header().Set("Location", "https://auth.example.org/?rd="+asked)
		w.WriteHeader(refusal)
	})}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	return l.Addr().String()
}

// Promise: Behind a sign-in page strangers see nothing but what has to be open, programs work with their tokens, and
// people who have signed in there have everything.
func TestASignInPageInFront(t *testing.T) {
	t.Parallel()
	for _, p := range proxies {
		if p.kind == "haproxy" {
			continue // the page has no sign-in page for it
		}
		t.Run(p.kind, func(t *testing.T) {
			t.Parallel()
			listen, server := childtest.Address(t), childtest.Address(t)
			p.run(t, p.configuration(t, "sign-in"), listen,
				map[string]string{"127.0.0.1:8420": server, "127.0.0.1:9091": authelia(t)})
			s := startAt(t, t.TempDir(), server, "REPRISE_BASE_URL=http://"+listen,
				"REPRISE_TRUSTED_PROXIES=127.0.0.1", "REPRISE_AUTH_PROXY_HEADER=Remote-User",
				"REPRISE_AUTH_PROXY_FROM=127.0.0.1")
			first := s.visitor()
			first.pass(t, "as alice")
			require.Contains(t, first.page("/", http.StatusOK), "This server has no account yet", "no header makes it")
			alice := s.newcomer() // through /api/, which is let through
			stranger := s.visitor()
			stranger.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			for path, want := range map[string]int{"/": 302, "/listens": 302, "/login": 302, "/settings/server": 302,
				"/connect/spotify/callback?code=x": 302, "/metrics": 302, "/api": 302, "/livezz": 302,
				"/livez": 200, "/readyz": 200, "/manifest.webmanifest": 200, "/static/app.css": 200, "/year/none": 404,
				"/api/v1/listens": 401, "/api/v1/openapi.yaml": 200} {
				resp, err := stranger.Get(s.url + path)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, want, resp.StatusCode, path)
				if want == 302 {
					require.Equal(t, "https://auth.example.org/?rd="+s.url+path, resp.Header.Get("Location"), path)
				}
			}
			_, _, err := websocket.Dial(t.Context(), strings.Replace(s.url, "http", "ws", 1)+"/api/v1/events", nil)
			require.ErrorContains(t, err, "401", "Reprise's own")

			made := alice.call("POST", "/tokens", object{"name": "a program", "scope": "read"}, http.StatusCreated)
			program, err := http.NewRequest(http.MethodGet, s.url+"/api/v1/listens", nil)
			require.NoError(t, err)
			program.Header.Set("Authorization", fmt.Sprint("Bearer ", made["token"]))
			resp, err := http.DefaultClient.Do(program)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusOK, resp.StatusCode)

			alice.open() // a page's websocket
			alice.pass(t, "signed in")
			require.Contains(t, alice.page("/", http.StatusOK), "Sign out")

			// who is named there need not sign in here, and nobody names themself
			named := s.visitor()
			named.pass(t, "as ALICE")
			require.Contains(t, named.page("/settings/account", http.StatusOK), "Alice")
			named.pass(t, "as nobody")
			require.Contains(t, named.page("/", http.StatusForbidden), "nobody has that name here")
			for _, path := range []string{"/api/v1/account", "/listens"} {
				forged, err := http.NewRequest(http.MethodGet, s.url+path, nil)
				require.NoError(t, err)
				forged.Header.Set("Remote-User", "Alice")
				forged.AddCookie(&http.Cookie{Name: "authelia_session", Value: "signed in"})
				resp, err := stranger.Do(forged)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Contains(t, []int{http.StatusUnauthorized, http.StatusSeeOther}, resp.StatusCode, path)
			}
		})
	}
}

// pass signs in at authelia, which may say as whom.
func (v *person) pass(t *testing.T, session string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, v.base, nil)
	require.NoError(t, err)
	v.Jar.SetCookies(req.URL, []*http.Cookie{{Name: "authelia_session", Value: session, Path: "/"}})
}
