// Package test tests the built server from outside: as a process, in a browser, and with real services.
package test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
	"reprise/internal/demo"
	"reprise/internal/postgrestest"
)

// patience limits how long a test waits for something. It is long because only a failing test reaches it.
const patience = 2 * time.Minute

// built is the path of the server, built once for all tests.
var built string

func TestMain(m *testing.M) {
	if built = os.Getenv("BUILT"); built != "" { // by the tests that run these again
		end(m.Run())
	}
	dir, err := os.MkdirTemp("", "reprise-test-")
	if err != nil {
		panic(err)
	}
	built = filepath.Join(dir, "reprise")
	// with cheap hashing of passwords, and without what only a debugger needs
	args := []string{"build", "-tags", "reprisetest", "-ldflags=-s -w", "-buildvcs=false", "-o", built}
	if raceEnabled {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "reprise/cmd/server")...).CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "build the server: %v\n%s", err, out)
		os.Exit(1)
	}
	_ = os.Setenv("BUILT", built) // the name is valid
	end(m.Run(), dir)
}

// end ends the tests, and removes the files that all of them have used.
func end(code int, files ...string) {
	chromium.Stop()
	wholeChromium.Stop()
	for _, file := range files {
		_ = os.RemoveAll(file)
	}
	os.Exit(code)
}

// takesLong skips a test with -short, with which `make check` runs the tests under the race detector.
func takesLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long")
	}
}

// process is a running server.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	url    string // of the page
	code   string // of the first account; empty when there is one
	log    *buffer
	exited chan error
}

// buffer is a bytes.Buffer for one writer and one reader.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newWorld starts simulated upstreams.
func newWorld(t testing.TB, o demo.Options) *demo.World {
	t.Helper()
	w, err := demo.Start(o)
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w
}

// worldEnv returns the settings that point a server at the simulated upstreams, with intervals for tests.
func worldEnv(w *demo.World) []string {
	return []string{"REPRISE_PROVIDERS_SPOTIFY_API_URL=" + w.Spotify.URL,
		"REPRISE_PROVIDERS_SPOTIFY_AUTH_URL=" + w.Spotify.AuthURL,
		"REPRISE_PROVIDERS_SPOTIFY_TOKEN_URL=" + w.Spotify.TokenURL,
		"REPRISE_PROVIDERS_SPOTIFY_CLIENT_ID=" + w.Spotify.ClientID,
		"REPRISE_PROVIDERS_LISTENBRAINZ_API_URL=" + w.ListenBrainz.URL, "REPRISE_SYNC_LISTENS_EVERY=1s",
		"REPRISE_SYNC_PLAYLISTS_EVERY=2s",
		"REPRISE_BACKOFF_BASE=100ms", "REPRISE_BACKOFF_MAX=1s", "REPRISE_CONTACT=test@example.org",
		"REPRISE_BREAKER_COOLDOWN=500ms", "REPRISE_PROVIDERS_LASTFM_RATE=0", "REPRISE_PROVIDERS_LISTENBRAINZ_RATE=0"}
}

// start runs the server on a free port until the end of the test.
func start(t testing.TB, dir string, env ...string) *process {
	t.Helper()
	return startAt(t, dir, "127.0.0.1:0", env...)
}

var link = regexp.MustCompile(`(http://(?:localhost|[0-9.]+):[0-9]+(?:/music)?)(?:/setup\?code=(\w+))?\n`)

func startAt(t testing.TB, dir, listen string, env ...string) *process {
	t.Helper()
	if postgrestest.On() {
		env = append(env, "REPRISE_DATABASE_URL="+postgrestest.Database(t, dir, nil))
	}
	return startWith(t, []string{"-data-dir", dir, "-listen", listen}, env...)
}

func startWith(t testing.TB, args []string, env ...string) *process {
	t.Helper()
	return launch(t, exec.Command(built, args...), env...)
}

// launch starts a command that runs the server, and waits until it serves.
func launch(t testing.TB, cmd *exec.Cmd, env ...string) *process {
	t.Helper()
	p := &process{t: t, log: &buffer{}, exited: make(chan error, 1), cmd: cmd}
	home := t.TempDir()
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home,
		mark + "=" + os.Getenv(mark)}, env...)
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, childtest.Tie(p.cmd, syscall.SIGKILL).Start())
	lines := make(chan string, 100)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text() + "\n"
		}
		close(lines)
		p.exited <- p.cmd.Wait()
	}()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	timeout := time.After(patience)
	for p.url == "" {
		select {
		case line, ok := <-lines:
			require.True(t, ok, "the server ended: %s", p.log)
			if m := link.FindStringSubmatch(line); m != nil {
				p.url, p.code = m[1], m[2]
			}
		case <-timeout:
			require.FailNow(t, "the server printed no link", p.log.String())
		}
	}
	return p
}

// stop ends the server with a signal and waits for its end.
func (p *process) stop(sig syscall.Signal) error {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(sig))
	select {
	case err := <-p.exited:
		if err != nil && sig == syscall.SIGTERM { // which no test expects
			p.t.Log(p.log.String())
		}
		return err
	case <-time.After(patience):
		require.FailNow(p.t, "the server does not stop", p.log.String())
		return nil
	}
}

// person is an HTTP client with a person's cookies.
type person struct {
	t    testing.TB
	base string
	*http.Client
}

func (p *process) visitor() *person {
	jar, err := cookiejar.New(nil)
	require.NoError(p.t, err)
	return &person{p.t, p.url, &http.Client{Jar: jar, Timeout: patience}}
}

const password = "correct horse battery"

// newcomer creates the first account and signs in.
func (p *process) newcomer() *person {
	p.t.Helper()
	v := p.visitor()
	v.call("POST", "/setup", map[string]string{"code": p.code, "name": "Alice", "password": password},
		http.StatusCreated)
	return v
}

// returning signs in with the account of newcomer.
func (p *process) returning() *person {
	p.t.Helper()
	v := p.visitor()
	v.call("POST", "/session", map[string]string{"name": "alice", "password": password}, http.StatusCreated)
	return v
}

// object is a decoded JSON object.
type object = map[string]any

// call makes an API call, requires the status, and returns the answer.
func (v *person) call(method, path string, in any, want int) object {
	v.t.Helper()
	resp, b := v.send(method, path, in)
	require.Equal(v.t, want, resp.StatusCode, "%s %s: %s", method, path, b)
	out := object{}
	if len(b) > 0 {
		require.NoError(v.t, json.Unmarshal(b, &out), "%s", b)
	}
	if want >= 400 {
		require.Equal(v.t, "application/problem+json", resp.Header.Get("Content-Type"))
		require.NotEmpty(v.t, out["title"])
	}
	return out
}

// send makes an API call and returns the answer with its body.
func (v *person) send(method, path string, in any) (*http.Response, []byte) {
	v.t.Helper()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		require.NoError(v.t, err)
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequest(method, v.base+"/api/v1"+path, body)
	require.NoError(v.t, err)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := v.Do(req)
	require.NoError(v.t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(v.t, err)
	return resp, b
}

// page fetches a page and returns its text.
func (v *person) page(path string, want int) string {
	v.t.Helper()
	resp, err := v.Get(v.base + path)
	require.NoError(v.t, err)
	return v.text(resp, want)
}

// submit sends a form and returns the page that it leads to.
func (v *person) submit(path string, form url.Values, want int) string {
	v.t.Helper()
	resp, err := v.PostForm(v.base+path, form)
	require.NoError(v.t, err)
	return v.text(resp, want)
}

func (v *person) text(resp *http.Response, want int) string {
	v.t.Helper()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(v.t, err)
	require.Equal(v.t, want, resp.StatusCode, "%s: %s", resp.Request.URL.Path, b)
	return spaces.ReplaceAllString(string(b), " ")
}

// spaces are what a browser shows as one space.
var spaces = regexp.MustCompile(`[ \t\n]+`)

// consent submits Spotify's (simulated) authorization page and returns the page of ours that it leads to.
func (v *person) consent(form url.Values, want int) string {
	v.t.Helper()
	asked := v.authorization()
	maps.Copy(form, asked.Query())
	asked.RawQuery = ""
	resp, err := v.PostForm(asked.String(), form)
	require.NoError(v.t, err)
	return v.text(resp, want)
}

// authorization returns the address at Spotify to which "Connect" leads.
func (v *person) authorization() *url.URL {
	v.t.Helper()
	stay := *v.Client
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.Get(v.base + "/connect/spotify")
	require.NoError(v.t, err)
	defer resp.Body.Close()
	require.Equal(v.t, http.StatusSeeOther, resp.StatusCode)
	to, err := resp.Location()
	require.NoError(v.t, err)
	return to
}

func agree() url.Values { return url.Values{"decision": {"agree"}} }

// state returns the state of a connection.
func (v *person) state(provider string) string {
	v.t.Helper()
	return v.call("GET", "/connections/"+provider, nil, http.StatusOK)["state"].(string)
}

// alerted waits for an open notification and returns it.
func (v *person) alerted() (first object) {
	v.t.Helper()
	v.eventually("an alert", func() bool {
		open := v.call("GET", "/notifications?open=true", nil, http.StatusOK)["notifications"].([]any)
		if len(open) > 0 {
			first = open[0].(object)
		}
		return first != nil
	})
	return first
}

// eventually waits until check returns true.
func (v *person) eventually(what string, check func() bool) {
	v.t.Helper()
	until(v.t, check, what)
}

// until waits until check returns true. It calls check in the test's own goroutine, where a check may fail the test,
// and none is left over after the test's end, as one of require.Eventually would be. What takes longer is looked at
// less often, as looking takes the server's time.
func until(t testing.TB, check func() bool, what string, args ...any) {
	t.Helper()
	wait := 5 * time.Millisecond
	for end := time.Now().Add(patience); !check(); time.Sleep(wait) {
		require.Truef(t, time.Now().Before(end), "never came: "+what, args...)
		wait = min(wait*5/4, 100*time.Millisecond)
	}
}

func (v *person) becomes(provider string, states ...string) {
	v.t.Helper()
	last := ""
	until(v.t, func() bool {
		if now := v.state(provider); now != last {
			last = now
			v.t.Logf("%s is %s", provider, now)
		}
		return slices.Contains(states, last)
	}, "%s has to become %v", provider, states)
}
