package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"reprise/internal/accounts"
	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/removal"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/outbox"
	"reprise/internal/store/people"
	"reprise/internal/store/playrules"
	"reprise/internal/store/statistics"
)

// DeleteConnection removes a connection and its settings. With data it also removes its listens, except those that
// another connection reported too, its playlists and its deliveries; otherwise the deliveries are parked. A running
// delivery stays, without listens.
func (s *Store) DeleteConnection(ctx context.Context, user int64, conn library.ConnectionID, data bool) error {
	return s.Write(ctx, func(tx *sql.Tx) error {
		const connection = "DELETE FROM connections WHERE user_id = $1 AND connection = $2"
		if err := db.Changed(tx.ExecContext(ctx, connection, user, conn)); err != nil {
			return err
		}
		err := connections.ExecSteps(ctx, tx, user, conn,
			"DELETE FROM streams WHERE user_id = $1 AND connection = $2",
			"DELETE FROM skipped WHERE user_id = $1 AND connection = $2",
			"DELETE FROM gaps WHERE user_id = $1 AND connection = $2",
			"DELETE FROM audits WHERE user_id = $1 AND connection = $2",
			"DELETE FROM loves_there WHERE user_id = $1 AND connection = $2",
			"DELETE FROM library_songs WHERE user_id = $1 AND connection = $2",
			"DELETE FROM runs WHERE user_id = $1 AND connection = $2",
			"DELETE FROM holds WHERE user_id = $1 AND connection = $2",
			"DELETE FROM live_states WHERE user_id = $1 AND connection = $2",
			"DELETE FROM pending_connections WHERE user_id = $1 AND connection = $2",
			"DELETE FROM oauth_states WHERE user_id = $1 AND connection = $2",
			"DELETE FROM forwarding WHERE user_id = $1 AND connection = $2",
			"DELETE FROM copies WHERE user_id = $1 AND connection = $2",
			"DELETE FROM track_matches WHERE user_id = $1 AND connection = $2",
			"DELETE FROM song_questions WHERE user_id = $1 AND connection = $2")
		if err == nil {
			err = outbox.ParkDeliveries(ctx, tx, user, conn)
		}
		if err != nil {
			return err
		}
		if data {
			if err := s.deleteData(ctx, tx, user, conn); err != nil {
				return err
			}
		}
		return outbox.RecountAll(ctx, tx, user)
	})
}

// DeletePlayer removes a player. With data it also removes its listens, except those that a connection or another
// player reported too.
func (s *Store) DeletePlayer(ctx context.Context, user int64, id library.ConnectionID, data bool) error {
	return s.Write(ctx, func(tx *sql.Tx) error {
		if data {
			if err := s.deleteData(ctx, tx, user, id); err != nil {
				return err
			}
		}
		return errors.Join(
			db.Changed(tx.ExecContext(ctx, "DELETE FROM sending_players WHERE user_id = $1 AND id = $2", user,
				id.Number())),
			outbox.RecountAll(ctx, tx, user))
	})
}

// deleteData removes the listens and playlists of a connection, and its deliveries.
func (s *Store) deleteData(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID) error {
	if err := s.enqueueDeleted(ctx, tx, user, conn); err != nil {
		return err
	}
	if err := statistics.ForgetColumns(ctx, tx, user); err != nil {
		return err
	}
	err := connections.ExecSteps(ctx, tx, user, conn,
		"DELETE FROM deliveries WHERE user_id = $1 AND connection = $2 AND state <> 'running'",
		"DELETE FROM forwards WHERE user_id = $1 AND connection = $2",
		"DELETE FROM listens WHERE user_id = $1 AND id IN (SELECT listen_id FROM listen_sources s WHERE "+
			connections.SourceOf("s",
				2)+") AND id NOT IN (SELECT listen_id FROM listen_sources s WHERE NOT "+
			connections.SourceOf("s", 2)+")",
		"DELETE FROM listen_sources WHERE listen_id IN (SELECT id FROM listens WHERE user_id = $1) AND "+
			connections.SourceOf("listen_sources", 2),
		"DELETE FROM removed_forwards WHERE user_id = $1 AND connection = $2",
		"DELETE FROM deletions WHERE user_id = $1 AND connection = $2",
		"DELETE FROM removed_listens WHERE user_id = $1 AND id IN (SELECT listen_id FROM removed_sources s WHERE "+
			connections.SourceOf("s",
				2)+") AND id NOT IN (SELECT listen_id FROM removed_sources s WHERE NOT "+connections.SourceOf("s",
			2)+")",
		"DELETE FROM removed_sources WHERE listen_id IN (SELECT id FROM removed_listens WHERE user_id = $1) AND "+
			connections.SourceOf("removed_sources", 2),
		"DELETE FROM play_counts WHERE user_id = $1 AND connection = $2",
		"DELETE FROM shares WHERE user_id = $1 AND kind = 'playlist' AND subject IN (SELECT CAST(id AS TEXT) "+
			"FROM playlists WHERE user_id = $1 AND connection = $2)",
		"DELETE FROM playlists WHERE user_id = $1 AND connection = $2")
	return errors.Join(err, playrules.ForgetGone(ctx, tx, user))
}

// enqueueDeleted enqueues the months of the archive that change when the listens that only this connection reported are
// deleted.
func (s *Store) enqueueDeleted(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID) error {
	routes, err := s.Routes(ctx, tx, user)
	archives := func(r delivery.Rule) bool { return r.Kind == delivery.Archive }
	if err != nil || !slices.ContainsFunc(routes.Rules, archives) {
		return err // most people have no archive: their listens need not be read
	}
	scan := func(r db.Scanner) (p delivery.Play, err error) {
		var at int64
		err = r.Scan(&at)
		p.At = db.Instant(at)
		return p, err
	}
	plays, err := db.List(ctx, tx, scan, `SELECT l.played_at FROM listens l
		JOIN listen_sources s ON s.listen_id = l.id AND `+connections.SourceOf("s", 2)+`
		WHERE l.user_id = $1
		AND NOT EXISTS (SELECT 1 FROM listen_sources o WHERE o.listen_id = l.id AND NOT `+connections.SourceOf("o",
		2)+")",
		user, conn)
	return errors.Join(err, s.EnqueueAll(ctx, tx, routes.Months(plays)))
}

// belonging is a table with rows that belong to a person, and the columns that identify a row.
type belonging struct {
	table string
	key   []string
}

// belongings lists the tables that a removal empties of a person's rows, in the order in which it does so: rows before
// those that they refer to. A test compares it with the schema.
var belongings = []belonging{
	{"oauth_states", []string{"id"}},
	{"answers", []string{"user_id", "id"}},
	{"pending_connections", []string{"user_id", "connection"}},
	{"connections", []string{"user_id", "connection"}},
	{"generations", []string{"user_id", "connection"}},
	{"streams", []string{"user_id", "connection", "stream"}},
	{"live_states", []string{"user_id"}},
	{"holds", []string{"connection", "app", "user_id", "stream"}},
	{"forwarding", []string{"user_id", "connection"}},
	{"copies", []string{"user_id", "connection", "kind", "ref"}},
	{"track_matches", []string{"user_id", "connection", "track"}},
	{"song_questions", []string{"id"}},
	{"play_counts", []string{"user_id", "connection", "track_id"}},
	{"sent_plays", []string{"id"}},
	{"forwards", []string{"listen_id", "connection"}},
	{"listens", []string{"id"}}, // with their sources
	{"removed_forwards", []string{"listen_id", "connection"}},
	{"removed_listens", []string{"id"}}, // with their sources
	{"edited_listens", []string{"correction_id"}},
	{"kept_apart", []string{"correction_id", "connection", "source_id"}},
	{"deletions", []string{"correction_id", "listen_id", "connection"}},
	{"checked_listens", []string{"correction_id"}},
	{"corrections", []string{"id"}},
	{"listen_columns", []string{"user_id", "span"}},
	{"forwarding_counts", []string{"user_id", "connection", "span"}},
	{"playlists", []string{"id"}},
	{"imports", []string{"id"}},
	{"upload_pieces", []string{"file", "piece"}},
	{"skipped", []string{"user_id", "connection", "stream", "playlist", "source_id"}},
	{"gaps", []string{"user_id", "connection", "from_at"}},
	{"audits", []string{"user_id", "connection", "month"}},
	{"digests", []string{"id"}},
	{"digest_people", []string{"user_id"}},
	{"runs", []string{"user_id", "connection", "stream", "started_at"}},
	{"channels", []string{"id"}}, // with their messages
	{"notifications", []string{"id"}},
	{"asks", []string{"user_id", "provider"}},
	{"first_steps", []string{"user_id"}},
	{"tokens", []string{"id"}},
	{"loves", []string{"match_key"}},
	{"loves_there", []string{"user_id", "connection", "match_key"}},
	{"library_songs", []string{"user_id", "connection", "match_key"}},
	{"recipes", []string{"id"}},
	{"play_rules", []string{"id"}},
	{"ruled_listens", []string{"listen_id"}},
	{"withheld", []string{"listen_id", "connection", "rule_id"}},
	{"sending_players", []string{"id"}}, // with what was refused of them
	{"shares", []string{"id"}},
	{"comparisons", []string{"id"}},
	{"links", []string{"id"}},
	{"identities", []string{"issuer", "subject"}},
	{"factors", []string{"id"}},
	{"recovery_codes", []string{"user_id", "hash"}},
	{"sessions", []string{"id"}},
	{"grants", []string{"id"}},
	{"activity", []string{"id"}},
}

// Counts returns what belongs to a person.
func (s *Store) Counts(ctx context.Context, user int64) (c removal.Counts, err error) {
	err = s.Reader.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM listens WHERE user_id = $1),
		(SELECT count(*) FROM playlists WHERE user_id = $1),
		(SELECT count(*) FROM connections WHERE user_id = $1),
		(SELECT count(*) FROM deliveries WHERE user_id = $1 AND state NOT IN ('done', 'dead')),
		(SELECT count(*) FROM imports WHERE user_id = $1),
		(SELECT count(*) FROM channels WHERE user_id = $1),
		(SELECT count(*) FROM tokens WHERE user_id = $1)`, user).
		Scan(&c.Listens, &c.Playlists, &c.Connections, &c.Deliveries, &c.Imports, &c.Channels, &c.Tokens)
	return c, db.Explain(err)
}

// SetRole changes the role of a person, and returns the one before. It returns accounts.ErrUnknown, and
// accounts.ErrLastAdmin if nobody would be left who administers.
func (s *Store) SetRole(ctx context.Context, user int64, role string) (before string, err error) {
	err = s.Write(ctx, func(tx *sql.Tx) error {
		u, err := people.Person(ctx, tx, user)
		before = u.Role
		switch {
		case err != nil:
			return err
		case before == people.Leaving:
			return accounts.ErrUnknown
		case before == role:
			return nil
		}
		if err := notTheLast(ctx, tx, u); err != nil {
			return err
		}
		return errors.Join(
			db.ExecTx(ctx, tx, "UPDATE users SET role = $1 WHERE id = $2", role, user),
			dropLinksBy(ctx, tx, user)) // an invitation in the hand of a former administrator would make another
	})
	return before, err
}

// dropLinksBy removes the links that a person has made.
func dropLinksBy(ctx context.Context, tx *sql.Tx, user int64) error {
	return db.ExecTx(ctx, tx, "DELETE FROM links WHERE made_by = $1", user)
}

// notTheLast returns accounts.ErrLastAdmin if a person is the only administrator.
func notTheLast(ctx context.Context, tx *sql.Tx, u accounts.User) error {
	if u.Role != accounts.Admin {
		return nil
	}
	var others int
	err := tx.QueryRowContext(ctx, "SELECT count(*) FROM users WHERE role = $1 AND id <> $2", accounts.Admin, u.ID).
		Scan(&others)
	if err == nil && others == 0 {
		err = accounts.ErrLastAdmin
	}
	return err
}

// BeginRemoval implements removal.Store. It frees the person's name.
func (s *Store) BeginRemoval(ctx context.Context, user int64) (u accounts.User, err error) {
	err = s.Write(ctx, func(tx *sql.Tx) error {
		if u, err = people.Person(ctx, tx, user); err != nil || u.Role == people.Leaving {
			return err
		}
		if err := notTheLast(ctx, tx, u); err != nil {
			return err
		}
		// No name that somebody types begins with a space.
		err := db.ExecTx(ctx, tx, `UPDATE users SET role = $1, password_hash = '', name_key = $2 WHERE id = $3`,
			people.Leaving, fmt.Sprint(" ", user), user)
		for _, step := range []string{
			"DELETE FROM tokens WHERE user_id = $1",
			"DELETE FROM links WHERE user_id = $1 OR made_by = $1",
			"DELETE FROM shares WHERE user_id = $1",
			"DELETE FROM comparisons WHERE user_id = $1",
			"DELETE FROM sessions WHERE user_id = $1",
			"DELETE FROM grants WHERE user_id = $1",
			"DELETE FROM identities WHERE user_id = $1",
			"DELETE FROM factors WHERE user_id = $1",
			"DELETE FROM oauth_states WHERE user_id = $1",
			"DELETE FROM answers WHERE user_id = $1",
			"DELETE FROM pending_connections WHERE user_id = $1",
			"DELETE FROM forwarding WHERE user_id = $1",
			"DELETE FROM digest_people WHERE user_id = $1",
			"UPDATE connections SET paused = 1 WHERE user_id = $1",
		} {
			err = errors.Join(err, db.ExecTx(ctx, tx, step, user))
		}
		return err
	})
	return u, err
}

// Leaving implements removal.Store.
func (s *Store) Leaving(ctx context.Context) ([]int64, error) {
	scan := func(r db.Scanner) (id int64, err error) { return id, r.Scan(&id) }
	return db.List(ctx, s.Reader, scan, "SELECT id FROM users WHERE role = $1 ORDER BY id", people.Leaving)
}

// removeAtOnce is how many rows one step of a removal deletes, without those that go with them. It takes some ten
// milliseconds.
const removeAtOnce = 500

// RemoveSome implements removal.Store.
func (s *Store) RemoveSome(ctx context.Context, user int64) (left removal.Left, err error) {
	err = s.Write(ctx, func(tx *sql.Tx) (err error) {
		left, err = removeSome(ctx, tx, user)
		return err
	})
	return left, err
}

func removeSome(ctx context.Context, tx *sql.Tx, user int64) (removal.Left, error) {
	working, some, err := removeDeliveries(ctx, tx, user)
	if err != nil || some >= removeAtOnce {
		return removal.More, err
	}
	// Ten thousand other rows may hang on one playlist.
	n, err := db.Affected(tx.ExecContext(ctx, `DELETE FROM playlist_versions WHERE (playlist_id, number) IN
		(SELECT v.playlist_id, v.number FROM playlists p JOIN playlist_versions v ON v.playlist_id = p.id
		WHERE p.user_id = $1 LIMIT $2)`, user, removeAtOnce))
	if some += n; err != nil || some >= removeAtOnce {
		return removal.More, err
	}
	n, err = db.Affected(tx.ExecContext(ctx, `DELETE FROM playlist_tracks WHERE (playlist_id, position) IN
		(SELECT t.playlist_id, t.position FROM playlists p JOIN playlist_tracks t ON t.playlist_id = p.id
		WHERE p.user_id = $1 LIMIT $2)`, user, removeAtOnce))
	for _, b := range belongings {
		if some += n; err != nil || some >= removeAtOnce {
			return removal.More, err
		}
		columns := strings.Join(b.key, ", ")
		n, err = db.Affected(tx.ExecContext(ctx, fmt.Sprintf(
			"DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s WHERE user_id = $1 LIMIT $2)",
			b.table, columns, columns, b.table), user, removeAtOnce-some))
	}
	if err != nil {
		return removal.More, err
	}
	if working {
		return removal.Working, nil
	}
	return removal.Gone, errors.Join(
		dropLinksBy(ctx, tx, user),
		db.ExecTx(ctx, tx, "UPDATE activity SET actor_id = -1, actor = 'Somebody who has left' WHERE actor_id = $1",
			user),
		db.ExecTx(ctx, tx, "UPDATE settings SET updated_by = 0 WHERE updated_by = $1", user),
		db.ExecTx(ctx, tx, "DELETE FROM users WHERE id = $1 AND role = $2", user, people.Leaving))
}

// removeDeliveries removes some deliveries of a person, and returns how many. working says that one is
// left because it is under way.
func removeDeliveries(ctx context.Context, tx *sql.Tx, user int64) (working bool, some int, err error) {
	some, err = db.Affected(tx.ExecContext(ctx, `DELETE FROM deliveries WHERE id IN
		(SELECT id FROM deliveries WHERE user_id = $1 AND state <> 'running' ORDER BY id LIMIT $2)`,
		user, removeAtOnce))
	if err == nil {
		err = tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM deliveries WHERE user_id = $1)", user).
			Scan(&working)
	}
	return working, some, err
}
