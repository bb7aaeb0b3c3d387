package db

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Steps returns the migrations, a file for each.
func Steps() fs.FS {
	files, _ := fs.Sub(migrations, "migrations") // fails only for an invalid path
	return files
}

// stepTable is the table of the migrations that were applied.
const stepTable = "schema_version"

// worksWith is a line of a migration: the oldest step whose programs can use the database after it, beside those of
// its own. Without it, no older program can.
var worksWith = regexp.MustCompile(`(?m)^-- works with: (\d+)$`)

// stepsOf returns the newest step of migrations, and the oldest one whose programs can use a database that has them.
func stepsOf(files fs.FS) (oldest, newest int64, err error) {
	names, err := fs.Glob(files, "*.sql")
	for _, name := range names {
		text, e := fs.ReadFile(files, name)
		err = errors.Join(err, e)
		number, _, _ := strings.Cut(name, "_")
		step, e := strconv.ParseInt(number, 10, 64)
		err = errors.Join(err, e)
		with := step
		if line := worksWith.FindSubmatch(text); line != nil {
			with, e = strconv.ParseInt(string(line[1]), 10, 64)
			err = errors.Join(err, e)
		}
		oldest, newest = max(oldest, with), max(newest, step)
	}
	return oldest, newest, err
}

// Migrate brings the database up to date. Before it changes an existing database, the engine keeps a copy. It does not
// change a database of a newer version, nor one that was written with another key. With Options.Shared, a newer one is
// no error if this program can use it.
func (s *DB) Migrate(ctx context.Context) error {
	if err := s.refuseUnreleased(ctx); err != nil {
		return err
	}
	p, err := s.provider()
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	have, newest, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the database's version: %w", Explain(err))
	}
	if have > newest {
		return s.besideNewer(ctx)
	}
	if have == 0 {
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("make the database: %w", Explain(err))
		}
		if err := s.CheckKey(ctx); err != nil {
			return err
		}
		return errors.Join(s.allow(ctx), s.sign(ctx, newest))
	}
	if err := s.CheckKey(ctx); err != nil {
		return err
	}
	if have < newest {
		if err := s.Sound(ctx); err != nil {
			return err
		}
		if err := s.upgrade(ctx, p, have); err != nil {
			return err
		}
	}
	return s.sign(ctx, newest)
}

// signature is the name of the fact that says which version of Reprise brought the database to its step, as "40 0.1.0".
const signature = "upgraded_by"

// sign notes this program's version, unless another one has brought the database to the same step before.
func (s *DB) sign(ctx context.Context, step int64) error {
	if s.version == "" || UpgradedBy(ctx, s.Reader, step) != "" {
		return nil
	}
	return s.setFact(ctx, signature, fmt.Sprintf("%d %s", step, s.version))
}

// oldestStep is the name of the fact that says the oldest step whose programs can use the database.
const oldestStep = "oldest_step"

// allow notes the oldest step whose programs can use the database when it has this program's.
func (s *DB) allow(ctx context.Context) error {
	oldest, _, err := stepsOf(s.files)
	if err != nil {
		return err
	}
	return s.setFact(ctx, oldestStep, strconv.FormatInt(oldest, 10))
}

func (s *DB) setFact(ctx context.Context, name, value string) error {
	return s.Exec(ctx, "INSERT INTO facts (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2",
		name, value)
}

// besideNewer returns an error for a database of a newer version, unless servers of both can share it.
func (s *DB) besideNewer(ctx context.Context) error {
	var l Look
	if err := l.readStep(ctx, s.Reader, s.files); err != nil {
		return err
	}
	if s.shared && l.Usable() {
		return s.CheckKey(ctx)
	}
	return newer(s.engine, l)
}

// UpgradedBy returns the version that brought the database to this step; empty when that is not known.
func UpgradedBy(ctx context.Context, db RowQuerier, step int64) string {
	var fact string
	if db.QueryRowContext(ctx, "SELECT value FROM facts WHERE name = $1", signature).Scan(&fact) != nil {
		return ""
	}
	by, _ := strings.CutPrefix(fact, fmt.Sprintf("%d ", step))
	if by == fact {
		return ""
	}
	return by
}

// newer refuses a database of a newer version, and names that version if it is known.
func newer(e engine, l Look) error {
	from, install := "a newer version of Reprise", "that version"
	if l.By != "" {
		from, install = "Reprise "+l.By, "Reprise "+l.By+" or a later version"
	}
	return fmt.Errorf("the database %s was written by %s (step %d, this one knows %d). Install %s again, or put back "+
		"the copy that was made before the upgrade", e, from, l.Step, l.Newest, install)
}

// provider returns what applies the migrations.
func (s *DB) provider() (*goose.Provider, error) {
	files, err := s.steps(s.files)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(s.dialect(), s.Writer, files, goose.WithTableName(stepTable),
		goose.WithSlog(slog.New(slog.DiscardHandler)))
}

// upgrade brings an existing database up to date from the step that it has.
func (s *DB) upgrade(ctx context.Context, p *goose.Provider, have int64) error {
	if err := s.keep(ctx, s.Writer, have); err != nil {
		return fmt.Errorf("copy the database before the upgrade: %w", err)
	}
	if err := s.allow(ctx); err != nil { // older programs ask when they see the step
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("upgrade the database: %w", Explain(err))
	}
	return nil
}

// refuseUnreleased returns an error for a database from before version 0.1.0, whose steps this program does not know.
func (s *DB) refuseUnreleased(ctx context.Context) error {
	unreleased, err := s.has(ctx, s.Reader, "goose_db_version")
	if err != nil {
		return Explain(err)
	}
	if unreleased {
		return fmt.Errorf("the database %s is from before version 0.1.0, which this version cannot read. Export your "+
			"listens with the version that wrote it, and import them into a new database", s.engine)
	}
	return nil
}
