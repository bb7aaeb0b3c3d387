package statistics

import (
	"context"
	"time"

	"reprise/internal/listening"
	"reprise/internal/store/db"
)

// placed identifies a listen in columns.
type placed struct {
	at       int64 // Unix seconds
	spelling uint32
}

// SentColumns returns a person's listens at from or later and before to, as columns in order of time. It leaves out
// those that rules keep from being sent anywhere. The first and the last columns may include listens outside that time.
func (s *Store) SentColumns(ctx context.Context, user int64, from, to time.Time) ([]*listening.Columns, error) {
	var all []*listening.Columns
	err := s.EachColumns(ctx, Range{user, from.Unix(), to.Unix(), false}, func(c *listening.Columns) bool {
		all = append(all, c)
		return true
	})
	if err != nil || len(all) == 0 {
		return all, err
	}
	// This is read after the columns, so that no withheld listen in them is missed.
	held, err := s.heldBack(ctx, user, all[0].Start, to)
	if err != nil || len(held) == 0 {
		return all, err
	}
	for _, c := range all {
		c.Drop(func(at int64, spelling uint32) bool {
			p := placed{at, spelling}
			if held[p] == 0 {
				return false
			}
			held[p]--
			return true
		})
	}
	return all, nil
}

// heldBack counts, by their place, the listens that rules keep from being sent anywhere.
func (s *Store) heldBack(ctx context.Context, user, from int64, to time.Time) (map[placed]int, error) {
	held := map[placed]int{}
	scan := func(r db.Scanner) (none struct{}, err error) {
		var id, at, spelling int64
		err = r.Scan(&id, &at, &spelling)
		held[placed{at / 1000, uint32(spelling)}]++
		return none, err
	}
	_, err := db.List(ctx, s.db.Reader, scan, `SELECT DISTINCT l.id, l.played_at, l.spelling_id
		FROM withheld w JOIN listens l ON l.id = w.listen_id
		WHERE w.user_id = $1 AND w.connection = '' AND l.played_at >= $2 AND l.played_at < $3`, user,
		from*1000, db.Millis(to.Add(time.Duration(SpanLength)*time.Millisecond)))
	return held, err
}
