package intake

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/library"
	"reprise/internal/music"
	rules "reprise/internal/playrules"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
	"reprise/internal/store/playrules"
)

// ruled is what a person's rules make of the plays of a page.
type ruled struct {
	plays    []*library.Listen // with the names that they have then, by time
	told     []*library.Listen // as they were told
	outcomes []rules.Outcome
}

// rule applies a person's rules to plays. What they add by hand is as they want it.
func rule(ctx context.Context, tx *sql.Tx, page library.Intake, told []*library.Listen) (r ruled, err error) {
	r = ruled{plays: told, told: told, outcomes: make([]rules.Outcome, len(told))}
	if page.Connection == library.ByHand || len(told) == 0 {
		return r, nil
	}
	set, err := playrules.Of(ctx, tx, page.User)
	if err != nil || set == nil {
		return r, err
	}
	r.plays = make([]*library.Listen, len(told))
	for i, l := range told {
		o := set.Apply(rules.Play{Track: l.Track, At: l.PlayedAt, Player: l.Player, Source: page.Connection})
		r.outcomes[i], r.plays[i] = o, l
		if len(o.Rewrote) > 0 {
			named := *l
			named.Track = o.Track
			r.plays[i] = &named
		}
	}
	return r, nil
}

// toldAs returns the match keys of renamed plays by the names under which they were reported.
func (r ruled) toldAs() map[*library.Listen]int64 {
	keys := map[*library.Listen]int64{}
	for i, l := range r.told {
		if len(r.outcomes[i].Rewrote) > 0 {
			keys[r.plays[i]] = music.MatchKey(l.Title, music.Indexed(l.Artist))
		}
	}
	return keys
}

// ignored returns the corrections that hold what rules ignore, by rule. A rule adds to the same correction until that
// is undone.
func (r ruled) ignored(ctx context.Context, tx *sql.Tx, user int64, reports []music.Report) (map[int64]int64, error) {
	counts := map[int64]int{}
	for i, o := range r.outcomes {
		if o.Ignored != 0 && reports[i].Play == nil {
			counts[o.Ignored]++
		}
	}
	of := map[int64]int64{}
	for id, n := range counts {
		correction, err := CorrectionOf(ctx, tx, user, id, n)
		if err != nil {
			return nil, err
		}
		of[id] = correction
	}
	return of, nil
}

// CorrectionOf adds n to the count of listens of the correction that holds what a rule ignores, and returns that
// correction's id. It makes a new one if there is none, or if that was undone.
func CorrectionOf(ctx context.Context, tx *sql.Tx, user, rule int64, n int) (id int64, err error) {
	err = tx.QueryRowContext(ctx, `UPDATE corrections SET listens = listens + $3 WHERE id = (SELECT max(id)
		FROM corrections WHERE user_id = $1 AND rule_id = $2 AND undone_at = 0) RETURNING id`, user, rule, n).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	if id, err = db.NextIDs(ctx, tx, "corrections", 1); err != nil {
		return 0, err
	}
	return id, db.ExecTx(ctx, tx, `INSERT INTO corrections (id, user_id, kind, listens, title, artist, made_at, rule_id)
		VALUES ($1, $2, $3, $4, '', '', $5, $6)`, id, user, library.Deleted, n, db.Millis(time.Now()), rule)
}

// note stores what the rules have done to listens, whose numbers are ids; 0 for none. Those that are not new keep their
// names.
func (s *Store) note(ctx context.Context, tx *sql.Tx, user int64, r ruled, ids []int64, reports []music.Report) error {
	var renamed []music.Spelling
	var of []int
	held := playrules.NewHeld(user)
	var known []int64 // what is withheld now, and may be about to be sent
	for i, o := range r.outcomes {
		if ids[i] == 0 {
			continue
		}
		if len(o.Rewrote) > 0 && reports[i].Play == nil {
			renamed, of = append(renamed, music.SpellingOf(r.told[i].Track)), append(of, i)
		}
		if held.Add(ids[i], o); reports[i].Play != nil && len(o.Withheld) > 0 {
			known = append(known, ids[i])
		}
	}
	spelt, err := s.catalogue.Shelve(ctx, tx, renamed)
	if err != nil {
		return err
	}
	rows := make([]any, 0, len(of)*4)
	for n, i := range of {
		rows = append(rows, ids[i], user, spelt[n], playrules.List(r.outcomes[i].Rewrote...))
	}
	return errors.Join(held.Insert(ctx, tx), DontSend(ctx, tx, user, known),
		db.InsertRows(ctx, tx, "INSERT INTO ruled_listens (listen_id, user_id, spelling_id, rules)", 4, rows, ""))
}

// DontSend takes those of some listens that are withheld out of waiting deliveries.
func DontSend(ctx context.Context, tx *sql.Tx, user int64, some []int64) error {
	n := 0
	err := db.InChunks(some, func(these string, args []any) error {
		gone, err := db.Affected(tx.ExecContext(ctx, `DELETE FROM forwards WHERE +user_id = $1 AND EXISTS (SELECT 1
			FROM withheld w WHERE w.listen_id = forwards.listen_id AND w.connection IN ('', forwards.connection))
			AND delivery_id IN (SELECT d.id FROM deliveries d WHERE d.state NOT IN ('done', 'running')
			AND d.user_id = $1) AND listen_id IN `+these, append([]any{user}, args...)...))
		n += gone
		return err
	})
	if err != nil || n == 0 {
		return err
	}
	return outbox.CancelEmpty(ctx, tx, user)
}
