package runs

import (
	"context"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
	"reprise/internal/store/db"
	"reprise/internal/words"
)

// UpsertStream is the beginning of every statement that stores something about a stream.
const UpsertStream = "INSERT INTO streams (user_id, connection, stream, "

// Streams returns the records of the streams of one user's connections.
func (s *Store) Streams(ctx context.Context, user int64) ([]library.StreamRecord, error) {
	scan := func(r db.Scanner) (v library.StreamRecord, err error) {
		var success int64
		err = r.Scan(&v.Connection, &v.Stream, &v.Position, &success, &v.Advice, &v.Detail, &v.Note)
		v.LastSuccessAt = db.Instant(success)
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT connection, stream, reading, last_success_at, advice, detail, note
		FROM streams WHERE user_id = $1 ORDER BY connection, stream`, user)
}

// Position returns how far reading a stream has come; empty before the first page.
func (s *Store) Position(ctx context.Context, user int64, conn library.ConnectionID, stream string) (string, error) {
	var reading string
	err := s.db.Reader.QueryRowContext(ctx, `SELECT reading FROM streams
		WHERE user_id = $1 AND connection = $2 AND stream = $3`, user, conn, stream).Scan(&reading)
	if err = db.Found(err); err == library.ErrNotFound {
		err = nil
	}
	return reading, err
}

// SavePosition stores the position that reading a stream has reached, and a note for the person about its data.
func (s *Store) SavePosition(
	ctx context.Context, user int64, conn library.ConnectionID, stream, reading string, note words.Text,
) error {
	return s.db.ExecFor(ctx, user, SavePosition, user, conn, stream, reading, note)
}

// SavePosition stores the reading position of a stream with a note. Its arguments are the person, the connection, the
// stream, the position and the note.
const SavePosition = UpsertStream + `reading, note) VALUES ($1, $2, $3, $4, $5)
	ON CONFLICT (user_id, connection, stream) DO UPDATE SET reading = excluded.reading, note = excluded.note`

// SaveSuccess stores when a run of a stream succeeded, and deletes the advice about earlier failures.
func (s *Store) SaveSuccess(
	ctx context.Context, user int64, conn library.ConnectionID, stream string, at time.Time,
) error {
	return s.db.ExecFor(ctx, user, UpsertStream+`last_success_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (user_id, connection, stream) DO UPDATE
		SET last_success_at = excluded.last_success_at, advice = '', detail = ''`, user, conn, stream, db.Millis(at))
}

// SaveFailure stores the advice to the person about the latest failure of a stream.
func (s *Store) SaveFailure(
	ctx context.Context, user int64, conn library.ConnectionID, stream string, advice words.Text, detail string,
) error {
	return s.db.ExecFor(ctx, user, UpsertStream+`advice, detail) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (user_id, connection, stream) DO UPDATE SET advice = excluded.advice, detail = excluded.detail`,
		user, conn, stream, advice, detail)
}

// SaveStop stores a stop, so that a dead credential is not sent again after a restart. It stores nothing if the
// connection is gone or has another generation, because that credential is not used any more.
func (s *Store) SaveStop(ctx context.Context, v backoff.Stop) error {
	return s.db.ExecFor(ctx, v.Key.User, UpsertStream+`stop_category, stop_since, stop_admin)
		SELECT user_id, connection, $3, $4, $5, $7 FROM connections
		WHERE user_id = $1 AND connection = $2 AND generation = $6
		ON CONFLICT (user_id, connection, stream) DO UPDATE
		SET stop_category = excluded.stop_category, stop_since = excluded.stop_since, stop_admin = excluded.stop_admin`,
		v.Key.User, v.Key.Connection, v.Key.Stream, v.Category.String(), db.Millis(v.Since), v.Generation,
		db.Flag(v.ForAdmin))
}

// ClearStops deletes the stops of a connection, so that it is tried again.
func (s *Store) ClearStops(ctx context.Context, user int64, conn library.ConnectionID) error {
	return s.db.Exec(ctx, `UPDATE streams SET stop_category = '', stop_since = 0, stop_admin = 0
		WHERE user_id = $1 AND connection = $2`, user, conn)
}

// Stops returns all stops.
func (s *Store) Stops(ctx context.Context) ([]backoff.Stop, error) {
	scan := func(r db.Scanner) (v backoff.Stop, err error) {
		var category string
		var since int64
		err = r.Scan(&v.Key.User, &v.Key.Connection, &v.Key.App, &v.Key.Stream, &v.Generation, &category, &since,
			&v.ForAdmin)
		v.Key.Provider = appOwner(v.Key.Connection)
		v.Category, v.Since = resilience.ParseCategory(category), db.Instant(since)
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan,
		`SELECT s.user_id, s.connection, c.app, s.stream, c.generation, s.stop_category,
			s.stop_since, s.stop_admin
		FROM streams s JOIN connections c ON c.user_id = s.user_id AND c.connection = s.connection
		WHERE s.stop_category <> ''`)
}

// SaveHold stores a hold, so that it survives a restart. If the hold exists already, the later end wins.
func (s *Store) SaveHold(ctx context.Context, h backoff.Hold) error {
	about := h.Key.Connection
	if h.Key.User == 0 { // the hold is for all connections to the provider
		about = h.Key.Provider
	}
	return s.db.Exec(ctx, `INSERT INTO holds (connection, app, user_id, stream, category, since, until)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (connection, app, user_id, stream) DO UPDATE
		SET category = excluded.category, since = excluded.since,
			until = CASE WHEN excluded.until > holds.until THEN excluded.until ELSE holds.until END`,
		about, h.Key.App, h.Key.User, h.Key.Stream, h.Category.String(), db.Millis(h.Since), db.Millis(h.Until))
}

// Holds returns the holds that have not ended.
func (s *Store) Holds(ctx context.Context) ([]backoff.Hold, error) {
	scan := func(r db.Scanner) (v backoff.Hold, err error) {
		var category string
		var since, until int64
		err = r.Scan(&v.Key.Connection, &v.Key.App, &v.Key.User, &v.Key.Stream, &category, &since, &until)
		v.Key.Provider = appOwner(v.Key.Connection)
		v.Category, v.Since, v.Until = resilience.ParseCategory(category), db.Instant(since), db.Instant(until)
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT connection, app, user_id, stream, category, since, until
		FROM holds WHERE until > $1`, db.Millis(time.Now()))
}

// appOwner returns the provider of a connection, whose app it may share with others. A channel is its own owner.
func appOwner(connection string) string {
	id := library.ConnectionID(connection)
	if _, channel := delivery.ChannelNumber(id); channel {
		return connection
	}
	return id.Provider()
}
