package test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/postgrestest"
)

// Promise: An administrator backs up everything on the page, sees that it can be restored, downloads it after a
// question, and goes back to it with one command.
func TestAnAdministratorBacksUpOnThePage(t *testing.T) {
	t.Parallel()
	if postgrestest.On() {
		t.Skip("Postgres is backed up with its own tools")
	}
	dir := t.TempDir()
	p := start(t, dir)
	alice := p.newcomer()
	ben := alice.member(p, "Ben")
	require.Contains(t, alice.page("/settings/server", 200), "There&#39;s no backup yet.")
	ben.page("/settings/server", http.StatusForbidden)
	ben.submit("/settings/server/backups", nil, http.StatusForbidden)

	alice.submit("/settings/server/backups", nil, 200)
	var made []any
	alice.eventually("a backup", func() bool {
		answer := alice.call("GET", "/admin/backups", nil, 200)
		made = answer["backups"].([]any)
		return len(made) == 1 && !answer["running"].(bool) && answer["tried_at"] != nil
	})
	page := alice.page("/settings/server", 200)
	require.NotContains(t, page, "There&#39;s no backup yet.")
	require.Contains(t, page, "One backup in "+filepath.Join(dir, "backups"))
	require.Contains(t, page, "could be restored in a test, with 0 listens in it")

	name := made[0].(object)["name"].(string)
	file := "/settings/server/backups/" + name
	ask := alice.page(file, 200)
	require.Contains(t, ask, "It contains everybody&#39;s listens, playlists and names.")
	ben.page(file, http.StatusForbidden)
	alice.page("/settings/server/backups/..%2fsecret.key", http.StatusNotFound)
	resp, err := alice.PostForm(p.url+file, nil)
	require.NoError(t, err)
	downloaded, err := io.ReadAll(resp.Body)
	require.NoError(t, errors.Join(err, resp.Body.Close()))
	require.True(t, bytes.HasPrefix(downloaded, []byte("SQLite format 3\x00")))
	entries := alice.page("/activity", 200)
	require.Contains(t, entries, "downloaded the backup")

	restored := t.TempDir()
	key, err := os.ReadFile(filepath.Join(dir, "secret.key"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(restored, "secret.key"), key, 0o600))
	copied := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(copied, downloaded, 0o600))
	_, err = command(t, "", nil, "restore", copied, "-data-dir", restored)
	require.NoError(t, err)
	start(t, restored).returning().page("/", 200)
}
