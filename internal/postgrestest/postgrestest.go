// Package postgrestest starts a real Postgres server for tests, on loopback, and runs a package's tests on it, each
// with databases of its own. For tests on SQLite as well, a Template copies a database that is migrated once per
// process, because migrating takes longer than most tests.
//
// If the server is not installed, the test fails and says what to install. No test is skipped.
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
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"reprise/internal/childtest"
	"reprise/internal/soak"
)

// readyWithin is how long a server may take to start. It is long because other tests may use the machine.
const readyWithin = 2 * time.Minute

const needs = "This test needs the Debian package postgresql (apt-get install it)."

// env is the environment variable with the address of the server that the tests run on.
const env = "REPRISE_TEST_POSTGRES"

// On reports whether the tests run on a Postgres server.
func On() bool { return os.Getenv(env) != "" }

// Again runs the tests of the calling package whose names match a pattern on a Postgres server of their own: all tests
// about Postgres, and the share of the others that SOAK selects.
func Again(t *testing.T, pattern string) {
	t.Helper()
	if On() {
		t.Skip("the tests run on Postgres already")
	}
	listed, err := exec.Command(os.Args[0], "-test.list="+pattern).Output()
	if err != nil {
		t.Fatal(err)
	}
	var some []string
	for name := range strings.FieldsSeq(string(listed)) {
		if strings.HasPrefix(name, "Test") && (strings.Contains(name, "Postgres") || soak.Part(t, name)) {
			some = append(some, name)
		}
	}
	if len(some) == 0 {
		t.Skip("SOAK picks none")
	}
	server := Start(t)
	again := exec.Command(os.Args[0], "-test.run=^("+strings.Join(some, "|")+")$", "-test.count=1", "-test.shuffle=on",
		"-test.parallel=8") // more than there are processors, because the tests mostly wait
	again.Env = append(os.Environ(), env+"="+server.Database("reprise"))
	childtest.Tie(again, syscall.SIGKILL)
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%d tests", len(some))
}

// databases are the databases of this process.
var databases struct {
	mu       sync.Mutex
	of       map[string]string // their addresses, by directory
	ended    []string          // the names of those whose tests have ended; the next call drops them
	template string            // the name of the template; empty until it is created
}

// Database returns the address of the database that belongs to a directory, or "" if the tests do not run on Postgres.
// The first call creates it, and it is dropped after the test. With migrate it is a copy of a template that migrate
// fills once per process; otherwise it is empty.
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

// template returns the name of the database to copy. The caller holds the lock.
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

// Password is the password of the server's only user, reprise, a superuser.
const Password = "a password of the tests"

// Server is a Postgres server. It stops when its test ends.
type Server struct {
	t        testing.TB
	bin, dir string
	port     string
	cmd      *exec.Cmd
	ended    chan struct{} // closed when cmd has ended
	settings []string
}

// quick are settings for tests that nobody who keeps data would choose.
var quick = []string{"fsync=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0",
	"shared_buffers=16MB", "max_connections=300", "autovacuum=off", "jit=off"}

// Start starts a server and returns when it answers. Its data survives a restart of the server, but not of the machine.
func Start(t testing.TB) *Server {
	t.Helper()
	return start(t, quick)
}

// StartAsInstalled starts a server with the settings that it comes with: what is committed is on the disk.
func StartAsInstalled(t testing.TB) *Server {
	t.Helper()
	return start(t, nil)
}

func start(t testing.TB, settings []string) *Server {
	t.Helper()
	s := &Server{t: t, bin: programs(t), settings: settings}
	var err error
	if s.dir, err = os.MkdirTemp("", "reprise-postgres-"); err != nil { // other users cannot read t.TempDir
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	asPostgres(t, nil, s.dir)
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

// programs returns the directory of the newest server's programs.
func programs(t testing.TB) string {
	t.Helper()
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // sorted; the pattern is valid
	if len(found) == 0 {
		t.Fatal("postgres is not installed. " + needs)
	}
	return filepath.Dir(found[len(found)-1])
}

// asPostgres returns a command line that runs as Debian's user for Postgres, whose files these become, if the tests run
// as root, because Postgres and PgBouncer refuse to run as root.
func asPostgres(t testing.TB, line []string, files ...string) []string {
	t.Helper()
	if os.Geteuid() != 0 {
		return line
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Fatalf("%v. %s", err, needs)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	for _, file := range files {
		if err := os.Chown(file, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	// A change of the user unties a process.
	return append([]string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=INT"},
		line...)
}

// Use has the rest of a test run on the server.
func (s *Server) Use(t testing.TB) {
	t.Helper()
	t.Setenv(env, s.Database("reprise"))
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	line := asPostgres(s.t, append([]string{filepath.Join(s.bin, name)}, args...))
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Dir = s.dir
	return cmd
}

// Resume starts the server on the port that it had, or on a free one. If another program takes the port meanwhile, it
// tries again.
func (s *Server) Resume() {
	s.t.Helper()
	var out strings.Builder
	for range 5 {
		port := s.port
		if port == "" {
			_, port, _ = net.SplitHostPort(childtest.Address(s.t))
		}
		line := []string{"-D", s.data(), "-p", port, "-k", s.dir, "-c", "listen_addresses=127.0.0.1"}
		for _, one := range s.settings {
			line = append(line, "-c", one)
		}
		cmd := s.command("postgres", line...)
		cmd.Stdout, cmd.Stderr = &out, &out
		childtest.Tie(cmd, syscall.SIGINT) // with which it also removes its shared memory
		if err := cmd.Start(); err != nil {
			s.t.Fatalf("postgres: %v", err)
		}
		s.cmd, s.ended = cmd, make(chan struct{})
		go func(ended chan struct{}) {
			_ = cmd.Wait() // it ends by a signal of Stop
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

// answers waits until the server answers, and returns false if it ends before.
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

// Stop stops the server and its connections, as an administrator does. It may be called more than once.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(os.Interrupt) // fails if it has ended
	<-s.ended
	s.cmd = nil
}

// Database creates an empty database and returns its address.
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

// address returns the address of a database, for connections without encryption.
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
