// Package datadir manages the data directory: the lock that keeps a second server out, the secret key, opening the
// database with that key, backups, changing the key, and the room on the disk.
//
// Every error is a sentence that says what to do.
package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"

	"reprise/internal/resilience"
	"reprise/internal/store"
	"reprise/internal/store/db"
	"reprise/internal/store/servers"
)

// Dir is a data directory, with the settings that say where its database and its key are.
type Dir struct {
	Path        string
	SecretKey   resilience.Secret // replaces the key file in the directory, when set
	DatabaseURL resilience.Secret // postgres://…; replaces the database in the directory, when set
}

// Make creates the directory if it does not exist.
func (d Dir) Make() error {
	if err := os.MkdirAll(d.Path, 0o700); err != nil {
		return fmt.Errorf("the data directory %s can't be created: %w. Choose another with -data-dir", d.Path,
			plain(err))
	}
	return nil
}

// Place says where the database is.
func (d Dir) Place() db.Place {
	return db.Place{Dir: d.Path, URL: string(d.DatabaseURL)}
}

// Open opens the database with its key. It creates both for a new directory, completes a change of the key that was
// interrupted, and removes what it left behind. The caller holds the lock of the directory.
func (d Dir) Open(ctx context.Context, opt store.Options) (*store.Store, error) {
	key, err := d.Key(ctx)
	if err != nil {
		// The lost key may have been replaced a moment before the power was cut.
		if opened, finished, e := d.openRotated(ctx, opt); finished || e != nil {
			return opened, e
		}
		return nil, err
	}
	opened, err := store.Open(ctx, d.Place(), key, opt)
	if errors.Is(err, db.ErrWrongKey) {
		if opened, finished, err := d.openRotated(ctx, opt); finished || err != nil {
			if finished {
				d.sweep(key)
			}
			return opened, err
		}
		return nil, d.wrongKey(err)
	}
	if err == nil {
		d.sweep(key)
	}
	return opened, d.explain(err)
}

// Servers connects to the list of the servers that share the database. Wrong keys are refused in a sentence.
func (d Dir) Servers(ctx context.Context, key *db.Key) (*servers.Book, error) {
	all, err := servers.Open(ctx, d.Place(), key)
	if errors.Is(err, db.ErrWrongKey) {
		return nil, fmt.Errorf("%w. All servers of the database %s need the same secret_key; nothing was changed", err,
			d.Place())
	}
	return all, d.explain(err)
}

// Prepare makes the tables in an empty database that servers share, and refuses one of a newer version.
func (d Dir) Prepare(ctx context.Context, all *servers.Book, opt store.Options) error {
	empty, err := all.Empty(ctx)
	if err != nil {
		return d.explain(err)
	}
	if !empty {
		return db.RefuseNewer(ctx, d.Place())
	}
	made, err := d.Open(ctx, opt)
	if err != nil {
		return err
	}
	return made.Close()
}

// Settings returns the settings that administrators have changed, by path, without changing anything. A server may be
// running. Secrets that the key does not open are left out, and without a database there are none.
func (d Dir) Settings(ctx context.Context) (map[string]string, error) {
	there, err := db.Exists(ctx, d.Place())
	if err != nil || !there {
		return nil, err
	}
	key, err := d.Key(ctx) // which makes none beside a database
	if err != nil {
		return nil, err
	}
	look, err := db.LookAt(ctx, d.Place(), d.InUse(), key)
	return look.Settings, err
}

// openBeside opens a database that exists, without its key, for a short write beside a running server.
func (d Dir) openBeside(ctx context.Context) (*store.Store, error) {
	if err := d.requireDatabase(ctx); err != nil {
		return nil, err
	}
	db, err := store.OpenBeside(ctx, d.Place())
	return db, d.explain(err)
}

// explain turns trouble with the database into a sentence and returns every other error as it is.
func (d Dir) explain(err error) error {
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		return &explained{err, fmt.Sprintf("the database %s can't be used. %s", d.Place(), e.Problem)}
	}
	return err
}

// explained is an error in a sentence of its own. It keeps its cause, from which a caller sees what to do about it.
type explained struct {
	cause    error
	sentence string
}

func (e *explained) Error() string { return e.sentence }
func (e *explained) Unwrap() error { return e.cause }

// requireDatabase returns an error unless there is a database. It creates nothing.
func (d Dir) requireDatabase(ctx context.Context) error {
	there, err := db.Exists(ctx, d.Place())
	if err != nil {
		return d.explain(err)
	}
	if there {
		return nil
	}
	if d.DatabaseURL != "" {
		return fmt.Errorf("the database %s is empty. "+
			"Correct database_url, or start the server once", d.Place())
	}
	return fmt.Errorf("there is no database in %s. "+
		"Pass your server's data directory with -data-dir, or its settings with -config", d.Path)
}

// plain returns the cause in a file's error, for a sentence that names the file itself.
func plain(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}
