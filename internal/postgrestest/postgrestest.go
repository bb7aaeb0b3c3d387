// Package postgrestest starts a real Postgres server for tests, on loopback, and runs a package's tests once more
// on it, each with databases of its own.
//
// A machine without the server fails the test with a sentence that says what to install; no test is skipped.
package postgrestest

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
)

// readyWithin is how long a server may take to come up; a machine busy with other tests is slow.
const readyWithin = 2 * time.Minute

const needs = "This test needs the Debian package postgresql (apt-get install it)."

// env is the environment variable with the address of the server that the tests run on.
const env = "REPRISE_TEST_POSTGRES"

// On says whether the tests run on a Postgres server.
func On() bool { return os.Getenv(env) != "" }

// Again runs the tests of the calling package whose names match a pattern once more, on a server of their own.
func Again(t *testing.T, pattern string) {
	t.Helper()
	if On() {
		t.Skip("they run already")
	}
	server := Start(t)
	all := exec.Command(os.Args[0], "-test.run="+pattern, "-test.count=1", "-test.shuffle=on",
		"-test.parallel=8") // more than there are processors: most of the time is spent in waiting
	all.Env = append(os.Environ(), env+"="+server.Database("reprise"))
	if out, err := all.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// databases are those of this process, by the directory that each belongs to.
var databases struct {
	mu       sync.Mutex
	of       map[string]string
	ended    []string // the names of those whose tests are over; the next connection drops them
	template string   // its name; empty until it is made
}

// Database returns the address of the database that belongs to a directory, and "" when the tests do not run on
// Postgres. The first call makes it, and it is gone after its test. With migrate it is a copy of a database that
// migrate has filled, once for all tests of the process; otherwise it is empty.
func Database(t testing.TB, dir string, migrate func(url string) error) string {
	t.Helper()
	if !On() {
		return ""
	}
	databases.mu.Lock()
	defer databases.mu.Unlock()
	if url := databases.of[dir]; url != "" {
		return url
	}
	db, err := sql.Open("pgx", os.Getenv(env))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, name := range databases.ended {
		if _, err := db.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Fatal(err)
		}
	}
	databases.ended = nil
	name := fmt.Sprintf("test_%d_%d", os.Getpid(), len(databases.of))
	create := "CREATE DATABASE " + name
	if migrate != nil {
		create += " TEMPLATE " + template(t, db, migrate) + " STRATEGY file_copy"
	}
	if _, err := db.Exec(create); err != nil {
		t.Fatal(err)
	}
	if databases.of == nil {
		databases.of = map[string]string{}
	}
	databases.of[dir] = beside(t, name)
	t.Cleanup(func() {
		databases.mu.Lock()
		defer databases.mu.Unlock()
		databases.ended = append(databases.ended, name)
	})
	return databases.of[dir]
}

// template returns the name of the database to copy. The lock is held.
func template(t testing.TB, db *sql.DB, migrate func(url string) error) string {
	t.Helper()
	if databases.template != "" {
		return databases.template
	}
	name := fmt.Sprintf("template_%d", os.Getpid())
	if _, err := db.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatal(err)
	}
	if err := migrate(beside(t, name)); err != nil {
		t.Fatal(err)
	}
	databases.template = name
	return name
}

// beside returns the address of another database of the server.
func beside(t testing.TB, name string) string {
	t.Helper()
	u, err := url.Parse(os.Getenv(env))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// Password is that of the server's only user, reprise, who may do everything.
const Password = "a password of the tests"

// Server is a Postgres server. It ends with its test.
type Server struct {
	t        testing.TB
	bin, dir string
	port     string
	cmd      *exec.Cmd
	ended    chan struct{} // closed when cmd has ended
}

// Start makes a server and returns when it answers. What it keeps does not survive the machine's power, only the
// server.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: programs(t)}
	var err error
	if s.dir, err = os.MkdirTemp("", "reprise-postgres-"); err != nil { // t.TempDir is closed to other users
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	if os.Geteuid() == 0 {
		s.give()
	}
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(Password), 0o644); err != nil {
		t.Fatal(err)
	}
	made := s.command(
		"initdb", "--pgdata", s.data(), "--username=reprise", "--auth=md5", "--pwfile="+secret, "--encoding=UTF8",
		"--no-sync",
	) // md5 because SCRAM spends milliseconds on every connection
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	s.Resume()
	t.Cleanup(s.Stop)
	return s
}

// programs is the folder of the newest server's programs.
func programs(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // sorted, and the pattern is a good one
	if len(found) == 0 {
		t.Fatal("postgres is not installed. " + needs)
	}
	return filepath.Dir(found[len(found)-1])
}

// give hands the server's folder to the user that Debian makes for Postgres, which refuses to run as root.
func (s *Server) give() {
	s.t.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		s.t.Fatalf("%v. %s", err, needs)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(s.dir, uid, gid); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	line := append([]string{filepath.Join(s.bin, name)}, args...)
	if os.Geteuid() == 0 {
		line = append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"}, line...)
	}
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = s.dir
	return cmd
}

// Resume starts the server, again on the port that it had. Another program may take the first one; then another is
// tried.
func (s *Server) Resume() {
	s.t.Helper()
	var out strings.Builder
	for range 5 {
		port := s.port
		if port == "" {
			port = freePort(s.t)
		}
		cmd := s.command(
			"postgres", "-D", s.data(), "-p", port, "-k", s.dir, "-c", "listen_addresses=127.0.0.1", "-c",
			"fsync=off", "-c", "full_page_writes=off", "-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c",
			"shared_buffers=16MB", "-c", "max_connections=300", "-c", "autovacuum=off", "-c", "jit=off",
		)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			s.t.Fatalf("postgres: %v", err)
		}
		s.cmd, s.ended = cmd, make(chan struct{})
		go func(ended chan struct{}) {
			_ = cmd.Wait() // it ends by our signal
			close(ended)
		}(s.ended)
		if s.answers(port) {
			s.port = port
			return
		}
		s.Stop()
	}
	s.t.Fatalf("postgres did not come up: %s", out.String())
}

// answers waits until the server does, or has ended.
func (s *Server) answers(port string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	db, err := sql.Open("pgx", address(port, "postgres"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	for ctx.Err() == nil {
		if db.PingContext(ctx) == nil {
			return true
		}
		select {
		case <-s.ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return false
}

// Stop ends the server and its connections, as an administrator does. It may be called more than once.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(os.Interrupt) // it may have ended
	<-s.ended
	s.cmd = nil
}

// Database makes an empty database and returns its address.
func (s *Server) Database(name string) string {
	s.t.Helper()
	db, err := sql.Open("pgx", address(s.port, "postgres"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if _, err = db.Exec(fmt.Sprintf("CREATE DATABASE %q", name)); err != nil {
		s.t.Fatal(err)
	}
	return address(s.port, name)
}

// address is that of a database, without encryption on the way.
func address(port, name string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("reprise", Password),
		Host:     net.JoinHostPort("127.0.0.1", port),
		Path:     "/" + name,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
