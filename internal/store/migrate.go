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
// consistent copy is put beside it: <name>.<version>.bak. A database of a newer version is not touched, nor is one that
// was written with another key.
func (s *Store) migrate(ctx context.Context) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, s.writer, s.steps, goose.WithSlog(slog.New(slog.DiscardHandler)))
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
	if have == 0 {
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("make the database: %w", local(err))
		}
		return s.checkKey(ctx)
	}
	if err := s.checkKey(ctx); err != nil || have == newest {
		return err
	}
	if err := s.copyTo(ctx, fmt.Sprintf("%s.%d.bak", s.path, have)); err != nil {
		return fmt.Errorf("copy the database before the upgrade: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("upgrade the database: %w", local(err))
	}
	return nil
}

// copyTo writes a consistent copy of the database to a file that is there whole or not at all. One left by an upgrade
// that broke off is replaced.
func (s *Store) copyTo(ctx context.Context, path string) error {
	part := path + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := private(part); err != nil {
		return err
	}
	if err := s.exec(ctx, "VACUUM INTO $1", part); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, path)
}

// private makes an empty file that only its owner reads, where there is none.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}
