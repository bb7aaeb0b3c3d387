package playlists

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/versions"
)

// mostVersions is how many earlier versions of a playlist are kept that nobody has pinned: most of a year of one that
// changes every day.
const mostVersions = 300

const trackColumns = "title, artist, album, duration_ms, isrc, recording_mbid, source_id"

func scanTrack(r db.Scanner) (t library.Track, err error) {
	var ms int64
	err = r.Scan(&t.Title, &t.Artist, &t.Album, &ms, &t.ISRC, &t.RecordingMBID, &t.SourceID)
	t.Duration = db.Length(ms)
	return t, err
}

// then is a playlist before it changes.
type then struct {
	id           int64
	user         int64
	conn         library.ConnectionID
	source, name string
	since        int64
	blank, gone  int
	tracks       []library.Track
}

// now returns a playlist as it is stored now; the zero then if there is none.
func now(ctx context.Context, tx *sql.Tx, user int64, conn library.ConnectionID, source string) (was then, err error) {
	was = then{user: user, conn: conn, source: source}
	err = tx.QueryRowContext(ctx, `SELECT id, name, since_at, blank, gone FROM playlists
		WHERE user_id = $1 AND connection = $2 AND source_id = $3`, user, conn, source).
		Scan(&was.id, &was.name, &was.since, &was.blank, &was.gone)
	if errors.Is(err, sql.ErrNoRows) {
		return then{}, nil
	}
	if err == nil {
		was.tracks, err = db.List(ctx, tx, scanTrack, "SELECT "+trackColumns+
			" FROM playlist_tracks WHERE playlist_id = $1 ORDER BY position", was.id)
	}
	return was, err
}

// keep stores a playlist as a version, because its tracks or its name are others from now on.
func (was then) keep(ctx context.Context, tx *sql.Tx, tracks []library.Track, lost library.Loss, at time.Time) error {
	if was.id == 0 {
		return nil
	}
	came, went, moved := versions.Between(was.tracks, tracks).Counts()
	err := db.ExecTx(ctx, tx, `INSERT INTO playlist_versions
		(playlist_id, number, name, track_count, since_at, until_at, came, went, moved, back, pinned, lost, taken)
		SELECT $1, COALESCE(MAX(number), 0) + 1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, $11
		FROM playlist_versions WHERE playlist_id = $1`, was.id, was.name, len(was.tracks), was.since, db.Millis(at),
		came, went, moved, versions.Back(was.tracks, tracks), lost.Songs, db.Flag(lost.Taken))
	if err != nil {
		return err
	}
	return thin(ctx, tx, was.id, tracks)
}

// version is a row of the table.
type version struct {
	number int
	back   string
	pinned bool
}

// thin removes the oldest versions of a playlist that are too many, but none that is pinned.
func thin(ctx context.Context, tx *sql.Tx, playlist int64, tracks []library.Track) error {
	var loose int
	err := tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM playlist_versions WHERE playlist_id = $1 AND pinned = 0",
		playlist).Scan(&loose)
	if err != nil || loose <= mostVersions {
		return err
	}
	all, err := db.List(ctx, tx, func(r db.Scanner) (v version, err error) {
		return v, r.Scan(&v.number, &v.back, &v.pinned)
	}, "SELECT number, back, pinned <> 0 FROM playlist_versions WHERE playlist_id = $1 ORDER BY number", playlist)
	for ; err == nil && loose > mostVersions; loose-- {
		i := slices.IndexFunc(all, func(v version) bool { return !v.pinned })
		if i > 0 { // the one before it is described by it
			err = joinOver(ctx, tx, playlist, all[i-1:], tracks)
		}
		if err == nil {
			err = db.ExecTx(ctx, tx, "DELETE FROM playlist_versions WHERE playlist_id = $1 AND number = $2", playlist,
				all[i].number)
		}
		all = slices.Delete(all, i, i+1)
	}
	return err
}

// joinOver describes the first of some versions by the third, or by what the playlist is like now, in place of the
// second.
func joinOver(ctx context.Context, tx *sql.Tx, playlist int64, all []version, later []library.Track) (err error) {
	for i := len(all) - 1; i > 1; i-- {
		if later, err = versions.Earlier(later, all[i].back); err != nil {
			return err
		}
	}
	between, err := versions.Earlier(later, all[1].back)
	if err != nil {
		return err
	}
	first, err := versions.Earlier(between, all[0].back)
	if err != nil {
		return err
	}
	all[0].back = versions.Back(first, later)
	return db.ExecTx(ctx, tx, "UPDATE playlist_versions SET back = $3 WHERE playlist_id = $1 AND number = $2", playlist,
		all[0].number, all[0].back)
}

// Versions returns what a user's playlist was like earlier, the latest first.
func (s *Store) Versions(ctx context.Context, user, playlist int64) ([]library.PlaylistVersion, error) {
	scan := func(r db.Scanner) (v library.PlaylistVersion, err error) {
		var since, until int64
		err = r.Scan(&v.Number, &v.Name, &v.TrackCount, &since, &until, &v.Came, &v.Went, &v.Moved, &v.Lost.Songs,
			&v.Lost.Taken, &v.Pinned, &v.Bytes)
		v.Since, v.Until = db.Instant(since), db.Instant(until)
		return v, err
	}
	return db.List(ctx, s.db.Reader, scan, `SELECT v.number, v.name, v.track_count, v.since_at, v.until_at, v.came,
		v.went, v.moved, v.lost, v.taken <> 0, v.pinned <> 0, OCTET_LENGTH(v.back) FROM playlist_versions v
		JOIN playlists p ON p.id = v.playlist_id WHERE p.user_id = $1 AND p.id = $2 ORDER BY v.number DESC`,
		user, playlist)
}

// Version returns an earlier version of a user's playlist with its tracks, or library.ErrNotFound.
func (s *Store) Version(ctx context.Context, user, playlist int64, number int) (library.PlaylistVersion,
	[]library.Track, error) {
	all, err := s.Versions(ctx, user, playlist)
	i := slices.IndexFunc(all, func(v library.PlaylistVersion) bool { return v.Number == number })
	if err == nil && i < 0 {
		err = library.ErrNotFound
	}
	if err != nil {
		return library.PlaylistVersion{}, nil, err
	}
	tracks, err := s.versionTracks(ctx, user, playlist, number)
	return all[i], tracks, err
}

// versionTracks returns the tracks of an earlier version of a user's playlist.
func (s *Store) versionTracks(ctx context.Context, user, playlist int64, number int) ([]library.Track, error) {
	var tracks []library.Track
	var backs []string
	oldest := 0
	// One statement sees the database at one moment.
	_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (struct{}, error) {
		var earlier, place, ms int64
		var t library.Track
		err := r.Scan(&earlier, &place, &t.Title, &t.Artist, &t.Album, &ms, &t.ISRC, &t.RecordingMBID, &t.SourceID)
		if earlier == 0 {
			t.Duration = db.Length(ms)
			tracks = append(tracks, t)
		} else {
			backs, oldest = append(backs, t.SourceID), int(-place)
		}
		return struct{}{}, err
	}, `SELECT 0 AS earlier, t.position AS place, `+trackColumns+` FROM playlist_tracks t WHERE t.playlist_id =
		(SELECT id FROM playlists WHERE user_id = $1 AND id = $2)
		UNION ALL SELECT 1, -v.number, '', '', '', 0, '', '', v.back FROM playlist_versions v WHERE v.number >= $3 AND
		v.playlist_id = (SELECT id FROM playlists WHERE user_id = $1 AND id = $2) ORDER BY earlier, place`,
		user, playlist, number)
	if err == nil && oldest != number { // it has been removed meanwhile
		err = library.ErrNotFound
	}
	for _, back := range backs {
		if err == nil {
			tracks, err = versions.Earlier(tracks, back)
		}
	}
	return tracks, err
}

// PinVersion keeps a version of a user's playlist for good, or no longer. It returns library.ErrNotFound if there is
// none of that number.
func (s *Store) PinVersion(ctx context.Context, user, playlist int64, number int, pinned bool) error {
	return db.Changed(s.db.Change(ctx, `UPDATE playlist_versions SET pinned = $4 WHERE number = $3 AND playlist_id =
		(SELECT id FROM playlists WHERE user_id = $1 AND id = $2)`, user, playlist, number, db.Flag(pinned)))
}
