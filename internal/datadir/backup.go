package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"reprise/internal/store/db"
	"reprise/web"
)

// Backup copies the database to file, also while a server runs, and writes to out what to do with the copy.
func (d Dir) Backup(ctx context.Context, file string, out io.Writer) error {
	if err := d.requireDatabase(ctx); err != nil {
		return err
	}
	key, err := d.Key(ctx)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("find %s: %w", file, err)
	}
	d.removeParts(filepath.Dir(path), key)
	done := d.lockBackups()
	defer done()
	kept := filepath.Join(d.Path, KeyFile)
	if d.SecretKey != "" {
		kept = "the setting secret_key"
	}
	copied, err := db.Backup(ctx, d.Place(), path, key)
	// A change of the key that was interrupted may have sealed everything with the next one.
	if next, nextErr := d.NextKey(); errors.Is(err, db.ErrWrongKey) && nextErr == nil {
		kept = filepath.Join(d.Path, NextKeyFile)
		copied, err = db.Backup(ctx, d.Place(), path, next)
	}
	if errors.Is(err, db.ErrWrongKey) {
		return d.wrongKey(err)
	}
	if err != nil {
		return d.explain(err)
	}
	fmt.Fprintf(out, "%s holds %s (%s). Reprise has read it through; it's intact.\n",
		file, web.Count(int(copied.Listens), "listen", "listens"), Size(copied.Bytes))
	fmt.Fprintf(out, "Keep %s as well, in another place than the copy: "+
		"without it nobody can open the credentials in the copy,\n"+
		"and everybody would have to connect their services again.\n"+
		"To go back to it, stop the server and run server restore.\n", kept)
	return nil
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
