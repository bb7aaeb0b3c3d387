package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/demo"
	"reprise/internal/library"
	"reprise/internal/soak"
	"reprise/internal/store"
	"reprise/internal/store/db"
)

func TestCommandsNeedADatabase(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for _, args := range [][]string{{"backup", dir + ".db"}, {"rotate-key"}, {"recount"},
		{"reset-password", "Alice"}} {
		_, err := command(t, "a new password\n", nil, append(args, "-data-dir", dir)...)
		require.ErrorContains(t, err, "there is no database in "+dir)
		require.NoDirExists(t, dir)
	}
	stop := exec.Command(built, "backup", dir+".db", "-data-dir", dir)
	require.Error(t, stop.Run())
	require.Equal(t, 2, stop.ProcessState.ExitCode())
}

// Promise: A backup made while the server reads a long history is a complete database for another server.
func TestABackupOfABusyServerServes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 8000})
	dir, out := t.TempDir(), t.TempDir()
	p := start(t, dir, worldEnv(w)...)
	v := p.newcomer()
	tb, _ := v.open()
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	tb.next("progress", func(d object) bool { return d["stream"] == "listens" })
	file := filepath.Join(out, "reprise.db")
	said, err := command(t, "", nil, "backup", file, "-data-dir", dir)
	require.NoError(t, err)
	require.Contains(t, said, "Reprise has read it through; it's intact.")
	require.Contains(t, said, filepath.Join(dir, "secret.key"))
	again, err := command(t, "", nil, "backup", file, "-data-dir", dir)
	require.ErrorContains(t, err, "exists already, and nothing was written over it")
	require.Empty(t, again)
	v.becomes("listenbrainz", "healthy")

	key, err := os.ReadFile(filepath.Join(dir, "secret.key"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(out, "secret.key"), key, 0o600))
	require.NoError(t, p.stop(syscall.SIGTERM))
	p = start(t, out, worldEnv(w)...)
	v = p.returning()
	v.eventually("ready", func() bool {
		resp, err := http.Get(p.url + "/readyz")
		require.NoError(t, err)
		resp.Body.Close()
		return resp.StatusCode == 200
	})
	v.becomes("listenbrainz", "healthy") // it goes on reading with the credential in the copy
	v.eventually("all of it", func() bool { return strings.Contains(v.page("/listens", 200), "8,000 listens") })
}

func TestResetPassword(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	v := p.newcomer()
	reset := func(name, typed string) (string, error) {
		return command(t, typed, nil, "reset-password", name, "-data-dir", dir)
	}
	for typed, want := range map[string]string{"": "no password came", "\n": "no password came",
		"short\n": "at least 10 characters"} {
		_, err := reset("alice", typed)
		require.ErrorContains(t, err, want)
	}
	_, err := reset("Alcie", "another good one\n")
	require.EqualError(t, err, `there is no account named "Alcie"; did you mean "Alice"?`)
	_, err = reset("Wolfgang", "another good one\n")
	require.ErrorContains(t, err, `there is no account named "Wolfgang". The administrators here: Alice`)
	v.call("GET", "/connections", nil, 200) // nothing has changed
	secret, _ := v.token("dashboard", "read")

	said, err := reset("ALICE", "another good one\r\nand more")
	require.NoError(t, err)
	require.Contains(t, said, "Alice has a new password")
	require.NotContains(t, said, "another good one")
	require.Contains(t, said, "1 access token goes on working")
	v.call("GET", "/connections", nil, 401)
	p.program(secret).call("GET", "/connections", nil, 200)
	p.visitor().call("POST", "/session", object{"name": "alice", "password": password}, 401)
	p.visitor().call("POST", "/session", object{"name": "alice", "password": "another good one"}, 201)
}

// Promise: An administrator who has lost the phone gets back in with one command.
func TestANewPasswordEndsTheSecondStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	v := p.newcomer()
	begun := v.call("POST", "/account/second-step", nil, 201)
	code, err := exec.Command("oathtool", "--totp", "--base32", begun["key"].(string)).Output()
	require.NoError(t, err)
	v.call("POST", "/account/second-step/confirm", object{"code": strings.TrimSpace(string(code))}, 200)
	problem := p.visitor().call("POST", "/session", object{"name": "alice", "password": password}, 401)
	require.Contains(t, problem["fields"], "code")

	said, err := command(t, "another good one\n", nil, "reset-password", "Alice", "-data-dir", dir)
	require.NoError(t, err)
	require.Contains(t, said, "The second step is off: Alice signs in with the password alone")
	p.visitor().call("POST", "/session", object{"name": "alice", "password": "another good one"}, 201)
}

// errProblems is the error of -check that has found problems.
var errProblems = errors.New("there are problems")

// command runs a command of the server, and returns what it printed. The error is errProblems, or has the text that the
// command wrote to standard error.
func command(t testing.TB, stdin string, environ []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), built, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, environ...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		err = errProblems
	} else if ok {
		err = errors.New(strings.TrimSpace(said.String()))
	}
	return out.String(), err
}

// The files of the secret key in a data directory.
const (
	keyFile     = "secret.key"
	nextKeyFile = "secret.key.new"
	oldKeyFile  = "secret.key.old-" // followed by the id of the key
)

// household returns a data directory as a stopped server leaves it, with people who have one connection each.
func household(t testing.TB, people int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	secret := db.NewSecret()
	require.NoError(t, os.WriteFile(filepath.Join(dir, keyFile), []byte(secret+"\n"), 0o600))
	db := opened(t, dir, secret)
	for i := range people {
		u, err := db.AddUser(t.Context(), accounts.User{Name: fmt.Sprint("Person ", i), PasswordHash: "none",
			Role: accounts.Admin, CreatedAt: time.Now()}, false)
		require.NoError(t, err)
		_, err = db.SaveConnection(t.Context(),
			library.Connection{User: u.ID, ID: "listenbrainz", AccountID: "x", CreatedAt: time.Now(),
				Credentials: library.Credentials{"token": fmt.Sprint("token of ", i)}})
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	return dir
}

func opened(t testing.TB, dir, secret string) *store.Store {
	t.Helper()
	key, err := db.NewKey(secret)
	require.NoError(t, err)
	db, err := store.Open(context.Background(), db.Place{Dir: dir}, key, store.Options{})
	require.NoError(t, err)
	return db
}

// opensWith requires that the key opens every credential of a household.
func opensWith(t testing.TB, dir, secret string, people int) {
	t.Helper()
	db := opened(t, dir, secret)
	defer db.Close()
	all, err := db.Connections(context.Background())
	require.NoError(t, err)
	require.Len(t, all, people)
	for i, c := range all {
		require.Equal(t, fmt.Sprint("token of ", i), c.Credentials["token"])
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestRotateKey(t *testing.T) {
	t.Parallel()
	const people = 3
	dir := household(t, people)
	before := read(t, filepath.Join(dir, keyFile))
	said, err := command(t, "", nil, "rotate-key", "-data-dir", dir)
	require.NoError(t, err)
	require.Contains(t, said, "4 secrets are now sealed with a new key")
	after := read(t, filepath.Join(dir, keyFile))
	require.NotEqual(t, before, after)
	require.NotContains(t, said, strings.TrimSpace(after))
	opensWith(t, dir, after, people)
	old, err := filepath.Glob(filepath.Join(dir, oldKeyFile+"*"))
	require.NoError(t, err)
	require.Len(t, old, 1)
	require.Equal(t, before, read(t, old[0]), "what opens old backups is kept")
	require.NoFileExists(t, filepath.Join(dir, nextKeyFile))
	for _, name := range []string{keyFile, filepath.Base(old[0])} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}

	start(t, dir)
	_, err = command(t, "", nil, "rotate-key", "-data-dir", dir)
	require.ErrorContains(t, err, "another Reprise is running with the data directory "+dir)
	require.Equal(t, after, read(t, filepath.Join(dir, keyFile)))
}

func TestRotatingAKeyFromTheSettings(t *testing.T) {
	t.Parallel()
	const people = 2
	secret, err := command(t, "", nil, "new-key")
	require.NoError(t, err)
	dir := household(t, people)
	require.NoError(t, os.Remove(filepath.Join(dir, keyFile)))
	env := []string{"REPRISE_SECRET_KEY=" + secret}
	require.NoError(t, os.Remove(filepath.Join(dir, db.FileName)))
	db := opened(t, dir, secret)
	require.NoError(t, db.Close())

	said, err := command(t, "", env, "rotate-key", "-data-dir", dir)
	require.NoError(t, err)
	next := read(t, filepath.Join(dir, nextKeyFile))
	require.Contains(t, said, "Put it into the setting before you start the server")
	require.NotContains(t, said, strings.TrimSpace(next))
	opensWith(t, dir, next, 0)
	for _, args := range [][]string{{}, {"rotate-key"}} {
		_, err = command(t, "", env, append(args, "-data-dir", dir, "-listen", "127.0.0.1:0")...)
		require.ErrorContains(t, err, "into the setting, and delete that file")
	}
	looked, err := command(t, "", env, "-check", "-data-dir", dir, "-listen", "127.0.0.1:0")
	require.ErrorIs(t, err, errProblems)
	require.Contains(t, looked, "Copy the key from "+filepath.Join(dir, nextKeyFile)+" into the setting")
	require.Equal(t, next, read(t, filepath.Join(dir, nextKeyFile)))
	require.NoError(t, start(t, dir, "REPRISE_SECRET_KEY_FILE="+filepath.Join(dir, nextKeyFile)).stop(syscall.SIGTERM))
}

// Promise: A process that is killed while it changes the secret key loses nothing.
func TestKillsDuringAKeyChangeLoseNothing(t *testing.T) {
	takesLong(t)
	soak.Sometimes(t)
	t.Parallel()
	const people = 300
	dir := household(t, people)
	finished, rotations := 0, soak.Count(t, 40, 8)
	for i := range rotations {
		cmd := exec.Command(built, "rotate-key", "-data-dir", dir)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		require.NoError(t, cmd.Start())
		after := time.Duration(i) * 160 * time.Millisecond / time.Duration(rotations)
		kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		if cmd.Wait() == nil {
			finished++
		}
		kill.Stop()
		if i%8 == 7 {
			_, err := command(t, "", nil, "rotate-key", "-data-dir", dir)
			require.NoError(t, err)
			opensWith(t, dir, read(t, filepath.Join(dir, keyFile)), people)
		}
	}
	require.Less(t, finished, rotations, "some were killed")
	require.NoError(t, start(t, dir).stop(syscall.SIGTERM))
	opensWith(t, dir, read(t, filepath.Join(dir, keyFile)), people)
}
