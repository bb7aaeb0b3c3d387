package imports

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/imports"
	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/runs"
)

const selectImport = `SELECT id, user_id, connection, name, file, size, state, entry, entry_row, bytes_done,
	bytes_total, preview, question, answers, sample, first_at, last_at, row_count,
	 added, known, skipped, bad, problems, reason, crashes, created_at, ended_at FROM imports `

// openImport selects the imports that have not ended.
const openImport = "state IN ('waiting', 'running', 'ready')"

func scanImport(r db.Scanner) (v imports.Import, err error) {
	var created, ended, first, last int64
	err = r.Scan(&v.ID, &v.User, &v.Connection, &v.Name, &v.File, &v.Size, &v.State, &v.Entry, &v.EntryRow,
		&v.BytesDone, &v.BytesAll, &v.Preview, &v.Question, &v.Answers, &v.Sample, &first,
		&last, &v.Rows, &v.Added, &v.Known, &v.Skipped, &v.Bad, &v.Problems, &v.Reason,
		&v.Crashes, &created, &ended)
	v.First, v.Last = db.Instant(first), db.Instant(last)
	v.CreatedAt, v.EndedAt = db.Instant(created), db.Instant(ended)
	return v, err
}

// AddImport stores a new import and returns it with its ID. It returns imports.ErrBusy if the person already has most
// open ones.
func (s *Store) AddImport(ctx context.Context, v imports.Import, most int) (imports.Import, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		var open int
		err := tx.QueryRowContext(ctx, "SELECT count(*) FROM imports WHERE user_id = $1 AND "+openImport, v.User).
			Scan(&open)
		if err != nil {
			return err
		}
		if open >= most {
			return imports.ErrBusy
		}
		if v.ID, err = db.NextIDs(ctx, tx, "imports", 1); err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO imports
			(id, user_id, connection, name, file, size, state, bytes_total, preview, question, answers, sample,
				created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			v.ID, v.User, v.Connection, v.Name, v.File, v.Size, v.State, v.BytesAll, db.Flag(v.Preview), v.Question,
			v.Answers, v.Sample, db.Millis(v.CreatedAt))
	})
	return v, err
}

// OpenImports returns the imports of all people that have not ended, the oldest first.
func (s *Store) OpenImports(ctx context.Context) ([]imports.Import, error) {
	return db.List(ctx, s.db.Reader, scanImport, selectImport+"WHERE "+openImport+" ORDER BY id")
}

// SaveCrashes stores the number of crashes of an import. It returns library.ErrNotFound if the import is no longer
// open.
func (s *Store) SaveCrashes(ctx context.Context, id int64, crashes int) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		return db.Changed(tx.ExecContext(ctx,
			"UPDATE imports SET crashes = $1 WHERE id = $2 AND "+openImport, crashes, id))
	})
}

// Imports returns a person's latest 50 imports, the newest first.
func (s *Store) Imports(ctx context.Context, user int64) ([]imports.Import, error) {
	return db.List(ctx, s.db.Reader, scanImport, selectImport+"WHERE user_id = $1 ORDER BY id DESC LIMIT 50", user)
}

// KeptFiles returns the names of the files that open imports need.
func (s *Store) KeptFiles(ctx context.Context) (map[string]bool, error) {
	scan := func(r db.Scanner) (name string, err error) { return name, r.Scan(&name) }
	all, err := db.List(ctx, s.db.Reader, scan, "SELECT file FROM imports WHERE "+openImport)
	kept := make(map[string]bool, len(all))
	for _, name := range all {
		kept[name] = true
	}
	return kept, err
}

// SaveImported stores listens and the progress of their import in one transaction, and returns the import with updated
// counts. If the import is no longer open, it returns library.ErrNotFound and stores nothing. It does not change the
// position that reading the stream has reached. Of a preview, it stores the progress alone.
func (s *Store) SaveImported(ctx context.Context, v imports.Import, plays []library.Listen) (imports.Import, error) {
	return s.counted(ctx, v, len(plays), func(tx *sql.Tx) (int, error) {
		page := library.Intake{User: v.User, Connection: v.Connection, Listens: plays}
		fresh, added, err := s.intake.TakeIn(ctx, tx, page)
		if err != nil {
			return 0, err
		}
		if err := s.intake.LearnPlayers(ctx, tx, page); err != nil {
			return 0, err
		}
		return added, runs.FillGaps(ctx, tx, v.User, v.Connection, fresh)
	})
}

// saveProgress stores the state of an import. It returns library.ErrNotFound if the import is no longer open.
func saveProgress(ctx context.Context, tx *sql.Tx, v imports.Import) error {
	return db.Changed(tx.ExecContext(ctx, `UPDATE imports
		SET state = $1, entry = $2, entry_row = $3, bytes_done = $4, bytes_total = $5, row_count = $6, added = $7,
			known = $8, skipped = $9, bad = $10, problems = $11, reason = $12, crashes = $13, ended_at = $14,
			preview = $15, answers = $16, first_at = $17, last_at = $18
		WHERE id = $19 AND `+openImport,
		v.State, v.Entry, v.EntryRow, v.BytesDone, v.BytesAll, v.Rows, v.Added, v.Known, v.Skipped, v.Bad, v.Problems,
		v.Reason, v.Crashes, db.Millis(v.EndedAt), db.Flag(v.Preview), v.Answers, db.Millis(v.First),
		db.Millis(v.Last), v.ID))
}

// errPreview undoes what a preview has counted.
var errPreview = errors.New("a preview stores nothing")

// counted calls store in a transaction, and stores the progress with it; of a preview, it stores the progress alone.
func (s *Store) counted(
	ctx context.Context, v imports.Import, plays int, store func(tx *sql.Tx) (added int, err error),
) (imports.Import, error) {
	now := v
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		added, err := store(tx)
		if err != nil {
			return err
		}
		now.Added, now.Known = v.Added+added, v.Known+plays-added
		if v.Preview {
			return errPreview
		}
		return saveProgress(ctx, tx, now)
	})
	if errors.Is(err, errPreview) {
		err = s.db.Write(ctx, func(tx *sql.Tx) error { return saveProgress(ctx, tx, now) })
	}
	if err != nil {
		return v, err
	}
	return now, nil
}

// ChangeImport calls change with a person's import and stores what becomes of it, unless change returns an error. It
// returns library.ErrNotFound if there is none.
func (s *Store) ChangeImport(
	ctx context.Context, user, id int64, change func(*imports.Import) error,
) (v imports.Import, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		v, err = scanImport(tx.QueryRowContext(ctx, selectImport+"WHERE user_id = $1 AND id = $2", user, id))
		if err != nil {
			return db.Found(err)
		}
		if err := change(&v); err != nil {
			return err
		}
		return saveProgress(ctx, tx, v)
	})
	return v, err
}

// CancelImport cancels an open import, or deletes one that has ended. It returns the import as it was before.
func (s *Store) CancelImport(ctx context.Context, user, id int64) (v imports.Import, err error) {
	err = s.db.Write(ctx, func(tx *sql.Tx) error {
		v, err = scanImport(tx.QueryRowContext(ctx, selectImport+"WHERE user_id = $1 AND id = $2", user, id))
		if err != nil {
			return db.Found(err)
		}
		if !v.Open() {
			return db.ExecTx(ctx, tx, "DELETE FROM imports WHERE id = $1", id)
		}
		return db.ExecTx(ctx, tx, "UPDATE imports SET state = $1, ended_at = $2 WHERE id = $3",
			imports.Canceled, db.Millis(time.Now()), id)
	})
	return v, err
}
