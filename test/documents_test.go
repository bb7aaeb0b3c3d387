package test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/demo"
)

const songChosen = `curl -H "Authorization: Bearer $TOKEN" -X PUT -H "Content-Type: application/json" -d '{"chosen"`

// notHere says why TestCommandsOfTheDocuments does not run a block of commands, by the document it is in, or by what
// the block begins with.
var notHere = map[string]string{
	"docs/install.md":     "packages and containers: `make dist-check` tries them, each in a root of its own",
	"make ":               "this test is a part of make test and make check; .ci/run makes both",
	"go run ./cmd/server": "the same program is built once, as server, and TestFirstRunWithNothingConfigured starts it",
	songChosen:            "it needs a library with songs alike: internal/server.TestSongIsChosenOnce",
}

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")

// commandsOf returns the blocks of commands of a document that run here.
func commandsOf(t *testing.T, name string, used map[string]bool) (all []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", name))
	require.NoError(t, err)
	for _, m := range shellBlock.FindAllStringSubmatch(string(b), -1) {
		skip := false
		for begin := range notHere {
			if name == begin || strings.HasPrefix(m[1], begin) {
				skip, used[begin] = true, true
			}
		}
		if !skip {
			all = append(all, m[1])
		}
	}
	return all
}

// shop is a server with a person, and a folder in which to follow the documents.
type shop struct {
	t   *testing.T
	p   *process
	v   *person
	dir string
	env []string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	w, dir := newWorld(t, demo.Options{Plays: 30}), t.TempDir()
	env := slices.DeleteFunc(worldEnv(w), func(v string) bool { return strings.Contains(v, "SPOTIFY_CLIENT_ID") })
	p := start(t, filepath.Join(dir, "data"), append(env, "REPRISE_ADMIN_TOKEN="+adminToken,
		"REPRISE_PROVIDERS_YOUTUBE_KEYS=AIzaSyExample-x7Qk")...)
	p.newcomer().call("POST", "/admin/users", object{"name": "Bob", "password": password, "role": "member"}, 201)
	v := p.visitor()
	v.call("POST", "/session", object{"name": "bob", "password": password}, 201)
	v.call("PUT", "/connections/listenbrainz", object{"token": w.ListenBrainz.Token(demo.Alice)}, 200)
	v.becomes("listenbrainz", "healthy")
	token, _ := v.token("documents", "operate")
	here, err := os.Getwd()
	require.NoError(t, err)
	return &shop{t, p, v, dir, append(os.Environ(), "SERVER="+built, "TOKEN="+token, "ADMIN_TOKEN="+adminToken,
		"CLIENT="+filepath.Join(here, "testdata", "client"))}
}

// run runs a block as it is written, at this server's address.
func (s *shop) run(block string) {
	s.t.Helper()
	tools, err := os.ReadFile("testdata/documents.sh")
	require.NoError(s.t, err)
	cmd := exec.CommandContext(s.t.Context(), "bash", "-c",
		string(tools)+"\n"+strings.ReplaceAll(block, "http://127.0.0.1:8420", s.p.url))
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "%s\n%s", block, out)
}

// TestCommandsOfTheDocuments runs every block of commands of every document, but for a few.
func TestCommandsOfTheDocuments(t *testing.T) {
	takesLong(t)
	t.Parallel()
	s, used, ran := newShop(t), map[string]bool{}, 0
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	pages = append(pages, "../README.md", "../CONTRIBUTING.md", "../SECURITY.md")
	for _, page := range pages {
		name := strings.TrimPrefix(page, "../")
		if name == "docs/moving.md" {
			continue // TestMovingFromAnotherProgram
		}
		for _, block := range commandsOf(t, name, used) {
			s.run(block)
			ran++
		}
	}
	require.Greater(t, ran, 12)
	for begin := range notHere {
		require.True(t, used[begin] || begin == "docs/install.md", "no document has %q any more", begin)
	}
}

// TestMovingFromAnotherProgram follows docs/moving.md with a small export of each program.
func TestMovingFromAnotherProgram(t *testing.T) {
	takesLong(t)
	t.Parallel()
	s := newShop(t)
	require.NoError(t, os.CopyFS(s.dir, os.DirFS("testdata/moving")))
	s.run("sqlite3 spotter.db <spotter.sql")
	for _, block := range commandsOf(t, "docs/moving.md", map[string]bool{}) {
		s.run(block)
	}
	for _, c := range []struct {
		file, provider string            // as which it is recognised
		want           map[string]string // the artist of each title
	}{
		{"maloja_export_20261122.json", "maloja",
			map[string]string{"Low Tide": "Ada Stein, Hollow Coast", "Untold": "Hollow Coast"}},
		{"koito_export_20261122.json", "koito",
			map[string]string{"Night Bus": "Mira Okafor, The Late Shift", "Depot": "Mira Okafor"}},
		{"spotter.csv", "lastfm", map[string]string{"Glass, Half": "Odd Lot", "Carry": "Odd Lot"}},
	} {
		file, err := os.ReadFile(filepath.Join(s.dir, c.file))
		require.NoError(t, err)
		resp := s.v.sendFile("name="+c.file, bytes.NewReader(file))
		require.Equal(t, 201, resp.StatusCode)
		s.v.eventually(c.file+" is imported", func() bool { return s.v.lastImport()["state"] == "done" })
		last := s.v.lastImport()
		require.Equal(t, c.provider, last["provider"])
		require.EqualValues(t, len(c.want), last["added"], last)
		found := map[string]string{}
		for _, l := range s.v.call("GET", "/listens?limit=1000", nil, 200)["listens"].([]any) {
			if l := l.(object); c.want[l["track"].(string)] != "" {
				found[l["track"].(string)] = l["artist"].(string)
			}
		}
		require.Equal(t, c.want, found)
	}
	guest := s.v.call("GET", "/search?kind=artist&q=the+late+shift", nil, 200)["artists"].([]any)
	require.Len(t, guest, 1, "each artist of a track has it")
	bus := s.v.call("GET", "/listens?artist="+guest[0].(object)["id"].(string), nil, 200)["listens"].([]any)
	require.Len(t, bus, 1)
	b, err := json.Marshal(bus)
	require.NoError(t, err)
	require.Contains(t, string(b), `"played_at":"2026-11-20T21:04:11.000Z"`)
	require.Contains(t, string(b), `"duration_ms":301000`)
	require.Contains(t, string(b), `"player":"Feishin"`)
	require.Contains(t, string(b), "0a3ec2b3-2b7e-4f0a-9c1e-0c6f5b3a7d11")
}
