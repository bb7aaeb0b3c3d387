package loves

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
	"reprise/internal/words"
)

const selectThere = `SELECT match_key, title, artist, recording_mbid, score, known_at, source_id, seen, told, gone,
	refused FROM loves_there t `

func scanThere(r db.Scanner) (v library.LoveThere, err error) {
	var at int64
	err = r.Scan(&v.Key, &v.Title, &v.Artist, &v.RecordingMBID, &v.Score, &at, &v.SourceID, &v.Seen, &v.Told, &v.Gone,
		&v.Refused)
	v.At = db.Instant(at)
	return v, err
}

// SaveLovesRead stores what a service listed at a time, and what that changes in what its person loves. It returns how
// many tracks that changed. first means that the service was never read before. If tracks that it listed before are
// missing, SaveLovesRead stores nothing and saved is false, unless sure is set: a list that changes while it is read
// page by page may seem to lack some. It also stores nothing if the connection has changed since.
func (s *Store) SaveLovesRead(ctx context.Context, c library.Connection, listed []library.Love, at time.Time,
	first, sure bool) (news int, saved bool, err error) {
	err = s.db.WriteFor(ctx, c.User, func(ctx context.Context, tx *sql.Tx) error {
		if err := connections.Current(ctx, tx, c.User, c.ID, c.Generation); err != nil {
			return err
		}
		ours, there := map[int64]library.Love{}, map[int64]library.LoveThere{}
		all, err := db.List(ctx, tx, scanKeyed, "SELECT match_key, "+loveColumns+" FROM loves WHERE user_id = $1",
			c.User)
		for _, v := range all {
			ours[v.Key] = v.Love
		}
		known, e := db.List(ctx, tx, scanThere, selectThere+"WHERE user_id = $1 AND connection = $2", c.User, c.ID)
		for _, v := range known {
			there[v.Key] = v
		}
		if err = errors.Join(err, e); err != nil {
			return err
		}
		r := music.ReadLoves(ours, there, listed, first, at)
		if news, saved = len(r.Said), sure || r.Missing == 0; !saved {
			return nil
		}
		return s.saveRead(ctx, tx, c, r, at)
	})
	return news, saved, err
}

// saveRead stores the changes from reading a service's list, and enqueues what this service and the others lack.
func (s *Store) saveRead(ctx context.Context, tx *sql.Tx, c library.Connection, r music.LovesRead,
	at time.Time) (err error) {
	for key, v := range r.Said {
		err = errors.Join(err, save(ctx, tx, c.User, key, v))
	}
	for _, key := range r.Forgotten {
		err = errors.Join(err, db.ExecTx(ctx, tx, "DELETE FROM loves_there WHERE "+thisTrack, c.User, c.ID, key))
	}
	for key, v := range r.There {
		v.Key, v.At = key, at
		err = errors.Join(err, saveThere(ctx, tx, c, v))
	}
	if err != nil {
		return err
	}
	if len(r.Said) > 0 {
		return s.send(ctx, tx, c.User)
	}
	var lacks int
	err = tx.QueryRowContext(ctx, "SELECT count(*)"+toSend, c.User, c.ID, 0, db.Millis(at.Add(-refusedFor))).
		Scan(&lacks)
	if err == nil && lacks > 0 {
		err = s.send(ctx, tx, c.User)
	}
	return err
}

const thisTrack = "user_id = $1 AND connection = $2 AND match_key = $3"

func saveThere(ctx context.Context, tx *sql.Tx, c library.Connection, v library.LoveThere) error {
	return db.ExecTx(ctx, tx, `INSERT INTO loves_there (user_id, connection, match_key, title, artist, recording_mbid,
		source_id, score, known_at, seen, told, gone, refused)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT (user_id, connection, match_key) DO UPDATE SET title = excluded.title, artist = excluded.artist,
		recording_mbid = excluded.recording_mbid, source_id = excluded.source_id, score = excluded.score,
		known_at = excluded.known_at, seen = excluded.seen, told = excluded.told, gone = excluded.gone,
		refused = excluded.refused`, c.User, c.ID, v.Key, v.Title, v.Artist, v.RecordingMBID, v.SourceID, v.Score,
		db.Millis(v.At), db.Flag(v.Seen), v.Told, db.Flag(v.Gone), v.Refused)
}

// refusedFor is how long a track that a service has refused is not sent there again.
const refusedFor = 7 * 24 * time.Hour

// toSend selects the tracks whose score at connection $2 differs from what person $1 thinks, except those that the
// connection has refused since $4. With $3 = 0 the connection takes no hates.
const toSend = ` FROM loves l LEFT JOIN loves_there t
	ON t.user_id = l.user_id AND t.match_key = l.match_key AND t.connection = $2
	WHERE l.user_id = $1 AND coalesce(t.score, 0) <> CASE WHEN l.score < 0 AND $3 = 0 THEN 0 ELSE l.score END
	AND (coalesce(t.refused, '') = '' OR t.known_at < $4 OR t.known_at < l.said_at)`

// LovesToSend returns some of what a service is still to be told, the earliest said first: what the person thinks now,
// by the names that the track has there, as far as it is known there.
func (s *Store) LovesToSend(ctx context.Context, user int64, conn library.ConnectionID, hates bool, most int) (
	[]library.LoveThere, error) {
	scan := func(r db.Scanner) (v library.LoveThere, err error) {
		var at int64
		err = r.Scan(&v.Key, &v.Title, &v.Artist, &v.RecordingMBID, &v.Score, &at, &v.SourceID, &v.Told)
		v.At = db.Instant(at)
		if !hates {
			v.Score = max(v.Score, library.Unrated)
		}
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT l.match_key,
		CASE WHEN coalesce(t.score, 0) = 0 THEN l.title ELSE t.title END,
		CASE WHEN coalesce(t.score, 0) = 0 THEN l.artist ELSE t.artist END,
		l.recording_mbid, l.score, l.said_at, coalesce(t.source_id, ''), coalesce(t.told, 0)`+toSend+
		" ORDER BY l.said_at, l.match_key LIMIT $5", user, conn, db.Flag(hates),
		db.Millis(time.Now().Add(-refusedFor)), most)
}

// LoveSent notes that a service has been told what a person thinks of a track, or why it doesn't take that; nothing if
// the connection has changed since.
func (s *Store) LoveSent(ctx context.Context, c library.Connection, v library.LoveThere, refused words.Text) error {
	return s.db.WriteFor(ctx, c.User, func(ctx context.Context, tx *sql.Tx) error {
		if err := connections.Current(ctx, tx, c.User, c.ID, c.Generation); err != nil {
			return err
		}
		if refused.IsZero() && v.Score == library.Unrated && !v.Keep {
			return db.ExecTx(ctx, tx, "DELETE FROM loves_there WHERE "+thisTrack, c.User, c.ID, v.Key)
		}
		v.At, v.Told = time.Now(), v.Told+1
		if !refused.IsZero() {
			was, err := scanThere(tx.QueryRowContext(ctx, selectThere+"WHERE "+thisTrack, c.User, c.ID, v.Key))
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if v.Keep { // its id was one of those that are known; another one may be by the next time
				if v.SourceID == was.SourceID && was.Score == library.Unrated {
					was.SourceID = ""
				}
				v.SourceID = was.SourceID
			}
			v.Score, v.Seen, v.Gone, v.Refused = was.Score, was.Seen, was.Gone, refused
		}
		return saveThere(ctx, tx, c, v)
	})
}

// KnownThere returns the SourceIDs by which a person's tracks are known from a service, by their love keys: what they
// have loved there, have on playlists there, or have played there as its export says. What it has refused is left out,
// and videos on playlists that are gone or private. Nothing is asked for.
func (s *Store) KnownThere(ctx context.Context, user int64, provider string, keys []int64) (map[int64]string, error) {
	known, wanted := map[int64]string{}, map[int64]bool{}
	for _, key := range keys {
		wanted[key] = true
	}
	note := func(key int64, id string) {
		if wanted[key] && known[key] == "" {
			known[key] = id
		}
	}
	_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
		var key int64
		var id string
		err = r.Scan(&key, &id)
		note(key, id)
		return none, err
	}, `SELECT match_key, source_id FROM loves_there WHERE user_id = $1 AND source_id <> '' AND refused = ''
		AND (connection = CAST($2 AS TEXT) OR connection LIKE CAST($2 AS TEXT) || '-%')`, user, provider)
	if err != nil {
		return nil, err
	}
	_, err = db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
		var v library.Love
		err = r.Scan(&v.Title, &v.Artist, &v.SourceID)
		note(music.LoveKey(v), v.SourceID)
		return none, err
	}, `SELECT DISTINCT t.title, t.artist, t.source_id FROM playlist_tracks t JOIN playlists p ON p.id = t.playlist_id
		WHERE p.user_id = $1 AND t.title <> '' AND t.artist <> '' AND t.source_id <> ''
		AND NOT EXISTS (SELECT 1 FROM videos v WHERE v.id = t.source_id AND v.gone_since > 0)
		AND (p.connection = CAST($2 AS TEXT) OR p.connection LIKE CAST($2 AS TEXT) || '-%')`, user, provider)
	if err != nil {
		return nil, err
	}
	open := slices.DeleteFunc(slices.Clone(keys), func(key int64) bool { return known[key] != "" })
	for some := range slices.Chunk(open, 100) {
		args := []any{user, provider}
		for _, key := range some {
			args = append(args, key)
		}
		_, err = db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
			var key int64
			var source string
			err = r.Scan(&key, &source)
			if id := library.VideoPlayed(source); id != "" {
				note(key, id)
			}
			return none, err
		}, "SELECT p.match_key, "+listens.IdOf("s")+` FROM listens l JOIN spellings p ON p.id = l.spelling_id
			JOIN listen_sources s ON s.listen_id = l.id JOIN connection_numbers n ON n.number = s.connection
			WHERE l.user_id = $1 AND (n.connection = CAST($2 AS TEXT) OR n.connection LIKE CAST($2 AS TEXT) || '-%')
			AND l.spelling_id IN (SELECT id FROM spellings WHERE match_key IN `+db.Numbered(3, len(some))+`)
			ORDER BY l.played_at DESC`, args...)
		if err != nil {
			return nil, err
		}
	}
	return known, nil
}

// KeepLoves has a service told what a person loves from now on. With onlyNew, one that was not told until now is not
// told what they have said before. What a service has refused is sent to it once more.
func (s *Store) KeepLoves(ctx context.Context, user int64, conn library.ConnectionID, onlyNew bool) error {
	err := s.db.WriteFor(ctx, user, func(ctx context.Context, tx *sql.Tx) error {
		err := db.ExecTx(ctx, tx, "UPDATE loves_there SET refused = '' WHERE user_id = $1 AND connection = $2", user,
			conn)
		if err != nil || !onlyNew {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO loves_there (user_id, connection, match_key, title, artist,
			recording_mbid, source_id, score, known_at, seen, told, gone, refused)
			SELECT user_id, CAST($2 AS TEXT), match_key, title, artist, recording_mbid, '', score, said_at, 0, 0, 0, ''
			FROM loves WHERE user_id = $1 AND score <> 0 AND NOT EXISTS (SELECT 1 FROM copies k
				WHERE k.user_id = $1 AND k.connection = $2 AND k.kind = $3) ON CONFLICT DO NOTHING`, user, conn,
			delivery.WriteLoves)
	})
	if err != nil {
		return err
	}
	return s.copies.WantCopy(ctx, delivery.Draft{User: user, Connection: conn, Kind: delivery.WriteLoves,
		Ref: delivery.LovesRef}, "")
}

// RetryLove sends a track to a service once more that it has refused.
func (s *Store) RetryLove(ctx context.Context, user int64, conn library.ConnectionID, t library.Track) error {
	return s.db.WriteFor(ctx, user, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `UPDATE loves_there SET refused = ''
			WHERE user_id = $1 AND connection = $2 AND title = $3 AND artist = $4 AND refused <> ''`, user, conn,
			t.Title, t.Artist)
		if err = db.Changed(result, err); errors.Is(err, library.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return s.send(ctx, tx, user)
	})
}

// GoneLoves returns the tracks that a service no longer lists and that the person has not decided about.
func (s *Store) GoneLoves(ctx context.Context, user int64, conn library.ConnectionID) ([]library.LoveThere, error) {
	return db.List(ctx, s.db.Reader, scanThere, selectThere+
		"WHERE user_id = $1 AND connection = $2 AND gone = 1 ORDER BY artist, title", user, conn)
}

// DecideLoves carries out a person's decision about the tracks that a service no longer lists. With follow they are no
// longer loved here either; otherwise they stay, and are sent there again if the service is kept in sync. What the
// person has said about a track since then counts. DecideLoves returns the number of tracks, or library.ErrNotFound if
// there is nothing to decide.
func (s *Store) DecideLoves(ctx context.Context, user int64, conn library.ConnectionID, follow bool) (n int,
	err error) {
	err = s.db.WriteFor(ctx, user, func(ctx context.Context, tx *sql.Tx) error {
		const gone = "user_id = $1 AND connection = $2 AND gone = 1"
		err := tx.QueryRowContext(ctx, "SELECT count(*) FROM loves_there WHERE "+gone, user, conn).Scan(&n)
		if err == nil && n == 0 {
			err = library.ErrNotFound
		}
		if err == nil && follow {
			err = db.ExecTx(ctx, tx, `UPDATE loves SET score = 0, said_at = $3 WHERE user_id = $1 AND EXISTS
				(SELECT 1 FROM loves_there t WHERE t.user_id = $1 AND t.connection = $2 AND t.gone = 1
				AND t.match_key = loves.match_key AND t.score = loves.score)`, user, conn, db.Millis(time.Now()))
		}
		if err == nil {
			err = db.ExecTx(ctx, tx, "DELETE FROM loves_there WHERE "+gone, user, conn)
		}
		if err != nil {
			return err
		}
		return s.send(ctx, tx, user)
	})
	return n, err
}

// isRefused is the condition that a service doesn't take what a person still thinks of a track.
const isRefused = `t.refused <> '' AND EXISTS (SELECT 1 FROM loves l WHERE l.user_id = t.user_id
	AND l.match_key = t.match_key AND l.score <> t.score)`

// LovedAt returns how much of what a person loves each of their connections has, as far as it was read or is kept the
// same.
func (s *Store) LovedAt(ctx context.Context, user int64) ([]library.LovedAt, error) {
	scan := func(r db.Scanner) (v library.LovedAt, err error) {
		var read int64
		err = r.Scan(&v.Connection, &v.Loved, &v.Gone, &v.Refused, &v.Kept, &read, &v.Note)
		v.ReadAt = db.Instant(read)
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT c.connection,
		(SELECT count(*) FROM loves_there t WHERE t.user_id = c.user_id AND t.connection = c.connection
			AND t.score = 1 AND t.gone = 0),
		(SELECT count(*) FROM loves_there t WHERE t.user_id = c.user_id AND t.connection = c.connection
			AND t.gone = 1),
		(SELECT count(*) FROM loves_there t WHERE t.user_id = c.user_id AND t.connection = c.connection
			AND `+isRefused+`),
		CASE WHEN EXISTS (SELECT 1 FROM copies k WHERE k.user_id = c.user_id AND k.connection = c.connection
			AND k.kind = $2) THEN 1 ELSE 0 END,
		coalesce((SELECT s.last_success_at FROM streams s WHERE s.user_id = c.user_id AND s.connection = c.connection
			AND s.stream = $3), 0),
		coalesce((SELECT s.note FROM streams s WHERE s.user_id = c.user_id AND s.connection = c.connection
			AND s.stream = $3), '')
		FROM connections c WHERE c.user_id = $1 ORDER BY c.connection`, user, delivery.WriteLoves, library.Loves)
}

// CountLovesToSend returns how much a service is still to be told; see LovesToSend.
func (s *Store) CountLovesToSend(ctx context.Context, user int64, conn library.ConnectionID, hates bool) (n int,
	err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT count(*)"+toSend, user, conn, db.Flag(hates),
		db.Millis(time.Now().Add(-refusedFor))).Scan(&n)
	return n, db.Explain(err)
}

// LovesRefused returns what a service does not take, and why.
func (s *Store) LovesRefused(ctx context.Context, user int64, conn library.ConnectionID) ([]library.LoveThere, error) {
	return db.List(ctx, s.db.Reader, scanThere, selectThere+
		"WHERE user_id = $1 AND connection = $2 AND "+isRefused+" ORDER BY artist, title", user, conn)
}
