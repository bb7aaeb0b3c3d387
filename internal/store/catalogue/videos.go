package catalogue

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/store/db"
)

// videoColumns are the columns of videos in the order in which they are written and read.
const videoColumns = `id, title, channel, published_at, duration_ms, category, tags, allowed_in, blocked_in, views,
	likes, comments, thumbnail, availability, checked_at, gone_since`

// videosWidth is the number of videoColumns.
const videosWidth = 16

// SaveVideos stores the facts about videos that are there.
func (s *Store) SaveVideos(ctx context.Context, found []library.Video, at time.Time) error {
	args := make([]any, 0, len(found)*videosWidth)
	for _, v := range found {
		args = append(args, v.ID, v.Title, v.Channel, db.Millis(v.Published), v.Duration.Milliseconds(), v.Category,
			strings.Join(v.Tags, "\n"), strings.Join(v.AllowedIn, "\n"), strings.Join(v.BlockedIn, "\n"), v.Views,
			v.Likes, v.Comments, v.Thumbnail, v.Availability, db.Millis(at), 0)
	}
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		return db.InsertRows(ctx, tx, "INSERT INTO videos ("+videoColumns+")", videosWidth, args, `
			ON CONFLICT (id) DO UPDATE SET title = excluded.title, channel = excluded.channel,
				published_at = excluded.published_at, duration_ms = excluded.duration_ms, category = excluded.category,
				tags = excluded.tags, allowed_in = excluded.allowed_in, blocked_in = excluded.blocked_in,
				views = excluded.views, likes = excluded.likes, comments = excluded.comments,
				thumbnail = excluded.thumbnail, availability = excluded.availability,
				checked_at = excluded.checked_at, gone_since = 0`)
	})
}

// VideosGone notes that videos were missed, and since when. Their earlier facts stay. A reason replaces an
// earlier one unless it is VideoUnavailable.
func (s *Store) VideosGone(ctx context.Context, ids []string, why string, at time.Time) error {
	ids = slices.Compact(slices.Sorted(slices.Values(ids))) // Postgres changes no row twice
	args := make([]any, 0, len(ids)*videosWidth)
	for _, id := range ids {
		args = append(args, id, "", "", 0, 0, "", "", "", "", -1, -1, -1, "", why, db.Millis(at), db.Millis(at))
	}
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		return db.InsertRows(ctx, tx, "INSERT INTO videos ("+videoColumns+")", videosWidth, args, `
			ON CONFLICT (id) DO UPDATE SET checked_at = excluded.checked_at,
				gone_since = CASE WHEN videos.gone_since > 0 THEN videos.gone_since ELSE excluded.gone_since END,
				availability = CASE
					WHEN excluded.availability = 'unavailable' AND videos.availability IN ('private', 'deleted')
					THEN videos.availability ELSE excluded.availability END`)
	})
}

// Videos returns what is known of these videos, by their ids.
func (s *Store) Videos(ctx context.Context, ids []string) (map[string]library.StoredVideo, error) {
	known := make(map[string]library.StoredVideo, len(ids))
	for chunk := range slices.Chunk(ids, 100) {
		args := make([]any, len(chunk))
		for i, id := range chunk {
			args[i] = id
		}
		all, err := db.List(ctx, s.db.Reader, scanVideo,
			"SELECT "+videoColumns+" FROM videos WHERE id IN "+db.Numbered(1, len(args)), args...)
		if err != nil {
			return nil, err
		}
		for _, v := range all {
			known[v.ID] = v
		}
	}
	return known, nil
}

func scanVideo(r db.Scanner) (v library.StoredVideo, err error) {
	var published, ms, checked, gone int64
	var tags, allowed, blocked string
	err = r.Scan(&v.ID, &v.Title, &v.Channel, &published, &ms, &v.Category, &tags, &allowed, &blocked, &v.Views,
		&v.Likes, &v.Comments, &v.Thumbnail, &v.Availability, &checked, &gone)
	v.Published, v.CheckedAt, v.GoneSince = db.Instant(published), db.Instant(checked), db.Instant(gone)
	v.Duration = time.Duration(ms) * time.Millisecond
	v.Tags, v.AllowedIn, v.BlockedIn = lines(tags), lines(allowed), lines(blocked)
	return v, err
}

// lines returns the lines of a text; none of an empty one.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// VideosDue returns at most limit videos in playlists of a connection that were not asked about since before, those
// first that were asked about longest ago.
func (s *Store) VideosDue(
	ctx context.Context, user int64, conn library.ConnectionID, before time.Time, limit int,
) ([]string, error) {
	scan := func(r db.Scanner) (id string, err error) { return id, r.Scan(&id) }
	return db.List(ctx, s.db.Reader, scan, `SELECT v.id FROM videos v WHERE v.checked_at < $3 AND v.id IN
			(SELECT t.source_id FROM playlist_tracks t JOIN playlists p ON p.id = t.playlist_id
			WHERE p.user_id = $1 AND p.connection = $2 AND p.active = 1)
		ORDER BY v.checked_at, v.id LIMIT $4`, user, conn, db.Millis(before), limit)
}
