package postgrestest

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"reprise/internal/childtest"
)

// Pooler starts a PgBouncer on loopback, which hands out a connection to the database at an address for each
// transaction, and returns the address behind which the database is there. It refuses what the client sets when it
// connects, beside what ignore names. It ends with the test.
func Pooler(t testing.TB, database string, ignore ...string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Fatal("This test needs the Debian package pgbouncer (apt-get install it).")
	}
	dir, err := os.MkdirTemp("", "reprise-pgbouncer-") // other users cannot read t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	_, port, _ := net.SplitHostPort(childtest.Address(t))
	name := strings.TrimPrefix(u.Path, "/")
	password, _ := u.User.Password()
	settings := "[databases]\n" + name + " = host=" + u.Hostname() + " port=" + u.Port() + " user=" +
		u.User.Username() + " password='" + password + "'\n[pgbouncer]\npool_mode = transaction\n" +
		"listen_addr = 127.0.0.1\nlisten_port = " + port + "\nunix_socket_dir =\nauth_type = any\n" +
		"ignore_startup_parameters = " + strings.Join(ignore, ",") + "\n"
	path := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(path, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	line := asPostgres(t, []string{program, path}, dir, path)
	var out strings.Builder
	cmd := childtest.Tie(exec.Command(line[0], line[1:]...), syscall.SIGINT)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatalf("pgbouncer: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it ends by a signal
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // fails if it has ended
		<-ended
	})
	u.Host = net.JoinHostPort("127.0.0.1", port)
	for began := time.Now(); time.Since(began) < readyWithin; {
		c, err := net.Dial("tcp", u.Host)
		if err == nil {
			_ = c.Close()
			return u.String()
		}
		select {
		case <-ended:
			t.Fatalf("pgbouncer ended: %s", out.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatal("pgbouncer did not come up")
	return ""
}
