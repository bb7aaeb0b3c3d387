package playrules

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/store/db"
)

// DoneBy returns what each of a person's rules has done.
func (s *Store) DoneBy(ctx context.Context, user int64) (map[int64]playrules.Done, error) {
	done := map[int64]playrules.Done{}
	count := func(query string, add func(*playrules.Done, int)) error {
		type row struct {
			rules string
			n     int
		}
		scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.rules, &v.n) }
		all, err := db.List(ctx, s.db.Reader, scan, query, user)
		for _, v := range all {
			for _, rule := range Listed(v.rules) {
				d := done[rule]
				add(&d, v.n)
				done[rule] = d
			}
		}
		return err
	}
	return done, errors.Join(
		count("SELECT rules, count(*) FROM ruled_listens WHERE user_id = $1 GROUP BY rules",
			func(d *playrules.Done, n int) { d.Renamed += n }),
		count(`SELECT CAST(rule_id AS TEXT), sum(listens) FROM corrections
			WHERE user_id = $1 AND rule_id <> 0 AND undone_at = 0 GROUP BY rule_id`,
			func(d *playrules.Done, n int) { d.Ignored += n }),
		count(`SELECT CAST(rule_id AS TEXT), count(DISTINCT listen_id) FROM withheld WHERE user_id = $1
			GROUP BY rule_id`, func(d *playrules.Done, n int) { d.Withheld += n }))
}

// RuledBy returns which of a person's rules have renamed a listen, the names that it had before, and which rules
// withhold it. Rules that are gone are one with the ID playrules.Gone. All of that is empty if no rule did anything.
func (s *Store) RuledBy(ctx context.Context, user, listen int64) (was library.Track, renamed, withheld []playrules.Rule,
	err error) {
	var list string
	err = s.db.Reader.QueryRowContext(ctx, `SELECT p.title, p.artist, p.album, r.rules FROM ruled_listens r
		JOIN spellings p ON p.id = r.spelling_id WHERE r.user_id = $1 AND r.listen_id = $2`, user, listen).
		Scan(&was.Title, &was.Artist, &was.Album, &list)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return was, nil, nil, db.Explain(err)
	}
	gone := playrules.Rule{ID: playrules.Gone, User: user}
	renamed, err = db.List(ctx, s.db.Reader, scan, selectRule+
		`WHERE user_id = $1 AND CAST($2 AS TEXT) LIKE '%,' || CAST(id AS TEXT) || ',%' ORDER BY id`, user, list)
	if len(renamed) < len(Listed(list)) {
		renamed = append(renamed, gone)
	}
	if err == nil {
		withheld, err = db.List(ctx, s.db.Reader, scan, selectRule+`WHERE user_id = $1 AND id IN
			(SELECT rule_id FROM withheld WHERE listen_id = $2) ORDER BY id`, user, listen)
	}
	var holding int
	if err == nil {
		err = db.Explain(s.db.Reader.QueryRowContext(ctx, `SELECT count(DISTINCT rule_id) FROM withheld
			WHERE user_id = $1 AND listen_id = $2`, user, listen).Scan(&holding))
	}
	if len(withheld) < holding {
		withheld = append(withheld, gone)
	}
	return was, renamed, withheld, err
}

// Held collects the listens that a person's rules keep from being sent.
type Held struct {
	user int64
	rows []any
}

// NewHeld returns a Held without listens.
func NewHeld(user int64) Held { return Held{user: user} }

// Add adds a listen if the outcome of the rules withholds it.
func (h *Held) Add(listen int64, o playrules.Outcome) {
	for _, w := range o.Withheld {
		for _, to := range w.Targets() {
			h.rows = append(h.rows, listen, to, w.Rule, h.user)
		}
	}
}

// AddRuled adds a listen as far as an archive says that rules withhold it.
func (h *Held) AddRuled(listen int64, v *library.Ruled) {
	for _, w := range v.Withheld {
		h.rows = append(h.rows, listen, w.To, w.By.ID, h.user)
	}
}

// Insert stores the collected listens.
func (h *Held) Insert(ctx context.Context, tx *sql.Tx) error {
	return db.InsertRows(ctx, tx, "INSERT INTO withheld (listen_id, connection, rule_id, user_id)", 4, h.rows,
		"ON CONFLICT DO NOTHING")
}

// ForgetGone forgets what rules did to listens of a person that no longer exist.
func ForgetGone(ctx context.Context, tx *sql.Tx, user int64) error {
	const gone = ` WHERE user_id = $1 AND NOT EXISTS (SELECT 1 FROM listens l WHERE l.id = listen_id)
		AND NOT EXISTS (SELECT 1 FROM removed_listens l WHERE l.id = listen_id)`
	return errors.Join(db.ExecTx(ctx, tx, "DELETE FROM ruled_listens"+gone, user),
		db.ExecTx(ctx, tx, "DELETE FROM withheld"+gone, user))
}

// List returns ids of rules in the form in which they are stored, such as ",3,7,".
func List(ids ...int64) string {
	var list strings.Builder
	list.WriteString(",")
	for _, id := range ids {
		list.WriteString(fmt.Sprint(id) + ",")
	}
	return list.String()
}

// Listed returns the ids in a list that [List] has made.
func Listed(list string) (all []int64) {
	for text := range strings.SplitSeq(strings.Trim(list, ","), ",") {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			all = append(all, id)
		}
	}
	return all
}
