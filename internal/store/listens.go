package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
)

// SaveListens stores a page of plays and the position that reading has reached. It leaves out plays that the connection
// reported before; a play that another connection reported becomes a further source of that listen. It returns the
// number of new listens.
func (s *Store) SaveListens(ctx context.Context, page library.Intake) (added int, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		if err := current(ctx, tx, page.User, page.Connection, page.Generation); err != nil {
			return err
		}
		if _, added, err = s.takeIn(ctx, tx, page); err != nil {
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
			if err := noteGap(ctx, tx, page.User, page.Connection, *page.Gap); err != nil {
				return err
			}
		}
		return execTx(ctx, tx, savePosition, page.User, page.Connection, library.Listens, page.Position, page.Note)
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// takeIn stores the plays of a page that the connection has not reported before. It returns these plays and the number
// of new listens.
func (s *Store) takeIn(
	ctx context.Context, tx *sql.Tx, page library.Intake,
) (fresh []*library.Listen, added int, err error) {
	by, err := correctedBy(ctx, tx, page)
	if err != nil {
		return nil, 0, err
	}
	if fresh, err = unknownPlays(ctx, tx, page, by.piles); err != nil || len(fresh) == 0 {
		return fresh, 0, err
	}
	added, err = s.addPlays(ctx, tx, page, by, fresh)
	return fresh, added, err
}

func (s *Store) addPlays(ctx context.Context, tx *sql.Tx, page library.Intake, by corrected,
	fresh []*library.Listen) (added int, err error) {
	user, conn := page.User, page.Connection
	m, err := playsAround(ctx, tx, user, by, fresh)
	if err != nil {
		return 0, err
	}
	reports, keys := make([]report, len(fresh)), make([]int64, len(fresh))
	for i, l := range fresh {
		reports[i] = newReport(conn, l.SourceID, l.PlayedAt, l.Duration)
		reports[i].sides = by.apart[library.Source{Connection: conn, SourceID: l.SourceID}]
		keys[i] = matchKey(l.Title, indexed(l.Artist))
		if l.Approximate || !m.join(&reports[i], keys[i]) {
			added++
		}
	}
	if added > 0 {
		for _, in := range by.piles {
			echoed, err := echoes(ctx, tx, in, page, fresh, reports)
			if err != nil {
				return 0, err
			}
			added -= echoed
		}
	}
	next, err := nextIDs(ctx, tx, "listens", added)
	if err != nil {
		return 0, err
	}
	spelt, err := s.spell(ctx, tx, fresh, reports)
	if err != nil {
		return 0, err
	}
	number, err := numberOf(ctx, tx, conn)
	if err != nil {
		return 0, err
	}
	names := make([]string, len(fresh))
	for i, l := range fresh {
		names[i] = l.Player
	}
	players, err := playersOf(ctx, tx, names)
	if err != nil {
		return 0, err
	}
	const listenWidth, sourceWidth = 5, 7
	now := time.Now().Unix()
	plays := make([]delivery.Play, 0, len(fresh))
	listens := make([]any, 0, added*listenWidth)
	sources := sourceRows{players, make([]any, 0, len(fresh)*sourceWidth)}
	gone := sourceRows{players: players} // sources of listens that were deleted
	for i, l := range fresh {
		id, at, p := next, l.PlayedAt, reports[i].play
		if p == nil {
			next++
		} else {
			id, at = p.id, p.at
		}
		to := &sources
		if p != nil && p.removed {
			to = &gone
		}
		to.add(l.Player, id, number, sourceKey(user, conn, l.SourceID), l.SourceID,
			l.PlayedAt.Sub(at).Milliseconds(), now)
		if p != nil && p.removed {
			if err := respell(ctx, tx, id, spelt[i]); err != nil {
				return 0, err
			}
			spelt[i] = 0
			continue
		}
		if spelt[i] != 0 {
			listens = append(listens, id, user, millis(l.PlayedAt), flag(l.Approximate), spelt[i])
		}
		plays = append(plays, delivery.Play{Listen: id, At: at, Fresh: p == nil, Guess: l.Approximate})
	}
	err = insertRows(ctx, tx, "INSERT INTO listens (id, user_id, played_at, approximate, spelling_id)", listenWidth,
		listens, "ON CONFLICT (id) DO UPDATE SET spelling_id = excluded.spelling_id")
	if err != nil {
		return 0, err
	}
	for _, in := range by.piles {
		rows := &sources
		if in.removed {
			rows = &gone
		}
		if err := rows.insert(ctx, tx, in.sources); err != nil {
			return 0, err
		}
	}
	spans := map[int64]bool{}
	for _, p := range plays {
		spans[spanOf(p.At)] = true
	}
	for _, r := range m.stored {
		if !r.moved {
			continue
		}
		spans[spanOf(r.play.at)], spans[spanOf(r.was.at)] = true, true
		if !r.play.removed {
			plays = append(plays, delivery.Play{Listen: r.play.id, At: r.play.at})
		}
	}
	if err := changedListens(ctx, tx, user, spans); err != nil {
		return 0, err
	}
	return added, errors.Join(moveSources(ctx, tx, user, m.stored), s.enqueuePlays(ctx, tx, user, conn, plays))
}

// spell returns the spelling of each play that is a new listen, or that tells a known one something new; 0 for the
// others.
func (s *Store) spell(ctx context.Context, tx *sql.Tx, fresh []*library.Listen, reports []report) ([]int64, error) {
	var earlier []int64 // spellings of known listens that learn something
	for i, l := range fresh {
		if p := reports[i].play; p != nil && p.learns(l) {
			earlier = append(earlier, p.spelt)
		}
	}
	slices.Sort(earlier)
	stored, err := spellingsByID(ctx, tx, slices.Compact(earlier))
	if err != nil {
		return nil, err
	}
	var all []spelling
	var of []int
	for i, l := range fresh {
		p := reports[i].play
		switch {
		case p == nil:
			all = append(all, spellingOf(l.Track))
		case p.learns(l) && stored[p.spelt] != nil:
			all = append(all, stored[p.spelt].with(l.Track))
		default:
			continue
		}
		of = append(of, i)
	}
	ids, err := s.shelve(ctx, tx, all)
	spelt := make([]int64, len(fresh))
	for n, i := range of {
		if err == nil {
			spelt[i] = ids[n]
		}
	}
	return spelt, err
}

// mostIndexed is the most bytes of a name. An index has both artist and album, and Postgres allows 2,700 bytes for an
// entry. One longer name would otherwise block everything after it.
const mostIndexed = 1000

// indexed returns a name cut to mostIndexed bytes.
func indexed(name string) string {
	if len(name) <= mostIndexed {
		return name
	}
	return strings.ToValidUTF8(name[:mostIndexed], "")
}

// echoes finds reports of listens that were forwarded to this connection and have other names there: a provider may
// change the spelling of artist and title, but keeps the second of the play. It assigns the listens to these reports,
// and returns their number.
func echoes(
	ctx context.Context, tx *sql.Tx, in pile, page library.Intake, fresh []*library.Listen, reports []report,
) (n int, err error) {
	user, conn := page.User, page.Connection
	type sent struct{ id, at int64 }
	scan := func(r scanner) (v sent, err error) { return v, r.Scan(&v.id, &v.at) }
	reporter, err := accountOf(ctx, tx, user, conn)
	if err != nil {
		return 0, err
	}
	all, err := list(ctx, tx, scan, "SELECT l.id, l.played_at FROM "+in.forwards+" f JOIN "+in.listens+` l
		ON l.id = f.listen_id
		WHERE f.user_id = $1 AND `+reporter.in("f.connection", 5)+` AND l.played_at BETWEEN $3 AND $4
		AND NOT EXISTS (SELECT 1 FROM `+in.sources+" s WHERE s.listen_id = l.id AND "+fromOne("s", 2)+")",
		reporter.args(user, conn, millis(fresh[0].PlayedAt)-1000, millis(fresh[len(fresh)-1].PlayedAt)+1000)...)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	bySecond := make(map[int64][]sent, len(all))
	for _, v := range all {
		bySecond[v.at/1000] = append(bySecond[v.at/1000], v)
	}
	taken := map[int64]bool{}
	for i := range reports {
		if reports[i].play != nil {
			taken[reports[i].play.id] = true
		}
	}
	for i, l := range fresh {
		ids := bySecond[l.PlayedAt.Unix()]
		if reports[i].play != nil || l.Approximate || len(ids) != 1 || taken[ids[0].id] {
			continue
		}
		taken[ids[0].id] = true
		// It learns nothing from this report.
		reports[i].play = &play{id: ids[0].id, at: instant(ids[0].at), fixed: true,
			removed: in.removed}
		n++
	}
	return n, nil
}

// learns reports whether l has facts about the play that are not known yet.
func (p *play) learns(l *library.Listen) bool {
	return !p.fixed && (!p.isrc && l.ISRC != "" || !p.mbid && l.RecordingMBID != "" || p.length == 0 && l.Duration > 0)
}

// PlayCounts returns what was counted of these tracks when they were read last, by track id.
func (s *Store) PlayCounts(ctx context.Context, user int64, conn library.ConnectionID,
	tracks []string) (map[string]library.Counted, error) {
	counts := make(map[string]library.Counted, len(tracks))
	scan := func(r scanner) (none struct{}, err error) {
		var c library.Counted
		var track string
		var at int64
		err = r.Scan(&track, &c.Plays, &at, &c.Looked)
		c.PlayedAt = instant(at)
		counts[track] = c
		return none, err
	}
	for chunk := range slices.Chunk(tracks, 500) {
		args := []any{user, conn}
		for _, t := range chunk {
			args = append(args, t)
		}
		_, err := list(ctx, s.reader, scan, `SELECT track_id, plays, played_at, looked FROM play_counts
			WHERE user_id = $1 AND connection = $2 AND track_id IN `+numbered(3, len(chunk)), args...)
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
		if k.Plays != l.PlayCount || millis(k.PlayedAt) != millis(l.PlayedAt) {
			rows = append(rows, page.User, page.Connection, l.Track.SourceID, l.PlayCount, millis(l.PlayedAt),
				page.Looked)
		}
	}
	return rows, err
}

func savePlayCounts(ctx context.Context, tx *sql.Tx, rows []any) error {
	return insertRows(ctx, tx,
		"INSERT INTO play_counts (user_id, connection, track_id, plays, played_at, looked)", 6, rows,
		`ON CONFLICT (user_id, connection, track_id) DO UPDATE
			SET plays = excluded.plays, played_at = excluded.played_at, looked = excluded.looked`)
}
