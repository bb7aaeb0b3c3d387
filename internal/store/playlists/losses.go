package playlists

import (
	"context"
	"database/sql"

	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/versions"
)

// goneOf returns how many tracks of a list its provider doesn't offer any more.
func goneOf(tracks []library.Track) (n int) {
	for i := range tracks {
		if tracks[i].Gone != "" {
			n++
		}
	}
	return n
}

// lost returns what a playlist has lost since it was read last. What Reprise itself has written since is no loss, nor
// are changes of a copy, about which its person is asked, nor of a playlist of their own history.
func (s *Store) lost(ctx context.Context, tx *sql.Tx, was then, tracks []library.Track, gone versions.Gone) (
	library.Loss, error) {
	if was.id == 0 || was.conn == library.Recipes {
		return library.Loss{}, nil
	}
	lost := versions.Between(was.tracks, tracks).Lost(len(was.tracks), gone)
	if lost.Songs == 0 {
		return lost, nil
	}
	var ours bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM copies WHERE user_id = $1 AND connection = $2
		AND kind = 'write_playlist' AND remote_id = $3 AND (ref NOT LIKE '%@%' OR written_at >= $4))`, was.user,
		was.conn, was.source, was.since).Scan(&ours)
	if err != nil || ours {
		return library.Loss{}, err
	}
	return lost, nil
}

// Losses returns what the playlists of a connection have lost, the latest first.
func (s *Store) Losses(ctx context.Context, user int64, conn library.ConnectionID) ([]library.PlaylistLoss, error) {
	scan := func(r db.Scanner) (l library.PlaylistLoss, err error) {
		var at int64
		err = r.Scan(&l.Playlist, &l.Name, &l.Version, &l.Songs, &l.Taken, &at, &l.Restored, &l.Back, &l.Active)
		l.At = db.Instant(at)
		return l, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT p.id, p.name, v.number, v.lost, v.taken <> 0, v.until_at,
		EXISTS (SELECT 1 FROM copies c WHERE c.user_id = p.user_id AND c.kind = 'write_playlist'
			AND c.ref = CAST(p.id AS TEXT) || '@' || CAST(v.number AS TEXT)),
		COALESCE((SELECT MAX(n.came) FROM playlist_versions n WHERE n.playlist_id = p.id AND n.number > v.number), 0),
		p.active <> 0
		FROM playlists p JOIN playlist_versions v ON v.playlist_id = p.id
		WHERE p.user_id = $1 AND p.connection = $2 AND v.lost > 0 ORDER BY v.until_at DESC, p.id`, user, conn)
}
