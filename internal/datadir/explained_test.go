package datadir

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/childtest"
	"reprise/internal/resilience"
	"reprise/internal/store"
	"reprise/internal/store/db"
)

// Who waits for a database server that is away needs the sentence for the log, and the error's type to know that it is
// worth trying again soon.
func TestSentencesKeepTheTypeOfTheTrouble(t *testing.T) {
	t.Parallel()
	secret := db.NewSecret()
	key, err := db.NewKey(secret)
	require.NoError(t, err)
	nobody := childtest.Address(t)
	away := "postgres://reprise:secret@" + nobody + "/reprise"
	d := Dir{Path: t.TempDir(), SecretKey: resilience.Secret(secret), DatabaseURL: resilience.Secret(away)}
	keyless := Dir{Path: t.TempDir(), DatabaseURL: resilience.Secret(away)}
	ctx := t.Context()
	for name, use := range map[string]func() error{
		"start":         func() error { _, err := d.Open(ctx, store.Options{}); return err },
		"make a key":    func() error { _, err := keyless.Open(ctx, store.Options{}); return err },
		"join others":   func() error { _, err := d.Servers(ctx, key); return err },
		"backup":        func() error { return d.Backup(ctx, filepath.Join(d.Path, "copy"), io.Discard) },
		"recount":       func() error { return d.Recount(ctx, io.Discard) },
		"rotate-key":    func() error { return d.RotateKey(ctx, io.Discard) },
		"copy-database": func() error { return d.CopyDatabase(ctx, away, t.TempDir(), nil, io.Discard) },
	} {
		err := use()
		require.ErrorContains(t, err, "The database server can't be reached. Check that it's running", name)
		require.ErrorContains(t, err, "reprise at "+nobody, name)
		_, ok := errors.AsType[*resilience.LocalError](err)
		require.True(t, ok, "%s: %v", name, err)
	}
}
