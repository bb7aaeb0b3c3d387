package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// Owed returns the listens that a delivery carries, the oldest first. Those that its provider has told of meanwhile are
// there already: the delivery carries them no longer.
func (s *Store) Owed(ctx context.Context, id int64, provider string) ([]library.StoredListen, error) {
	var there int
	err := s.reader.QueryRowContext(ctx, `SELECT count(DISTINCT f.listen_id) FROM forwards f JOIN listen_sources s ON s.listen_id = f.listen_id AND s.provider = f.provider
		WHERE f.delivery_id = $1`, id).Scan(&there)
	if err != nil {
		return nil, local(err)
	}
	if there > 0 {
		if err := s.leave(ctx, id); err != nil {
			return nil, err
		}
	}
	plays, err := list(ctx, s.reader, scanListen, `SELECT l.id, l.title, l.artist, l.album, l.played_at, l.duration_ms, l.isrc, l.recording_mbid, l.approximate
		FROM forwards f JOIN listens l ON l.id = f.listen_id WHERE f.delivery_id = $1 ORDER BY l.played_at, l.id`, id)
	if err != nil {
		return nil, err
	}
	return plays, s.addSources(ctx, plays)
}

// leave takes out of a delivery what its provider has already.
func (s *Store) leave(ctx context.Context, id int64) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		err := execTx(ctx, tx, `DELETE FROM forwards WHERE delivery_id = $1 AND EXISTS
			(SELECT 1 FROM listen_sources s WHERE s.listen_id = forwards.listen_id AND s.provider = forwards.provider)`, id)
		return errors.Join(err, recount(ctx, tx, id))
	})
}

// recount brings the number of listens of a delivery in line with what it carries.
func recount(ctx context.Context, tx *sql.Tx, id int64) error {
	return execTx(ctx, tx, "UPDATE deliveries SET items = (SELECT count(*) FROM forwards WHERE delivery_id = $1) WHERE id = $1", id)
}

// recountAll does that with all that a person is still owed, after listens were deleted.
func recountAll(ctx context.Context, tx *sql.Tx, user int64) error {
	return execTx(ctx, tx, `UPDATE deliveries SET items = (SELECT count(*) FROM forwards f WHERE f.delivery_id = deliveries.id)
		WHERE user_id = $1 AND kind IN ($2, $3) AND EXISTS (SELECT 1 FROM river_job j WHERE j.id = deliveries.id AND j.state <> 'completed')`,
		user, delivery.SubmitListens, delivery.Scrobble)
}

// Split moves listens out of a delivery: into new ones, or into dead letters of their own.
func (s *Store) Split(ctx context.Context, from delivery.Order, id int64, more [][]int64, dead []delivery.Refused) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		for _, listens := range more {
			from.Listens, from.Due = listens, time.Now()
			if _, err := s.enqueue(ctx, tx, from); err != nil {
				return err
			}
		}
		for _, d := range dead {
			from.Listens, from.Due = []int64{d.Listen}, time.Now()
			bad, err := s.enqueue(ctx, tx, from)
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
		execTx(ctx, tx, "UPDATE river_job SET state = 'cancelled', attempt = 1, finalized_at = $1 WHERE id = $2", riverTime(time.Now()), id),
		note(ctx, tx, id, f, true))
}

func note(ctx context.Context, tx *sql.Tx, id int64, f delivery.Failure, dead bool) error {
	since := int64(0)
	if dead {
		since = millis(time.Now())
	}
	return execTx(ctx, tx, `UPDATE deliveries SET category = $1, reason = $2, answer = $3,
		dead_since = CASE WHEN dead_since > 0 THEN dead_since ELSE CAST($4 AS BIGINT) END WHERE id = $5`, f.Category, f.Reason, f.Answer, since, id)
}

// NoteFailure keeps why an attempt failed. dead says that it was the last one.
func (s *Store) NoteFailure(ctx context.Context, id int64, f delivery.Failure, dead bool) error {
	return s.write(ctx, func(tx *sql.Tx) error { return note(ctx, tx, id, f, dead) })
}

// ofOwner picks the jobs of one person's deliveries to one provider.
const ofOwner = " AND id IN (SELECT id FROM deliveries WHERE user_id = $1 AND provider = $2)"

// Park lets the deliveries to a provider that are not running wait for a person.
func (s *Store) Park(ctx context.Context, user int64, provider string) error {
	return s.exec(ctx, parkAll+ofOwner, user, provider)
}

// settled says of a job that it may be removed. River notes ends in batches, up to a quarter of a second late, and must
// find the row then; the end of a copy is noted earlier, by EndCopy, as is that of messages.
func settled() string {
	return " AND state <> 'running' AND (kind NOT IN ('write_playlist', 'archive', 'notify') OR finalized_at IS NULL OR finalized_at < '" +
		riverTime(time.Now().Add(-settleFor)) + "')"
}

const settleFor = 2 * time.Second

// What is parked is scheduled for a time that never comes, so that the queue leaves it alone.
const (
	parkAll = "UPDATE river_job SET state = 'scheduled', scheduled_at = '2300-01-01 00:00:00' WHERE state IN ('available', 'scheduled', 'retryable') AND scheduled_at < '2200-01-01'"
	parked  = "j.state = 'scheduled' AND j.scheduled_at >= '2200-01-01'"
)

// Release makes the parked deliveries to a provider due, in the order in which they were written down.
func (s *Store) Release(ctx context.Context, user int64, provider string) error {
	return s.exec(ctx, "UPDATE river_job AS j SET state = 'available', scheduled_at = $3 WHERE "+parked+ofOwner, user, provider, riverTime(time.Now()))
}

// Revive makes those due that have died of something else than what they carry.
func (s *Store) Revive(ctx context.Context, user int64, provider string) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		ids, err := list(ctx, tx, scanID, `SELECT j.id FROM river_job j JOIN deliveries d ON d.id = j.id
			WHERE d.user_id = $1 AND d.provider = $2 AND j.state IN ('cancelled', 'discarded') AND d.category <> 'item' ORDER BY j.id`, user, provider)
		_, again := redriveAll(ctx, tx, ids)
		return errors.Join(err, again)
	})
}

// Parked returns the connections to which deliveries are parked.
func (s *Store) Parked(ctx context.Context) ([]library.Connection, error) {
	return list(ctx, s.reader, s.scanConnection, selectConnection+`WHERE EXISTS (SELECT 1 FROM deliveries d JOIN river_job j ON j.id = d.id
		WHERE d.user_id = connections.user_id AND d.provider = connections.provider AND `+parked+`)`)
}

func scanID(r scanner) (id int64, err error) { return id, r.Scan(&id) }

// postponeAtOnce bounds what one Postpone writes; the others are postponed when their turn comes.
const postponeAtOnce = 500

// Postpone lets the first deliveries to a provider that are due before an instant wait until then, in their order: those
// that were written down before the one with this number a little earlier than the others.
func (s *Store) Postpone(ctx context.Context, user int64, provider string, id int64, until time.Time) error {
	return s.exec(ctx, `UPDATE river_job SET state = 'scheduled', scheduled_at = CASE WHEN id < $3 THEN $4 ELSE $5 END WHERE id IN
		(SELECT j.id FROM river_job j JOIN deliveries d ON d.id = j.id WHERE d.user_id = $1 AND d.provider = $2
		AND j.state IN ('available', 'scheduled') AND j.scheduled_at < $4 ORDER BY j.scheduled_at, j.id LIMIT $6)`,
		user, provider, id, riverTime(until.Add(-delivery.Apart)), riverTime(until.Add(delivery.Apart)), postponeAtOnce)
}

// Waiting says in words what waits to be sent to a connection; empty for nothing.
func (s *Store) Waiting(ctx context.Context, user int64, provider string) (string, error) {
	owing, err := s.Owing(ctx, user)
	return owing[provider].String(), err
}

// Owing is what waits to be carried for a person, by provider.
func (s *Store) Owing(ctx context.Context, user int64) (map[string]delivery.Owing, error) {
	type row struct {
		provider, kind string
		parked         bool
		jobs, items    int
	}
	scan := func(r scanner) (v row, err error) {
		return v, r.Scan(&v.provider, &v.kind, &v.parked, &v.jobs, &v.items)
	}
	rows, err := list(ctx, s.reader, scan, `SELECT d.provider, d.kind, (`+parked+`) AS parked, count(*), sum(d.items)
		FROM deliveries d JOIN river_job j ON j.id = d.id
		WHERE d.user_id = $1 AND d.kind <> 'notify' AND j.state IN ('available', 'scheduled', 'retryable', 'running') GROUP BY d.provider, d.kind, parked`, user)
	all := map[string]delivery.Owing{}
	for _, r := range rows {
		o := all[r.provider]
		switch r.kind {
		case delivery.WritePlaylist:
			o.Playlists += r.jobs
		case delivery.Archive:
			o.Months += r.jobs
		default:
			o.Listens += r.items
		}
		if r.parked {
			o.Parked += r.items
		}
		all[r.provider] = o
	}
	return all, err
}

// Copy returns a copy, or library.ErrNotFound when none is wanted.
func (s *Store) Copy(ctx context.Context, user int64, provider, kind, ref string) (delivery.Copy, error) {
	c, err := scanCopy(s.reader.QueryRowContext(ctx, selectCopy+"WHERE user_id = $1 AND provider = $2 AND kind = $3 AND ref = $4", user, provider, kind, ref))
	return c, found(err)
}

const selectCopy = "SELECT user_id, provider, kind, ref, wanted, written, remote_id, report, written_at FROM copies "

func scanCopy(r scanner) (c delivery.Copy, err error) {
	var at int64
	err = r.Scan(&c.User, &c.Provider, &c.Kind, &c.Ref, &c.Wanted, &c.Written, &c.RemoteID, &c.Report, &at)
	c.WrittenAt = instant(at)
	return c, err
}

// Copies returns all copies of a kind that one person has anywhere.
func (s *Store) Copies(ctx context.Context, user int64, kind string) ([]delivery.Copy, error) {
	return list(ctx, s.reader, scanCopy, selectCopy+"WHERE user_id = $1 AND kind = $2 ORDER BY provider, ref", user, kind)
}

// NoteRemote keeps by what a provider knows a copy, as soon as that is known, and what came of writing it.
func (s *Store) NoteRemote(ctx context.Context, c delivery.Copy) error {
	return s.exec(ctx, "UPDATE copies SET remote_id = $1, report = $2 WHERE user_id = $3 AND provider = $4 AND kind = $5 AND ref = $6",
		c.RemoteID, c.Report, c.User, c.Provider, c.Kind, c.Ref)
}

// EndCopy ends the delivery of a copy, as done or as dead, unless ours has changed since c was read: then it returns
// false, and the delivery has to go on. c.Wanted is what was written when done; nothing is noted of a copy that is dead
// or not wanted any more. All of it is one transaction, so that no change falls between the last look and the end.
func (s *Store) EndCopy(ctx context.Context, id int64, c delivery.Copy, done bool) (ended bool, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		var wanted int64
		err := tx.QueryRowContext(ctx, "SELECT wanted FROM copies WHERE user_id = $1 AND provider = $2 AND kind = $3 AND ref = $4",
			c.User, c.Provider, c.Kind, c.Ref).Scan(&wanted)
		gone := errors.Is(err, sql.ErrNoRows)
		if err != nil && !gone {
			return err
		}
		if done && !gone {
			err := execTx(ctx, tx, `UPDATE copies SET written = $1, remote_id = $2, report = $3, written_at = $4
				WHERE user_id = $5 AND provider = $6 AND kind = $7 AND ref = $8`,
				c.Wanted, c.RemoteID, c.Report, millis(time.Now()), c.User, c.Provider, c.Kind, c.Ref)
			if err != nil {
				return err
			}
		}
		if ended = gone || wanted == c.Wanted; !ended {
			return nil
		}
		state := "cancelled"
		if done || gone {
			state = "completed"
		}
		return execTx(ctx, tx, "UPDATE river_job SET state = $1, finalized_at = $2 WHERE id = $3 AND state = 'running'", state, riverTime(time.Now()), id)
	})
	return ended && err == nil, err
}
