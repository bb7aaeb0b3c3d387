package outbox

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
	"reprise/internal/store/statistics"
	"reprise/internal/words"
)

// ListensOf returns the listens of a delivery, the oldest first. Those that its account has reported meanwhile are
// there already, and are taken out of the delivery.
func (s *Store) ListensOf(ctx context.Context, id int64) ([]library.StoredListen, error) {
	rows, err := s.forwardedIn(ctx, id)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	user, conn := rows[0].user, rows[0].target
	var plays []library.StoredListen
	for _, r := range rows {
		if len(plays) == 0 || plays[len(plays)-1].ID != r.ID {
			plays = append(plays, r.StoredListen)
		}
		if p := &plays[len(plays)-1]; r.Connection != "" {
			p.Sources = append(p.Sources, r.Source)
		}
	}
	alike := reportedBy(func(c library.ConnectionID) bool { return c.Provider() == conn.Provider() })
	if !slices.ContainsFunc(plays, alike) {
		return plays, nil
	}
	target, err := connections.AccountOf(ctx, s.db.Reader, user, conn)
	if err != nil {
		return nil, err
	}
	there := reportedBy(func(c library.ConnectionID) bool { return slices.Contains(target, c) })
	if !slices.ContainsFunc(plays, there) {
		return plays, nil
	}
	return slices.DeleteFunc(plays, there), s.takeOutThere(ctx, id, target)
}

// reportedBy returns whether one of some connections has reported a play.
func reportedBy(some func(library.ConnectionID) bool) func(library.StoredListen) bool {
	return func(p library.StoredListen) bool {
		return slices.ContainsFunc(p.Sources, func(s library.Source) bool { return some(s.Connection) })
	}
}

// takeOutThere takes the listens out of a delivery that its account has already.
func (s *Store) takeOutThere(ctx context.Context, id int64, target connections.Account) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		err := unforward(ctx, tx, `delivery_id = $1 AND EXISTS (SELECT 1 FROM listen_sources s
			WHERE s.listen_id = forwards.listen_id AND `+target.Sources("s", 2)+")", target.Args(id)...)
		return errors.Join(err, recount(ctx, tx, id))
	})
}

// recount updates the number of listens of a delivery.
func recount(ctx context.Context, tx *sql.Tx, id int64) error {
	return db.ExecTx(ctx, tx, `UPDATE deliveries SET items = (SELECT count(*) FROM forwards WHERE delivery_id = $1)
		+ (SELECT count(*) FROM deletions WHERE delivery_id = $1) WHERE id = $1`, id)
}

// RecountAll updates the numbers of listens of all deliveries of a person that are not done, after listens were
// deleted.
func RecountAll(ctx context.Context, tx *sql.Tx, user int64) error {
	return db.ExecTx(ctx, tx, `UPDATE deliveries
		SET items = (SELECT count(*) FROM forwards f WHERE f.delivery_id = deliveries.id)
		WHERE user_id = $1 AND kind IN ($2, $3) AND state <> 'done'`,
		user, delivery.SubmitListens, delivery.Scrobble)
}

// Split moves listens out of a delivery: into new ones, or into dead letters of their own.
func (s *Store) Split(ctx context.Context, from delivery.Draft, id int64, more [][]int64,
	dead []delivery.Refused) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		for _, listens := range more {
			from.Listens = listens
			if _, err := s.Insert(ctx, tx, from); err != nil {
				return err
			}
		}
		for _, d := range dead {
			from.Listens = []int64{d.Listen}
			bad, err := s.Insert(ctx, tx, from)
			if err == nil {
				err = bury(ctx, tx, bad, d.Failure)
			}
			if err != nil {
				return err
			}
		}
		return recount(ctx, tx, id)
	})
}

// bury makes a delivery a dead letter that has never been attempted by itself.
func bury(ctx context.Context, tx *sql.Tx, id int64, f delivery.Failure) error {
	return errors.Join(
		db.ExecTx(ctx, tx, "UPDATE deliveries SET state = 'dead', attempts = 1, ended_at = $1 WHERE id = $2",
			db.Millis(time.Now()), id),
		Note(ctx, tx, id, f, true))
}

// Note keeps why an attempt failed. dead says that it was the last one.
func Note(ctx context.Context, tx *sql.Tx, id int64, f delivery.Failure, dead bool) error {
	since := int64(0)
	if dead {
		since = db.Millis(time.Now())
	}
	return db.ExecTx(ctx, tx, `UPDATE deliveries SET category = $1, reason = $2, answer = $3,
		dead_since = CASE WHEN dead_since > 0 THEN dead_since ELSE CAST($4 AS BIGINT) END WHERE id = $5`,
		f.Category, f.Reason, f.Answer, since, id)
}

// Parked returns the connections to which deliveries are parked.
func (s *Store) Parked(ctx context.Context) ([]library.Connection, error) {
	return db.List(ctx, s.db.Reader, s.connections.ScanConnection,
		connections.SelectConnection+`WHERE EXISTS (SELECT 1 FROM deliveries d
		WHERE d.user_id = connections.user_id AND d.connection = connections.connection AND d.state = 'parked')`)
}

// WaitingFor says what waits to be sent to a connection; empty for nothing.
func (s *Store) WaitingFor(ctx context.Context, user int64, conn library.ConnectionID) (words.Text, error) {
	waiting, err := s.Waiting(ctx, user)
	return waiting[conn].Clause(), err
}

// Waiting counts what waits to be delivered for a person, by provider.
func (s *Store) Waiting(ctx context.Context, user int64) (map[library.ConnectionID]delivery.Waiting, error) {
	type row struct {
		connection  library.ConnectionID
		kind        string
		parked      bool
		jobs, items int
	}
	scan := func(r db.Scanner) (v row, err error) {
		return v, r.Scan(&v.connection, &v.kind, &v.parked, &v.jobs, &v.items)
	}
	rows, err := db.List(ctx, s.db.Reader, scan,
		`SELECT connection, kind, state = 'parked' AS parked, count(*), sum(items)
		FROM deliveries WHERE user_id = $1 AND kind <> 'notify' AND state NOT IN ('done', 'dead')
		GROUP BY connection, kind, parked`, user)
	all := map[library.ConnectionID]delivery.Waiting{}
	for _, r := range rows {
		o := all[r.connection]
		switch r.kind {
		case delivery.WritePlaylist:
			o.Playlists += r.jobs
		case delivery.Archive:
			o.Months += r.jobs
		case delivery.DeleteListens:
			o.Deletions += r.items
		default:
			o.Listens += r.items
		}
		if r.parked {
			o.Parked += r.items
		}
		all[r.connection] = o
	}
	return all, err
}

// forwarded is a listen of a delivery, with one of its sources.
type forwarded struct {
	library.StoredListen
	library.Source // empty if it has none
	delivery       int64
	user           int64
	target         library.ConnectionID
}

func scanForwarded(r db.Scanner) (f forwarded, err error) {
	var later int64
	f.StoredListen, err = listens.ScanListen(db.Wider{Scanner: r, More: []any{&f.delivery, &f.user, &f.target,
		&f.Connection, &f.Source.SourceID, &later, &f.Player}})
	f.Later = db.Length(later)
	return f, err
}

// selectForwarded selects the listens of deliveries, the oldest first, with a row for each of their sources.
var selectForwarded = "SELECT " + listens.ListenColumns + `, f.delivery_id, f.user_id, f.connection,
		coalesce(n.connection, ''), ` + listens.IdOf("s") + ` AS source_id, coalesce(s.later, 0), coalesce(y.name, '')
	FROM forwards f JOIN listens l ON l.id = f.listen_id ` + listens.TheirSpellings + `
	LEFT JOIN listen_sources s ON s.listen_id = l.id
	LEFT JOIN connection_numbers n ON n.number = s.connection
	LEFT JOIN players y ON y.id = s.player
	WHERE f.delivery_id = $1 ORDER BY l.played_at, l.id, n.connection, source_id`

// forwardedIn returns the listens of a delivery, as they are stored now.
func (s *Store) forwardedIn(ctx context.Context, delivery int64) ([]forwarded, error) {
	return db.List(ctx, s.db.Reader, scanForwarded, selectForwarded, delivery)
}

// unforward forgets that some listens are forwarded, by a condition for rows of forwards.
func unforward(ctx context.Context, tx *sql.Tx, condition string, args ...any) error {
	err := db.ExecTx(ctx, tx, `UPDATE listen_columns SET version = version + 1 WHERE (user_id, span) IN
		(SELECT forwards.user_id, `+statistics.SpanIn("listens.played_at")+` FROM forwards
		JOIN listens ON listens.id = forwards.listen_id WHERE `+condition+")", args...)
	if err != nil {
		return err
	}
	return db.ExecTx(ctx, tx, "DELETE FROM forwards WHERE "+condition, args...)
}

// CancelEmpty cancels a person's deliveries that have no listens left, except those under way.
func CancelEmpty(ctx context.Context, tx *sql.Tx, user int64) error {
	if err := RecountAll(ctx, tx, user); err != nil {
		return err
	}
	return db.ExecTx(ctx, tx, `DELETE FROM deliveries WHERE user_id = $1 AND kind IN ($2, $3) AND items = 0
		AND state NOT IN ('done', 'running')`, user, delivery.SubmitListens, delivery.Scrobble)
}
