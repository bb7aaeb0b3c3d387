package datadir

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/store"
	"reprise/internal/store/db"
)

// household returns a data directory as a stopped server leaves it, with people who have one connection each.
func household(t *testing.T, people int) Dir {
	t.Helper()
	d := Dir{Path: t.TempDir()}
	db, err := d.Open(t.Context(), store.Options{})
	require.NoError(t, err)
	for i := range people {
		u, err := db.AddUser(t.Context(), accounts.User{Name: fmt.Sprint("Person ", i), PasswordHash: "none",
			Role: accounts.Admin, CreatedAt: time.Now()}, false)
		require.NoError(t, err)
		_, err = db.SaveConnection(t.Context(), library.Connection{User: u.ID, ID: "listenbrainz",
			AccountID: "x", CreatedAt: time.Now(),
			Credentials: library.Credentials{"token": fmt.Sprint("token of ", i)}})
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	return d
}

// requireCredentials opens the database and requires that every credential of a household can be read.
func requireCredentials(t *testing.T, d Dir, people int) {
	t.Helper()
	db, err := d.Open(t.Context(), store.Options{})
	require.NoError(t, err)
	defer db.Close()
	all, err := db.Connections(t.Context())
	require.NoError(t, err)
	require.Len(t, all, people)
	for i, c := range all {
		require.Equal(t, fmt.Sprint("token of ", i), c.Credentials["token"])
	}
}

func (d Dir) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.Path, name))
	require.NoError(t, err)
	return string(b)
}

// The power may be cut after each step: the next start, or running the command again, completes the change.
func TestAnInterruptedKeyChangeIsCompleted(t *testing.T) {
	t.Parallel()
	const people = 3
	steps := []string{"a half written file is there", "the new key is there", "all is sealed with it",
		"the old key is kept"}
	for done := range steps {
		for _, next := range []string{"a start", "running it again", "a backup"} {
			d := household(t, people)
			before := d.read(t, KeyFile)
			require.NoError(t, os.WriteFile(filepath.Join(d.Path, newFile+"271828"), []byte("ha"), 0o600))
			if done > 0 {
				db, err := d.Open(t.Context(), store.Options{})
				require.NoError(t, err)
				key, err := d.prepareKey()
				require.NoError(t, err)
				if done > 1 {
					_, err = db.Rotate(t.Context(), key)
					require.NoError(t, err)
				}
				require.NoError(t, db.Close())
			}
			if done > 2 {
				old, err := db.NewKey(before)
				require.NoError(t, err)
				require.NoError(t, writeNew(filepath.Join(d.Path, oldKeyFile+old.ID()), before))
			}
			var said bytes.Buffer
			switch next {
			case "a start":
				requireCredentials(t, d, people)
			case "running it again":
				require.NoError(t, d.RotateKey(t.Context(), &said))
			case "a backup":
				require.NoError(t, d.Backup(t.Context(), filepath.Join(d.Path, "copy"), &said))
				require.Equal(t, done > 1, strings.Contains(said.String(), NextKeyFile), said.String())
				continue
			}
			require.NoFileExists(t, filepath.Join(d.Path, NextKeyFile), "after %s, %s", steps[done], next)
			requireNothingHalf(t, d)
			if done > 1 {
				old, err := filepath.Glob(filepath.Join(d.Path, oldKeyFile+"*"))
				require.NoError(t, err)
				require.NotEmpty(t, old)
			}
			requireCredentials(t, d, people)
		}
	}
}

// requireNothingHalf requires that no half written file is left in a data directory.
func requireNothingHalf(t *testing.T, d Dir) {
	t.Helper()
	files, err := os.ReadDir(d.Path)
	require.NoError(t, err)
	for _, f := range files {
		require.False(t, strings.HasPrefix(f.Name(), newFile), f.Name())
	}
}

// With the key from the settings, the next key may be the only one that opens a backup.
func TestANextKeyBesideASettingIsKept(t *testing.T) {
	t.Parallel()
	d := household(t, 1)
	d.SecretKey = resilience.Secret(d.read(t, KeyFile))
	key, err := d.prepareKey()
	require.NoError(t, err)
	requireCredentials(t, d, 1)
	require.NoFileExists(t, filepath.Join(d.Path, NextKeyFile))
	require.FileExists(t, filepath.Join(d.Path, oldKeyFile+key.ID()))
}

func TestADirectoryIsLockedOnce(t *testing.T) {
	t.Parallel()
	d := Dir{Path: filepath.Join(t.TempDir(), "data")}
	require.NoError(t, d.Make())
	require.False(t, d.InUse())
	unlock, err := d.Lock()
	require.NoError(t, err)
	require.True(t, d.InUse())
	_, err = d.Lock()
	require.ErrorContains(t, err, "another Reprise is running with the data directory "+d.Path)
	unlock()
	require.False(t, d.InUse())
}

func TestNoKeyIsMadeBesideADatabase(t *testing.T) {
	t.Parallel()
	d := household(t, 1)
	require.NoError(t, os.Remove(filepath.Join(d.Path, KeyFile)))
	_, err := d.Open(t.Context(), store.Options{})
	require.ErrorContains(t, err, "is missing, and only that key opens the secrets in the database")
	require.NoFileExists(t, filepath.Join(d.Path, KeyFile))
}

// A copy onto a full disk leaves a file without content. It is no new installation, whose people would have to begin
// again.
func TestAnEmptyDatabaseIsRefused(t *testing.T) {
	t.Parallel()
	d := household(t, 1)
	path, key := filepath.Join(d.Path, db.FileName), d.read(t, KeyFile)
	require.NoError(t, os.Truncate(path, 0))
	withSetting := d
	withSetting.SecretKey = resilience.Secret(key)
	want := "the database " + path + " is empty, as a copy onto a full disk is. Put back a backup, or delete the file"
	for _, d := range []Dir{d, withSetting} {
		_, err := d.Open(t.Context(), store.Options{})
		require.ErrorContains(t, err, want)
		_, err = d.Settings(t.Context())
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, d.RotateKey(t.Context(), io.Discard), want)
		require.ErrorContains(t, d.Backup(t.Context(), filepath.Join(d.Path, "copy"), io.Discard), want)
	}
	require.Empty(t, d.read(t, db.FileName))
	require.Equal(t, key, d.read(t, KeyFile))
	require.NoError(t, os.Remove(path))
	requireCredentials(t, d, 0)
}
