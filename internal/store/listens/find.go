package listens

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"reprise/internal/delivery"
	"reprise/internal/library"
	"reprise/internal/store/db"
)

// DeleteAtOnce is how many listens one transaction deletes or brings back, so that other writers do not wait long.
const DeleteAtOnce = 1000

// Owned returns those of some listens that are a person's.
func Owned(ctx context.Context, q db.Querier, user int64, ids []int64) ([]delivery.Play, error) {
	scan := func(r db.Scanner) (v delivery.Play, err error) {
		var at int64
		err = r.Scan(&v.Listen, &at)
		v.At = time.UnixMilli(at)
		return v, err
	}
	var all []delivery.Play
	err := db.InChunks(ids, func(these string, args []any) error {
		some, err := db.List(ctx, q, scan, "SELECT id, played_at FROM listens WHERE id IN "+these+" AND +user_id = $1",
			append([]any{user}, args...)...)
		all = append(all, some...)
		return err
	})
	return all, err
}

// IdsOf returns the ids of the listens that plays are.
func IdsOf(some []delivery.Play) []int64 {
	ids := make([]int64, len(some))
	for i, v := range some {
		ids[i] = v.Listen
	}
	return ids
}

// Listens returns a page of a user's listens, the newest first, and the cursor of the next page, empty at the end.
// limit is 1 to 1,000. An invalid cursor is library.ErrBadCursor.
func (s *Store) Listens(
	ctx context.Context, user int64, before string, limit int,
) (page []library.StoredListen, next string, err error) {
	return s.FindListens(ctx, library.ListenFilter{User: user}, before, limit)
}

// SentListens returns up to limit listens of a user, the newest first and without their sources. It leaves out those
// that rules keep from being sent anywhere.
func (s *Store) SentListens(ctx context.Context, user int64, limit int) ([]library.StoredListen, error) {
	return db.List(ctx, s.db.Reader, ScanListen, SelectListen+`WHERE l.user_id = $1
		AND NOT EXISTS (SELECT 1 FROM withheld w WHERE w.listen_id = l.id AND w.connection = '')
		ORDER BY l.played_at DESC, l.id DESC LIMIT $2`, user, limit)
}

// CountSent counts a user's listens since a time, without those that rules keep from being sent anywhere.
func (s *Store) CountSent(ctx context.Context, user int64, since time.Time) (n int, err error) {
	err = s.db.Reader.QueryRowContext(ctx, `SELECT count(*) FROM listens l WHERE l.user_id = $1 AND l.played_at >= $2
		AND NOT EXISTS (SELECT 1 FROM withheld w WHERE w.listen_id = l.id AND w.connection = '')`, user,
		db.Millis(since)).Scan(&n)
	return n, db.Explain(err)
}

// SelectListen selects listens l with their spellings p. ScanListen reads the columns.
const (
	SelectListen  = "SELECT " + ListenColumns + " FROM listens l " + TheirSpellings
	ListenColumns = `l.id, p.title, p.artist, p.album, l.played_at, p.duration_ms, p.isrc, p.recording_mbid,
		l.approximate`
	TheirSpellings = "JOIN spellings p ON p.id = l.spelling_id "
)

// FindListens does what Listens does for the listens that a filter selects. The cursor of the next page has the filter:
// with it the filter may be left out, and another filter is library.ErrBadCursor.
func (s *Store) FindListens(
	ctx context.Context, f library.ListenFilter, before string, limit int,
) (page []library.StoredListen, next string, err error) {
	p, err := placeOf(f, before)
	if err != nil {
		return nil, "", err
	}
	page, more, err := s.listensFrom(ctx, p, limit)
	if more {
		next = p.f.After(page[len(page)-1]).Text()
	}
	return page, next, err
}

// LaterListens returns up to limit listens that a filter selects after a cursor, newest first, and whether there are
// more. limit is 1 to 1,000. It returns library.ErrBadCursor for a cursor that is invalid or of another filter.
func (s *Store) LaterListens(ctx context.Context, f library.ListenFilter, after string, limit int) (
	page []library.StoredListen, more bool, err error) {
	p, err := placeOf(f, after)
	if err != nil {
		return nil, false, err
	}
	p.later = true
	page, more, err = s.listensFrom(ctx, p, limit)
	slices.Reverse(page)
	return page, more, err
}

// spot is a place in the listens of a filter where reading starts: towards older listens, newest first, or towards
// later ones, oldest first.
type spot struct {
	f      library.ListenFilter
	at, id int64 // at in Unix milliseconds
	later  bool
}

// placeOf returns the place of a cursor, or the newest listen if there is no cursor.
func placeOf(f library.ListenFilter, cursor string) (spot, error) {
	if cursor == "" {
		return spot{f: f, at: 1 << 52}, nil
	}
	c, err := library.ParseCursor(f.User, cursor)
	if err != nil || f.Some() && f != c.Filter {
		return spot{}, library.ErrBadCursor
	}
	return spot{f: c.Filter, at: c.At.UnixMilli(), id: c.ID}, nil
}

// has reports whether a listen is past the place and within the bounds of the filter.
func (p *spot) has(l *library.StoredListen) bool {
	at := l.PlayedAt.UnixMilli()
	if !p.f.From.IsZero() && at < db.Millis(p.f.From) || !p.f.To.IsZero() && at >= db.Millis(p.f.To) {
		return false
	}
	if p.later {
		return at > p.at || at == p.at && l.ID > p.id
	}
	return at < p.at || at == p.at && l.ID < p.id
}

// listensFrom returns up to limit listens from a place on, and whether there are more.
func (s *Store) listensFrom(ctx context.Context, p spot, limit int) (
	page []library.StoredListen, more bool, err error) {
	if p.f.Timed() {
		where, args := within(p.f, []any{p.f.User, p.at, p.id})
		args = append(args, limit+1)
		beyond, order := "<", "DESC"
		if p.later {
			beyond, order = ">", "ASC"
		}
		page, err = db.List(ctx, s.db.Reader, ScanListen, SelectListen+"WHERE l.user_id = $1 AND (l.played_at, l.id) "+
			beyond+" ($2, $3)"+where+" ORDER BY l.played_at "+order+", l.id "+order+" LIMIT $"+strconv.Itoa(len(args)),
			args...)
		if err == nil {
			err = s.AddSources(ctx, page)
		}
	} else {
		page, err = s.pick(ctx, p, limit+1)
	}
	if err != nil {
		return nil, false, err
	}
	if len(page) > limit {
		return page[:limit], true, nil
	}
	return page, false, nil
}

// within returns the conditions of a filter's times, each after an AND, and args with their values.
func within(f library.ListenFilter, args []any) (string, []any) {
	var where strings.Builder
	for _, end := range []struct {
		condition string
		at        time.Time
	}{{" >= $", f.From}, {" < $", f.To}} {
		if !end.at.IsZero() {
			args = append(args, db.Millis(end.at))
			where.WriteString(" AND l.played_at" + end.condition + strconv.Itoa(len(args)))
		}
	}
	return where.String(), args
}

// CountFound returns the number of listens that a filter selects.
func (s *Store) CountFound(ctx context.Context, f library.ListenFilter) (n int, err error) {
	if !f.Timed() {
		return s.countPicked(ctx, f)
	}
	if !f.Some() {
		all, err := s.statistics.HeardOf(ctx, f.User)
		if err != nil {
			return 0, err
		}
		return all.Listens, nil
	}
	where, args := within(f, []any{f.User})
	err = s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM listens l WHERE l.user_id = $1"+where,
		args...).Scan(&n)
	return n, db.Explain(err)
}

// ScanListen reads a row of [SelectListen].
func ScanListen(r db.Scanner) (l library.StoredListen, err error) {
	var at, ms int64
	err = r.Scan(&l.ID, &l.Title, &l.Artist, &l.Album, &at, &ms, &l.ISRC, &l.RecordingMBID, &l.Approximate)
	l.PlayedAt, l.Duration = db.Instant(at), db.Length(ms)
	return l, err
}

// HeardSince counts a user's listens since a time by the connections that reported them.
func (s *Store) HeardSince(ctx context.Context, user int64, since time.Time) (map[library.ConnectionID]int, error) {
	heard := map[library.ConnectionID]int{}
	_, err := db.List(ctx, s.db.Reader, func(r db.Scanner) (struct{}, error) {
		var conn library.ConnectionID
		var n int
		err := r.Scan(&conn, &n)
		heard[conn] = n
		return struct{}{}, err
	}, `SELECT n.connection, count(DISTINCT l.id) FROM listens l JOIN listen_sources s ON s.listen_id = l.id
		JOIN connection_numbers n ON n.number = s.connection
		WHERE l.user_id = $1 AND l.played_at >= $2 GROUP BY n.connection`, user, db.Millis(since))
	return heard, err
}
