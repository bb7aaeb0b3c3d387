package store

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"reprise/internal/library"
)

// Listens returns a page of a user's listens, the newest first, and the cursor of the next page, empty at the end.
// limit is 1 to 1,000. An invalid cursor is library.ErrBadCursor.
func (s *Store) Listens(
	ctx context.Context, user int64, before string, limit int,
) (page []library.StoredListen, next string, err error) {
	return s.FindListens(ctx, library.ListenFilter{User: user}, before, limit)
}

// FindListens does what Listens does for the listens that a filter selects. The cursor of the next page has the filter:
// with it the filter may be left out, and another filter is library.ErrBadCursor.
func (s *Store) FindListens(
	ctx context.Context, f library.ListenFilter, before string, limit int,
) (page []library.StoredListen, next string, err error) {
	args := []any{f.User, int64(1 << 62), int64(0)}
	if before != "" {
		at, id, from, err := listenCursor(before)
		if err != nil {
			return nil, "", err
		}
		from.User = f.User
		if empty := (library.ListenFilter{User: f.User}); f != empty && f != from {
			return nil, "", library.ErrBadCursor
		}
		f, args[1], args[2] = from, at, id
	}
	selected, args, err := s.selected(ctx, f, args)
	if err != nil {
		return nil, "", err
	}
	if f.Artist != "" && selected == "" {
		return nil, "", nil
	}
	args = append(args, limit+1)
	page, err = list(ctx, s.reader, scanListen, pageOfListens(f, selected, len(args)), args...)
	if err != nil {
		return nil, "", err
	}
	if len(page) > limit {
		page = page[:limit]
		next = cursorAfter(f, page[limit-1])
	}
	return page, next, s.addSources(ctx, page)
}

// pageOfListens returns the statement for a page; its last parameter is the limit.
func pageOfListens(f library.ListenFilter, selected string, parameters int) string {
	at := playedAt(f)
	return fmt.Sprintf(`SELECT id, title, artist, album, played_at, duration_ms, isrc, recording_mbid, approximate
		FROM listens WHERE user_id = $1 AND (%s, id) < ($2, $3)%s ORDER BY %s DESC, id DESC LIMIT $%d`,
		at, selected, at, parameters)
}

// playedAt returns the column as conditions use it. With an artist SQLite must not choose the index of the times, in
// which it would look through all listens for those of a rare artist; the plus hides the column from it.
func playedAt(f library.ListenFilter) string {
	if f.Artist != "" {
		return "+played_at"
	}
	return "played_at"
}

// CountFound returns the number of listens that a filter selects.
func (s *Store) CountFound(ctx context.Context, f library.ListenFilter) (n int, err error) {
	selected, args, err := s.selected(ctx, f, []any{f.User})
	if err != nil || f.Artist != "" && selected == "" {
		return 0, err
	}
	err = s.reader.QueryRowContext(ctx, "SELECT count(*) FROM listens WHERE user_id = $1"+selected, args...).Scan(&n)
	return n, local(err)
}

// selected returns the conditions of a filter, each after an AND, and args with their values. With an artist that the
// user has never heard there are none.
func (s *Store) selected(ctx context.Context, f library.ListenFilter, args []any) (string, []any, error) {
	var where strings.Builder
	if f.Artist != "" {
		names, err := s.spellings(ctx, f.User, f.Artist)
		if err != nil || len(names) == 0 {
			return "", args, err
		}
		where.WriteString(" AND artist IN " + numbered(len(args)+1, len(names)))
		for _, name := range names {
			args = append(args, name)
		}
	}
	for _, end := range []struct {
		condition string
		at        time.Time
	}{{" >= $", f.From}, {" < $", f.To}} {
		if !end.at.IsZero() {
			args = append(args, millis(end.at))
			where.WriteString(" AND " + playedAt(f) + end.condition + strconv.Itoa(len(args)))
		}
	}
	return where.String(), args, nil
}

// mostSpellings is the most spellings of one name that are looked for.
const mostSpellings = 500

// spellings returns the names of artists in a user's listens that differ from name in upper and lower case at most. It
// steps from name to name in an index, which takes as long as there are artists, not listens.
func (s *Store) spellings(ctx context.Context, user int64, name string) (same []string, err error) {
	rows, err := s.reader.QueryContext(ctx, `WITH RECURSIVE artists (artist) AS (
			SELECT min(artist) FROM listens WHERE user_id = $1
			UNION ALL
			SELECT (SELECT min(l.artist) FROM listens l WHERE l.user_id = $1 AND l.artist > artists.artist)
			FROM artists WHERE artists.artist IS NOT NULL
		)
		SELECT artist FROM artists WHERE artist IS NOT NULL`, user)
	if err != nil {
		return nil, local(err)
	}
	defer rows.Close()
	name = norm.NFC.String(indexed(strings.TrimSpace(name)))
	for rows.Next() {
		var artist string
		if err := rows.Scan(&artist); err != nil {
			return nil, local(err)
		}
		if strings.EqualFold(norm.NFC.String(artist), name) && len(same) < mostSpellings {
			same = append(same, artist)
		}
	}
	return same, local(rows.Err())
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
	l.PlayedAt, l.Duration = instant(at), time.Duration(ms)*time.Millisecond
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
	}, `SELECT s.connection, count(DISTINCT l.id) FROM listens l JOIN listen_sources s ON s.listen_id = l.id
		WHERE l.user_id = $1 AND l.played_at >= $2 GROUP BY s.connection`, user, millis(since))
	return heard, err
}
