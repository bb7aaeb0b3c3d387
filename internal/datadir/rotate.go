package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"reprise/internal/store"
	"reprise/internal/store/db"
	"reprise/web"
)

// RotateKey seals every stored secret with a new key, and writes to out what to do with it. It takes three steps, and
// the power may be cut after each: it writes the new key beside the old one, seals all secrets with it in one
// transaction, and puts it in the old one's place. After the second step, Open completes the third; before it, nothing
// has changed.
func (d Dir) RotateKey(ctx context.Context, out io.Writer) error {
	if err := d.requireDatabase(ctx); err != nil {
		return err
	}
	unlock, err := d.Lock()
	if err != nil {
		return err
	}
	defer unlock()
	db, err := d.Open(ctx, store.Options{})
	if err != nil {
		return err
	}
	key, err := d.prepareKey()
	if err != nil {
		return errors.Join(err, db.Close())
	}
	sealed, err := db.Rotate(ctx, key)
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("seal the secrets with a new key: %w. Run it again, and it continues where it stopped", err)
	}
	fmt.Fprintf(out, "%s now sealed with a new key (%s).\n", web.Count(sealed, "secret is", "secrets are"), key.ID())
	if d.SecretKey != "" {
		fmt.Fprintf(out, "The key comes from the setting secret_key, which only you can change. "+
			"The new one is in\n\n  %s\n\n"+
			"Put it into the setting before you start the server, and then delete that file. Backups that were made\n"+
			"before need the old key: keep it as long as you keep them.\n", filepath.Join(d.Path, NextKeyFile))
		return nil
	}
	old, err := d.adoptKey()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "It is in %s. The old one is kept as %s, because backups that were made before need it;\n"+
		"delete it when you have none of them left. Make a new backup now.\n",
		filepath.Join(d.Path, KeyFile), filepath.Base(old))
	return nil
}

// prepareKey writes a new key beside the one in use.
func (d Dir) prepareKey() (*db.Key, error) {
	secret := db.NewSecret()
	if err := writeNew(filepath.Join(d.Path, NextKeyFile), secret+"\n"); err != nil {
		return nil, fmt.Errorf("the data directory %s can't be written to: %w. "+
			"Free up space or fix its permissions; nothing was changed", d.Path, plain(err))
	}
	return db.NewKey(secret)
}

// adoptKey puts the next key in the place of the one in use, which it keeps under another name. It returns that name,
// empty if there was none.
func (d Dir) adoptKey() (old string, err error) {
	path := filepath.Join(d.Path, KeyFile)
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the secret key %s can't be read: %w", path, plain(err))
	}
	if key, keyErr := db.NewKey(string(b)); err == nil && keyErr == nil { // not empty or cut off
		old = filepath.Join(d.Path, oldKeyFile+key.ID())
		if err := writeNew(old, string(b)); err != nil {
			return "", fmt.Errorf("keep the old secret key: %w", err)
		}
	}
	if err := os.Rename(filepath.Join(d.Path, NextKeyFile), path); err != nil {
		return "", fmt.Errorf("put the new secret key in its place: %w", err)
	}
	return old, db.SyncDir(d.Path)
}

// sweep removes what killed processes have left behind: half written files, backups and copies, a half restored copy,
// and a next key that seals nothing, because the database has just been opened with the one in use. When the key comes
// from the settings, a backup may have been made with the next one, so it is kept as an old one. What cannot be removed
// waits for the next start.
func (d Dir) sweep(used *db.Key) {
	d.removeParts(d.Path, used)
	files, _ := os.ReadDir(d.Path)
	for _, f := range files {
		if strings.HasPrefix(f.Name(), newFile) {
			_ = os.Remove(filepath.Join(d.Path, f.Name()))
		}
	}
	_ = os.RemoveAll(filepath.Join(d.Path, store.Restoring))
	next := filepath.Join(d.Path, NextKeyFile)
	if d.SecretKey == "" {
		_ = os.Remove(next)
		return
	}
	if key, err := d.NextKey(); err == nil && key.ID() != used.ID() {
		_ = os.Rename(next, filepath.Join(d.Path, oldKeyFile+key.ID()))
	}
}
