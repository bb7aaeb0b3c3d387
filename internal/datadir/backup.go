package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"reprise/internal/store"
	"reprise/internal/store/db"
	"reprise/web"
)

// Backup copies the database to file, also while a server runs, and writes to out what to do with the copy.
func (d Dir) Backup(ctx context.Context, file string, out io.Writer) error {
	if err := d.requireDatabase(ctx); err != nil {
		return err
	}
	copied, kept, err := d.copyTo(ctx, file)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s holds %s (%s). Reprise has read it through; it's intact.\n",
		file, web.Count(int(copied.Listens), "listen", "listens"), Size(copied.Bytes))
	fmt.Fprintf(out, "Keep %s as well, in another place than the copy: "+
		"without it nobody can open the credentials in the copy,\n"+
		"and everybody would have to connect their services again.\n"+
		"To go back to it, stop the server and run server restore.\n", kept)
	return nil
}

// Copy is Backup without the words.
func (d Dir) Copy(ctx context.Context, file string) (db.Copied, error) {
	copied, _, err := d.copyTo(ctx, file)
	return copied, err
}

// copyTo copies the database to file, and returns where the key is that opens the copy.
func (d Dir) copyTo(ctx context.Context, file string) (copied db.Copied, kept string, err error) {
	key, err := d.Key(ctx)
	if err != nil {
		return copied, "", err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return copied, "", fmt.Errorf("find %s: %w", file, err)
	}
	d.removeParts(filepath.Dir(path), key)
	done := d.lockBackups()
	defer done()
	if kept = d.KeptKey(); d.SecretKey != "" {
		kept = "the setting " + kept
	}
	copied, err = db.Backup(ctx, d.Place(), path, key)
	// A change of the key that was interrupted may have sealed everything with the next one.
	if next, nextErr := d.NextKey(); errors.Is(err, db.ErrWrongKey) && nextErr == nil {
		kept = filepath.Join(d.Path, NextKeyFile)
		copied, err = db.Backup(ctx, d.Place(), path, next)
	}
	if errors.Is(err, db.ErrWrongKey) {
		return copied, "", d.wrongKey(err)
	}
	return copied, kept, d.explain(err)
}

// DatabaseSize returns the size in bytes of a database in the directory, and so of a copy at most.
func (d Dir) DatabaseSize() (bytes int64, err error) {
	for _, end := range []string{"", "-wal"} {
		info, err := os.Stat(filepath.Join(d.Path, db.FileName+end))
		if err == nil {
			bytes += info.Size()
		} else if !errors.Is(err, os.ErrNotExist) || end == "" {
			return 0, err
		}
	}
	return bytes, nil
}

// trial is the folder in the data directory in which Try puts a copy back.
const trial = "trial"

// Try puts a copy back as Restore does, in a folder of its own that it removes again, and returns how many listens are
// there then. Nothing else changes, and a server may run.
func (d Dir) Try(ctx context.Context, file string) (listens int64, err error) {
	key, err := d.Key(ctx)
	if err != nil {
		return 0, err
	}
	folder := filepath.Join(d.Path, trial)
	if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	restored, err := store.Restore(ctx, file, folder, key)
	if err != nil {
		return 0, err
	}
	look, err := db.LookAtCopy(ctx, filepath.Join(folder, db.FileName), key)
	if err == nil && (!look.Sound || !look.Opens || look.Listens != restored.Listens) {
		err = fmt.Errorf("of %d listens in the copy, %d are there after a restore", restored.Listens, look.Listens)
	}
	return look.Listens, err
}

// removeParts removes from a folder what killed backups have left there, unless one is under way.
func (d Dir) removeParts(dir string, key *db.Key) {
	if unlock, ok := d.lockNoBackups(); ok {
		db.RemoveParts(dir, key)
		unlock()
	}
}

// Size formats a number of bytes for people.
func Size(bytes int64) string {
	const mib = 1 << 20
	switch {
	case bytes < mib:
		return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
	case bytes >= mib<<10:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(mib<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/mib)
}
