package catalogue

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"reprise/internal/music"
	"reprise/internal/store/db"
)

// saveCredits stores the artists of tracks. What a service lists takes the place of what was read out of a text.
func saveCredits(ctx context.Context, tx *sql.Tx, told []music.Credit) error {
	known, err := knownCredits(ctx, tx, told)
	if err != nil {
		return err
	}
	var order []int64
	for _, c := range told {
		k := known[c.Track]
		if k == nil {
			k = &music.Credit{Track: c.Track, Listed: c.Listed}
			known[c.Track] = k
		}
		order = append(order, c.Track)
		switch {
		case c.Listed && !k.Listed:
			*k = music.Credit{Track: c.Track, Artists: c.Artists, Listed: true, Instead: k.Stored > 0}
		case c.Listed == k.Listed && (!k.Listed || len(k.Artists) == 0):
			for _, a := range c.Artists {
				if !slices.Contains(k.Artists, a) {
					k.Artists = append(k.Artists, a)
				}
			}
		}
	}
	var rows []any
	for _, track := range order {
		c := known[track]
		if c.Instead {
			err = errors.Join(err, db.ExecTx(ctx, tx, "DELETE FROM track_artists WHERE track_id = $1", track))
		}
		for i := c.Stored; i < len(c.Artists); i++ {
			rows = append(rows, track, c.Artists[i], i, db.Flag(c.Listed))
		}
		c.Stored, c.Instead = len(c.Artists), false
	}
	return errors.Join(err, db.InsertRows(ctx, tx,
		"INSERT INTO track_artists (track_id, artist_id, position, listed)", 4, rows, ""))
}

// knownCredits returns what is stored of the artists of these tracks.
func knownCredits(ctx context.Context, tx *sql.Tx, of []music.Credit) (map[int64]*music.Credit, error) {
	known := make(map[int64]*music.Credit, len(of))
	type row struct {
		track, artist int64
		listed        bool
	}
	scan := func(r db.Scanner) (v row, err error) { return v, r.Scan(&v.track, &v.artist, &v.listed) }
	for chunk := range slices.Chunk(of, 200) {
		args := make([]any, len(chunk))
		for i, c := range chunk {
			args[i] = c.Track
		}
		rows, err := db.List(ctx, tx, scan, `SELECT track_id, artist_id, listed FROM track_artists WHERE track_id IN `+
			db.Numbered(1, len(args))+" ORDER BY track_id, position", args...)
		if err != nil {
			return nil, err
		}
		for _, v := range rows {
			if known[v.track] == nil {
				known[v.track] = &music.Credit{Track: v.track, Listed: v.listed}
			}
			c := known[v.track]
			if !slices.Contains(c.Artists, v.artist) { // a track may be in two chunks
				c.Artists, c.Stored = append(c.Artists, v.artist), c.Stored+1
			}
		}
	}
	return known, nil
}

// standAlone gives the tracks of a name that was taken for several artists until now to the one artist that it is.
func standAlone(ctx context.Context, tx *sql.Tx, name string, artist int64) error {
	key := music.FoldKey(name)
	const tracks = "SELECT track_id FROM spellings WHERE artist_key = $1 AND track_id IS NOT NULL"
	return errors.Join(
		db.ExecTx(ctx, tx, "DELETE FROM track_artists WHERE listed = 0 AND track_id IN ("+tracks+")", key),
		db.ExecTx(ctx, tx, `INSERT INTO track_artists (track_id, artist_id, position, listed)
			SELECT DISTINCT p.track_id, CAST($2 AS BIGINT), 0, 0 FROM spellings p
			WHERE p.artist_key = $1 AND p.track_id IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM track_artists a WHERE a.track_id = p.track_id)`, key, artist),
		Remeant(ctx, tx))
}
