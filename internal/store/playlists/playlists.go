package playlists

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strconv"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/versions"
)

const selectPlaylist = `SELECT id, connection, source_id, name, snapshot, track_count, shrunk_to, active, position,
	blank, locked <> 0, COALESCE((SELECT o.id ` + original + `), 0),
	COALESCE((SELECT o.name ` + original + `), '') FROM playlists `

// original selects the playlist that one is our copy of.
const original = `FROM copies c JOIN playlists o ON o.user_id = c.user_id AND CAST(o.id AS TEXT) = c.ref
	WHERE c.user_id = playlists.user_id AND c.connection = playlists.connection AND c.kind = 'write_playlist'
	AND c.remote_id = playlists.source_id ORDER BY o.id LIMIT 1`

func scanPlaylist(r db.Scanner) (p library.StoredPlaylist, err error) {
	err = r.Scan(&p.ID, &p.Connection, &p.SourceID, &p.Name, &p.Snapshot, &p.TrackCount, &p.ShrunkTo, &p.Active,
		&p.Position, &p.Blank, &p.Locked, &p.CopyOf, &p.CopyName)
	return p, err
}

// Playlists returns a user's playlists by connection, in the provider's order. Those that are gone come last.
func (s *Store) Playlists(ctx context.Context, user int64) ([]library.StoredPlaylist, error) {
	return db.List(ctx, s.db.Reader, scanPlaylist,
		selectPlaylist+"WHERE user_id = $1 ORDER BY active DESC, connection, position, id", user)
}

// ConnectionPlaylists returns the playlists of one connection.
func (s *Store) ConnectionPlaylists(
	ctx context.Context, user int64, conn library.ConnectionID,
) ([]library.StoredPlaylist, error) {
	return db.List(ctx, s.db.Reader, scanPlaylist,
		selectPlaylist+"WHERE user_id = $1 AND connection = $2 ORDER BY position, id", user, conn)
}

// PlaylistsPart returns at most limit of a user's playlists, in the order of Playlists, from the one at offset on; the
// first is at 0.
func (s *Store) PlaylistsPart(ctx context.Context, user int64, offset, limit int) ([]library.StoredPlaylist, error) {
	return db.List(ctx, s.db.Reader, scanPlaylist, selectPlaylist+
		"WHERE user_id = $1 ORDER BY active DESC, connection, position, id LIMIT $2 OFFSET $3", user, limit, offset)
}

// CountPlaylists returns how many playlists a user has.
func (s *Store) CountPlaylists(ctx context.Context, user int64) (n int, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM playlists WHERE user_id = $1", user).Scan(&n)
	return n, db.Explain(err)
}

// PlaylistOnly returns one playlist of a user without its tracks, or library.ErrNotFound.
func (s *Store) PlaylistOnly(ctx context.Context, user, id int64) (library.StoredPlaylist, error) {
	p, err := scanPlaylist(s.db.Reader.QueryRowContext(ctx, selectPlaylist+"WHERE user_id = $1 AND id = $2", user, id))
	return p, db.Found(err)
}

// Playlist returns one playlist of a user with its tracks, or library.ErrNotFound.
func (s *Store) Playlist(ctx context.Context, user, id int64) (library.StoredPlaylist, []library.Track, error) {
	p, err := s.PlaylistOnly(ctx, user, id)
	if err != nil {
		return p, nil, err
	}
	tracks, err := s.PlaylistTracks(ctx, user, id, 0, math.MaxInt32)
	return p, tracks, err
}

// PlaylistTracks returns at most limit tracks of a user's playlist, from the one at offset on; the first is at 0. There
// are none of a playlist that does not exist.
func (s *Store) PlaylistTracks(ctx context.Context, user, id int64, offset, limit int) ([]library.Track, error) {
	return db.List(ctx, s.db.Reader, scanTrack, `SELECT `+trackColumns+`
		FROM playlist_tracks WHERE playlist_id = (SELECT id FROM playlists WHERE user_id = $1 AND id = $2)
		AND position >= $3 ORDER BY position LIMIT $4`, user, id, offset, limit)
}

// PlaylistStarts returns how long a user's playlists are, and at most the first tracks of each, by their ids.
func (s *Store) PlaylistStarts(ctx context.Context, user int64, ids []int64, first int) (
	map[int64]library.PlaylistStart, error) {
	all := map[int64]library.PlaylistStart{}
	if len(ids) == 0 {
		return all, nil
	}
	args := []any{user}
	for _, id := range ids {
		args = append(args, id)
	}
	of := ` FROM playlist_tracks t JOIN playlists p ON p.id = t.playlist_id
		WHERE p.user_id = $1 AND t.playlist_id IN ` + db.Numbered(2, len(ids))
	_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (struct{}, error) {
		var id, ms int64
		err := r.Scan(&id, &ms)
		all[id] = library.PlaylistStart{Length: time.Duration(ms) * time.Millisecond}
		return struct{}{}, err
	}, "SELECT t.playlist_id, sum(t.duration_ms)"+of+" GROUP BY t.playlist_id", args...)
	if err != nil {
		return nil, err
	}
	_, err = db.List(ctx, s.db.Reader, func(r db.Scanner) (struct{}, error) {
		var id int64
		var t library.Track
		err := r.Scan(&id, &t.Title, &t.Artist, &t.Album)
		start := all[id]
		start.Tracks = append(start.Tracks, t)
		all[id] = start
		return struct{}{}, err
	}, "SELECT t.playlist_id, t.title, t.artist, t.album"+of+" AND t.position < $"+strconv.Itoa(len(args)+1)+
		" ORDER BY t.playlist_id, t.position", append(args, first)...)
	return all, err
}

// SavePlaylist stores a playlist with all its tracks. If it was another before, that is kept as a version.
func (s *Store) SavePlaylist(ctx context.Context, user int64, conn library.ConnectionID, p library.Playlist,
	position int, tracks []library.Track) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		return s.SaveIn(ctx, tx, user, conn, p, position, tracks)
	})
}

// SaveIn is SavePlaylist in a transaction.
func (s *Store) SaveIn(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID, p library.Playlist,
	position int, tracks []library.Track) error {
	was, err := now(ctx, tx, user, conn, p.SourceID)
	if err != nil {
		return err
	}
	named := goneOf(tracks)
	lost, err := s.lost(ctx, tx, was, tracks, versions.Gone{Blank: p.Blank - was.blank, Named: named - was.gone})
	if err != nil {
		return err
	}
	same, at := was.id != 0 && versions.Same(was.tracks, tracks), time.Now()
	since := was.since
	if !same || was.name != p.Name || lost.Songs > 0 {
		since = db.Millis(at)
		if err := was.keep(ctx, tx, tracks, lost, at); err != nil {
			return err
		}
	}
	id, err := db.NextIDs(ctx, tx, "playlists", 1)
	if err != nil {
		return err
	}
	err = tx.QueryRowContext(ctx, `INSERT INTO playlists
			(id, user_id, connection, source_id, name, snapshot, track_count, shrunk_to, active, position, since_at,
				blank, gone, locked)
			VALUES ($1, $2, $3, $4, $5, $6, $7, -1, 1, $8, $9, $10, $11, $12)
			ON CONFLICT (user_id, connection, source_id) DO UPDATE
			SET name = excluded.name, snapshot = excluded.snapshot, track_count = excluded.track_count,
				shrunk_to = -1, active = 1, position = excluded.position, since_at = excluded.since_at,
				blank = excluded.blank, gone = excluded.gone, locked = excluded.locked
			RETURNING id`,
		id, user, conn, p.SourceID, p.Name, p.Snapshot, len(tracks), position, since, p.Blank, named,
		db.Flag(p.Locked)).Scan(&id)
	if err == nil && !same {
		err = errors.Join(replaceTracks(ctx, tx, id, tracks), s.copies.EnqueueChanged(ctx, tx, user, conn, p.SourceID))
	}
	if err != nil {
		return err
	}
	return s.copies.EnqueueCopies(ctx, tx, user, delivery.WritePlaylist, strconv.FormatInt(id, 10))
}

func replaceTracks(ctx context.Context, tx *sql.Tx, playlist int64, tracks []library.Track) error {
	if err := db.ExecTx(ctx, tx, "DELETE FROM playlist_tracks WHERE playlist_id = $1", playlist); err != nil {
		return err
	}
	const width = 9
	args := make([]any, 0, len(tracks)*width)
	for i, t := range tracks {
		args = append(args, playlist, i, t.Title, t.Artist, t.Album, t.Duration.Milliseconds(), t.ISRC,
			t.RecordingMBID, t.SourceID)
	}
	head := "INSERT INTO playlist_tracks (playlist_id, position, " + trackColumns + ")"
	return db.InsertRows(ctx, tx, head, width, args, "")
}

// RenamePlaylist stores a new name of a playlist, keeps the playlist under its earlier name as a version, and enqueues
// its copies. It does not change the tracks.
func (s *Store) RenamePlaylist(ctx context.Context, id int64, name string) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		var user int64
		var conn library.ConnectionID
		var source string
		err := tx.QueryRowContext(ctx, "SELECT user_id, connection, source_id FROM playlists WHERE id = $1", id).
			Scan(&user, &conn, &source)
		if err != nil {
			return db.Found(err)
		}
		at := time.Now()
		was, err := now(ctx, tx, user, conn, source)
		if err == nil {
			err = was.keep(ctx, tx, was.tracks, library.Loss{}, at)
		}
		if err == nil {
			err = db.ExecTx(ctx, tx, "UPDATE playlists SET name = $1, since_at = $2 WHERE id = $3", name,
				db.Millis(at), id)
		}
		if err != nil {
			return err
		}
		return s.copies.EnqueueCopies(ctx, tx, user, delivery.WritePlaylist, strconv.FormatInt(id, 10))
	})
}

// MovePlaylists stores the positions of playlists, by their IDs. It does not enqueue their copies.
func (s *Store) MovePlaylists(ctx context.Context, places map[int64]int) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		for id, position := range places {
			if err := db.ExecTx(ctx, tx, "UPDATE playlists SET position = $1 WHERE id = $2", position, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// SetShrunk stores that a playlist was read with far fewer tracks, which is accepted only when it is read again.
func (s *Store) SetShrunk(ctx context.Context, id int64, tracks int) error {
	return s.db.Exec(ctx, "UPDATE playlists SET shrunk_to = $1 WHERE id = $2", tracks, id)
}

// SetGone marks a playlist as gone at its provider. Its tracks stay.
func (s *Store) SetGone(ctx context.Context, id int64) error {
	return s.db.Exec(ctx, "UPDATE playlists SET active = 0 WHERE id = $1", id)
}
