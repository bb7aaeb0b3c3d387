// Package recipes keeps the playlists that renew themselves from their person's history.
package recipes

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strconv"
	"time"

	"reprise/internal/library"
	"reprise/internal/recipes"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/db"
	"reprise/internal/store/playlists"
)

// Store is that part of a database. It is safe for concurrent use.
type Store struct {
	db        *db.DB
	playlists *playlists.Store
}

// New returns the part of a database.
func New(d *db.DB, playlists *playlists.Store) *Store { return &Store{d, playlists} }

const selectRecipe = `SELECT id, user_id, name, kind, months, loved, year, season, songs, minutes, library, disliked,
	every, renewed_at FROM recipes `

func scanRecipe(r db.Scanner) (v recipes.Recipe, err error) {
	var loved, disliked int
	var renewed int64
	err = r.Scan(&v.ID, &v.User, &v.Name, &v.Kind, &v.Months, &loved, &v.Year, &v.Season, &v.Songs, &v.Minutes,
		&v.Library, &disliked, &v.Every, &renewed)
	v.Loved, v.Disliked, v.Renewed = loved != 0, disliked != 0, db.Instant(renewed)
	return v, err
}

// AllRecipes returns those of all people.
func (s *Store) AllRecipes(ctx context.Context) ([]recipes.Recipe, error) {
	return db.List(ctx, s.db.Reader, scanRecipe, selectRecipe+"ORDER BY id")
}

// Recipes returns a person's recipes, in the order in which they were made.
func (s *Store) Recipes(ctx context.Context, user int64) ([]recipes.Recipe, error) {
	return db.List(ctx, s.db.Reader, scanRecipe, selectRecipe+"WHERE user_id = $1 ORDER BY id", user)
}

// Recipe returns one of a person's recipes, or library.ErrNotFound.
func (s *Store) Recipe(ctx context.Context, user, id int64) (recipes.Recipe, error) {
	return one(ctx, s.db.Reader, user, id)
}

func one(ctx context.Context, q db.RowQuerier, user, id int64) (recipes.Recipe, error) {
	v, err := scanRecipe(q.QueryRowContext(ctx, selectRecipe+"WHERE user_id = $1 AND id = $2", user, id))
	return v, db.Found(err)
}

// SaveRecipe stores a recipe and returns it with its id. One without an id is new, unless the person already has an
// equal one. It returns recipes.ErrTooMany if the person has the maximum number, and library.ErrNotFound if the recipe
// was deleted.
func (s *Store) SaveRecipe(ctx context.Context, v recipes.Recipe) (recipes.Recipe, error) {
	fresh := v.ID == 0
	err := s.db.Write(ctx, func(tx *sql.Tx) (err error) {
		args := []any{v.User, v.Name, v.Kind, v.Months, db.Flag(v.Loved), v.Year, v.Season, v.Songs, v.Minutes,
			v.Library, db.Flag(v.Disliked), v.Every}
		if !fresh {
			return db.Changed(tx.ExecContext(ctx, `UPDATE recipes SET name = $2, kind = $3, months = $4, loved = $5,
				year = $6, season = $7, songs = $8, minutes = $9, library = $10, disliked = $11, every = $12
				WHERE user_id = $1 AND id = $13`, append(args, v.ID)...))
		}
		all, err := db.List(ctx, tx, scanRecipe, selectRecipe+"WHERE user_id = $1", v.User)
		if err != nil {
			return err
		}
		for _, old := range all {
			if old.Same(v) { // a form that was sent twice
				v = old
				return nil
			}
		}
		if len(all) >= recipes.Most {
			return recipes.ErrTooMany
		}
		if v.ID, err = db.NextIDs(ctx, tx, "recipes", 1); err != nil {
			return err
		}
		return db.ExecTx(ctx, tx, `INSERT INTO recipes (user_id, name, kind, months, loved, year, season, songs,
			minutes, library, disliked, every, id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
			append(args, v.ID)...)
	})
	return v, err
}

// RenewRecipe implements recipes.Store.
func (s *Store) RenewRecipe(ctx context.Context, r recipes.Recipe, tracks []library.Track) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		now, err := one(ctx, tx, r.User, r.ID)
		if err != nil {
			return err
		}
		if now.Renewed = r.Renewed; now != r {
			return recipes.ErrChanged
		}
		err = db.ExecTx(ctx, tx, "UPDATE recipes SET renewed_at = $1 WHERE id = $2", db.Millis(time.Now()), r.ID)
		if err != nil {
			return err
		}
		list := library.Playlist{SourceID: strconv.FormatInt(r.ID, 10), Name: r.Name, TrackCount: len(tracks)}
		if len(tracks) == 0 {
			var there bool
			err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM playlists
				WHERE user_id = $1 AND connection = $2 AND source_id = $3)`, r.User, library.Recipes, list.SourceID).
				Scan(&there)
			if err != nil || there {
				return err
			}
		}
		return s.playlists.SaveIn(ctx, tx, r.User, library.Recipes, list, int(min(r.ID, math.MaxInt32)), tracks)
	})
}

// DeleteRecipe removes a recipe with its playlist, or returns library.ErrNotFound. Copies that were written stay where
// they are.
func (s *Store) DeleteRecipe(ctx context.Context, user, id int64) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		err := db.Changed(tx.ExecContext(ctx, "DELETE FROM recipes WHERE user_id = $1 AND id = $2", user, id))
		if err != nil {
			return err
		}
		const of = " user_id = $1 AND connection = $2 AND source_id = $3"
		args := []any{user, library.Recipes, strconv.FormatInt(id, 10)}
		return errors.Join(
			db.ExecTx(ctx, tx, `DELETE FROM copies WHERE user_id = $1 AND kind = 'write_playlist' AND EXISTS
				(SELECT 1 FROM playlists p WHERE p.user_id = $1 AND p.connection = $2 AND p.source_id = $3
				AND (copies.ref = CAST(p.id AS TEXT) OR copies.ref LIKE CAST(p.id AS TEXT) || '@%'))`, args...),
			db.ExecTx(ctx, tx, `DELETE FROM shares WHERE user_id = $1 AND kind = 'playlist' AND subject IN
				(SELECT CAST(id AS TEXT) FROM playlists WHERE`+of+")", args...),
			db.ExecTx(ctx, tx, "DELETE FROM playlists WHERE"+of, args...))
	})
}

// Opinions returns spellings of the songs that a person loves, and of those that they dislike or anybody else who
// shares their listening.
func (s *Store) Opinions(ctx context.Context, user int64) (loved, disliked []uint32, err error) {
	scan := func(r db.Scanner) (none struct{}, err error) {
		var spelling uint32
		var score int
		err = r.Scan(&spelling, &score)
		switch score {
		case library.Loved:
			loved = append(loved, spelling)
		case library.Hated:
			disliked = append(disliked, spelling)
		}
		return none, err
	}
	_, err = db.List(ctx, s.db.Reader, scan, `SELECT p.id, l.score FROM loves l JOIN users u ON u.id = l.user_id
		JOIN spellings p ON p.track_id = coalesce(
			(SELECT j.entity_id FROM joined_keys j WHERE j.match_key = l.match_key AND j.kind = $2),
			(SELECT e.id FROM entities e WHERE e.match_key = l.match_key AND e.kind = $2))
		WHERE l.user_id = $1 OR u.shares_listening = 1 AND l.score < 0`, user, library.KindTrack)
	return loved, disliked, err
}

// TracksSpelt returns the tracks of spellings.
func (s *Store) TracksSpelt(ctx context.Context, ids []int64) (map[int64]library.Track, error) {
	all, err := catalogue.SpellingsByID(ctx, s.db.Reader, ids)
	tracks := make(map[int64]library.Track, len(all))
	for id, v := range all {
		tracks[id] = v.Track
	}
	return tracks, err
}
