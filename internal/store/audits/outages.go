package audits

import (
	"context"
	"slices"
	"sync"
	"time"

	"reprise/internal/ledger"
	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/runs"
)

// Outages returns the times whose plays of a person's connections can come through others only, the latest first:
// what was lost and no imported export covers, and the time since the last reading of those that aren't read now.
// Times without others through which plays come are left out.
func (s *Store) Outages(ctx context.Context, user int64) ([]library.Outage, error) {
	missed := ledger.Missed(time.Now())
	scan := func(r db.Scanner) (o library.Outage, err error) {
		var from, to, lost int64
		var by []byte
		err = r.Scan(&o.Connection, &from, &to, &lost, &by)
		o.From, o.To, o.LostTo = db.Instant(from), db.Instant(to), db.Instant(lost)
		if err == nil {
			err = list(by, &o.By)
		}
		return o, err
	}
	all, err := db.List(ctx, s.db.Reader, scan, `SELECT connection, from_at, to_at, lost_to, stand_ins FROM gaps g
		WHERE user_id = $1 AND lost_to > 0 AND stand_ins <> '[]' AND NOT EXISTS (SELECT 1 FROM imports i
			WHERE i.user_id = $1 AND i.connection = g.connection AND i.state = 'done' AND i.preview = 0
			AND i.last_at > 0 AND i.first_at <= g.from_at AND i.last_at >= g.lost_to - $2)
		UNION ALL SELECT s.connection, s.last_success_at, 0, 0, '' FROM streams s
		JOIN connections c ON c.user_id = s.user_id AND c.connection = s.connection
		WHERE s.user_id = $1 AND s.stream = $3 AND s.reading <> '' AND s.reading <> $4
			AND s.last_success_at BETWEEN $5 AND $6 ORDER BY 2 DESC, 1`, user, ledger.Slack.Milliseconds(),
		library.Listens, library.NotOffered, db.Millis(missed.After), db.Millis(missed.Before))
	for i := range all {
		if o := &all[i]; err == nil && o.To.IsZero() {
			o.By, err = s.standIns.of(ctx, s.db.Reader, user, o.Connection, o.From)
		}
	}
	return slices.DeleteFunc(all, func(o library.Outage) bool { return len(o.By) == 0 }), err
}

// standIns remembers for a while which connections stand in for those that aren't read, as finding it out reads
// two months of listens. The zero value is ready to use.
type standIns struct {
	mu    sync.Mutex
	found map[source]standing
}

type source struct {
	user       int64
	connection library.ConnectionID
}

type standing struct {
	read, found time.Time
	by          []library.ConnectionID
}

// remembered is how long what was found is believed: another source that is connected meanwhile may turn out to have
// had the plays as well.
const remembered = time.Hour

func (s *standIns) of(ctx context.Context, q db.Querier, user int64, conn library.ConnectionID, read time.Time) (
	[]library.ConnectionID, error) {
	key := source{user, conn}
	s.mu.Lock()
	v := s.found[key]
	s.mu.Unlock()
	if v.read.Equal(read) && time.Since(v.found) < remembered {
		return v.by, nil
	}
	by, err := runs.StandIns(ctx, q, user, conn, read)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil {
		s.found = map[source]standing{}
	}
	s.found[key] = standing{read, time.Now(), by}
	return by, nil
}

// StandIns counts the plays of an outage that came through others.
func (s *Store) StandIns(ctx context.Context, user int64, o library.Outage) (in library.StandIns, err error) {
	in.Outage = o
	to := o.LostTo
	if to.IsZero() {
		to = time.Now().AddDate(1, 0, 0)
	}
	args := []any{user, db.Millis(o.From), db.Millis(to)}
	for _, id := range o.By {
		args = append(args, id)
	}
	_, err = db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
		var id library.ConnectionID
		var n int
		if err = r.Scan(&id, &n); id == "" {
			in.Plays = n
		} else {
			in.By = append(in.By, id)
		}
		return none, err
	}, `WITH plays AS MATERIALIZED (SELECT l.id, s.connection FROM listens l
			JOIN listen_sources s ON s.listen_id = l.id
			WHERE l.user_id = $1 AND l.played_at >= $2 AND l.played_at < $3 AND NOT EXISTS
				(SELECT 1 FROM listen_sources o WHERE o.listen_id = l.id AND o.connection NOT IN
				(SELECT number FROM connection_numbers WHERE connection IN `+db.Numbered(4, len(o.By))+`)))
		SELECT '', count(DISTINCT id) FROM plays
		UNION ALL SELECT n.connection, count(DISTINCT plays.id) FROM plays
		JOIN connection_numbers n ON n.number = plays.connection GROUP BY n.connection ORDER BY 2 DESC, 1`, args...)
	return in, err
}
