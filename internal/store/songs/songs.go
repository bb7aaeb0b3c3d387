// Package songs keeps which songs people's own libraries have.
package songs

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct{ db *db.DB }

// New returns the part of a database.
func New(d *db.DB) *Store { return &Store{db: d} }

// atOnce is how many songs a statement names.
const atOnce = 300

// SaveSongs stores the songs of a library by their match keys (see music.MatchKey), and returns how many have come or
// gone. It returns library.ErrReplaced if the connection has other credentials now.
func (s *Store) SaveSongs(ctx context.Context, c library.Connection, keys map[int64]bool) (changed int, err error) {
	err = s.db.WriteFor(ctx, c.User, func(ctx context.Context, tx *sql.Tx) error {
		if err := connections.Current(ctx, tx, c.User, c.ID, c.Generation); err != nil {
			return err
		}
		had, err := db.List(ctx, tx, func(r db.Scanner) (key int64, err error) { return key, r.Scan(&key) },
			"SELECT match_key FROM library_songs WHERE user_id = $1 AND connection = $2", c.User, c.ID)
		if err != nil {
			return err
		}
		var gone, come []any
		kept := make(map[int64]bool, len(had))
		for _, key := range had {
			if kept[key] = true; !keys[key] {
				gone = append(gone, key)
			}
		}
		for key := range keys {
			if !kept[key] {
				come = append(come, c.User, c.ID, key)
			}
		}
		changed = len(gone) + len(come)/3
		for some := range slices.Chunk(gone, atOnce) {
			const these = "DELETE FROM library_songs WHERE user_id = $1 AND connection = $2 AND match_key IN "
			if err := db.ExecTx(ctx, tx, these+db.Numbered(3, len(some)),
				append([]any{c.User, c.ID}, some...)...); err != nil {
				return err
			}
		}
		return db.InsertRows(ctx, tx, "INSERT INTO library_songs (user_id, connection, match_key)", 3, come, "")
	})
	return changed, err
}

// LibrarySongs returns how many songs the libraries of a person have.
func (s *Store) LibrarySongs(ctx context.Context, user int64) (n int, err error) {
	err = s.db.Reader.QueryRowContext(ctx, "SELECT count(DISTINCT match_key) FROM library_songs WHERE user_id = $1",
		user).Scan(&n)
	return n, db.Explain(err)
}

// OwnTracks returns the ids of the tracks that a library of a person has, of those that anybody has heard. Without a
// connection, all libraries of the person count.
func (s *Store) OwnTracks(ctx context.Context, user int64, conn library.ConnectionID) (map[uint32]bool, error) {
	own := map[uint32]bool{}
	const of = "SELECT %s FROM library_songs s JOIN %s ON t.match_key = s.match_key AND t.kind = $2 " +
		"WHERE s.user_id = $1 AND $3 IN ('', s.connection)"
	_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
		var id uint32
		err = r.Scan(&id)
		own[id] = true
		return none, err
	}, fmt.Sprintf(of, "t.id", "entities t")+" UNION ALL "+fmt.Sprintf(of, "t.entity_id", "joined_keys t"), user,
		library.KindTrack, conn)
	return own, err
}

// OwnSongs reports which tracks a library of a person has.
func (s *Store) OwnSongs(ctx context.Context, user int64, tracks []library.Track) ([]bool, error) {
	own := make([]bool, len(tracks))
	places := make(map[int64][]int, len(tracks))
	var keys []any
	for i, t := range tracks {
		key := music.MatchKey(t.Title, music.Indexed(t.Artist))
		if places[key] == nil {
			keys = append(keys, key)
		}
		places[key] = append(places[key], i)
	}
	for some := range slices.Chunk(keys, atOnce) {
		_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (none struct{}, err error) {
			var key int64
			err = r.Scan(&key)
			for _, i := range places[key] {
				own[i] = true
			}
			return none, err
		}, "SELECT match_key FROM library_songs WHERE user_id = $1 AND match_key IN "+db.Numbered(2, len(some)),
			append([]any{user}, some...)...)
		if err != nil {
			return nil, err
		}
	}
	return own, nil
}
