package test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

// client generates a client from the description that the server serves, and builds the program in testdata/client
// with it. The generator has a module of its own there, so that Reprise does not depend on it.
func (p *process) client() string {
	p.t.Helper()
	dir := p.t.TempDir()
	require.NoError(p.t, os.CopyFS(dir, os.DirFS("testdata/client")))
	require.NoError(p.t, os.Mkdir(filepath.Join(dir, "api"), 0o700))
	_, description := p.visitor().send("GET", "/openapi.yaml", nil)
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, "openapi.yaml"), description, 0o600))
	for _, args := range [][]string{
		{"tool", "oapi-codegen", "-generate", "types,client", "-package", "api", "-o", "api/api.go", "openapi.yaml"},
		{"build", "-trimpath", "-o", "client.exe", "."},
	} {
		cmd := exec.CommandContext(p.t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		require.NoError(p.t, err, "go %v: the generator comes from the module cache or the Go proxy; \"make tools\" "+
			"fetches it\n%s", args, out)
	}
	return filepath.Join(dir, "client.exe")
}

// Promise: A client made from the OpenAPI file does the main job.
func TestAGeneratedClientDoesTheMainJob(t *testing.T) {
	takesLong(t)
	t.Parallel()
	w := newWorld(t, demo.Options{Plays: 450})
	p := start(t, t.TempDir(), worldEnv(w)...)
	code := p.code
	cmd := exec.CommandContext(t.Context(), p.client())
	in, err := json.Marshal(object{"URL": p.url, "Code": code, "Token": w.ListenBrainz.Token(demo.Alice),
		"Navidrome": w.Navidrome.URL, "Name": demo.Alice, "Password": w.Navidrome.Password(demo.Alice)})
	require.NoError(t, err)
	cmd.Stdin = bytes.NewReader(in)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	require.NoError(t, cmd.Run(), complaints.String())
	var found struct {
		Listens, Pages, ByArtist, Playlists, Tracks, Deliveries, Notifications int
		Artist, Refusal                                                        string
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &found), out.String())
	require.GreaterOrEqual(t, found.Listens, 450)
	require.Greater(t, found.Pages, 4)
	require.Positive(t, found.ByArtist)
	require.Less(t, found.ByArtist, found.Listens)
	require.Positive(t, found.Playlists)
	require.Positive(t, found.Tracks)
	require.Positive(t, found.Deliveries)
	require.Contains(t, found.Refusal, `Did you mean "artist"?`)
}
