package store

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/match"
)

// Rules returns what a person wants carried, by provider.
func (s *Store) Rules(ctx context.Context, user int64) ([]delivery.Rule, error) {
	scan := func(r scanner) (v delivery.Rule, err error) {
		var from, oldest, since int64
		err = r.Scan(&v.User, &v.Provider, &v.Kind, &v.Batch, &from, &oldest, &since)
		v.From, v.Oldest, v.Since = instant(from), time.Duration(oldest)*time.Millisecond, instant(since)
		return v, err
	}
	return list(ctx, s.reader, scan, "SELECT user_id, provider, kind, batch, from_at, oldest, since FROM forwarding WHERE user_id = $1 ORDER BY provider", user)
}

// carryAtOnce is how many listens one transaction of Carry writes down, so that nobody waits long for their turn.
const carryAtOnce = 10_000

// Carry makes a person's wish to have listens carried a rule. With earlier, what was stored before is written down at
// once, as far as the provider does not have it. It returns how many listens that were, or months. What is broken off in
// the middle goes on when it is called again.
func (s *Store) Carry(ctx context.Context, r delivery.Rule, earlier bool) (n int, err error) {
	err = s.exec(ctx, `INSERT INTO forwarding (user_id, provider, kind, batch, from_at, oldest, since) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (user_id, provider) DO UPDATE SET kind = excluded.kind, batch = excluded.batch, from_at = excluded.from_at, oldest = excluded.oldest`,
		r.User, r.Provider, r.Kind, r.Batch, millis(r.From), r.Oldest.Milliseconds(), millis(r.Since))
	if err != nil || !earlier {
		return 0, err
	}
	if r.Kind == delivery.Archive {
		err = s.write(ctx, func(tx *sql.Tx) (err error) {
			n, err = s.carryMonths(ctx, tx, r)
			return err
		})
		return n, err
	}
	for more := true; more && err == nil; {
		var ids []int64
		err = s.write(ctx, func(tx *sql.Tx) (err error) {
			ids, err = list(ctx, tx, scanID, "SELECT l.id "+notCarried+" ORDER BY l.played_at, l.id LIMIT $4", r.User, r.Provider, millis(r.From), carryAtOnce)
			if err != nil {
				return err
			}
			return s.oweListens(ctx, tx, delivery.Order{User: r.User, Provider: r.Provider, Kind: r.Kind, History: true}, ids, r.Batch)
		})
		n, more = n+len(ids), len(ids) == carryAtOnce
	}
	return n, err
}

// notCarried picks the listens from an instant on that a provider has not told of, and that are not carried there.
const notCarried = `FROM listens l WHERE l.user_id = $1 AND l.approximate = 0 AND l.played_at >= $3
	AND NOT EXISTS (SELECT 1 FROM listen_sources s WHERE s.listen_id = l.id AND s.provider = $2)
	AND NOT EXISTS (SELECT 1 FROM forwards f WHERE f.listen_id = l.id AND f.provider = $2)`

func (s *Store) carryMonths(ctx context.Context, tx *sql.Tx, r delivery.Rule) (int, error) {
	scan := func(r scanner) (at int64, err error) { return at, r.Scan(&at) }
	all, err := list(ctx, tx, scan, "SELECT played_at FROM listens WHERE user_id = $1 ORDER BY played_at", r.User)
	if err != nil {
		return 0, err
	}
	n, last := 0, ""
	for _, at := range all {
		month := delivery.MonthOf(instant(at))
		if month == last {
			continue
		}
		n, last = n+1, month
		if err := s.oweCopy(ctx, tx, delivery.Order{User: r.User, Provider: r.Provider, Kind: r.Kind, Ref: month, History: true}); err != nil {
			return n, err
		}
	}
	return n, nil
}

// CountNotCarried is how many listens from an instant on Carry would write down.
func (s *Store) CountNotCarried(ctx context.Context, user int64, provider string, from time.Time) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, "SELECT count(*) "+notCarried, user, provider, millis(from)).Scan(&n)
	return n, local(err)
}

// StopCarrying ends a rule. What was written down before stays.
func (s *Store) StopCarrying(ctx context.Context, user int64, provider string) error {
	return s.exec(ctx, "DELETE FROM forwarding WHERE user_id = $1 AND provider = $2", user, provider)
}

// outcomeOf tells what became of a listen l on its way to a provider, from its row f of forwards and that one's job j.
const outcomeOf = `CASE WHEN f.listen_id IS NULL THEN 'there' WHEN f.delivery_id = 0 THEN 'done' ELSE ` + stateOf + ` END`

// Account counts what became of a person's listens on their way to a provider.
func (s *Store) Account(ctx context.Context, user int64, provider string) (a delivery.Account, err error) {
	type row struct {
		outcome string
		n       int
	}
	scan := func(r scanner) (v row, err error) { return v, r.Scan(&v.outcome, &v.n) }
	rows, err := list(ctx, s.reader, scan, "SELECT "+outcomeOf+` AS o, count(*) FROM forwards f LEFT JOIN river_job j ON j.id = f.delivery_id
		WHERE f.user_id = $1 AND f.provider = $2 GROUP BY o`, user, provider)
	if err != nil {
		return a, err
	}
	for _, r := range rows {
		switch delivery.State(r.outcome) {
		case delivery.Done:
			a.Sent += r.n
		case delivery.Dead:
			a.Refused += r.n
		case delivery.Parked:
			a.Parked += r.n
		default:
			a.Waiting += r.n
		}
	}
	err = s.reader.QueryRowContext(ctx, `SELECT count(DISTINCT s.listen_id) FROM listen_sources s WHERE s.user_id = $1 AND s.provider = $2
		AND EXISTS (SELECT 1 FROM listen_sources o WHERE o.listen_id = s.listen_id AND o.provider <> $2)
		AND NOT EXISTS (SELECT 1 FROM forwards f WHERE f.listen_id = s.listen_id AND f.provider = $2)`, user, provider).Scan(&a.There)
	if err != nil {
		return a, local(err)
	}
	var due sql.NullTime
	err = s.reader.QueryRowContext(ctx, `SELECT j.scheduled_at FROM river_job j JOIN deliveries d ON d.id = j.id
		WHERE d.user_id = $1 AND d.provider = $2 AND j.state IN ('available', 'scheduled', 'retryable') AND NOT (`+parked+`) ORDER BY j.scheduled_at LIMIT 1`, user, provider).Scan(&due)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if due.Valid {
		a.Next = due.Time.UTC()
	}
	return a, local(err)
}

// Carried returns the newest listens with what became of each on its way to a provider: those that are or were carried,
// and those that it told of as well as another provider.
func (s *Store) Carried(ctx context.Context, user int64, provider string, limit int) ([]delivery.Carried, error) {
	scan := func(r scanner) (v delivery.Carried, err error) {
		var at, seen int64
		var due, ended sql.NullTime
		err = r.Scan(&v.ID, &v.Title, &v.Artist, &at, &v.Outcome, &due, &ended, &seen, &v.Reason, &v.Delivery)
		v.PlayedAt, v.ThereSince = instant(at), instant(seen)
		if due.Valid {
			v.Due = due.Time.UTC()
		}
		if ended.Valid {
			v.EndedAt = ended.Time.UTC()
		}
		return v, err
	}
	return list(ctx, s.reader, scan, `SELECT l.id, l.title, l.artist, l.played_at, `+outcomeOf+`, j.scheduled_at, j.finalized_at, coalesce(s.stored_at, 0),
		coalesce(d.reason, ''), coalesce(f.delivery_id, 0)
		FROM listens l
		LEFT JOIN forwards f ON f.listen_id = l.id AND f.provider = $2
		LEFT JOIN river_job j ON j.id = f.delivery_id
		LEFT JOIN deliveries d ON d.id = f.delivery_id
		LEFT JOIN listen_sources s ON s.listen_id = l.id AND s.provider = $2
			AND s.source_id = (SELECT min(source_id) FROM listen_sources m WHERE m.listen_id = l.id AND m.provider = $2)
		WHERE l.user_id = $1 AND (f.listen_id IS NOT NULL OR s.listen_id IS NOT NULL AND EXISTS
			(SELECT 1 FROM listen_sources o WHERE o.listen_id = l.id AND o.provider <> $2))
		ORDER BY l.played_at DESC, l.id DESC LIMIT $3`, user, provider, limit)
}

// Month yields the listens of a stretch of time, the oldest first: from ≤ played at < to.
func (s *Store) Month(ctx context.Context, user int64, from, to time.Time) iter.Seq2[library.StoredListen, error] {
	return func(yield func(library.StoredListen, error) bool) {
		at, id := millis(from), int64(0)
		for {
			const pageSize = 1000
			page, err := list(ctx, s.reader, scanListen, `SELECT id, title, artist, album, played_at, duration_ms, isrc, recording_mbid, approximate FROM listens
				WHERE user_id = $1 AND (played_at, id) > ($2, $3) AND played_at >= $4 AND played_at < $5 ORDER BY played_at, id LIMIT $6`,
				user, at, id, millis(from), millis(to), pageSize)
			if err == nil {
				err = s.addSources(ctx, page)
			}
			if err != nil {
				yield(library.StoredListen{}, err)
				return
			}
			for _, l := range page {
				if !yield(l, nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
			last := page[len(page)-1]
			at, id = millis(last.PlayedAt), last.ID
		}
	}
}

// WantCopy notes that a provider is to hold a copy, and that it is to be written now.
func (s *Store) WantCopy(ctx context.Context, o delivery.Order) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		err := s.oweCopy(ctx, tx, o)
		return errors.Join(err, execTx(ctx, tx, `UPDATE river_job AS j SET state = 'available', scheduled_at = $1
			WHERE j.state IN ('available', 'scheduled', 'retryable') AND NOT (`+parked+`) AND j.id IN
			(SELECT id FROM deliveries WHERE user_id = $2 AND provider = $3 AND kind = $4 AND ref = $5)`,
			riverTime(time.Now()), o.User, o.Provider, o.Kind, o.Ref))
	})
}

// DropCopy notes that a copy is not wanted any more. What the provider holds stays as it is.
func (s *Store) DropCopy(ctx context.Context, user int64, provider, kind, ref string) error {
	return s.exec(ctx, "DELETE FROM copies WHERE user_id = $1 AND provider = $2 AND kind = $3 AND ref = $4", user, provider, kind, ref)
}

// playlistChanged owes the copies of a playlist that has just been stored.
func (s *Store) playlistChanged(ctx context.Context, tx *sql.Tx, user int64, ref string) error {
	scan := func(r scanner) (provider string, err error) { return provider, r.Scan(&provider) }
	all, err := list(ctx, tx, scan, "SELECT provider FROM copies WHERE user_id = $1 AND kind = $2 AND ref = $3", user, delivery.WritePlaylist, ref)
	for _, provider := range all {
		err = errors.Join(err, s.oweCopy(ctx, tx, delivery.Order{User: user, Provider: provider, Kind: delivery.WritePlaylist, Ref: ref}))
	}
	return err
}

// matchLife is how long it is believed that a provider does not have a track.
const matchLife = 24 * time.Hour

// Matches returns what is known of these tracks at a provider, by what was looked for.
func (s *Store) Matches(ctx context.Context, user int64, provider string, tracks []string) (map[string]match.Result, error) {
	known := make(map[string]match.Result, len(tracks))
	type row struct {
		track string
		match.Result
	}
	scan := func(r scanner) (v row, err error) {
		return v, r.Scan(&v.track, &v.Found.SourceID, &v.Found.Title, &v.Found.Artist, &v.How, &v.Score)
	}
	for chunk := range slices.Chunk(tracks, 100) {
		args := []any{user, provider, millis(time.Now().Add(-matchLife))}
		for _, t := range chunk {
			args = append(args, t)
		}
		rows, err := list(ctx, s.reader, scan, `SELECT track, source_id, title, artist, how, score FROM track_matches
			WHERE user_id = $1 AND provider = $2 AND (source_id <> '' OR checked_at > $3) AND track IN `+numbered(4, len(chunk)), args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			known[r.track] = r.Result
		}
	}
	return known, nil
}

// SaveMatches keeps what was found out about tracks at a provider.
func (s *Store) SaveMatches(ctx context.Context, user int64, provider string, found map[string]match.Result) error {
	if len(found) == 0 {
		return nil
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		args := make([]any, 0, len(found)*9)
		for track, m := range found {
			args = append(args, user, provider, track, m.Found.SourceID, m.Found.Title, m.Found.Artist, string(m.How), m.Score, millis(time.Now()))
		}
		return insertRows(ctx, tx, "INSERT INTO track_matches (user_id, provider, track, source_id, title, artist, how, score, checked_at)", 9, args,
			`ON CONFLICT (user_id, provider, track) DO UPDATE SET source_id = excluded.source_id, title = excluded.title, artist = excluded.artist,
			how = excluded.how, score = excluded.score, checked_at = excluded.checked_at`)
	})
}

// ForgetMatches drops what is known of these tracks at a provider, so that they are looked for again.
func (s *Store) ForgetMatches(ctx context.Context, user int64, provider string, sourceIDs []string) error {
	return s.write(ctx, func(tx *sql.Tx) error {
		for chunk := range slices.Chunk(sourceIDs, 100) {
			args := []any{user, provider}
			for _, id := range chunk {
				args = append(args, id)
			}
			if err := execTx(ctx, tx, "DELETE FROM track_matches WHERE user_id = $1 AND provider = $2 AND source_id IN "+numbered(3, len(chunk)), args...); err != nil {
				return err
			}
		}
		return nil
	})
}
