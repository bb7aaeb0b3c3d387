package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"reprise/internal/config"
	"reprise/internal/store"
)

// runRotateKey seals every stored secret with a new key, in three steps of which each may be the last before a power cut:
// the new key is put beside the old one; all secrets are sealed with it in one transaction; it takes the old one's place.
// Whatever opens the database next does the last step, if that is what is missing; before the second, nothing has
// happened.
func runRotateKey(ctx context.Context, c config.Config, stdout io.Writer) error {
	if err := existingDatabase(ctx, c); err != nil {
		return err
	}
	unlock, err := lock(c.DataDir)
	if err != nil {
		return err
	}
	defer unlock()
	db, err := openStore(ctx, c)
	if err != nil {
		return err
	}
	key, err := prepareKey(c.DataDir)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	sealed, err := db.Rotate(ctx, key)
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("seal the secrets with a new key: %w. Run it again: it goes on where it was", err)
	}
	fmt.Fprintf(stdout, "%s now sealed with a new key (%s).\n", counted(int64(sealed), "secret is", "secrets are"), key.ID())
	if c.SecretKey != "" {
		fmt.Fprintf(stdout, "The key comes from the setting secret_key, which only you can change. The new one is in\n\n  %s\n\n"+
			"Put it into the setting before you start the server, and then delete that file. Backups that were made\nbefore need the old key: keep it as long as you keep them.\n", filepath.Join(c.DataDir, nextKeyFile))
		return nil
	}
	old, err := adoptKey(c.DataDir)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "It is in %s. The old one is kept as %s, because backups that were made before need it;\ndelete it when you have none of them left. Make a new backup now.\n",
		filepath.Join(c.DataDir, keyFile), filepath.Base(old))
	return nil
}

// prepareKey puts a new key beside the one that counts.
func prepareKey(dir string) (*store.Key, error) {
	secret := store.NewSecret()
	if err := writeNew(filepath.Join(dir, nextKeyFile), secret+"\n"); err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written: %w. Make room or fix its permissions; nothing was changed", dir, plain(err))
	}
	return store.NewKey(secret)
}

// adoptKey lets the next key take the place of the one that counted, which is kept under another name. It returns that
// name; empty when there was none.
func adoptKey(dir string) (old string, err error) {
	path := filepath.Join(dir, keyFile)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the secret key %s cannot be read: %w", path, plain(err))
	}
	if err == nil {
		key, err := store.NewKey(string(b))
		if err != nil {
			return "", fmt.Errorf("%s holds no secret key: %w", path, err)
		}
		old = filepath.Join(dir, oldKeyFile+key.ID())
		if err := writeNew(old, string(b)); err != nil {
			return "", fmt.Errorf("keep the old secret key: %w", err)
		}
	}
	if err := os.Rename(filepath.Join(dir, nextKeyFile), path); err != nil {
		return "", fmt.Errorf("put the new secret key in its place: %w", err)
	}
	return old, store.SyncDir(dir)
}
