package openidtest

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BuildZitadel builds the issuer that others have written from its own module, so that the product does not depend on
// it, and returns the program. dir is where internal/oauth/testdata/oidcserver is from the test's own folder.
func BuildZitadel(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "oidcserver")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "build", "-C", dir, "-o", program, ".")
	build.Env = append(os.Environ(), "GOFLAGS=-mod=readonly -buildvcs=false", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("The issuer of this test cannot be built. Its module, github.com/zitadel/oidc/v3, has to come from "+
			"the module cache or from the Go proxy (%v):\n%s", err, out)
	}
	return program
}

// StartZitadel runs that program until the end of the test and returns its address, with a slash at the end. It has one
// public client, "reprise"; redirect is where browsers come back to.
func StartZitadel(t *testing.T, program, redirect string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, append([]string{"-redirect", redirect}, args...)...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		late := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait(), "it ends with its standard input")
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "the server does not start")
	return strings.TrimSpace(address)
}
