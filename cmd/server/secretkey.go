package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"reprise/internal/config"
	"reprise/internal/resilience"
	"reprise/internal/store"
)

// The files of the secret key in the data directory. The next one is there while the key is changed; see rotate.
const (
	keyFile     = "secret.key"
	nextKeyFile = "secret.key.new"
	oldKeyFile  = "secret.key.old-" // and the id of the key
)

// openStore opens the database with its key. Every error is a sentence that says what to do. A change of the key that
// broke off before it was finished is finished.
func openStore(ctx context.Context, c config.Config) (*store.Store, error) {
	secret, err := secretKey(ctx, c)
	if err != nil {
		return nil, err
	}
	key, err := store.NewKey(secret)
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, place(c), key)
	if errors.Is(err, store.ErrWrongKey) {
		if db, finished, err := openRotated(ctx, c); finished || err != nil {
			return db, err
		}
		return nil, wrongKey(c, err)
	}
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return nil, fmt.Errorf("the database %s cannot be opened. %s", place(c), e.Problem)
	}
	return db, err
}

// place is where the database is.
func place(c config.Config) store.Place {
	return store.Place{Dir: c.DataDir, URL: string(c.DatabaseURL)}
}

func wrongKey(c config.Config, err error) error {
	return fmt.Errorf("%w. Put back the secret.key that belongs to %s, or set secret_key to it; nothing was changed", err, place(c))
}

// openRotated opens the database with the next key, when it has been sealed with that one already, and makes it the key.
// Where the key comes from the settings only a person can do that.
func openRotated(ctx context.Context, c config.Config) (db *store.Store, finished bool, err error) {
	path := filepath.Join(c.DataDir, nextKeyFile)
	key, err := readKey(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	db, err = store.Open(ctx, place(c), key)
	if errors.Is(err, store.ErrWrongKey) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	if c.SecretKey != "" {
		return nil, false, errors.Join(fmt.Errorf("the secrets in %s have been sealed with a new key, and the setting secret_key is still the old one. "+
			"The new one is in %s: put it into the setting, and delete that file", c.DataDir, path), db.Close())
	}
	if _, err := adoptKey(c.DataDir); err != nil {
		return nil, false, errors.Join(err, db.Close())
	}
	return db, true, nil
}

// secretKey returns the key that seals stored secrets: from the settings, else from the data directory, where one is
// made for a new database. It never makes one beside a database that exists.
func secretKey(ctx context.Context, c config.Config) (string, error) {
	if c.SecretKey != "" {
		return string(c.SecretKey), nil
	}
	path := filepath.Join(c.DataDir, keyFile)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("the secret key %s cannot be read: %w. Make it readable for the user that runs the server", path, plain(err))
	}
	missing := err != nil
	if _, err := store.NewKey(string(b)); err == nil {
		return string(b), nil
	}
	there, err := store.Exists(ctx, place(c))
	switch {
	case err != nil:
		return "", sayLocal(c, err)
	case missing && there:
		return "", fmt.Errorf("%s is missing, but there is the database %s, whose secrets only that key opens. Put the file back, or set secret_key; nothing was changed", path, place(c))
	case there:
		return "", fmt.Errorf("%s is there, but is empty or cut off. Put back the one that belongs to the database %s, or set secret_key to it; nothing was changed", path, place(c))
	case !missing:
		return "", fmt.Errorf("%s is there, but is empty or cut off. Delete it, and a new one is made", path)
	}
	secret := store.NewSecret()
	if err := writeNew(path, secret+"\n"); err != nil {
		return "", fmt.Errorf("the data directory %s cannot be written: %w. Make room or fix its permissions, or choose another with -data-dir", c.DataDir, plain(err))
	}
	return secret, nil
}

// readKey reads a file with a secret key. The error is os.ErrNotExist's when there is none.
func readKey(path string) (*store.Key, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the secret key %s cannot be read: %w", path, plain(err))
	}
	key, err := store.NewKey(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s holds no secret key: %w", path, err)
	}
	return key, nil
}

// writeNew writes a private file so that it is there whole or not at all, and stays there when the power is cut.
func writeNew(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return store.SyncDir(filepath.Dir(path))
}

// existingDatabase makes sure that a command has something to work on; it makes nothing.
func existingDatabase(ctx context.Context, c config.Config) error {
	there, err := store.Exists(ctx, place(c))
	if err != nil {
		return sayLocal(c, err)
	}
	if there {
		return nil
	}
	if c.DatabaseURL != "" {
		return fmt.Errorf("there is nothing of Reprise in the database %s. Correct database_url, or start the server once", place(c))
	}
	return fmt.Errorf("there is no database in %s. Name the data directory of your server with -data-dir, or give the server's settings with -config", c.DataDir)
}
