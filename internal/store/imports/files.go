package imports

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"reprise/internal/imports"
	"reprise/internal/store/db"
)

// Files keeps what people send in the database, in pieces, so that any of several servers can read it. It implements
// imports.Files, and is safe for concurrent use.
type Files struct{ db *db.DB }

// Files returns the files in the database.
func (s *Store) Files() *Files { return &Files{s.db} }

// pieceSize is the size of a piece in bytes; the last one of a file is smaller. While a piece is written, whatever else
// is to be written waits for it.
const pieceSize = 1 << 20

// Keep implements imports.Files.
func (f *Files) Keep(ctx context.Context, user int64, body io.Reader) (name string, size int64, err error) {
	name = rand.Text()
	defer func() {
		if err != nil { // else the next start removes it
			_ = f.Remove(context.WithoutCancel(ctx), name)
		}
	}()
	piece := make([]byte, pieceSize)
	for n := 0; ; n++ {
		read, end := io.ReadFull(body, piece)
		if end != nil && !errors.Is(end, io.EOF) && !errors.Is(end, io.ErrUnexpectedEOF) {
			return name, size, end
		}
		if size += int64(read); size > imports.MaxFile {
			return name, size, imports.ErrTooLarge
		}
		err := f.db.Exec(ctx, `INSERT INTO upload_pieces (file, piece, user_id, kept_at, data)
			VALUES ($1, $2, $3, $4, $5)`, name, n, user, db.Millis(time.Now()), piece[:read])
		if err != nil || end != nil {
			return name, size, err
		}
	}
}

// Open implements imports.Files. The file is read as long as ctx has not ended.
func (f *Files) Open(ctx context.Context, name string) (imports.File, error) {
	var pieces int64
	var last sql.NullInt64
	err := f.db.Reader.QueryRowContext(ctx, `SELECT count(*), (SELECT length(data) FROM upload_pieces
		WHERE file = $1 ORDER BY piece DESC LIMIT 1) FROM upload_pieces WHERE file = $1`, name).Scan(&pieces, &last)
	switch {
	case err != nil:
		return nil, db.Explain(err)
	case pieces == 0:
		return nil, fmt.Errorf("the file is not in the database: %w", os.ErrNotExist)
	}
	return &inPieces{ctx: ctx, db: f.db, name: name, size: (pieces-1)*pieceSize + last.Int64, at: -1}, nil
}

// Remove implements imports.Files.
func (f *Files) Remove(ctx context.Context, name string) error {
	return f.db.Exec(ctx, "DELETE FROM upload_pieces WHERE file = $1", name)
}

// underWay is how long ago the latest piece of a file that is still being received was kept at most.
const underWay = time.Hour

// Sweep implements imports.Files. What another server may be receiving stays.
func (f *Files) Sweep(ctx context.Context, needed map[string]bool, before time.Time) error {
	scan := func(r db.Scanner) (name string, err error) { return name, r.Scan(&name) }
	all, err := db.List(ctx, f.db.Reader, scan,
		"SELECT file FROM upload_pieces GROUP BY file HAVING max(kept_at) < $1", db.Millis(before.Add(-underWay)))
	for _, name := range all {
		if !needed[name] {
			err = errors.Join(err, f.Remove(ctx, name))
		}
	}
	return err
}

// inPieces is a file in the database. It keeps the piece that was read last, because most reads follow each other.
type inPieces struct {
	ctx   context.Context
	db    *db.DB
	name  string
	size  int64
	at    int64 // the number of the piece; -1 for none
	piece []byte
}

// Size implements imports.File.
func (f *inPieces) Size() int64 { return f.size }

// Close implements imports.File.
func (f *inPieces) Close() error { return nil }

// ReadAt implements io.ReaderAt, for one goroutine at a time.
func (f *inPieces) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 {
		return 0, errors.New("read before the begin of a file")
	}
	for n < len(p) && off < f.size {
		if at := off / pieceSize; at != f.at {
			f.at = -1
			err := f.db.Reader.QueryRowContext(f.ctx, "SELECT data FROM upload_pieces WHERE file = $1 AND piece = $2",
				f.name, at).Scan(&f.piece)
			if err != nil {
				return n, db.Explain(err)
			}
			f.at = at
		}
		from := off % pieceSize
		if from >= int64(len(f.piece)) {
			return n, io.ErrUnexpectedEOF
		}
		copied := copy(p[n:], f.piece[from:])
		n, off = n+copied, off+int64(copied)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
