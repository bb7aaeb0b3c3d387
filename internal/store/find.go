package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"reprise/internal/library"
)

// Listens returns a page of a user's listens, the newest first, and the cursor of the next page, empty at the end.
// limit is 1 to 1,000. An invalid cursor is library.ErrBadCursor.
func (s *Store) Listens(
	ctx context.Context, user int64, before string, limit int,
) (page []library.StoredListen, next string, err error) {
	return s.FindListens(ctx, library.ListenFilter{User: user}, before, limit)
}

// selectListen selects listens l with their spellings p. scanListen reads the columns.
const (
	selectListen  = "SELECT " + listenColumns + " FROM listens l " + theirSpellings
	listenColumns = `l.id, p.title, p.artist, p.album, l.played_at, p.duration_ms, p.isrc, p.recording_mbid,
		l.approximate`
	theirSpellings = "JOIN spellings p ON p.id = l.spelling_id "
)

// FindListens does what Listens does for the listens that a filter selects. The cursor of the next page has the filter:
// with it the filter may be left out, and another filter is library.ErrBadCursor.
func (s *Store) FindListens(
	ctx context.Context, f library.ListenFilter, before string, limit int,
) (page []library.StoredListen, next string, err error) {
	at, id := int64(1<<62), int64(0)
	if before != "" {
		var from library.ListenFilter
		if at, id, from, err = listenCursor(before); err != nil {
			return nil, "", err
		}
		from.User = f.User
		if empty := (library.ListenFilter{User: f.User}); f != empty && f != from {
			return nil, "", library.ErrBadCursor
		}
		f = from
	}
	if f.Artist != "" {
		page, err = s.listensBy(ctx, f, at, id, limit+1)
	} else {
		where, args := within(f, []any{f.User, at, id})
		args = append(args, limit+1)
		page, err = list(ctx, s.reader, scanListen, selectListen+"WHERE l.user_id = $1 AND (l.played_at, l.id) < "+
			"($2, $3)"+where+" ORDER BY l.played_at DESC, l.id DESC LIMIT $"+strconv.Itoa(len(args)), args...)
	}
	if err != nil {
		return nil, "", err
	}
	if len(page) > limit {
		page = page[:limit]
		next = cursorAfter(f, page[limit-1])
	}
	return page, next, s.addSources(ctx, page)
}

// within returns the conditions of a filter's times, each after an AND, and args with their values.
func within(f library.ListenFilter, args []any) (string, []any) {
	var where strings.Builder
	for _, end := range []struct {
		condition string
		at        time.Time
	}{{" >= $", f.From}, {" < $", f.To}} {
		if !end.at.IsZero() {
			args = append(args, millis(end.at))
			where.WriteString(" AND l.played_at" + end.condition + strconv.Itoa(len(args)))
		}
	}
	return where.String(), args
}

// byName selects the spellings of an artist by the key of the name, the argument $2.
const byName = "SELECT id FROM spellings WHERE artist_key = $2"

// listensBy returns at most limit listens of the filter's artist before a time and a number, the newest first.
func (s *Store) listensBy(ctx context.Context, f library.ListenFilter, at, id int64, limit int) (
	page []library.StoredListen, err error) {
	all, err := s.spansOf(ctx, f)
	if err != nil {
		return nil, err
	}
	all.last = min(all.last, spanOf(time.UnixMilli(at)))
	for last, n := all.last, int64(6); last >= all.first && len(page) < limit; last, n = last-n, 2*n {
		args := []any{f.User, artistNamed(f.Artist), max(all.first, last-n+1), last, at, id}
		where, args := within(f, args)
		args = append(args, limit-len(page))
		more, err := list(ctx, s.reader, scanListen, ofSpellings(listenColumns, theirSpellings, byName)+
			" AND (l.played_at, l.id) < ($5, $6)"+where+
			" ORDER BY l.played_at DESC, l.id DESC LIMIT $"+strconv.Itoa(len(args)), args...)
		if err != nil {
			return nil, err
		}
		page = append(page, more...)
	}
	return page, nil
}

// CountFound returns the number of listens that a filter selects.
func (s *Store) CountFound(ctx context.Context, f library.ListenFilter) (n int, err error) {
	query, args := "SELECT count(*) FROM listens l WHERE l.user_id = $1", []any{f.User}
	if f.Artist != "" {
		all, err := s.spansOf(ctx, f)
		if err != nil {
			return 0, err
		}
		query, args = ofSpellings("count(*)", "", byName), append(args, artistNamed(f.Artist), all.first, all.last)
	}
	where, args := within(f, args)
	err = s.reader.QueryRowContext(ctx, query+where, args...).Scan(&n)
	return n, local(err)
}

// cursorAfter returns the cursor of the listens after one that a filter selects.
func cursorAfter(f library.ListenFilter, last library.StoredListen) string {
	filter := url.Values{}
	if f.Artist != "" {
		filter.Set("artist", f.Artist)
	}
	for name, at := range map[string]time.Time{"from": f.From, "to": f.To} {
		if !at.IsZero() {
			filter.Set(name, strconv.FormatInt(millis(at), 10))
		}
	}
	text := fmt.Sprintf("%d.%d", millis(last.PlayedAt), last.ID)
	if len(filter) > 0 {
		text += "?" + filter.Encode()
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// listenCursor returns what a cursor says: the time and the number of the listen to continue after, and the filter.
func listenCursor(cursor string) (at, id int64, f library.ListenFilter, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, 0, f, library.ErrBadCursor
	}
	place, filter, _ := strings.Cut(string(raw), "?")
	a, i, _ := strings.Cut(place, ".")
	at, errA := strconv.ParseInt(a, 10, 64)
	id, errI := strconv.ParseInt(i, 10, 64)
	values, errF := url.ParseQuery(filter)
	if errA != nil || errI != nil || errF != nil {
		return 0, 0, f, library.ErrBadCursor
	}
	f.Artist = values.Get("artist")
	for name, end := range map[string]*time.Time{"from": &f.From, "to": &f.To} {
		if text := values.Get(name); text != "" {
			ms, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return 0, 0, f, library.ErrBadCursor
			}
			*end = time.UnixMilli(ms).UTC()
		}
	}
	return at, id, f, nil
}

func scanListen(r scanner) (l library.StoredListen, err error) {
	var at, ms int64
	err = r.Scan(&l.ID, &l.Title, &l.Artist, &l.Album, &at, &ms, &l.ISRC, &l.RecordingMBID, &l.Approximate)
	l.PlayedAt, l.Duration = instant(at), length(ms)
	return l, err
}

// CountListens returns the number of listens of a user.
func (s *Store) CountListens(ctx context.Context, user int64) (n int, err error) {
	err = s.reader.QueryRowContext(ctx, "SELECT count(*) FROM listens WHERE user_id = $1", user).Scan(&n)
	return n, local(err)
}

// HeardSince counts a user's listens since a time by the connections that reported them.
func (s *Store) HeardSince(ctx context.Context, user int64, since time.Time) (map[library.ConnectionID]int, error) {
	heard := map[library.ConnectionID]int{}
	_, err := list(ctx, s.reader, func(r scanner) (struct{}, error) {
		var conn library.ConnectionID
		var n int
		err := r.Scan(&conn, &n)
		heard[conn] = n
		return struct{}{}, err
	}, `SELECT n.connection, count(DISTINCT l.id) FROM listens l JOIN listen_sources s ON s.listen_id = l.id
		JOIN connection_numbers n ON n.number = s.connection
		WHERE l.user_id = $1 AND l.played_at >= $2 GROUP BY n.connection`, user, millis(since))
	return heard, err
}
