package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the database up to date. Before the first step on a database that already holds something, a
// consistent copy is put beside it: <name>.<version>.bak. A database of a newer version is not touched.
func (s *Store) migrate(ctx context.Context) error {
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, s.writer, steps, goose.WithSlog(slog.New(slog.DiscardHandler)))
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	have, newest, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the database's version: %w", local(err))
	}
	if have > newest {
		return fmt.Errorf("the database %s was written by a newer version of Reprise (step %d, this one knows %d). Install that version again, or put back the copy that was made before the upgrade", s.path, have, newest)
	}
	if have == newest {
		return nil
	}
	if have > 0 {
		if err := s.copyTo(ctx, fmt.Sprintf("%s.%d.bak", s.path, have)); err != nil {
			return fmt.Errorf("copy the database before the upgrade: %w", err)
		}
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("upgrade the database: %w", local(err))
	}
	return nil
}

// copyTo writes a consistent copy of the database to a new file. One left by an upgrade that broke off is replaced.
func (s *Store) copyTo(ctx context.Context, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.exec(ctx, "VACUUM INTO $1", path)
}
