package db

import (
	"context"
	"database/sql"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"

	"reprise/internal/search"
	"reprise/internal/store/traffic"
	"reprise/internal/tables"
)

// Place is where a database is: the file FileName in a data directory, or on a Postgres server.
type Place struct {
	Dir string
	URL string // postgres://…; empty for the file
}

// engine is the part that differs between SQLite and Postgres. Every query is the same.
type engine interface {
	// String names the database in a sentence, without a secret.
	String() string
	// counts returns what the pools count.
	counts() *traffic.Traffic
	// exists reports whether the database exists. It creates nothing.
	exists(context.Context) (bool, error)
	// connect opens the two pools. The writer has one connection, so that its transactions run one after the other.
	// The reader cannot write. For SQLite, the data directory's lock keeps other servers out.
	connect(context.Context, locking) (writer, reader *sql.DB, err error)
	// beside opens two further pools: for transactions that write what belongs to one person, and for the ids that
	// they give. They are nil where the writer is for that.
	beside(locking) (people, ids *sql.DB)
	// serial reports whether no other process writes: the writer's one connection is enough to have one transaction at
	// a time.
	serial() bool
	// intact returns an error if the database is damaged.
	Intact(context.Context, *sql.DB) error
	// look returns a Look at the database, and changes nothing.
	look(context.Context, looking, *Key) (Look, error)
	// dialect and steps return what goose needs to migrate the database.
	dialect() goose.Dialect
	steps(fs.FS) (fs.FS, error)
	// has reports whether the database has a table.
	has(ctx context.Context, db *sql.DB, table string) (bool, error)
	// keep makes a copy of the database before an upgrade from this step.
	keep(ctx context.Context, writer *sql.DB, step int64) error
	// AddTexts stores texts, and texts returns the numbers of those that fit one of the queries in some fields.
	AddTexts(context.Context, *sql.Tx, []Text) error
	Texts(context.Context, Querier, Fields, []search.Query) ([]int64, error)
	// driver returns River's driver for the database.
	Driver(*sql.DB) riverdriver.Driver[*sql.Tx]
	// rows returns what reads and writes rows of any table.
	Rows() tables.Dialect
	// shred makes the engine erase everything that is overwritten afterwards.
	Shred(context.Context, *sql.DB) error
}

// locking says how connect keeps out other servers.
type locking struct {
	alone  bool  // no other server may have the database open
	shared bool  // others may, unless they want to be alone
	lease  int64 // see Options.Lease
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

// Exists reports whether there is a database. It creates none.
func Exists(ctx context.Context, p Place) (bool, error) {
	e, err := p.engine()
	if err != nil {
		return false, err
	}
	return e.exists(ctx)
}
