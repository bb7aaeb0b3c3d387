package imports

import (
	"context"
	"errors"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/words"
)

// job reads one file.
type job struct {
	r     *Runner
	at    Import // as read
	v     Import // as stored; its Crashes are without the attempt under way
	plays []library.Listen
	kept  []library.StoredListen // plays from an export of Reprise
	told  time.Time
	archived

	mine   bool    // it is the import's turn
	pages  int     // stored in this turn
	begun  int64   // bytes at the begin of the turn, or when it was last looked at
	before int64   // bytes of the earlier entries
	entry  *source // under way
	ended  bool
}

// bytes returns how much of the file has been read.
func (j *job) bytes() int64 {
	if j.entry == nil {
		return j.before
	}
	return j.before + j.entry.n
}

// read reads the rest of an export. An error means that it is to be tried again.
func (j *job) read(ctx context.Context, e *export) error {
	f := formats[j.at.Connection.Provider()]
	j.at.State, j.at.BytesAll = Running, e.total
	if err := j.rules(ctx, e); err != nil {
		return err
	}
	for i := range e.entries {
		entry := &e.entries[i]
		if i >= j.at.Entry {
			err := j.readEntry(ctx, f, entry)
			if errors.Is(err, errRows) {
				return j.tooMany(ctx)
			}
			if err != nil {
				return err
			}
			j.at.Entry, j.at.EntryRow = i+1, 0
		}
		j.before, j.entry = j.before+entry.size, nil
	}
	j.at.BytesDone, j.at.State = max(e.total, 1), Ready
	if !j.at.Preview && !j.at.Reason.IsZero() {
		return j.cutShort(ctx)
	}
	if !j.at.Preview {
		j.at.State, j.at.EndedAt = Done, time.Now()
	}
	err := j.save(ctx)
	if err == nil && j.v.Preview {
		j.ended = true
		j.r.tell(j.v)
		return nil
	}
	if err == nil {
		j.ended = true
		j.r.c.Log.Info("import done",
			"user_id", j.v.User, "provider", j.v.Connection, "took_ms", j.v.EndedAt.Sub(j.v.CreatedAt).Milliseconds())
		j.r.forget(ctx, j.v)
		j.filled(ctx)
	}
	return err
}

// filled closes the notification that plays were lost, if exports cover all those times now.
func (j *job) filled(ctx context.Context) {
	lost, err := j.r.c.Store.LostPlays(ctx, j.v.User, j.v.Connection)
	if err == nil && j.r.c.Notifier != nil && len(lost) == 0 {
		err = j.r.c.Notifier.Resolve(ctx, j.v.User, j.v.Connection, notify.LostCause)
	}
	if err != nil { // the notification stays until the next import
		j.r.c.Log.Warn("a notification about lost plays stays open", "user_id", j.v.User, "err", err)
	}
}

// errRows says that a file has more rows than are read.
var errRows = errors.New("too many rows")

// readEntry reads the rest of one entry.
func (j *job) readEntry(ctx context.Context, f format, e *entry) error {
	var stop error
	row0, rows, last := j.at.EntryRow, 0, 0
	pause := func(s *source) error {
		j.entry = s
		stop = j.pause(ctx)
		return stop
	}
	err := e.each(f, j.at.Answers, pause, func(m *meter, v row) bool {
		last = v.n
		if rows++; rows <= row0 { // read by an earlier process
			return ctx.Err() == nil
		}
		if j.at.Rows >= j.r.maxRows {
			stop = errRows
			return false
		}
		j.take(v, e.name)
		j.at.EntryRow = rows
		j.at.BytesDone = j.before + min(m.file.n, e.size)
		if len(j.plays)+len(j.kept) >= atOnce || rows%rowsAtOne == 0 {
			stop = j.page(ctx)
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
		j.at.bad(words.New("import.row.after", "File", e.name, "Row", last, "Why", inWords(err)))
	}
	if err != nil && !errors.Is(err, errKind) && j.at.Reason.IsZero() {
		j.at.Reason = words.New("import.stopped.cut", "Row", last, "Why", inWords(err))
		if e.name != j.at.Name {
			j.at.Reason = words.New("import.stopped.cut_in", "File", e.name, "Row", last, "Why", inWords(err))
		}
	}
	return nil
}

// cutShort ends an import whose file could not be read to its end. What has been read stays.
func (j *job) cutShort(ctx context.Context) error {
	j.at.State = Running
	if err := j.save(ctx); err != nil {
		return err
	}
	return j.fail(ctx, j.at.Reason)
}

// page stores a page of plays, and lets others have their turn when this one was long.
func (j *job) page(ctx context.Context) error {
	if err := j.save(ctx); err != nil {
		return err
	}
	if j.pages++; j.pages < turnPages {
		return nil
	}
	return j.handOver(ctx)
}

// tooMany ends an import with more rows than are read. What has been read stays.
func (j *job) tooMany(ctx context.Context) error {
	if err := j.save(ctx); err != nil {
		return err
	}
	return j.fail(ctx, words.New("import.stopped.too_many", "Most", j.r.maxRows))
}

// take counts a row.
func (j *job) take(v row, entry string) {
	j.at.Rows++
	switch {
	case !v.bad.IsZero():
		j.at.bad(words.New("import.row.at", "File", entry, "Row", v.n, "Why", v.bad))
	case v.skip && v.sources == nil:
		j.at.Skipped++
	case v.sources != nil:
		if v.skip { // it is kept as a play that a rule ignores
			j.at.Skipped++
		} else {
			j.at.heard(v.listen.PlayedAt)
		}
		j.settle(v.ruled)
		j.kept = append(j.kept, library.StoredListen{Listen: v.listen, Sources: v.sources, Ruled: v.ruled})
	default:
		j.at.heard(v.listen.PlayedAt)
		j.plays = append(j.plays, v.listen)
	}
}

// save stores what has been read, and publishes it.
func (j *job) save(ctx context.Context) error {
	var now Import
	j.at.Crashes = 1 // at the new position, if the process ends there
	err := j.attempt(ctx, func() (err error) {
		if err = j.r.room(); err != nil {
			return err
		}
		if len(j.kept) > 0 { // the rows of a file are all of one kind
			now, err = j.r.c.Store.SaveRestored(ctx, j.at, j.kept, j.archived.ids())
		} else {
			now, err = j.r.c.Store.SaveImported(ctx, j.at, j.plays)
		}
		return err
	})
	if err != nil {
		return err
	}
	now.Crashes = 0
	added := now.Added - j.v.Added
	if j.r.c.Counted != nil && now.Connection != Reprise && !now.Preview {
		j.r.c.Counted(now.Connection.Provider(), added, now.Known-j.v.Known)
	}
	first := j.v.State == Waiting
	j.v, j.at, j.plays, j.kept = now, now, j.plays[:0], j.kept[:0]
	if first {
		j.r.tell(now)
	}
	if added > 0 && !now.Preview {
		j.r.c.Bus.Publish(now.User, events.Event{Type: events.Listens, Connection: now.Connection, Done: added})
	}
	if time.Since(j.told) >= tellEvery || now.State != Running {
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
