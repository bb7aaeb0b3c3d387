package store

import (
	"context"
	"sync"
)

// countCache holds how many listens some people have in each span. It is safe for concurrent use.
type countCache struct {
	mu sync.Mutex
	by map[int64]map[span]int
}

// mostCounted is the most people whose counts are held, each in some five kilobytes for ten years.
const mostCounted = 200

// CountListens returns the number of listens of a user. It counts those of a span again only after they have changed,
// so that the start page does not read a whole library.
func (s *Store) CountListens(ctx context.Context, user int64) (n int, err error) {
	c := &s.counted
	c.mu.Lock()
	have := c.by[user]
	c.mu.Unlock()
	spans, err := s.spansOf(ctx, user)
	if err != nil {
		return 0, err
	}
	next := make(map[span]int, len(spans))
	for _, v := range spans {
		some, known := have[v]
		if !known {
			err := s.reader.QueryRowContext(ctx, `SELECT count(*) FROM listens
				WHERE user_id = $1 AND played_at >= $2 AND played_at < $3`,
				user, v.number*spanLength, (v.number+1)*spanLength).Scan(&some)
			if err != nil {
				return 0, local(err)
			}
		}
		next[v] = some
		n += some
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil || len(c.by) >= mostCounted {
		c.by = map[int64]map[span]int{}
	}
	c.by[user] = next
	return n, nil
}

// spansOf returns the spans in which a user has listens, the earliest first.
func (s *Store) spansOf(ctx context.Context, user int64) ([]span, error) {
	scan := func(r scanner) (v span, err error) { return v, r.Scan(&v.number, &v.version) }
	return list(ctx, s.reader, scan, "SELECT span, version FROM listen_columns WHERE user_id = $1 ORDER BY span", user)
}
