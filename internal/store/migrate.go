package store

import (
	"context"
	"embed"
	"fmt"
	"log/slog"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the database up to date. Before it changes an existing database, the engine keeps a copy. It does not
// change a database of a newer version, nor one that was written with another key.
func (s *Store) migrate(ctx context.Context) error {
	p, err := s.provider()
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	have, newest, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the database's version: %w", local(err))
	}
	if have > newest {
		return fmt.Errorf("the database %s was written by a newer version of Reprise (step %d, this one knows "+
			"%d). Install that version again, or put back the copy that was made before the upgrade", s.engine, have,
			newest)
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
	if err := s.Sound(ctx); err != nil {
		return err
	}
	return s.upgrade(ctx, p, have)
}

// provider returns what applies the migrations.
func (s *Store) provider() (*goose.Provider, error) {
	files, err := s.steps(s.files)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(s.dialect(), s.writer, files, goose.WithSlog(slog.New(slog.DiscardHandler)))
}

// upgrade brings an existing database up to date from the step that it has.
func (s *Store) upgrade(ctx context.Context, p *goose.Provider, have int64) error {
	if have != moveStep { // otherwise there is one from before the move began
		if err := s.keep(ctx, s.writer, have); err != nil {
			return fmt.Errorf("copy the database before the upgrade: %w", err)
		}
	}
	var err error
	if have < moveStep {
		_, err = p.UpTo(ctx, moveStep)
	}
	if err == nil && have <= moveStep {
		err = s.moveListens(ctx)
	}
	if err == nil {
		_, err = p.Up(ctx)
	}
	if err != nil {
		return fmt.Errorf("upgrade the database: %w", local(err))
	}
	if have <= moveStep {
		s.shrink(ctx, s.writer)
	}
	return nil
}
