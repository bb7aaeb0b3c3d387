package datadir

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/accounts"
	"reprise/internal/resilience"
	"reprise/internal/store"
	"reprise/internal/store/db"
)

func yes() (bool, error) { return true, nil }

// requireForgotten opens the database and requires its connections, without credentials.
func requireForgotten(t *testing.T, d Dir, people int) {
	t.Helper()
	db, err := d.Open(t.Context(), store.Options{})
	require.NoError(t, err)
	defer db.Close()
	all, err := db.Connections(t.Context())
	require.NoError(t, err)
	require.Len(t, all, people)
	for _, c := range all {
		require.Empty(t, c.Credentials)
	}
}

func TestALostKeyIsReplaced(t *testing.T) {
	t.Parallel()
	another := db.NewSecret()
	for name, lose := range map[string]func(*Dir) error{
		"missing": func(d *Dir) error { return os.Remove(filepath.Join(d.Path, KeyFile)) },
		"cut off": func(d *Dir) error { return os.WriteFile(filepath.Join(d.Path, KeyFile), []byte("ab"), 0o600) },
		"another": func(d *Dir) error {
			return os.WriteFile(filepath.Join(d.Path, KeyFile), []byte(another), 0o600)
		},
		"another setting": func(d *Dir) error { d.SecretKey = resilience.Secret(another); return nil },
	} {
		d := household(t, 3)
		s, err := d.Open(t.Context(), store.Options{})
		require.NoError(t, err)
		u, err := s.UserByName(t.Context(), "Person 0")
		require.NoError(t, err)
		_, err = s.AddFactor(t.Context(), accounts.Factor{User: u.ID, Kind: accounts.Passkey, Credential: "abc",
			Confirmed: true})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, lose(&d))
		_, err = d.Open(t.Context(), store.Options{})
		require.ErrorContains(t, err, "server forget-secrets", name)

		var said bytes.Buffer
		err = d.ForgetSecrets(t.Context(), func() (bool, error) { return false, nil }, &said)
		require.EqualError(t, err, "nothing was changed")
		require.Contains(t, said.String(), "There are 0 second steps and 1 passkey.")
		_, err = d.Open(t.Context(), store.Options{})
		require.ErrorContains(t, err, "server forget-secrets", name)

		require.NoError(t, d.ForgetSecrets(t.Context(), yes, &said), name)
		require.Contains(t, said.String(), "3 connections")
		require.Contains(t, said.String(), "0 second steps and 1 passkey are gone")
		copies, err := filepath.Glob(filepath.Join(d.Path, db.FileName+".*.bak"))
		require.NoError(t, err)
		require.Len(t, copies, 1, "what was there before")
		requireForgotten(t, d, 3)
		require.NoFileExists(t, filepath.Join(d.Path, NextKeyFile))
		err = d.ForgetSecrets(t.Context(), yes, &said)
		require.ErrorContains(t, err, "there's nothing to forget", "the key opens all that is left")
	}
}

// The power may be cut after each step.
func TestAnInterruptedForgettingIsCompleted(t *testing.T) {
	t.Parallel()
	steps := []string{"the new key is there", "all is forgotten"}
	for done := range steps {
		for _, lost := range []string{"missing", "another"} {
			d := household(t, 2)
			require.NoError(t, os.Remove(filepath.Join(d.Path, KeyFile)))
			if lost == "another" {
				require.NoError(t, os.WriteFile(filepath.Join(d.Path, KeyFile), []byte(db.NewSecret()), 0o600))
			}
			key, err := d.prepareKey()
			require.NoError(t, err)
			if done > 0 {
				_, err := store.ForgetSecrets(context.Background(), d.Place(), key, "")
				require.NoError(t, err)
			} else {
				require.NoError(t, d.ForgetSecrets(t.Context(), yes, &bytes.Buffer{}), steps[done])
			}
			requireForgotten(t, d, 2)
			requireForgotten(t, d, 2)
		}
	}
}

func TestAKeyThatOpensIsNotForgotten(t *testing.T) {
	t.Parallel()
	d := household(t, 1)
	require.ErrorContains(t, d.ForgetSecrets(t.Context(), yes, &bytes.Buffer{}), "there's nothing to forget")
	requireCredentials(t, d, 1)
	require.ErrorContains(t, Dir{Path: t.TempDir()}.ForgetSecrets(t.Context(), yes, &bytes.Buffer{}),
		"there is no database")
}
