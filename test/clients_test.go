package test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
	"reprise/internal/demo"
	"reprise/internal/supysonictest"
)

// Players that others wrote, as Debian has them; .ci/tools installs them.

// python is Debian's, which has the modules of Debian's packages.
const python = "/usr/bin/python3"

// realPlayer is a server with one person, and a player of theirs.
type realPlayer struct {
	*process
	*person
	player object
}

func newRealPlayer(t *testing.T, kind string, env ...string) realPlayer {
	takesLong(t)
	t.Parallel()
	p := start(t, t.TempDir(), append(worldEnv(newWorld(t, demo.Options{Plays: 1})), env...)...)
	f := realPlayer{process: p, person: p.newcomer()}
	f.player = f.call(http.MethodPost, "/players", object{"name": "Real", "kind": kind}, 201)
	return f
}

func (f realPlayer) of(name string) string { return f.player[name].(string) }

// heard waits until the player has sent exactly these tracks, and requires that nothing was refused.
func (f realPlayer) heard(titles ...string) {
	f.person.t.Helper()
	slices.Sort(titles)
	f.eventually("the plays", func() bool {
		var found []string
		for _, l := range f.call(http.MethodGet, "/listens?source="+f.of("id"), nil, 200)["listens"].([]any) {
			found = append(found, l.(object)["track"].(string))
		}
		slices.Sort(found)
		return slices.Equal(titles, found)
	})
	require.Empty(f.person.t, f.call(http.MethodGet, "/players/"+f.of("id"), nil, 200)["refused"])
}

// playing returns the tracks that are heard now.
func (f realPlayer) playing() (titles []string) {
	for _, n := range f.call(http.MethodGet, "/now-playing", nil, 200)["now_playing"].([]any) {
		titles = append(titles, n.(object)["track"].(string))
	}
	return titles
}

// TestQuodLibetSends: Quod Libet's client of ListenBrainz knows no path, so that its plays come in at the root.
func TestQuodLibetSends(t *testing.T) {
	f := newRealPlayer(t, "listenbrainz")
	file := ""
	for _, dir := range []string{filepath.Join(cacheDir(t), "quodlibet"), "/"} {
		there := filepath.Join(dir, "usr/lib/python3/dist-packages/quodlibet/plugins/listenbrainz/listenbrainz.py")
		if _, err := os.Stat(there); err == nil {
			file = there
			break
		}
	}
	require.NotEmpty(t, file, "Quod Libet is missing: .ci/tools fetches it")
	cmd := exec.CommandContext(t.Context(), python, "testdata/clients/quodlibet.py", file, f.of("secret"),
		fmt.Sprint(time.Now().Add(-time.Hour).Unix()))
	cmd.Env = append(os.Environ(), "QL_LISTENBRAINZ_DEV_SERVER="+strings.TrimPrefix(f.url, "http://"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	f.heard("Quod Libet")
	require.Equal(t, []string{"Quod Libet"}, f.playing())
}

// cacheDir is where .ci/tools keeps what it has fetched.
func cacheDir(t testing.TB) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	require.NoError(t, err)
	return filepath.Join(dir, "reprise")
}

// through returns a TLS server of a name, empty for 127.0.0.1, that passes everything on to Reprise, and the file with
// its certificate.
func (f realPlayer) through(name string) (host, trusted string) {
	t := f.person.t
	to, err := url.Parse(f.url)
	require.NoError(t, err)
	var certificate bytes.Buffer
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
	at := secured(t, &certificate, name, time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour), pass)
	trusted = filepath.Join(t.TempDir(), "trusted.pem")
	require.NoError(t, os.WriteFile(trusted, certificate.Bytes(), 0o600))
	return strings.TrimPrefix(at, "https://"), trusted
}

// TestPylastSends: pylast speaks Last.fm's API over TLS only. It proves the secret by an MD5 sum, or has its person let
// it in.
func TestPylastSends(t *testing.T) {
	f := newRealPlayer(t, "lastfm")
	host, trusted := f.through("")
	_, port, err := net.SplitHostPort(host)
	require.NoError(t, err)
	run := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), python,
			append([]string{"testdata/clients/scrobble_pylast.py", port}, args...)...)
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+trusted, "PYTHONUTF8=1")
		return childtest.Tie(cmd, syscall.SIGKILL)
	}
	began := time.Now().Add(-10 * time.Hour)
	out, err := run("alice", f.of("secret"), fmt.Sprint(began.Unix())).CombinedOutput()
	require.NoError(t, err, "%s", out)
	f.heard("pylast", "pylast 1", "pylast 2", "pylast 3")
	require.Equal(t, []string{"pylast"}, f.playing())

	asking := run(f.of("api_key"), f.of("api_secret"), fmt.Sprint(began.Add(5*time.Hour).Unix()), f.url)
	var said bytes.Buffer
	asking.Stderr = &said
	in, err := asking.StdinPipe()
	require.NoError(t, err)
	from, err := asking.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, asking.Start())
	page, err := bufio.NewReader(from).ReadString('\n')
	require.NoError(t, err, "%s", &said)
	asked, err := url.Parse(strings.TrimSpace(page))
	require.NoError(t, err)
	require.Contains(t, f.page(asked.RequestURI(), 200), "Let a player in")
	f.submit("/players/allow", url.Values{"token": {asked.Query().Get("token")}, "player": {f.of("id")}}, 200)
	_, err = io.WriteString(in, "\n")
	require.NoError(t, err)
	_, _ = io.Copy(io.Discard, from)
	require.NoError(t, asking.Wait(), "%s", &said)
	f.heard("pylast", "pylast 1", "pylast 2", "pylast 3", "pylast, let in", "pylast, let in 1", "pylast, let in 2",
		"pylast, let in 3")
}

// TestSupysonicScrobbles: Supysonic knows Last.fm's address by heart, so that a proxy leads it here. Its user links the
// account on pages of both servers, and each call is signed with the key that Reprise gave out.
func TestSupysonicScrobbles(t *testing.T) {
	f := newRealPlayer(t, "lastfm")
	at, trusted := f.through("ws.audioscrobbler.com")
	s := supysonictest.StartScrobbling(t, []supysonictest.Song{{Title: "Jóga", Artist: "Björk", Album: "Homogenic",
		Length: 5 * time.Minute}}, supysonictest.LastFM{Key: f.of("api_key"), Secret: f.of("api_secret"),
		Env: []string{"HTTPS_PROXY=" + tunnel(t, at), "REQUESTS_CA_BUNDLE=" + trusted}})

	v := f.visitor()
	v.base = s.URL
	v.form("/user/login", url.Values{"user": {s.Username}, "password": {s.Password}})
	allowed := f.submit("/players/allow", url.Values{"api_key": {f.of("api_key")}, "player": {f.of("id")},
		"cb": {s.URL + "/user/me/lastfm/link"}}, 200)
	link := regexp.MustCompile(`href="(http://[^"]+/lastfm/link\?token=\w+)"`).FindStringSubmatch(allowed)
	require.NotNil(t, link, allowed)
	resp, err := v.Get(link[1])
	require.NoError(t, err)
	said, err := io.ReadAll(resp.Body)
	require.NoError(t, resp.Body.Close())
	require.NoError(t, err)
	require.Contains(t, string(said), "Successfully linked LastFM account")

	s.Scrobble("Jóga", false)
	s.Scrobble("Jóga", true)
	f.heard("Jóga")
}

// form sends a form and follows where it leads.
func (v *person) form(path string, form url.Values) {
	v.t.Helper()
	resp, err := v.PostForm(v.base+path, form)
	require.NoError(v.t, err)
	require.NoError(v.t, resp.Body.Close())
	require.Equal(v.t, http.StatusOK, resp.StatusCode)
}

// tunnel starts a proxy that leads every CONNECT to one address, and returns its own.
func tunnel(t *testing.T, to string) string {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		far, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", to)
		if err != nil || r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer far.Close()
		near, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer near.Close()
		_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(far, near)
			_ = far.(*net.TCPConn).CloseWrite()
		}()
		_, _ = io.Copy(near, far) // ends when the far end closes, or the client does
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// TestMPDSends: mpd plays half of a track, and mpdscribble submits it to the player's own address, as old players do.
func TestMPDSends(t *testing.T) {
	f := newRealPlayer(t, "audioscrobbler")
	home := t.TempDir()
	music := filepath.Join(home, "music")
	require.NoError(t, os.Mkdir(music, 0o700))
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-nostdin", "-loglevel", "error", "-f", "lavfi", "-i",
		"anullsrc=r=8000:cl=mono:d=31", "-metadata", "title=Jóga", "-metadata", "artist=Björk", "-metadata",
		"album=Homogenic", filepath.Join(music, "1.flac")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	socket := filepath.Join(home, "mpd")
	write := func(name, text string) string {
		file := filepath.Join(home, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	run := func(name string, args ...string) *buffer {
		cmd := exec.CommandContext(t.Context(), name, args...)
		said := &buffer{}
		cmd.Stdout, cmd.Stderr = said, said
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		require.NoError(t, childtest.Tie(cmd, syscall.SIGKILL).Start(), "%s is missing: .ci/tools installs it", name)
		t.Cleanup(func() { _ = cmd.Wait() }) // its end is that of the test
		return said
	}
	log := run("mpd", "--no-daemon", "--stderr", write("mpd.conf", fmt.Sprintf(`music_directory "%s"
db_file "%s/db"
bind_to_address "%s"
auto_update "no"
zeroconf_enabled "no"
audio_output {
  type "null"
  name "silence"
}
`, music, home, socket)))
	f.eventually("mpd", func() bool { _, err := os.Stat(socket); return err == nil })
	tell := func(commands ...string) (said string) {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return ""
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, strings.Join(append(commands, "close", ""), "\n"))
		text, _ := io.ReadAll(conn)
		return string(text)
	}
	f.eventually("the music", func() bool {
		return strings.Contains(tell("update", "listall"), "1.flac")
	})
	scribble := run("mpdscribble", "--no-daemon", "--conf", write("mpdscribble.conf", fmt.Sprintf(`host = %s
log = -
verbose = 2
[reprise]
url = %s/
username = alice
password = %s
journal = %s/journal
`, socket, f.of("address"), f.of("secret"), home)))
	require.NotContains(t, tell("add 1.flac", "play"), "ACK")
	require.Eventually(t, func() bool { return slices.Equal(f.playing(), []string{"Jóga"}) }, patience,
		50*time.Millisecond, "mpd: %s\nmpdscribble: %s", log, scribble)
	f.heard("Jóga") // after half of its 31 seconds, and when the next one would begin
}

// TestLastFMTSAPISends: a client of Last.fm's API from npm signs in with a name and a password, and signs each call
// with the key and the secret that Reprise gave out.
func TestLastFMTSAPISends(t *testing.T) {
	f := newRealPlayer(t, "lastfm")
	modules, err := filepath.Glob(filepath.Join(cacheDir(t), "lastfm-ts-api-*", "dist", "index.js"))
	require.NoError(t, err)
	require.NotEmpty(t, modules, "lastfm-ts-api is missing: .ci/tools fetches it")
	host, trusted := f.through("")
	_, port, err := net.SplitHostPort(host)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "node", "testdata/clients/scrobble_lastfm.mjs", modules[0], port,
		f.of("api_key"), f.of("api_secret"), "alice", f.of("secret"),
		fmt.Sprint(time.Now().Add(-10*time.Hour).Unix()))
	cmd.Env = append(os.Environ(), "NODE_EXTRA_CA_CERTS="+trusted)
	out, err := childtest.Tie(cmd, syscall.SIGKILL).CombinedOutput()
	require.NoError(t, err, "%s", out)
	f.heard("lastfm-ts-api", "lastfm-ts-api 1", "lastfm-ts-api 2", "lastfm-ts-api 3")
	require.Equal(t, []string{"lastfm-ts-api"}, f.playing())
}
