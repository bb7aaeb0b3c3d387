package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"

	"reprise/internal/search"
)

// The words of a spelling are stored when somebody searches, or soon after the spelling: never while listens are. What
// a spelling means is looked up with each search, so that this index never changes, whatever becomes of the entities.

// These are the names of the sequences with the last spelling and the last entity whose words are stored.
const (
	indexedSpellings = "search texts"
	indexedArtists   = "search artists"
)

// indexAtOnce is how many spellings are indexed in one transaction.
const indexAtOnce = 2000

// text are the words of a spelling, with spaces between; or those of an artist's name, with the negative number of the
// artist: a service may list artists whom no spelling names.
type text struct {
	id                   int64
	title, artist, album string
}

// fields are the parts of a text in which all words of a question must be, as both engines name them.
type fields struct{ columns, weights string }

// These are the fields of a text that name an artist, an album and a track.
var (
	artistFields = fields{"artist", "B"}
	albumFields  = fields{"album artist", "BC"}
	trackFields  = fields{"title artist", "AB"}
)

// wordCache holds all stored words. It is safe for concurrent use.
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
	err = s.reader.QueryRowContext(ctx, `SELECT
		EXISTS (SELECT 1 FROM spellings WHERE id > coalesce((SELECT last FROM sequences WHERE name = $1), 0)) OR
		EXISTS (SELECT 1 FROM entities WHERE id > coalesce((SELECT last FROM sequences WHERE name = $2), 0))`,
		indexedSpellings, indexedArtists).Scan(&behind)
	if err != nil || !behind {
		return false, local(err)
	}
	err = s.write(ctx, func(tx *sql.Tx) (err error) {
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
	scan := func(r scanner) (t text, err error) {
		err = r.Scan(&t.id, &t.title, &t.artist, &t.album)
		t.title, t.artist, t.album = of(t.title), of(t.artist), of(t.album)
		return t, err
	}
	for _, from := range []struct{ sequence, table, query string }{
		{indexedSpellings, "spellings", "SELECT id, title, artist, album FROM spellings WHERE id > $1 AND id <= $2"},
		{indexedArtists, "entities",
			"SELECT -id, '', artist, '' FROM entities WHERE id > $1 AND id <= $2 AND kind = 'artist'"},
	} {
		var last, end, newest int64
		err := tx.QueryRowContext(ctx, `SELECT coalesce((SELECT last FROM sequences WHERE name = $1), 0),
			coalesce((SELECT max(id) FROM `+from.table+"), 0)", from.sequence).Scan(&last, &newest)
		if err != nil {
			return false, err
		}
		if end = min(newest, last+indexAtOnce); end == last {
			continue
		}
		all, err := list(ctx, tx, scan, from.query, last, end)
		if err != nil {
			return false, err
		}
		more = more || end < newest
		err = errors.Join(s.addTexts(ctx, tx, all), execTx(ctx, tx, `INSERT INTO sequences (name, last) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET last = excluded.last`, from.sequence, end))
		if err != nil {
			return false, err
		}
	}
	next, err := nextIDs(ctx, tx, "search_words", len(fresh))
	if err != nil {
		return false, err
	}
	rows := make([]any, 0, 2*len(fresh))
	for w := range fresh {
		rows = append(rows, next, w)
		next++
	}
	return more, insertRows(ctx, tx, "INSERT INTO search_words (id, word)", 2, rows, "ON CONFLICT DO NOTHING")
}

// vocabulary returns all stored words.
func (s *Store) vocabulary(ctx context.Context) (*search.Vocabulary, error) {
	c := &s.words
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words == nil {
		c.words = &search.Vocabulary{}
	}
	scan := func(r scanner) (word string, err error) { return word, r.Scan(&c.last, &word) }
	more, err := list(ctx, s.reader, scan, "SELECT id, word FROM search_words WHERE id > $1 ORDER BY id", c.last)
	if err != nil {
		c.words, c.last = nil, 0
		return nil, err
	}
	if len(more) > 0 {
		c.words = c.words.With(more)
	}
	return c.words, nil
}

// expression renders what a text must have for an engine: a word as word does, and the words for "and" and "or".
func expression(all []search.Query, word func(search.Word) string, and, or string) string {
	join := func(n int, part func(int) string, by string) string {
		parts := make([]string, n)
		for i := range parts {
			parts[i] = part(i)
		}
		if n == 1 {
			return parts[0]
		}
		return "(" + strings.Join(parts, by) + ")"
	}
	return join(len(all), func(i int) string {
		return join(len(all[i]), func(j int) string {
			return join(len(all[i][j]), func(k int) string {
				return join(len(all[i][j][k]), func(l int) string { return word(all[i][j][k][l]) }, and)
			}, or)
		}, and)
	}, or)
}

// addTexts implements engine.
func (f sqliteFile) addTexts(ctx context.Context, tx *sql.Tx, all []text) error {
	rows := make([]any, 0, 4*len(all))
	for _, t := range all {
		rows = append(rows, t.id, t.title, t.artist, t.album)
	}
	return insertRows(ctx, tx, "INSERT INTO search_texts (rowid, title, artist, album)", 4, rows, "")
}

// texts implements engine.
func (f sqliteFile) texts(ctx context.Context, q querier, in fields, all []search.Query) ([]int64, error) {
	match := "{" + in.columns + "} : (" + expression(all, func(w search.Word) string {
		if w.Begin {
			return `"` + w.Text + `"*`
		}
		return `"` + w.Text + `"`
	}, " AND ", " OR ") + ")"
	return numbers(ctx, q, "SELECT group_concat(rowid) FROM search_texts WHERE search_texts MATCH $1", match)
}

// addTexts implements engine.
func (p postgres) addTexts(ctx context.Context, tx *sql.Tx, all []text) error {
	rows := make([]any, 0, 2*len(all))
	for _, t := range all {
		rows = append(rows, t.id, vector(t))
	}
	return insertRows(ctx, tx, "INSERT INTO search_texts (id, words)", 2, rows, "")
}

// vector returns a text as Postgres writes a tsvector: its columns have the weights A, B and C.
func vector(t text) string {
	at := map[string][]string{}
	for i, words := range []string{t.title, t.artist, t.album} {
		for w := range strings.FieldsSeq(words) {
			place := string(rune('1'+i)) + string(rune('A'+i))
			if !slices.Contains(at[w], place) {
				at[w] = append(at[w], place)
			}
		}
	}
	var b strings.Builder
	for w, places := range at {
		b.WriteString("'" + w + "':" + strings.Join(places, ",") + " ")
	}
	return b.String()
}

// texts implements engine.
func (p postgres) texts(ctx context.Context, q querier, in fields, all []search.Query) ([]int64, error) {
	match := expression(all, func(w search.Word) string {
		begin := ""
		if w.Begin {
			begin = "*"
		}
		return "'" + w.Text + "':" + begin + in.weights
	}, " & ", " | ")
	return numbers(ctx, q,
		"SELECT string_agg(CAST(id AS TEXT), ',') FROM search_texts WHERE words @@ $1::tsquery", match)
}

// numbers reads many ids, with commas between: as rows they would take most of the time of a search.
func numbers(ctx context.Context, q querier, query string, args ...any) (all []int64, err error) {
	scan := func(r scanner) (text sql.NullString, err error) { return text, r.Scan(&text) }
	rows, err := list(ctx, q, scan, query, args...)
	if err != nil || len(rows) == 0 || !rows[0].Valid {
		return nil, err
	}
	text := rows[0].String
	all = make([]int64, 0, 1+strings.Count(text, ","))
	id, sign := int64(0), int64(1)
	for i := range len(text) {
		switch text[i] {
		case ',':
			all, id, sign = append(all, sign*id), 0, 1
		case '-':
			sign = -1
		default:
			id = 10*id + int64(text[i]-'0')
		}
	}
	return append(all, sign*id), nil
}
