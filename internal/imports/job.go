package imports

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
)

// job reads one file.
type job struct {
	r     *Runner
	at    Import // as read
	v     Import // as stored
	plays []library.Listen
	told  time.Time
}

// read reads the rest of an export. An error means that it is to be tried again.
func (j *job) read(ctx context.Context, e *export) error {
	f := formats[j.at.Connection.Provider()]
	j.at.State, j.at.BytesAll = Running, e.total
	before := int64(0) // bytes of the earlier entries
	for i := range e.entries {
		entry := &e.entries[i]
		if i >= j.at.Entry {
			if err := j.readEntry(ctx, f, entry, before); err != nil {
				return err
			}
			j.at.Entry, j.at.EntryRow = i+1, 0
		}
		before += entry.size
	}
	j.at.BytesDone, j.at.State, j.at.EndedAt = e.total, Done, time.Now()
	err := j.save(ctx)
	if err == nil {
		j.r.c.Log.Info("import done",
			"user_id", j.v.User, "provider", j.v.Connection, "took", j.v.EndedAt.Sub(j.v.CreatedAt))
		j.r.forget(j.v)
	}
	return err
}

// readEntry reads the rest of one entry.
func (j *job) readEntry(ctx context.Context, f format, e *entry, before int64) error {
	var stop error
	row0, rows := j.at.EntryRow, 0
	err := e.each(f, func(m *meter, v row) bool {
		if rows++; rows <= row0 { // read by an earlier process
			return ctx.Err() == nil
		}
		j.take(v, e.name, rows)
		j.at.BytesDone = before + min(m.file.n, e.size)
		if len(j.plays) >= atOnce || rows%rowsAtOne == 0 {
			stop = j.save(ctx)
		}
		return stop == nil
	})
	if stop == nil {
		stop = ctx.Err()
	}
	if stop != nil {
		return stop
	}
	if err != nil {
		j.at.bad(fmt.Sprintf("%s, after row %d: %s", e.name, rows, inWords(err)))
	}
	return nil
}

// take counts a row.
func (j *job) take(v row, entry string, n int) {
	j.at.Rows++
	j.at.EntryRow = n
	switch {
	case v.bad != "":
		j.at.bad(fmt.Sprintf("%s, row %d: %s", entry, n, v.bad))
	case v.skip:
		j.at.Skipped++
	default:
		j.plays = append(j.plays, v.listen)
	}
}

// save stores what has been read, and publishes it.
func (j *job) save(ctx context.Context) error {
	now, err := j.r.c.Store.SaveImported(ctx, j.at, j.plays)
	if err != nil {
		return err
	}
	added := now.Added - j.v.Added
	if j.r.c.Counted != nil {
		j.r.c.Counted(now.Connection.Provider(), added, now.Known-j.v.Known)
	}
	first := j.v.State == Waiting
	j.v, j.at, j.plays = now, now, j.plays[:0]
	if first {
		j.r.tell(now)
	}
	if added > 0 {
		j.r.c.Bus.Publish(now.User, events.Event{Type: events.Listens, Connection: now.Connection, Done: added})
	}
	if time.Since(j.told) >= tellEvery || !now.Open() {
		j.told = time.Now()
		j.r.c.Bus.Publish(now.User, events.Event{
			Type:       events.Progress,
			Connection: now.Connection,
			Stream:     Stream,
			Done:       now.Rows,
			Total:      now.AllRows(),
		})
	}
	return nil
}

// fail ends an import that cannot go on.
func (j *job) fail(ctx context.Context, reason string) error {
	v := j.v
	v.State, v.Reason, v.EndedAt = Failed, reason, time.Now()
	_, err := j.r.c.Store.SaveImported(ctx, v, nil)
	if err == nil || errors.Is(err, library.ErrNotFound) {
		j.r.forget(v)
		return nil
	}
	return err
}
