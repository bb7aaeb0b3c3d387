package test

import (
	"bytes"
	"database/sql"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"reprise/internal/demo"
	"reprise/internal/store/db"
)

// refuses starts a server that cannot serve, and returns what it prints.
func refuses(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command(built, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out.String())
	require.Equal(t, 2, exit.ExitCode(), "%s", out.String())
	for _, noise := range []string{"panic", "goroutine", ".go:"} {
		require.NotContains(t, out.String(), noise)
	}
	return out.String()
}

// used returns a data directory that a server has used, with one account.
func used(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir)
	p.newcomer()
	require.NoError(t, p.stop(syscall.SIGTERM))
	return dir
}

// inDatabase changes what a server has stored, also while it runs.
func inDatabase(t *testing.T, dir, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "reprise.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	_, err = db.Exec(statement)
	require.NoError(t, err)
	require.NoError(t, db.Close())
}

// Promise: A server that cannot serve says why, in a sentence.
func TestAServerThatCannotServeSaysWhy(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "reprise.yaml")
	require.NoError(t, os.WriteFile(file,
		[]byte("listen: nowhere\nsync:\n  wokers: 4\n  run_timeout: soon\n"+
			"providers:\n  spotify:\n    client_secret: do-not-print-this\n"), 0o600))
	said := refuses(t, nil, "-config", file)
	require.Contains(t, said, `“nowhere” is not an address`)
	require.Contains(t, said, `did you mean "sync.workers"?`)
	require.Contains(t, said, `“soon” is not a duration`)
	require.NotContains(t, said, "do-not-print-this")

	require.Contains(t, refuses(t, nil, "-config", file+".not"), "cannot be read")
	require.Contains(t, refuses(t, nil, "-dmeo"), "did you mean -demo?")
	require.Contains(t, refuses(t, nil, "serve"), `no command "serve"`)
	require.Contains(t, refuses(t, []string{"REPRISE_LISTN=:1"}), "REPRISE_LISTEN")
	require.Contains(t, refuses(t, []string{"REPRISE_SECRET_KEY=correct horse battery staple"},
		"-data-dir", t.TempDir(), "-listen", "127.0.0.1:0"), "the setting secret_key can't be used: "+
		"it isn't a key that Reprise made; server new-key prints one. People can guess what people choose")
	require.Contains(t, refuses(t, nil, "-data-dir", "/proc/reprise", "-listen", "127.0.0.1:0"), "can't be created")
	require.Contains(t, refuses(t, nil, "-data-dir", "/dev/full/x", "-listen", "127.0.0.1:0"), "can't be created")

	require.Contains(t, refuses(t, []string{"REPRISE_CONTACT=me\r\nX: 1"}),
		"Enter an e-mail address such as me@example.org")
	require.Contains(t, refuses(t, nil, "-listen", "203.0.113.7:8420"),
		"203.0.113.7:8420 is no address of this machine. Choose one with -listen")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "data")
	require.Contains(t, refuses(t, nil, "-listen", l.Addr().String(), "-data-dir", dir), "in use by another program")
	require.NoDirExists(t, dir, "nothing is made before it is known that it can serve")
}

// Promise: A wrong secret key changes nothing.
func TestAWrongKeyChangesNothing(t *testing.T) {
	t.Parallel()
	dir := used(t)
	key, database := filepath.Join(dir, "secret.key"), filepath.Join(dir, "reprise.db")
	before, err := os.ReadFile(database)
	require.NoError(t, err)
	secret, err := os.ReadFile(key)
	require.NoError(t, err)
	at := []string{"-data-dir", dir, "-listen", "127.0.0.1:0"}

	require.NoError(t, os.WriteFile(key, nil, 0o600))
	require.Contains(t, refuses(t, nil, at...),
		key+" is empty, incomplete or no key that Reprise made. Restore the one that belongs to the database")
	require.NoError(t, os.Remove(key))
	require.Contains(t, refuses(t, nil, at...), "is missing, and only that key opens the secrets in the database")
	require.NoFileExists(t, key)
	require.Contains(t, refuses(t, []string{"REPRISE_SECRET_KEY=" + db.NewSecret()}, at...),
		"doesn't fit this database")
	after, err := os.ReadFile(database)
	require.NoError(t, err)
	require.Equal(t, before, after)

	require.NoError(t, os.WriteFile(key, secret, 0o600))
	start(t, dir).returning()

	lone := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(lone, "secret.key"), []byte("\n"), 0o600))
	require.Contains(t, refuses(t, nil, "-data-dir", lone, "-listen", "127.0.0.1:0"),
		"Delete it, and Reprise creates a new one")
}

// mounted runs a shell script with a small disk of its own mounted at $0; "$@" in the script starts the server. It
// returns what the script prints.
func mounted(t *testing.T, script string, args ...string) string {
	t.Helper()
	if os.Getuid() != 0 && exec.Command("unshare", "-rm", "true").Run() != nil {
		t.Skip("this user cannot mount anything")
	}
	dir := t.TempDir()
	cmd := exec.Command("unshare", append([]string{"-rm", "sh", "-ec",
		"mount -t tmpfs -o size=16m none $0\n" + script, dir, built, "-listen", "127.0.0.1:0", "-data-dir", dir},
		args...)...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	require.Equal(t, 2, exit.ExitCode(), "%s", out)
	return string(out)
}

// Promise: Nothing that existed before is lost, and the server starts when there is room again.
func TestADiskThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	said := mounted(t, `mount -o remount,ro none $0; "$@"`)
	require.Contains(t, said, "can't be written to: read-only file system. "+
		"Free up space or fix its permissions, or choose another with -data-dir")
	said = mounted(t, `mkdir $0/data; mount -o remount,ro none $0; "$@"/data/new`)
	require.Contains(t, said, "can't be created: read-only file system. Choose another with -data-dir")

	good := used(t)
	kept := "cp " + good + "/* $0; chmod 600 $0/*; "
	said = mounted(t, kept+`mount -o remount,ro none $0
		before=$(cat $0/reprise.db $0/secret.key | md5sum)
		"$@" || code=$?
		[ "$before" = "$(cat $0/reprise.db $0/secret.key | md5sum)" ]
		exit $code`)
	require.Contains(t, said, "read-only file system")
	said = mounted(t, kept+`before=$(md5sum $0/secret.key)
		dd if=/dev/zero of=$0/fill bs=4096 2>/dev/null || true
		"$@" || code=$?
		[ "$before" = "$(md5sum $0/secret.key)" ]
		rm $0/fill
		"$@" -check | grep "The database is intact"
		exit $code`)
	require.Contains(t, said, " is full. ")
	said = mounted(t, `dd if=/dev/zero of=$0/fill bs=4096 2>/dev/null || true; "$@"`)
	require.Contains(t, said, "no space left on device. Free up space")
}

// MetaBrainz blocks addresses whose owner it cannot reach.
func TestHostsThatNeedAContactAreNotCalled(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1") // through which nobody is reached
	v := p.newcomer()
	page := v.page("/connect/listenbrainz", 200)
	require.Contains(t, page, "ListenBrainz only answers programs that give a contact address.")
	require.Contains(t, page, `name="contact"`, "the administrator enters it right there")
	answer := v.call("PUT", "/connections/listenbrainz", object{"token": "a-token-of-alice"}, 422)
	require.Contains(t, answer["detail"],
		"The administrator enters an e-mail or web address as contact under Settings, This server. "+
			"Nothing was saved.")
	v.call("GET", "/connections/listenbrainz", nil, 404)

	p = start(t, t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1", "REPRISE_CONTACT=me@example.org")
	v = p.newcomer()
	require.NotContains(t, v.page("/connect/listenbrainz", 200), `name="contact"`)
	require.Contains(t, v.call("PUT", "/connections/listenbrainz", object{"token": "a-token-of-alice"},
		422)["detail"], "ListenBrainz isn't responding")
}

// Promise: A damaged or newer database is left alone.
func TestADamagedOrNewerDatabaseIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := used(t)
	database := filepath.Join(dir, "reprise.db")
	at := []string{"-data-dir", dir, "-listen", "127.0.0.1:0"}
	good, err := os.ReadFile(database)
	require.NoError(t, err)

	inDatabase(t, dir, "INSERT INTO schema_version (version_id, is_applied) VALUES (9999, 1)")
	require.Contains(t, refuses(t, nil, at...), "newer version of Reprise")

	bad := bytes.Clone(good)
	for i := 8192; i < len(bad)-4096; i += 3 {
		bad[i] ^= 0x5a
	}
	require.NoError(t, os.WriteFile(database, bad, 0o600))
	require.Contains(t, refuses(t, nil, at...), "is damaged")
	require.NoError(t, os.WriteFile(database,
		[]byte("this is not a database, whatever its name says, and never was one"), 0o600))
	require.Contains(t, refuses(t, nil, at...), "is damaged")

	require.NoError(t, os.WriteFile(database, good, 0o600))
	start(t, dir).returning()
}

func TestVersionAndHelp(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(built, "-version").CombinedOutput()
	require.NoError(t, err)
	require.Regexp(t, `^reprise \d+\.\d+`, string(out))
	require.Contains(t, string(out), "go1.")
	out, err = exec.Command(built, "-help").CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "-demo")
}

func TestWrongAddressesOfAServerAtHome(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	v := p.newcomer()
	unknown := httptest.NewTLSServer(http.NotFoundHandler())
	defer unknown.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for url, want := range map[string]string{"http://" + nobody: "Your server isn't responding. Check the address",
		plain.URL: "There's no Subsonic server", plain.URL + "/music/": "There's no Subsonic server",
		p.url: "This is the address of Reprise itself", p.url + "/music/": "This is the address of Reprise itself",
		"http://": "This isn't a web address", "gopher://example.org": "must begin with https:// or http://",
		"http://me:you@" + nobody:                      "have fields of their own",
		strings.Replace(plain.URL, "http", "https", 1): "Enter it with http:// if",
		unknown.URL:   "The certificate at this address",
		"http://a\nb": "another invisible character: Address"} {
		answer := v.call("PUT", "/connections/navidrome",
			object{"url": url, "username": "alice", "password": "secret-of-alice"}, http.StatusUnprocessableEntity)
		require.Contains(t, answer["detail"], "Nothing was saved", url)
		require.Contains(t, answer["detail"], want)
		require.NotContains(t, answer["detail"], "secret-of-alice", url)
		v.call("GET", "/connections/navidrome", nil, http.StatusNotFound)
	}
	require.NotContains(t, p.log.String(), "secret-of-alice")
}

// Copying a token often takes the text around it along.
func TestATokenCopiedWithTheTextAroundIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	v := start(t, t.TempDir(), worldEnv(w)...).newcomer()
	token := w.ListenBrainz.Token(demo.Alice)
	for typed, want := range map[string]string{" \n ": "Please fill in: User token.",
		"half\nof": "another invisible character: User token",
		"wrong":    "ListenBrainz rejected the user token"} {
		require.Contains(t, v.call("PUT", "/connections/listenbrainz", object{"token": typed}, 422)["detail"], want)
		v.call("GET", "/connections/listenbrainz", nil, 404)
	}
	v.call("PUT", "/connections/listenbrainz", object{"token": " " + token + "\r\n"}, 200)
}

// Promise: The question about another account names the two addresses, because the user name is the same.
func TestASecondServerOfTheSamePersonIsAChoice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 60})
	v := start(t, t.TempDir(), worldEnv(w)...).newcomer()
	there := object{"url": w.Navidrome.URL + "/", "username": demo.Alice, "password": w.Navidrome.Password(demo.Alice)}
	v.call("PUT", "/connections/navidrome", there, 200)
	there["url"] = strings.Replace(w.Navidrome.URL, "127.0.0.1", "localhost", 1)
	asked := v.call("PUT", "/connections/navidrome", there, 409)
	require.Equal(t, []any{"alice (" + w.Navidrome.URL + ")", "alice (" + there["url"].(string) + ")"},
		[]any{asked["old_account"], asked["new_account"]})
	page := v.page("/connect/navidrome/choose", 200)
	require.Contains(t, page, "Has your server moved?")
	require.Contains(t, page, "Same server, new address")
	require.Contains(t, page, "It&#39;s another server: switch to alice ("+there["url"].(string)+")")
	// On the page, the choice leads back to the page that the person came from.
	form := url.Values{"return_to": {"/listens?before=x&y"}}
	for name, value := range there {
		form.Set(name, value.(string))
	}
	choice := v.submit("/connect/navidrome", form, 200)
	require.Contains(t, choice, `name="return_to" value="/listens?before=x&amp;y"`)
	v.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := v.PostForm(v.base+"/connect/navidrome/choose",
		url.Values{"account": {"new"}, "return_to": form["return_to"]})
	require.NoError(t, err)
	v.text(resp, http.StatusSeeOther)
	require.Equal(t, form.Get("return_to"), resp.Header.Get("Location"))
}

// Promise: Two servers would each keep to every service's pace, but together exceed it. The next server can use the
// directory of one that was killed.
func TestTwoServersDoNotShareADirectory(t *testing.T) {
	t.Parallel()
	dir := used(t)
	p := start(t, dir)
	require.Contains(t, refuses(t, nil, "-data-dir", dir, "-listen", "127.0.0.1:0"),
		"another Reprise is running with the data directory "+dir)
	require.Error(t, p.stop(syscall.SIGKILL))
	start(t, dir).returning()
}
