package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Take locks a database as it is, to copy it or to mend it: it may be damaged, empty, or of another version. sealed
// says whether Migrate refuses it when the key does not open its secrets.
func Take(ctx context.Context, at Place, key *Key, sealed bool) (*DB, error) {
	e, err := at.engine()
	if err != nil {
		return nil, err
	}
	d := &DB{engine: e, Key: key, files: Steps(), unchecked: !sealed}
	if d.Writer, d.Reader, err = d.connect(ctx, locking{alone: true}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Fits returns an error if the database is not of this program's version, or an unfinished copy, and ErrWrongKey if the
// key does not open its secrets. With Options.Shared it may be of a newer version that this program can use.
func (d *DB) Fits(ctx context.Context) error {
	fits, err := opens(ctx, d.Reader, d.Key)
	if err != nil {
		return NameUnfinished(d, err)
	}
	if !fits {
		return ErrWrongKey
	}
	var l Look
	if err := l.readStep(ctx, d.Reader, d.files); err != nil {
		return err
	}
	switch {
	case l.Step == l.Newest || d.shared && l.Usable():
		return nil
	case !d.shared:
		return OtherVersion(d, l)
	case l.Step > l.Newest:
		return newer(d, l)
	}
	return fmt.Errorf("the database %s is of an earlier version of Reprise (step %d, this one knows %d). A server of "+
		"this version brings it up to date when it leads: stop the earlier ones, one by one", d, l.Step, l.Newest)
}

// MakeUnfinished makes the tables in an empty database, and marks it as an unfinished copy of another one.
func (d *DB) MakeUnfinished(ctx context.Context, of string) error {
	p, err := d.provider()
	if err != nil {
		return fmt.Errorf("make the database: %w", err)
	}
	if _, err := p.UpTo(ctx, 1); err != nil { // which makes facts
		return fmt.Errorf("make the database: %w", Explain(err))
	}
	err = d.Exec(ctx, "INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", Unfinished, of)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("make the database: %w", Explain(err))
	}
	return nil
}

// DropUnfinished removes an unfinished copy. The mark stays until nothing else is left. In Postgres, what a copy fills
// is emptied when it is filled.
func (d *DB) DropUnfinished(ctx context.Context) (err error) {
	f, ok := d.engine.(SQLiteFile)
	if !ok {
		return d.Exec(ctx, "TRUNCATE search_texts, search_words, sequences")
	}
	if err := d.Close(); err != nil {
		return Explain(err)
	}
	for _, end := range []string{"", "-wal", "-shm"} { // SQLite ignores the others without the first
		if err := os.Remove(f.Path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the unfinished copy: %w", err)
		}
	}
	d.Writer, d.Reader, err = d.connect(ctx, locking{alone: true})
	return err
}
