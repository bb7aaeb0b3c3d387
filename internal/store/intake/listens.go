package intake

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/music"
	"reprise/internal/store/catalogue"
	"reprise/internal/store/connections"
	"reprise/internal/store/db"
	"reprise/internal/store/runs"
	"reprise/internal/store/statistics"
)

// Touched is called for the listens of a person that a transaction has changed, with their times in milliseconds.
func Touched(ctx context.Context, tx *sql.Tx, user int64, times []int64) error {
	spans := map[int64]bool{}
	for _, at := range times {
		spans[statistics.SpanOf(time.UnixMilli(at))] = true
	}
	return statistics.ChangedListens(ctx, tx, user, spans)
}

// ListensChanged does what follows from listens having changed, gone or come back: their months are archived again.
func (s *Store) ListensChanged(ctx context.Context, tx *sql.Tx, user int64, some []delivery.Play) error {
	times := make([]int64, len(some))
	for i, v := range some {
		times[i] = v.At.UnixMilli()
	}
	routes, err := s.outbox.Routes(ctx, tx, user)
	return errors.Join(err, s.outbox.EnqueueAll(ctx, tx, routes.Months(some)), Touched(ctx, tx, user, times))
}

// SaveListens stores a page of plays and the position that reading has reached. It leaves out plays that the connection
// reported before; a play that another connection reported becomes a further source of that listen. It returns the
// number of new listens.
func (s *Store) SaveListens(ctx context.Context, page library.Intake) (added int, err error) {
	err = s.db.WriteFor(ctx, page.User, func(ctx context.Context, tx *sql.Tx) error {
		if err := connections.Current(ctx, tx, page.User, page.Connection, page.Generation); err != nil {
			return err
		}
		if _, added, err = s.TakeIn(ctx, tx, page); err != nil {
			return err
		}
		counts, err := s.newPlayCounts(ctx, page)
		if err != nil {
			return err
		}
		if err := savePlayCounts(ctx, tx, counts); err != nil {
			return err
		}
		if page.Gap != nil {
			if err := runs.NoteGap(ctx, tx, page.User, page.Connection, *page.Gap); err != nil {
				return err
			}
		}
		return db.ExecTx(ctx, tx, runs.SavePosition, page.User, page.Connection, library.Listens, page.Position,
			page.Note)
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// TakeIn stores the plays of a page that the connection has not reported before. It returns these plays and the number
// of new listens.
func (s *Store) TakeIn(
	ctx context.Context, tx *sql.Tx, page library.Intake,
) (fresh []*library.Listen, added int, err error) {
	by, err := CorrectedBy(ctx, tx, page)
	if err != nil {
		return nil, 0, err
	}
	if fresh, err = unknownPlays(ctx, tx, page, by.Piles); err != nil || len(fresh) == 0 {
		return fresh, 0, err
	}
	r, err := rule(ctx, tx, page, fresh)
	if err != nil {
		return nil, 0, err
	}
	added, err = s.addPlays(ctx, tx, page, by, r)
	return fresh, added, err
}

// addPlays stores plays that the connection has not reported before. It loads the listens that they may be, asks
// package music which of them they are, and stores the answer.
func (s *Store) addPlays(ctx context.Context, tx *sql.Tx, page library.Intake, by Corrected,
	r ruled) (added int, err error) {
	fresh := r.plays
	m, err := PlaysAround(ctx, tx, page.User, by, fresh, r.toldAs())
	if err != nil {
		return 0, err
	}
	if m.Sent, err = sentPlays(ctx, tx, page, by.Piles, fresh); err != nil {
		return 0, err
	}
	reports := m.Recognise(page.Connection, fresh)
	spelt, err := s.spell(ctx, tx, fresh, reports)
	if err != nil {
		return 0, err
	}
	ignored, err := r.ignored(ctx, tx, page.User, reports)
	if err != nil {
		return 0, err
	}
	rows, err := newPageRows(ctx, tx, page, fresh, reports)
	if err != nil {
		return 0, err
	}
	ids := make([]int64, len(fresh))
	for i, l := range fresh {
		if o := r.outcomes[i]; reports[i].Play == nil && o.Ignored != 0 {
			ids[i] = rows.ignore(l, spelt[i], ignored[o.Ignored])
			continue
		}
		before := len(rows.plays)
		if err := rows.add(ctx, tx, l, reports[i].Play, spelt[i]); err != nil {
			return 0, err
		}
		if len(rows.plays) > before {
			one := &rows.plays[before]
			ids[i], one.Withheld = one.Listen, r.outcomes[i].Targets()
		} else if p := reports[i].Play; p != nil { // it is deleted, and may come back
			ids[i] = p.ID
		}
	}
	times := make([]int64, 0, len(fresh))
	for _, p := range rows.plays {
		times = append(times, db.Millis(p.At))
	}
	for _, v := range m.Stored {
		if !v.Moved {
			continue
		}
		times = append(times, db.Millis(v.Play.At), db.Millis(v.Was.At))
		if !v.Play.Removed {
			rows.plays = append(rows.plays, delivery.Play{Listen: v.Play.ID, At: v.Play.At})
		}
	}
	if err := rows.Insert(ctx, tx); err != nil {
		return 0, err
	}
	return rows.added, errors.Join(s.note(ctx, tx, page.User, r, ids, reports),
		moveSources(ctx, tx, page.User, m.Stored), Touched(ctx, tx, page.User, times),
		s.outbox.EnqueuePlays(ctx, tx, page.User, page.Connection, rows.plays))
}

// spell returns the spelling of each play that is a new listen, or that tells a known one something new; 0 for the
// others.
func (s *Store) spell(ctx context.Context, tx *sql.Tx, fresh []*library.Listen, reports []music.Report) ([]int64,
	error) {
	var earlier []int64 // spellings of known listens that learn something
	for i, l := range fresh {
		if p := reports[i].Play; p != nil && p.Learns(l) {
			earlier = append(earlier, p.Spelt)
		}
	}
	slices.Sort(earlier)
	stored, err := catalogue.SpellingsByID(ctx, tx, slices.Compact(earlier))
	if err != nil {
		return nil, err
	}
	var all []music.Spelling
	var of []int
	for i, l := range fresh {
		p := reports[i].Play
		switch {
		case p == nil:
			all = append(all, music.SpellingOf(l.Track))
		case p.Learns(l) && stored[p.Spelt] != nil:
			all = append(all, stored[p.Spelt].With(l.Track))
		default:
			continue
		}
		of = append(of, i)
	}
	ids, err := s.catalogue.Shelve(ctx, tx, all)
	spelt := make([]int64, len(fresh))
	for n, i := range of {
		if err == nil {
			spelt[i] = ids[n]
		}
	}
	return spelt, err
}

// sentPlays returns the listens around a page that were forwarded to its connection and that it has not reported yet.
func sentPlays(
	ctx context.Context, tx *sql.Tx, page library.Intake, piles []Pile, fresh []*library.Listen,
) (all []*music.Play, err error) {
	user, conn := page.User, page.Connection
	reporter, err := connections.AccountOf(ctx, tx, user, conn)
	if err != nil {
		return nil, err
	}
	for _, in := range piles {
		scan := func(r db.Scanner) (*music.Play, error) {
			var at int64
			p := &music.Play{Removed: in.Removed}
			err := r.Scan(&p.ID, &at)
			p.At = db.Instant(at)
			return p, err
		}
		some, err := db.List(ctx, tx, scan, "SELECT l.id, l.played_at FROM "+in.forwards+" f JOIN "+in.Listens+` l
			ON l.id = f.listen_id
			WHERE f.user_id = $1 AND `+reporter.In("f.connection", 5)+` AND l.played_at BETWEEN $3 AND $4 AND NOT EXISTS
			(SELECT 1 FROM `+in.Sources+" s WHERE s.listen_id = l.id AND "+connections.SourceOf("s", 2)+")",
			reporter.Args(user, conn, db.Millis(fresh[0].PlayedAt)-1000,
				db.Millis(fresh[len(fresh)-1].PlayedAt)+1000)...)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// PlayCounts returns what was counted of these tracks when they were read last, by track id.
func (s *Store) PlayCounts(ctx context.Context, user int64, conn library.ConnectionID,
	tracks []string) (map[string]library.Counted, error) {
	counts := make(map[string]library.Counted, len(tracks))
	scan := func(r db.Scanner) (none struct{}, err error) {
		var c library.Counted
		var track string
		var at int64
		err = r.Scan(&track, &c.Plays, &at, &c.Looked)
		c.PlayedAt = db.Instant(at)
		counts[track] = c
		return none, err
	}
	for chunk := range slices.Chunk(tracks, 500) {
		args := []any{user, conn}
		for _, t := range chunk {
			args = append(args, t)
		}
		_, err := db.List(ctx, s.db.Reader, scan, `SELECT track_id, plays, played_at, looked FROM play_counts
			WHERE user_id = $1 AND connection = $2 AND track_id IN `+db.Numbered(3, len(chunk)), args...)
		if err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// newPlayCounts returns rows with the play counts of a page that differ from the stored ones.
func (s *Store) newPlayCounts(ctx context.Context, page library.Intake) (rows []any, err error) {
	var counted []*library.Listen
	var tracks []string
	last := map[string]bool{}
	for i := range page.Listens {
		if l := &page.Listens[i]; l.PlayCount > 0 && !last[l.Track.SourceID] {
			last[l.Track.SourceID] = true
			counted, tracks = append(counted, l), append(tracks, l.Track.SourceID)
		}
	}
	if len(counted) == 0 {
		return nil, nil
	}
	known, err := s.PlayCounts(ctx, page.User, page.Connection, tracks)
	for _, l := range counted {
		k := known[l.Track.SourceID]
		if k.Plays != l.PlayCount || db.Millis(k.PlayedAt) != db.Millis(l.PlayedAt) {
			rows = append(rows, page.User, page.Connection, l.Track.SourceID, l.PlayCount, db.Millis(l.PlayedAt),
				page.Looked)
		}
	}
	return rows, err
}

func savePlayCounts(ctx context.Context, tx *sql.Tx, rows []any) error {
	return db.InsertRows(ctx, tx,
		"INSERT INTO play_counts (user_id, connection, track_id, plays, played_at, looked)", 6, rows,
		`ON CONFLICT (user_id, connection, track_id) DO UPDATE
			SET plays = excluded.plays, played_at = excluded.played_at, looked = excluded.looked`)
}
