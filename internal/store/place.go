package store

import (
	"context"
	"database/sql"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
)

// Place says where a database is: the file FileName in a data directory, or a database of a Postgres server.
type Place struct {
	Dir string
	URL string // postgres://…; empty for the file
}

// engine is what differs between the databases. Every query is the same.
type engine interface {
	// String names the database in a sentence, without a secret.
	String() string
	// exists says whether something is kept there already; it makes nothing.
	exists(context.Context) (bool, error)
	// connect makes the pools of connections. The writer is one connection, so that what runs in its transactions
	// runs one after the other, and the reader cannot write. alone makes sure that no other server has the
	// database; where that is done by a file of the data directory, there is nothing to do here.
	connect(ctx context.Context, alone bool) (writer, reader *sql.DB, err error)
	// intact finds damage.
	intact(context.Context, *sql.DB) error
	// look reads what Look tells, and changes nothing.
	look(context.Context, looking, *Key) (Look, error)
	// dialect and steps are the migrations, as the engine understands them.
	dialect() goose.Dialect
	steps(fs.FS) (fs.FS, error)
	// keep keeps a copy of what was there before an upgrade from this step.
	keep(ctx context.Context, writer *sql.DB, step int64) error
	// driver returns River's driver for the database.
	driver(*sql.DB) riverdriver.Driver[*sql.Tx]
	// shred lets nothing linger that is overwritten from now on.
	shred(context.Context, *sql.DB) error
}

func (p Place) engine() (engine, error) {
	if p.URL == "" {
		return newSQLite(p.Dir), nil
	}
	return newPostgres(p.URL)
}

// String names the database, without a secret.
func (p Place) String() string {
	e, err := p.engine()
	if err != nil {
		return "in database_url"
	}
	return e.String()
}

// Exists says whether there is a database. It makes none.
func Exists(ctx context.Context, p Place) (bool, error) {
	e, err := p.engine()
	if err != nil {
		return false, err
	}
	return e.exists(ctx)
}
