package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"reprise/internal/store"
	"reprise/internal/store/db"
)

// The files of the secret key in the data directory. The next one exists only while the key is being changed; see
// RotateKey.
const (
	KeyFile     = "secret.key"
	NextKeyFile = "secret.key.new"
	oldKeyFile  = "secret.key.old-" // followed by the id of the key
	newFile     = ".new-"           // begins the name of a file that is still being written
	lockFile    = "lock"
)

// KeptKey returns where the secret key is: its file, or the name of the setting that has it.
func (d Dir) KeptKey() string {
	if d.SecretKey != "" {
		return "secret_key"
	}
	return filepath.Join(d.Path, KeyFile)
}

// Key returns the key that seals stored secrets: from the settings, else from the directory. It makes one for a new
// database, and never beside a database that exists.
func (d Dir) Key(ctx context.Context) (*db.Key, error) {
	if d.SecretKey != "" {
		return d.keySet()
	}
	path := filepath.Join(d.Path, KeyFile)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the secret key %s can't be read: %w. "+
			"Make it readable for the user that runs the server", path, plain(err))
	}
	missing := err != nil
	if key, err := db.NewKey(string(b)); err == nil {
		return key, nil
	}
	there, err := db.Exists(ctx, d.Place())
	switch {
	case err != nil:
		return nil, d.explain(err)
	case missing && there:
		return nil, fmt.Errorf("%s is missing, and only that key opens the secrets in the database %s. "+
			"Restore the file, or set secret_key; nothing was changed. "+ifLost, path, d.Place())
	case there:
		return nil, fmt.Errorf("%s is empty, incomplete or no key that Reprise made. "+
			"Restore the one that belongs to the database %s, or set secret_key to it; nothing was changed. "+ifLost,
			path, d.Place())
	case !missing:
		return nil, fmt.Errorf("%s is empty, incomplete or no key that Reprise made. "+
			"Delete it, and Reprise creates a new one", path)
	}
	secret := db.NewSecret()
	if err := writeNew(path, secret+"\n"); err != nil {
		return nil, fmt.Errorf("the data directory %s can't be written to: %w. "+
			"Free up space or fix its permissions, or choose another with -data-dir", d.Path, plain(err))
	}
	return db.NewKey(secret)
}

// keySet returns the key of the settings.
func (d Dir) keySet() (*db.Key, error) {
	key, err := db.NewKey(string(d.SecretKey))
	if err != nil {
		return nil, fmt.Errorf("the setting secret_key can't be used: %w. People can guess what people choose", err)
	}
	return key, nil
}

// NextKey returns the new key that an interrupted RotateKey left behind. The error wraps os.ErrNotExist when there is
// none.
func (d Dir) NextKey() (*db.Key, error) {
	path := filepath.Join(d.Path, NextKeyFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the secret key %s can't be read: %w", path, plain(err))
	}
	key, err := db.NewKey(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s holds no secret key: %w", path, err)
	}
	return key, nil
}

// openRotated opens the database with the next key, if its secrets are already sealed with that one, and makes it the
// key. When the key comes from the settings, only a person can do that.
func (d Dir) openRotated(ctx context.Context, opt store.Options) (opened *store.Store, finished bool, err error) {
	key, err := d.NextKey()
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	opened, err = store.Open(ctx, d.Place(), key, opt)
	if errors.Is(err, db.ErrWrongKey) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, d.explain(err)
	}
	if d.SecretKey != "" {
		return nil, false, errors.Join(fmt.Errorf("the secrets in %s already use a new key, "+
			"but the setting secret_key still has the old one. "+
			"Copy the key from %s into the setting, and delete that file",
			d.Path, filepath.Join(d.Path, NextKeyFile)), opened.Close())
	}
	if _, err := d.adoptKey(); err != nil {
		return nil, false, errors.Join(err, opened.Close())
	}
	return opened, true, nil
}

func (d Dir) wrongKey(err error) error {
	return fmt.Errorf("%w. Restore the secret.key that belongs to %s, or set secret_key to it; nothing was changed. "+
		ifLost, err, d.Place())
}

// writeNew writes a private file so that after a power cut it exists whole or not at all.
func writeNew(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), newFile+"*") // mode 0600
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
	return db.SyncDir(filepath.Dir(path))
}

// NewKey returns a new secret key, as the setting secret_key takes it.
func NewKey() string { return db.NewSecret() }
