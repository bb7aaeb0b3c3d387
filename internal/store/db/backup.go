package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Copied describes a verified copy of the database.
type Copied struct {
	Listens int64
	Bytes   int64
}

// Backup writes a consistent copy of the database to file. A server may use the database meanwhile: the copy is one
// read transaction, and no writer waits for it. The copy gets its name after it has been verified, so a file of that
// name is complete, sound, and opened by key. Backup does not replace an existing file, and refuses a Postgres
// database.
func Backup(ctx context.Context, at Place, file string, key *Key) (Copied, error) {
	if at.URL != "" {
		return Copied{}, fmt.Errorf("the database %s is kept by Postgres. Copy it with its own tools: pg_dump "+
			"--format=custom --file=%s, with the address that database_url has", at, file)
	}
	switch info, err := os.Stat(file); {
	case err == nil && info.IsDir():
		return Copied{}, fmt.Errorf("%s is a folder. Name a file in it that does not exist yet", file)
	case err == nil:
		return Copied{}, existsAlready(file)
	case !errors.Is(err, fs.ErrNotExist):
		return Copied{}, fmt.Errorf("the copy cannot be written: %w", err)
	}
	part := file + PartOf(key)
	if err := Remove(part); err != nil {
		return Copied{}, fmt.Errorf("the copy cannot be written: %w", err)
	}
	if err := private(part); err != nil {
		return Copied{}, fmt.Errorf("the copy cannot be written: %w", err)
	}
	copied, err := copyAndVerify(ctx, filepath.Join(at.Dir, FileName), part, key)
	if err == nil {
		err = publish(part, file)
	}
	if err != nil {
		return Copied{}, errors.Join(err, Remove(part))
	}
	return copied, nil
}

// PartOf ends the name of a copy that is still being written. Installations that copy to the same folder have other
// keys.
func PartOf(key *Key) string { return "." + key.ID() + partial }

// RemoveParts removes the files in a folder that a killed process has not finished: backups whose secrets the key
// opens, and what begins with FileName. No backup may be under way. What cannot be removed stays.
func RemoveParts(dir string, key *Key) {
	files, _ := os.ReadDir(dir) // a folder that cannot be read has nothing that could be removed
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), "-journal")
		if f.Type().IsRegular() && (strings.HasSuffix(name, PartOf(key)) ||
			strings.HasPrefix(name, FileName+".") && strings.HasSuffix(name, partial)) {
			_ = os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

func existsAlready(file string) error {
	return fmt.Errorf("%s exists already, and nothing was written over it. Name a file that does not exist yet", file)
}

// Remove removes a file. It is no error if there is none.
func Remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err // nil if it was there
	}
	return nil
}

func copyAndVerify(ctx context.Context, from, to string, key *Key) (Copied, error) {
	db, err := sql.Open("sqlite", address(from)+"?mode=rw&_pragma=busy_timeout(5000)")
	if err != nil {
		return Copied{}, fmt.Errorf("open database: %w", err)
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO $1", to)
	if err := errors.Join(err, db.Close()); err != nil {
		return Copied{}, fmt.Errorf("copy the database: %w", Explain(err))
	}
	if err := MarkCopy(ctx, to); err != nil {
		return Copied{}, fmt.Errorf("copy the database: %w", err)
	}
	look, err := lookAtFile(ctx, address(to)+"?mode=ro&immutable=1", "PRAGMA integrity_check(1)", key)
	switch {
	case err != nil:
		return Copied{}, fmt.Errorf("look through the copy: %w", err)
	case !look.Sound:
		return Copied{}, errors.New("the copy is damaged, so the database or the disk is. Look at both before " +
			"anything else; server -check says more")
	case !look.Opens:
		return Copied{}, ErrWrongKey
	}
	info, err := os.Stat(to)
	if err != nil {
		return Copied{}, err
	}
	return Copied{Listens: look.Listens, Bytes: info.Size()}, nil
}

// publish syncs a finished file to the disk and gives it its name.
func publish(part, file string) error {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("the copy cannot be written: %w", err)
	}
	err = os.Link(part, file) // never replaces a file
	switch {
	case err == nil:
		err = os.Remove(part)
	case errors.Is(err, fs.ErrExist):
		return existsAlready(file)
	default: // the file system has no links, as on many USB sticks
		err = os.Rename(part, file)
	}
	return errors.Join(err, SyncDir(filepath.Dir(file)))
}

// SyncDir syncs the names in a directory to the disk, if the file system can do that.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // some file systems cannot
	return d.Close()
}

// CopyFact is the name of the fact that a database is a copy which no server has opened yet.
const CopyFact = "copied"

// RestoredFact is the name of the fact when a copy was opened last, in milliseconds.
const RestoredFact = "restored_at"

// MarkCopy marks a database in a file as a copy.
func MarkCopy(ctx context.Context, file string) error {
	db, err := sql.Open("sqlite", address(file)+"?mode=rw")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO facts (name, value) VALUES ($1, '') ON CONFLICT (name) DO NOTHING",
		CopyFact)
	return errors.Join(Explain(err), db.Close())
}

// LookAtCopy looks at a copy in a file, which nobody uses, and checks all of it.
func LookAtCopy(ctx context.Context, file string, key *Key) (Look, error) {
	return lookAtFile(ctx, address(file)+"?mode=ro&immutable=1", "PRAGMA integrity_check(1)", key)
}
