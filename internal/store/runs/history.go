package runs

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/metrics"
	"reprise/internal/store/db"
)

// KeepRuns is how long a run is kept: longer than the day that the pages show.
const KeepRuns = 48 * time.Hour

// SaveRun stores the outcome of a run.
func (s *Store) SaveRun(ctx context.Context, r library.Run) error {
	return s.db.ExecFor(ctx, r.User, `INSERT INTO runs
		(user_id, connection, stream, started_at, took_ms, row_count, result, category, words, detail)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
		ON CONFLICT (user_id, connection, stream, started_at) DO NOTHING`,
		r.User, r.Connection, r.Stream, db.Millis(r.Started), r.Took.Milliseconds(), r.Rows, r.Result, r.Category,
		r.Words, r.Detail)
}

// Runs returns a page of the runs of a person's connection that began at since or later, the newest first, and the
// cursor of the next page, empty at the end. limit is 1 to 1,000. An invalid cursor is library.ErrBadCursor.
func (s *Store) Runs(ctx context.Context, user int64, conn library.ConnectionID, since time.Time, before string,
	limit int) (page []library.Run, next string, err error) {
	at, stream := int64(1<<62), ""
	if before != "" {
		raw, err := base64.RawURLEncoding.DecodeString(before)
		if err != nil {
			return nil, "", library.ErrBadCursor
		}
		var ms string
		ms, stream, _ = strings.Cut(string(raw), ".")
		if at, err = strconv.ParseInt(ms, 10, 64); err != nil {
			return nil, "", library.ErrBadCursor
		}
	}
	scan := func(r db.Scanner) (v library.Run, err error) {
		var started, took int64
		err = r.Scan(&v.Stream, &started, &took, &v.Rows, &v.Result, &v.Category, &v.Words, &v.Detail)
		v.User, v.Connection, v.Started, v.Took = user, conn, db.Instant(started), time.Duration(took)*time.Millisecond
		return v, err
	}
	page, err = db.List(ctx, s.db.Reader, scan, `SELECT stream, started_at, took_ms, row_count, result, category, words,
			detail
		FROM runs
		WHERE user_id = $1 AND connection = $2 AND started_at >= $3 AND (started_at, stream) < ($4, $5)
		ORDER BY started_at DESC, stream DESC LIMIT $6`, user, conn, db.Millis(since), at, stream, limit+1)
	if err != nil {
		return nil, "", err
	}
	if len(page) > limit {
		page = page[:limit]
		last := page[limit-1]
		next = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%s", db.Millis(last.Started), last.Stream))
	}
	return page, next, nil
}

// RunQuarters adds up the runs of a person's connection since a time by the quarter of an hour in which they began.
func (s *Store) RunQuarters(ctx context.Context, user int64, conn library.ConnectionID,
	since time.Time) ([]library.RunQuarter, error) {
	const quarter = int64(metrics.QuarterLength / time.Millisecond)
	scan := func(r db.Scanner) (v library.RunQuarter, err error) {
		var n int64
		err = r.Scan(&v.Stream, &n, &v.Runs, &v.Full, &v.Rows, &v.Retriable, &v.Fatal)
		v.Start = db.Instant(n * quarter)
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT stream, started_at / $4 AS quarter, count(*),
			sum(CASE WHEN row_count > 0 THEN 1 ELSE 0 END), sum(row_count),
			sum(CASE WHEN result = 'retriable' THEN 1 ELSE 0 END), sum(CASE WHEN result = 'fatal' THEN 1 ELSE 0 END)
		FROM runs WHERE user_id = $1 AND connection = $2 AND started_at >= $3
		GROUP BY stream, quarter ORDER BY stream, quarter`, user, conn, db.Millis(since), quarter)
}

// AddQuarters implements metrics.RollupStore.
func (s *Store) AddQuarters(ctx context.Context, all []metrics.Quarter) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		const width = 8
		args := make([]any, 0, len(all)*width)
		for _, q := range all {
			args = append(args, db.Millis(q.Start), q.Provider, q.Endpoint, q.Attempts, q.Failures, q.Refused,
				q.Took.Milliseconds(), q.Open.Milliseconds())
		}
		return db.InsertRows(ctx, tx, `INSERT INTO quarters
			(start_at, provider, endpoint, attempts, failures, refused, took_ms, open_ms)`, width, args,
			`ON CONFLICT (start_at, provider, endpoint) DO UPDATE
			SET attempts = quarters.attempts + excluded.attempts, failures = quarters.failures + excluded.failures,
				refused = quarters.refused + excluded.refused, took_ms = quarters.took_ms + excluded.took_ms,
				open_ms = quarters.open_ms + excluded.open_ms`)
	})
}

// Quarters implements metrics.RollupStore.
func (s *Store) Quarters(ctx context.Context, usual, from, to time.Time) ([]metrics.Quarter, error) {
	scan := func(r db.Scanner) (q metrics.Quarter, err error) {
		var start, took, open int64
		err = r.Scan(&start, &q.Provider, &q.Endpoint, &q.Attempts, &q.Failures, &q.Refused, &took, &open)
		q.Start = db.Instant(start)
		q.Took, q.Open = time.Duration(took)*time.Millisecond, time.Duration(open)*time.Millisecond
		return q, err
	}
	// The casts are for Postgres, where the sum of integers is a decimal number.
	return db.List(ctx, s.db.Reader, scan,
		`SELECT start_at, provider, endpoint, attempts, failures, refused, took_ms, open_ms
		FROM quarters WHERE start_at >= $2 AND start_at < $3
		UNION ALL
		SELECT CAST($1 AS BIGINT), provider, endpoint, CAST(sum(attempts) AS BIGINT), CAST(sum(failures) AS BIGINT),
			CAST(sum(refused) AS BIGINT), CAST(sum(took_ms) AS BIGINT), CAST(sum(open_ms) AS BIGINT)
		FROM quarters WHERE start_at >= $1 AND start_at < $2
		GROUP BY provider, endpoint
		ORDER BY 1, 2, 3`, db.Millis(usual), db.Millis(from), db.Millis(to))
}

// Hours implements metrics.RollupStore.
func (s *Store) Hours(ctx context.Context, provider string, from time.Time) ([]metrics.Quarter, error) {
	const hour = int64(time.Hour / time.Millisecond)
	scan := func(r db.Scanner) (q metrics.Quarter, err error) {
		var n, took, open int64
		err = r.Scan(&n, &q.Provider, &q.Attempts, &q.Failures, &q.Refused, &took, &open)
		q.Start = db.Instant(n * hour)
		q.Took, q.Open = time.Duration(took)*time.Millisecond, time.Duration(open)*time.Millisecond
		return q, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT start_at / $3 AS hour, provider, CAST(sum(attempts) AS BIGINT),
			CAST(sum(failures) AS BIGINT), CAST(sum(refused) AS BIGINT), CAST(sum(took_ms) AS BIGINT),
			CAST(sum(open_ms) AS BIGINT)
		FROM quarters WHERE start_at >= $1 AND ($2 = '' OR provider = $2)
		GROUP BY hour, provider ORDER BY provider, hour`, db.Millis(from), provider, hour)
}

// Standings returns the stored part of the standing of every connection.
func (s *Store) Standings(ctx context.Context) (all []library.Standing, err error) {
	type owner struct{ user, connection string }
	at := map[owner]int{}
	err = s.lines(ctx, "connections", "1 = 1", func(v []string) error {
		user, err := strconv.ParseInt(v[0], 10, 64)
		expires, e := strconv.ParseInt(v[3], 10, 64)
		at[owner{v[0], v[1]}] = len(all)
		all = append(all, library.Standing{Outline: library.Outline{User: user, ID: library.ConnectionID(v[1]),
			App: v[4], Paused: v[2] != "0", ExpiresAt: db.Instant(expires)}})
		return errors.Join(err, e)
	}, "user_id", "connection", "paused", "expires_at", "app")
	if err != nil {
		return nil, err
	}
	const lacks = "CASE WHEN reading = '" + library.NotOffered + "' THEN 1 ELSE 0 END"
	known := "stream <> '' AND (last_success_at > 0 OR reading = '" + library.NotOffered + "')"
	err = s.lines(ctx, "streams", known, func(v []string) error {
		success, err := strconv.ParseInt(v[2], 10, 64)
		if i, known := at[owner{v[0], v[1]}]; known {
			if read := db.Instant(success); read.After(all[i].LastSuccessAt) {
				all[i].LastSuccessAt = read
			}
			switch {
			case v[3] == "1":
				all[i].Lacks = append(all[i].Lacks, v[4])
			case v[4] != library.Deliveries:
				all[i].Read++
			}
		}
		return err
	}, "user_id", "connection", "last_success_at", lacks, "stream")
	return all, err
}

// lines calls each for the columns of rows of a table, as texts in a slice that it uses again. The database joins them
// to one text, since a row for each costs several times as much. No column may be NULL, which would lose its row, and
// only the last one may have spaces.
func (s *Store) lines(ctx context.Context, table, condition string, each func([]string) error,
	columns ...string) error {
	var text sql.NullString
	err := s.db.Reader.QueryRowContext(ctx,
		"SELECT string_agg("+strings.Join(columns, " || ' ' || ")+", $1) FROM "+table+
			" WHERE "+condition, "\n").Scan(&text)
	if err != nil || !text.Valid {
		return db.Explain(err)
	}
	v := make([]string, len(columns))
	last := len(v) - 1
	for rest := range strings.SplitSeq(text.String, "\n") {
		whole := true
		for i := range last {
			var found bool
			v[i], rest, found = strings.Cut(rest, " ")
			whole = whole && found
		}
		if v[last] = rest; !whole {
			return fmt.Errorf("%s has a line break in %s", table, columns[last])
		}
		if err := each(v); err != nil {
			return err
		}
	}
	return nil
}
