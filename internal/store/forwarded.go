package store

import (
	"context"
	"runtime"
	"strings"
	"sync"

	"reprise/internal/library"
)

// forwarded is a listen of a delivery, with one of its sources.
type forwarded struct {
	library.StoredListen
	library.Source // empty if it has none
	delivery       int64
	user           int64
	target         library.ConnectionID
}

func scanForwarded(r scanner) (f forwarded, err error) {
	var later int64
	f.StoredListen, err = scanListen(wider{r, []any{&f.delivery, &f.user, &f.target, &f.Connection,
		&f.Source.SourceID, &later, &f.Player}})
	f.Later = length(later)
	return f, err
}

// selectForwarded selects the listens of deliveries, the oldest first, with a row for each of their sources.
var selectForwarded = "SELECT " + listenColumns + `, f.delivery_id, f.user_id, f.connection,
		coalesce(n.connection, ''), ` + idOf("s") + ` AS source_id, coalesce(s.later, 0), coalesce(y.name, '')
	FROM forwards f JOIN listens l ON l.id = f.listen_id ` + theirSpellings + `
	LEFT JOIN listen_sources s ON s.listen_id = l.id
	LEFT JOIN connection_numbers n ON n.number = s.connection
	LEFT JOIN players y ON y.id = s.player
	WHERE f.delivery_id IN %s ORDER BY l.played_at, l.id, n.connection, source_id`

// readTogether is how many deliveries are read with one query at most. They may have a thousand listens each.
const readTogether = 16

// readings are deliveries that are to be read. While one query is under way others gather here, and the next one reads
// them together: most of what a small query costs does not depend on what it reads.
type readings struct {
	turn    sync.Mutex // held during the query
	mu      sync.Mutex
	waiting []*reading
}

type reading struct {
	delivery int64
	done     bool // this and the next are guarded by readings.turn
	rows     []forwarded
	err      error
}

func (w *readings) wait(r *reading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting = append(w.waiting, r)
}

// gather takes one that waits, and others.
func (w *readings) gather(one *reading) (all []*reading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all = []*reading{one}
	left := w.waiting[:0]
	for _, r := range w.waiting {
		switch {
		case r == one:
		case len(all) < readTogether:
			all = append(all, r)
		default:
			left = append(left, r)
		}
	}
	clear(w.waiting[len(left):])
	w.waiting = left
	return all
}

// forwardedIn returns the listens of a delivery, as they are stored when it is called or later.
func (s *Store) forwardedIn(ctx context.Context, delivery int64) ([]forwarded, error) {
	r := &reading{delivery: delivery}
	s.readings.wait(r)
	runtime.Gosched() // others may be about to read
	s.readings.turn.Lock()
	defer s.readings.turn.Unlock()
	if !r.done {
		s.readForwarded(ctx, s.readings.gather(r))
	}
	return r.rows, r.err
}

// readForwarded reads the first of some deliveries, and the others too if that works: none suffers for another.
func (s *Store) readForwarded(ctx context.Context, all []*reading) {
	args := make([]any, len(all))
	for i, r := range all {
		args[i] = r.delivery
	}
	query := strings.Replace(selectForwarded, "%s", numbered(1, len(args)), 1)
	rows, err := list(ctx, s.reader, scanForwarded, query, args...)
	if err != nil && len(all) > 1 {
		s.readForwarded(ctx, all[:1])
		return
	}
	byID := make(map[int64][]forwarded, len(all))
	for _, row := range rows {
		byID[row.delivery] = append(byID[row.delivery], row)
	}
	for _, r := range all {
		r.done, r.rows, r.err = true, byID[r.delivery], err
	}
}
