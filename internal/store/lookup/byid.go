package lookup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"reprise/internal/library"
	"reprise/internal/store/db"
	"reprise/internal/store/listens"
)

// TrackByID returns the names of a track that a person has heard, or has in a playlist, by the id that a streaming
// service has for it, and a playlist of theirs that has it, whose ID is 0 without one. Without the track, the error is
// library.ErrNotFound. Listens keep the id only if they came from the service or its export.
func (s *Store) TrackByID(ctx context.Context, user int64, id string) (t library.Track, in library.StoredPlaylist,
	err error) {
	err = s.db.Reader.QueryRowContext(ctx, `SELECT t.title, t.artist, t.album, p.id, p.connection, p.name
		FROM playlists p JOIN playlist_tracks t ON t.playlist_id = p.id
		WHERE p.user_id = $1 AND t.source_id = $2 AND t.title <> '' ORDER BY p.active DESC, p.id LIMIT 1`, user, id).
		Scan(&t.Title, &t.Artist, &t.Album, &in.ID, &in.Connection, &in.Name)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return t, in, db.Explain(err)
	}
	heard, err := s.heardAs(ctx, user, id)
	if errors.Is(err, library.ErrNotFound) && in.ID != 0 {
		return t, in, nil
	}
	return heard, in, err
}

// videoID is the length of the ids of videos.
const videoID = 11

// heardAs returns the names of a track that a person has heard, by the id that a streaming service has for it.
func (s *Store) heardAs(ctx context.Context, user int64, id string) (t library.Track, err error) {
	of := []any{listens.Named("", ":"+id), listens.Named(library.FromExport+"extended:", ":"+id)}
	if len(id) == videoID {
		for ms := range 1000 { // their export tells the thousandth of a second
			of = append(of, listens.Named(library.FromExport+"takeout:", fmt.Sprintf("%03d:%s", ms, id)))
		}
	}
	var names []any
	scan := func(r db.Scanner) (name any, err error) { return name, r.Scan(&name) }
	for chunk := range slices.Chunk(of, 100) {
		found, err := db.List(ctx, s.db.Reader, scan, "SELECT id FROM source_names WHERE name IN "+
			db.Numbered(1, len(chunk)), chunk...)
		if err != nil {
			return t, err
		}
		names = append(names, found...)
	}
	if len(names) == 0 {
		return t, library.ErrNotFound
	}
	args := append([]any{user}, names...)
	// No index leads from a name to its listens: that would take a sixth of their room, for a rare question.
	err = s.db.Reader.QueryRowContext(ctx, `SELECT v.title, v.artist, v.album
		FROM listen_sources s JOIN listens l ON l.id = s.listen_id JOIN spellings v ON v.id = l.spelling_id
		WHERE l.user_id = $1 AND s.name_id IN `+db.Numbered(2, len(names))+" LIMIT 1", args...).
		Scan(&t.Title, &t.Artist, &t.Album)
	return t, db.Found(err)
}

// EntityByMBID returns the ID of the artist, the album or the track that MusicBrainz has under an id, or
// library.ErrNotFound.
func (s *Store) EntityByMBID(ctx context.Context, kind, mbid string) (id int64, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT id FROM entities WHERE kind = $1 AND mbid = $2 AND mbid <> '' "+
		"ORDER BY id LIMIT 1", kind, mbid).Scan(&id)
	return id, db.Found(err)
}
