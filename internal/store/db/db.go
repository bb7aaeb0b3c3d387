// Package db opens the database: it makes and upgrades the schema, seals secrets before they reach the disk, and copies
// the database. What the rows mean is said by the packages beside it, one for each subject.
//
// The engine is SQLite or Postgres, with one connection that writes and several that read. Every query is the same on
// both; what differs stands here. An error of the database is a *resilience.LocalError whose sentence says what to do.
//
// A DB is safe for concurrent use.
package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
)

// DB is an open database.
type DB struct {
	engine
	Key   *Key
	files fs.FS // the migrations

	shared      bool   // see Options
	version     string // of this program
	checkBeside bool   // see Options
	unchecked   bool   // the key is not compared with that of the database, which is lost

	Writer *sql.DB // one connection: writes wait for it in Go, in a fair order
	Reader *sql.DB
	people *sql.DB      // see WriteFor; nil for the Writer
	ids    *sql.DB      // see NextIDs; with people
	proven atomic.Int64 // when Ping wrote last, in milliseconds

	check   *soundness // nil before it has begun
	uncheck func()     // ends it
}

// Options say how a database is opened. Zero values mean the defaults.
type Options struct {
	Version string // of this program; a database names the one that upgraded it. Empty: it names none
	// CheckBeside lets Open return before a large database is checked for damage; see Sound.
	CheckBeside bool
	// Shared lets several servers have a Postgres database open. Without, no other one has it open until Close.
	Shared bool
	// Server, with Shared, is the id of this one among them: lower case letters and digits.
	Server string
	// Lease, with Shared, is that under which this server leads. Its connections end when another server takes over.
	// Without one, Open changes nothing, and refuses a database of an older version. With or without, a newer one is
	// used as it is if this program can.
	Lease int64
}

// Follower reports whether another server leads.
func (o Options) Follower() bool { return o.Shared && o.Lease == 0 }

// Open opens a database, creates it if there is none, and brings it up to date (see Migrate). Every error is a
// sentence for the person who starts the server.
func Open(ctx context.Context, at Place, key *Key, opt Options) (*DB, error) {
	return OpenWith(ctx, at, key, opt, Steps())
}

// OpenWith is Open with other migrations than the program's.
func OpenWith(ctx context.Context, at Place, key *Key, opt Options, files fs.FS) (*DB, error) {
	e, err := at.engine()
	if err != nil {
		return nil, err
	}
	d := &DB{engine: e, Key: key, files: files, version: opt.Version, checkBeside: opt.CheckBeside, shared: opt.Shared}
	if err := d.open(ctx, opt); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *DB) open(ctx context.Context, opt Options) (err error) {
	d.Writer, d.Reader, err = d.connect(ctx, locking{alone: !opt.Shared, shared: opt.Shared, lease: opt.Lease})
	if err != nil {
		return err
	}
	d.people, d.ids = d.beside(locking{shared: opt.Shared, lease: opt.Lease})
	if opt.Follower() {
		return d.Fits(ctx)
	}
	if err := d.begin(ctx); err != nil {
		return err
	}
	return d.Blame(ctx, d.Migrate(ctx))
}

// OpenBeside opens a database that a server may be using, without a key. It does not change the schema, and refuses a
// database of another version.
func OpenBeside(ctx context.Context, at Place) (*DB, error) {
	e, err := at.engine()
	if err != nil {
		return nil, err
	}
	look, err := e.look(ctx, quick, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the database %s cannot be opened: %w", e, err)
	case !look.Sound:
		return nil, damaged(e)
	case look.Step != look.Newest:
		return nil, OtherVersion(e, look)
	}
	d := &DB{engine: e}
	if d.Writer, d.Reader, err = e.connect(ctx, locking{}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}
