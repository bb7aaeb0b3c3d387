package lookup

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"

	"reprise/internal/search"
	"reprise/internal/store/db"
)

// The words of a spelling are stored when somebody searches, or soon after the spelling: never while listens are. What
// a spelling means is looked up with each search, so that this index never changes, whatever becomes of the entities.

// These are the names of the sequences with the last spelling and the last entity whose words are stored.
const (
	IndexedSpellings = "search texts"
	IndexedArtists   = "search artists"
)

// IndexAtOnce is how many spellings are indexed in one transaction.
const IndexAtOnce = 2000

// wordCache holds all stored words: without it BenchmarkSearch takes half as long again for a letter. It is safe for
// concurrent use.
type wordCache struct {
	mu    sync.Mutex
	words *search.Vocabulary
	last  int64
}

// Index stores the words of new spellings. Search does this first, so calling Index regularly makes the next search
// fast. It is safe for concurrent use.
func (s *Store) Index(ctx context.Context) error {
	for {
		more, err := s.indexSome(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// indexSome stores the words of the next spellings. It reports whether there may be more.
func (s *Store) indexSome(ctx context.Context) (more bool, err error) {
	var behind bool
	err = s.db.Reader.QueryRowContext(ctx, `SELECT
		EXISTS (SELECT 1 FROM spellings WHERE id > coalesce((SELECT last FROM sequences WHERE name = $1), 0)) OR
		EXISTS (SELECT 1 FROM entities WHERE id > coalesce((SELECT last FROM sequences WHERE name = $2), 0))`,
		IndexedSpellings, IndexedArtists).Scan(&behind)
	if err != nil || !behind {
		return false, db.Explain(err)
	}
	err = s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		more, err = s.indexNext(ctx, tx)
		return err
	})
	return more && err == nil, err
}

func (s *Store) indexNext(ctx context.Context, tx *sql.Tx) (more bool, err error) {
	known, err := s.vocabulary(ctx)
	if err != nil {
		return false, err
	}
	fresh := map[string]bool{}
	of := func(name string) string {
		words := search.Index(name)
		for _, w := range words {
			if !known.Has(w) {
				fresh[w] = true
			}
		}
		return strings.Join(words, " ")
	}
	scan := func(r db.Scanner) (t db.Text, err error) {
		err = r.Scan(&t.ID, &t.Title, &t.Artist, &t.Album)
		t.Title, t.Artist, t.Album = of(t.Title), of(t.Artist), of(t.Album)
		return t, err
	}
	for _, from := range []struct{ sequence, table, query string }{
		{IndexedSpellings, "spellings", "SELECT id, title, artist, album FROM spellings WHERE id > $1 AND id <= $2"},
		{IndexedArtists, "entities",
			"SELECT -id, '', artist, '' FROM entities WHERE id > $1 AND id <= $2 AND kind = 'artist'"},
	} {
		var last, end, newest int64
		err := tx.QueryRowContext(ctx, `SELECT coalesce((SELECT last FROM sequences WHERE name = $1), 0),
			coalesce((SELECT max(id) FROM `+from.table+"), 0)", from.sequence).Scan(&last, &newest)
		if err != nil {
			return false, err
		}
		if end = min(newest, last+IndexAtOnce); end == last {
			continue
		}
		all, err := db.List(ctx, tx, scan, from.query, last, end)
		if err != nil {
			return false, err
		}
		more = more || end < newest
		err = errors.Join(s.db.AddTexts(ctx, tx, all),
			db.ExecTx(ctx, tx, `INSERT INTO sequences (name, last) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET last = excluded.last`, from.sequence, end))
		if err != nil {
			return false, err
		}
	}
	next, err := db.NextIDs(ctx, tx, "search_words", len(fresh))
	if err != nil {
		return false, err
	}
	rows := make([]any, 0, 2*len(fresh))
	for w := range fresh {
		rows = append(rows, next, w)
		next++
	}
	return more, db.InsertRows(ctx, tx, "INSERT INTO search_words (id, word)", 2, rows, "ON CONFLICT DO NOTHING")
}

// vocabulary returns all stored words.
func (s *Store) vocabulary(ctx context.Context) (*search.Vocabulary, error) {
	c := &s.words
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words == nil {
		c.words = &search.Vocabulary{}
	}
	scan := func(r db.Scanner) (word string, err error) { return word, r.Scan(&c.last, &word) }
	more, err := db.List(ctx, s.db.Reader, scan, "SELECT id, word FROM search_words WHERE id > $1 ORDER BY id", c.last)
	if err != nil {
		c.words, c.last = nil, 0
		return nil, err
	}
	if len(more) > 0 {
		c.words = c.words.With(more)
	}
	return c.words, nil
}
