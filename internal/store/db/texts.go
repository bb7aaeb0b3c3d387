package db

import (
	"context"
	"database/sql"
	"regexp"
	"strings"
	"unicode/utf8"

	"reprise/internal/search"
)

// Text are the words of a spelling, with spaces between; or those of an artist's name, with the negative number of the
// artist: a service may list artists whom no spelling names.
type Text struct {
	ID                   int64
	Title, Artist, Album string
}

// Fields are the parts of a text in which all words of a question must be, as both engines name them.
type Fields struct{ columns, letters string }

// These are the fields of a text that name an artist, an album and a track.
var (
	ArtistFields = Fields{"artist", "B"}
	AlbumFields  = Fields{"album artist", "BC"}
	TrackFields  = Fields{"title artist", "AB"}
)

// AddTexts implements engine.
func (f SQLiteFile) AddTexts(ctx context.Context, tx *sql.Tx, all []Text) error {
	rows := make([]any, 0, 4*len(all))
	for _, t := range all {
		rows = append(rows, t.ID, t.Title, t.Artist, t.Album)
	}
	return InsertRows(ctx, tx, "INSERT INTO search_texts (rowid, title, artist, album)", 4, rows, "")
}

// Texts implements engine.
func (f SQLiteFile) Texts(ctx context.Context, q Querier, in Fields, all []search.Query) ([]int64, error) {
	match := "{" + in.columns + "} : (" + search.Render(all, func(w search.Word) string {
		if w.Begin {
			return `"` + w.Text + `"*`
		}
		return `"` + w.Text + `"`
	}, " AND ", " OR ") + ")"
	return numbers(ctx, q, "SELECT group_concat(rowid) FROM search_texts WHERE search_texts MATCH $1", match)
}

// AddTexts implements engine.
func (p postgres) AddTexts(ctx context.Context, tx *sql.Tx, all []Text) error {
	ids, words := make([]int64, len(all)), make([]string, len(all))
	for i, t := range all {
		ids[i], words[i] = t.ID, vector(t)
	}
	return ExecTx(ctx, tx, `INSERT INTO search_texts (id, words)
		SELECT id, words::tsvector FROM unnest($1::int8[], $2::text[]) t (id, words)`, ids, words)
}

// fullText is SQLite's table of texts in a migration, and textTable that of Postgres in its place. With fastupdate, a
// search would also have to read the list of what is not in the index yet.
var fullText = regexp.MustCompile(`CREATE VIRTUAL TABLE (\w+) USING fts5\([^;]*\);`)

const textTable = `CREATE TABLE $1 (id BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
	CREATE INDEX ${1}_words ON $1 USING gin (words) WITH (fastupdate = off);`

// beginnings is the most letters that a lexeme for the beginning of a word has; SQLite's index has them as well. For so
// few letters, Postgres would have to merge the rows of thousands of words.
const beginnings = 3

// vector returns a text as Postgres writes a tsvector. The field is a part of each lexeme: weights aren't in the index.
func vector(t Text) string {
	var b strings.Builder
	for i, words := range []string{t.Title, t.Artist, t.Album} {
		field := string(rune('A' + i))
		for w := range strings.FieldsSeq(words) {
			b.WriteString("'" + field + "=" + w + "' ")
			letters := []rune(w)
			for n := range min(len(letters), beginnings) {
				b.WriteString("'" + field + "~" + string(letters[:n+1]) + "' ")
			}
		}
	}
	return b.String()
}

// lexeme returns what a tsvector must have in one of the fields to have a word.
func lexeme(fields string, w search.Word) string {
	var any []string
	for _, field := range fields {
		switch {
		case !w.Begin:
			any = append(any, "'"+string(field)+"="+w.Text+"'")
		case utf8.RuneCountInString(w.Text) <= beginnings:
			any = append(any, "'"+string(field)+"~"+w.Text+"'")
		default:
			any = append(any, "'"+string(field)+"="+w.Text+"':*")
		}
	}
	return "(" + strings.Join(any, " | ") + ")"
}

// Texts implements engine.
func (p postgres) Texts(ctx context.Context, q Querier, in Fields, all []search.Query) ([]int64, error) {
	match := search.Render(all, func(w search.Word) string { return lexeme(in.letters, w) }, " & ", " | ")
	return numbers(ctx, q,
		"SELECT string_agg(CAST(id AS TEXT), ',') FROM search_texts WHERE words @@ $1::tsquery", match)
}

// numbers reads many ids, with commas between: as rows they would take most of the time of a search.
func numbers(ctx context.Context, q Querier, query string, args ...any) (all []int64, err error) {
	scan := func(r Scanner) (text sql.NullString, err error) { return text, r.Scan(&text) }
	rows, err := List(ctx, q, scan, query, args...)
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
