// Package playrules stores people's rules for what they play, and what the rules have done to listens. Package intake
// applies them to what comes in, and package corrections to what was played before.
package playrules

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/playrules"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct{ db *db.DB }

// New returns the part of a database.
func New(d *db.DB) *Store { return &Store{d} }

// columns lists the columns of table play_rules that scan reads.
const columns = `id, user_id, name, kind, off, title, artist, album, player, source, shorter_ms, longer_ms,
	begins, ends, zone, field, replacement, targets`

const selectRule = "SELECT " + columns + " FROM play_rules "

// scan reads a row of columns.
func scan(r db.Scanner) (v playrules.Rule, err error) {
	var shorter, longer int64
	var targets string
	err = r.Scan(&v.ID, &v.User, &v.Name, &v.Kind, &v.Off, &v.Title, &v.Artist, &v.Album, &v.Player, &v.Source,
		&shorter, &longer, &v.Begins, &v.Ends, &v.Zone, &v.Field, &v.With, &targets)
	if err != nil {
		return v, err
	}
	v.Shorter, v.Longer = time.Duration(shorter)*time.Millisecond, time.Duration(longer)*time.Millisecond
	if err := json.Unmarshal([]byte(targets), &v.To); err != nil {
		return v, fmt.Errorf("targets of a rule: %w", err)
	}
	if len(v.To) == 0 {
		v.To = nil
	}
	return v, nil
}

// Of returns a person's rules that are on, in their order; nil without any.
func Of(ctx context.Context, q db.Querier, user int64) (*playrules.Set, error) {
	all, err := db.List(ctx, q, scan, selectRule+
		"WHERE user_id = $1 AND off = 0 ORDER BY id", user)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	text := func(r db.Scanner) (name string, err error) { return name, r.Scan(&name) }
	names, err := db.List(ctx, q, text, "SELECT zone FROM users WHERE id = $1", user)
	var zone *time.Location // the rules' own
	for _, name := range names {
		if named, ok := words.ZoneNamed(name); ok {
			zone = named
		}
	}
	return playrules.New(all, zone), err
}

// RulesFor returns a person's rules that are on; nil without any.
func (s *Store) RulesFor(ctx context.Context, user int64) (*playrules.Set, error) {
	return Of(ctx, s.db.Reader, user)
}

// PlayRules returns a person's rules, in their order.
func (s *Store) PlayRules(ctx context.Context, user int64) ([]playrules.Rule, error) {
	return db.List(ctx, s.db.Reader, scan, selectRule+"WHERE user_id = $1 ORDER BY id", user)
}

// PlayRule returns one of a person's rules, or library.ErrNotFound.
func (s *Store) PlayRule(ctx context.Context, user, id int64) (playrules.Rule, error) {
	r, err := scan(s.db.Reader.QueryRowContext(ctx, selectRule+"WHERE user_id = $1 AND id = $2", user,
		id))
	return r, db.Found(err)
}

// SavePlayRule stores a rule, a new one without an ID, and returns it with that. It holds for what comes in from now
// on. It returns library.ErrNotFound if there is no such rule, or playrules.ErrTooMany.
func (s *Store) SavePlayRule(ctx context.Context, r playrules.Rule) (playrules.Rule, error) {
	err := s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		if r.ID == 0 {
			r, err = add(ctx, tx, r)
			return err
		}
		values, err := valuesOf(r)
		if err != nil {
			return err
		}
		return db.Changed(tx.ExecContext(ctx, `UPDATE play_rules SET name = $3, kind = $4, off = $5, title = $6,
			artist = $7, album = $8, player = $9, source = $10, shorter_ms = $11, longer_ms = $12, begins = $13,
			ends = $14, zone = $15, field = $16, replacement = $17, targets = $18
			WHERE user_id = $1 AND id = $2`, values...))
	})
	return r, err
}

// valuesOf returns what is stored of a rule.
func valuesOf(r playrules.Rule) ([]any, error) {
	targets, err := json.Marshal(append([]library.ConnectionID{}, r.To...))
	return []any{r.User, r.ID, r.Name, string(r.Kind), db.Flag(r.Off), r.Title, r.Artist, r.Album, r.Player,
		string(r.Source), r.Shorter.Milliseconds(), r.Longer.Milliseconds(), r.Begins, r.Ends, r.Zone, r.Field,
		r.With, string(targets)}, err
}

// add stores a new rule, and returns it with its ID, or playrules.ErrTooMany.
func add(ctx context.Context, tx *sql.Tx, r playrules.Rule) (playrules.Rule, error) {
	var n int
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM play_rules WHERE user_id = $1", r.User).Scan(&n)
	if err == nil && n >= playrules.Most {
		err = playrules.ErrTooMany
	}
	if err != nil {
		return r, err
	}
	id, err := db.NextIDs(ctx, tx, "play_rules", 1)
	if err != nil {
		return r, err
	}
	r.ID = id
	values, err := valuesOf(r)
	if err != nil {
		return r, err
	}
	return r, db.ExecTx(ctx, tx, `INSERT INTO play_rules (user_id, id, name, kind, off, title, artist, album, player,
		source, shorter_ms, longer_ms, begins, ends, zone, field, replacement, targets)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)`, values...)
}

// RestorePlayRules adds those of some rules from an archive that the person lacks, in their order, as far as there may
// be so many. The rules have been checked.
func (s *Store) RestorePlayRules(ctx context.Context, user int64, archived []playrules.Rule) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		have, err := db.List(ctx, tx, scan, selectRule+"WHERE user_id = $1 ORDER BY id", user)
		for _, r := range archived {
			if err != nil || slices.ContainsFunc(have, r.Same) {
				continue
			}
			r.ID, r.User = 0, user
			if r, err = add(ctx, tx, r); errors.Is(err, playrules.ErrTooMany) {
				return nil
			}
			have = append(have, r)
		}
		return err
	})
}

// DeletePlayRule removes a rule, or returns library.ErrNotFound. What it has done stays; see UndoPlayRule.
func (s *Store) DeletePlayRule(ctx context.Context, user, id int64) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		return db.Changed(tx.ExecContext(ctx, "DELETE FROM play_rules WHERE user_id = $1 AND id = $2", user, id))
	})
}
