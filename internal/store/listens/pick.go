package listens

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/music"
	"reprise/internal/store/db"
	"reprise/internal/store/statistics"
)

// Filters by artist, album, track, tag, source, player or hour look in the columns for the listens they select. The
// listens to show are then read by time and spelling, which have an index.

// picker returns a Picker for a filter, without the filter's bounds.
func (s *Store) picker(ctx context.Context, f library.ListenFilter) (*listening.Picker, error) {
	zone, err := time.LoadLocation(f.Zone)
	if err != nil {
		return nil, library.ErrBadCursor
	}
	in := listening.Filter{Source: f.Source, Player: f.Player, Hours: f.Hours, Weekdays: f.Weekdays}
	for to, id := range map[*uint32]uint32{&in.Artist: f.ArtistID, &in.Album: f.AlbumID, &in.Track: f.TrackID} {
		if *to, err = s.Joined(ctx, id); err != nil {
			return nil, err
		}
	}
	if f.Tag != "" {
		if in.Tagged, err = s.Tagged(ctx, f.Tag); err != nil {
			return nil, err
		}
	}
	if f.Artist != "" {
		scan := func(r db.Scanner) (id uint32, err error) { return id, r.Scan(&id) }
		in.Spellings, err = db.List(ctx, s.db.Reader, scan, "SELECT id FROM spellings WHERE artist_key = $1",
			music.ArtistNamed(f.Artist))
		if err != nil {
			return nil, err
		}
		if in.Spellings == nil {
			in.Spellings = []uint32{}
		}
	}
	music, err := s.statistics.Meanings(ctx)
	if err != nil {
		return nil, err
	}
	return listening.NewPicker(in, music, zone), nil
}

// Joined returns the ID of the artist, album or track that replaced this one when they were joined or merged, or its
// own ID.
func (s *Store) Joined(ctx context.Context, id uint32) (uint32, error) {
	if id == 0 {
		return 0, nil
	}
	err := s.db.Reader.QueryRowContext(ctx, "SELECT coalesce((SELECT entity_id FROM joined_ids WHERE old_id = $1), $2)",
		id, id).Scan(&id)
	if err != nil {
		return 0, db.Explain(err)
	}
	ruled, err := s.catalogue.Rulings(ctx)
	if err != nil {
		return 0, err
	}
	return uint32(ruled.End(int64(id))), nil
}

// Outline returns the days, in a zone, and the sessions of the listens that a filter selects between two times, the
// second one excluded.
func (s *Store) Outline(ctx context.Context, f library.ListenFilter, from, to time.Time, zone *time.Location) (
	*listening.Outline, error) {
	picker, err := s.picker(ctx, f)
	if err != nil {
		return nil, err
	}
	music, err := s.statistics.Meanings(ctx)
	if err != nil {
		return nil, err
	}
	first, last := bounds(f)
	first, last = max(first, from.Unix()), min(last, to.Unix()-1)
	out := listening.NewOutline(music, zone)
	err = s.statistics.EachColumns(ctx, statistics.Range{User: f.User, First: first, Last: last, Backwards: false},
		func(c *listening.Columns) bool {
			return picker.Pick(c, false, func(at int64, spelling uint32) bool {
				if at >= first && at <= last {
					out.Add(at, spelling)
				}
				return true
			})
		})
	return out, err
}

// Picked is a second in which a spelling was heard.
type Picked struct {
	At       int64 // Unix seconds
	Spelling uint32
}

// loose returns the seconds that a bound or the place splits: which side a listen is on is only known from the listen.
func loose(p spot) map[int64]bool {
	all := map[int64]bool{Floor(p.at): true}
	for _, at := range []time.Time{p.f.From, p.f.To} {
		if !at.IsZero() && at.UnixMilli()%1000 != 0 {
			all[Floor(at.UnixMilli())] = true
		}
	}
	return all
}

// Floor returns the Unix second of a time in milliseconds.
func Floor(ms int64) int64 {
	s := ms / 1000
	if ms%1000 < 0 {
		s--
	}
	return s
}

// bounds returns the first and the last Unix second that a filter may select.
func bounds(f library.ListenFilter) (first, last int64) {
	first, last = -1<<50, 1<<50
	if !f.From.IsZero() {
		first = Floor(f.From.UnixMilli())
	}
	if !f.To.IsZero() {
		last = Floor(f.To.UnixMilli() - 1)
	}
	return first, last
}

// pick returns up to limit listens that a filter selects from a place on.
func (s *Store) pick(ctx context.Context, p spot, limit int) ([]library.StoredListen, error) {
	picker, err := s.picker(ctx, p.f)
	if err != nil {
		return nil, err
	}
	first, last := bounds(p.f)
	if here := Floor(p.at); p.later {
		first = max(first, here)
	} else {
		last = min(last, here)
	}
	var want []Picked
	uncertain, enough := loose(p), limit
	take := func(at int64, spelling uint32) bool {
		if at < first || at > last {
			return true
		}
		one := Picked{at, spelling}
		if n := len(want); n > 0 && want[n-1] == one { // one read returns both
			return true
		}
		want = append(want, one)
		if uncertain[at] {
			enough++
		}
		return len(want) < enough
	}
	err = s.statistics.EachColumns(ctx,
		statistics.Range{User: p.f.User, First: first, Last: last, Backwards: !p.later},
		func(c *listening.Columns) bool {
			return picker.Pick(c, !p.later, take)
		})
	if err != nil {
		return nil, err
	}
	page, err := s.listensAt(ctx, p.f.User, want)
	if err != nil {
		return nil, err
	}
	page = slices.DeleteFunc(page, func(l library.StoredListen) bool { return !p.has(&l) })
	slices.SortStableFunc(page, func(x, y library.StoredListen) int {
		order := cmp.Or(x.PlayedAt.Compare(y.PlayedAt), cmp.Compare(x.ID, y.ID))
		if p.later {
			return order
		}
		return -order
	})
	page = page[:min(limit, len(page))]
	if err := s.AddSources(ctx, page); err != nil || p.f.Source == "" && p.f.Player == "" {
		return page, err
	}
	return slices.DeleteFunc(page, func(l library.StoredListen) bool { // the other of two listens in one second
		return !slices.ContainsFunc(l.Sources, p.f.Told)
	}), nil
}

// pickedAtOnce is how many seconds one statement looks up.
const pickedAtOnce = 50

// listensAt returns a person's listens to spellings at seconds, without their sources.
func (s *Store) listensAt(ctx context.Context, user int64, want []Picked) ([]library.StoredListen, error) {
	all, err := s.PickedAt(ctx, user, want)
	page := make([]library.StoredListen, len(all))
	for i, l := range all {
		page[i] = l.StoredListen
	}
	return page, err
}

// PickedListen is a listen with its spelling.
type PickedListen struct {
	library.StoredListen
	Spelling uint32
}

// PickedAt does what listensAt does, with the spelling of each listen.
func (s *Store) PickedAt(ctx context.Context, user int64, want []Picked) (page []PickedListen, err error) {
	scan := func(r db.Scanner) (l PickedListen, err error) {
		l.StoredListen, err = ScanListen(longer{r, &l.Spelling})
		return l, err
	}
	for chunk := range slices.Chunk(want, pickedAtOnce) {
		args := []any{user}
		for _, one := range chunk {
			args = append(args, one.At*1000, one.Spelling)
		}
		some, err := db.List(ctx, s.db.Reader, scan, StatementAt(len(chunk)), args...)
		if err != nil {
			return nil, err
		}
		page = append(page, some...)
	}
	return page, nil
}

// longer is a row with a further column.
type longer struct {
	db.Scanner
	last any
}

// Scan implements scanner.
func (r longer) Scan(dest ...any) error { return r.Scanner.Scan(append(dest, r.last)...) }

// StatementAt returns a statement that selects the listens of the person $1 by n pairs of a second's first millisecond
// and a spelling.
func StatementAt(n int) string {
	var rows strings.Builder
	rows.WriteString("VALUES (CAST($2 AS BIGINT), CAST($3 AS BIGINT))")
	for i := 1; i < n; i++ {
		rows.WriteString("," + db.Numbered(2+2*i, 2))
	}
	return "WITH want (at, spelling) AS (" + rows.String() + ") SELECT " + ListenColumns + `, l.spelling_id FROM want
		CROSS JOIN listens l ` + TheirSpellings + `WHERE l.user_id = $1 AND l.played_at >= want.at
		AND l.played_at < want.at + 1000 AND l.spelling_id = want.spelling`
}

// countPicked returns the number of listens that a filter selects.
func (s *Store) countPicked(ctx context.Context, f library.ListenFilter) (n int, err error) {
	picker, err := s.picker(ctx, f)
	if err != nil {
		return 0, err
	}
	first, last := bounds(f)
	uncertain := loose(spot{f: f, at: -1 << 60})
	var ask []Picked
	err = s.statistics.EachColumns(ctx, statistics.Range{User: f.User, First: first, Last: last, Backwards: false},
		func(c *listening.Columns) bool {
			return picker.Pick(c, false, func(at int64, spelling uint32) bool {
				switch {
				case at < first || at > last:
				case uncertain[at]:
					if one := (Picked{at, spelling}); len(ask) == 0 || ask[len(ask)-1] != one {
						ask = append(ask, one)
					}
				default:
					n++
				}
				return true
			})
		})
	if err != nil || len(ask) == 0 {
		return n, err
	}
	page, err := s.listensAt(ctx, f.User, ask)
	p := spot{f: f, at: 1 << 52}
	for _, l := range page {
		if p.has(&l) {
			n++
		}
	}
	return n, err
}
