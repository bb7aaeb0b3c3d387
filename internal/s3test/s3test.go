// Package s3test starts a real S3 server for tests: versitygw, on loopback, with its data in a directory of the test.
// The server checks signatures and checksums, and supports conditional writes.
//
// The server has a module of its own in testdata, so that Reprise does not depend on it. It is built once into Go's
// build cache. If it cannot be built, the test fails and says why. No test is skipped.
package s3test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"reprise/internal/childtest"
)

// buildWithin and readyWithin are how long the build and a start may take. They are long because other tests may use
// the machine.
const (
	buildWithin = 10 * time.Minute
	readyWithin = time.Minute
)

// Server is one server with one account. It stops when its test ends.
type Server struct {
	URL       string
	AccessKey string
	SecretKey string
	Region    string

	t       testing.TB
	address string
	disk    string
	args    []string
	end     func() // kills the process; nil while the server is stopped
}

// Start starts a server and returns when it answers. args are further flags of versitygw, such as "--readonly".
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	if _, err := program(); err != nil {
		t.Fatal(err)
	}
	s := &Server{AccessKey: "anna-access", SecretKey: "correct/horse+battery", Region: "eu-north-1", t: t,
		disk: t.TempDir(), args: args}
	for _, dir := range []string{"buckets", "attributes", "accounts"} {
		if err := os.Mkdir(filepath.Join(s.disk, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(s.Stop)
	var err error
	for range 5 { // another program may take the port meanwhile
		s.address = childtest.Address(t)
		s.URL = "http://" + s.address
		if err = s.run(); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

// program returns the path of the built server.
var program = sync.OnceValues(func() (string, error) {
	module, err := ownModule()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), buildWithin)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "tool", "-C", module, "-n", "versitygw")
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
	var out, complaints bytes.Buffer
	build.Stdout, build.Stderr = &out, &complaints
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("the S3 server of this test cannot be built. Its module, "+
			"github.com/versity/versitygw, has to come from the "+
			"module cache or from the Go proxy; \"make tools\" fetches and builds it (%w):\n%s", err,
			complaints.String())
	}
	return strings.TrimSpace(out.String()), nil
})

// ownModule returns the folder of the module that requires versitygw. It looks above the folder of the package that is
// tested, because what is built knows no paths.
func ownModule() (string, error) {
	at, err := os.Getwd()
	for err == nil {
		module := filepath.Join(at, "internal", "s3test", "testdata", "versitygw")
		if _, err := os.Stat(module); err == nil {
			return module, nil
		}
		if filepath.Dir(at) == at {
			return "", errors.New("the S3 server is for the tests of Reprise")
		}
		at = filepath.Dir(at)
	}
	return "", err
}

// run starts the process and waits until the server answers.
func (s *Server) run() error {
	path, err := program()
	if err != nil {
		return err
	}
	args := []string{"--quiet", "--keep-alive", "--region", s.Region, "--port", s.address, "--health", "/health",
		// with a directory of accounts, an unknown account is refused as Amazon does
		"--iam-dir", filepath.Join(s.disk, "accounts")}
	args = append(append(args, s.args...), "posix", "--sidecar", filepath.Join(s.disk, "attributes"),
		filepath.Join(s.disk, "buckets"))
	cmd := childtest.Tie(exec.Command(path, args...), syscall.SIGKILL)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s.AccessKey, "ROOT_SECRET_KEY="+s.SecretKey)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start versitygw: %w", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // it ends by a signal of end
	}()
	end := func() {
		_ = cmd.Process.Kill() // a crash, without closing connections
		<-done
	}
	if s.answers(done) {
		s.end = end
		return nil
	}
	end()
	return fmt.Errorf("versitygw did not come up at %s: %s", s.address, out.String())
}

// answers waits until the server is healthy, and returns false if its process ends before.
func (s *Server) answers(done <-chan struct{}) bool {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: readyWithin}
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if resp, err := client.Get(s.URL + "/health"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return true
			}
		}
		select {
		case <-tick.C:
		case <-done:
			return false
		case <-late.C:
			return false
		}
	}
}

// Stop kills the server, so that its port refuses connections. Its data stays.
func (s *Server) Stop() {
	if s.end != nil {
		s.end()
		s.end = nil
	}
}

// Restart starts the server again, at the same address and with the same data.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	if err := s.run(); err != nil {
		s.t.Fatal(err)
	}
}

// MakeBucket creates an empty bucket.
func (s *Server) MakeBucket(name string) {
	s.t.Helper()
	if err := os.Mkdir(filepath.Join(s.disk, "buckets", name), 0o700); err != nil {
		s.t.Fatal(err)
	}
}

// Objects returns the contents of all objects in a bucket, by key.
func (s *Server) Objects(bucket string) map[string]string {
	s.t.Helper()
	root := filepath.Join(s.disk, "buckets", bucket)
	objects := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		key, relErr := filepath.Rel(root, path)
		objects[filepath.ToSlash(key)] = string(body)
		return errors.Join(err, relErr)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return objects
}
