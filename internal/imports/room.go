package imports

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"reprise/internal/resilience"
	"reprise/internal/words"
)

// Reserve is the room that imports leave on the disk for everything else, in bytes.
const Reserve = 64 << 20

// lookEvery is how often an import that waits for room on the disk, or for the database, tries again.
const lookEvery = 10 * time.Second

// RoomError says that a file needs more room than there is on the disk.
type RoomError struct{ Need, Free int64 } // bytes

func (e *RoomError) Error() string { return "import: " + e.Problem().String() }

// Problem says it to the person who sent the file.
func (e *RoomError) Problem() words.Text {
	return words.New("import.refused.room", "Need", inBytes(e.Need), "Free", inBytes(e.Free), "Kept", inBytes(Reserve))
}

// inBytes writes a number of bytes for people.
func inBytes(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", (max(n, 0)+1<<20-1)>>20)
}

// roomFor returns a *RoomError if a disk has no room for that many bytes. free may be nil.
func roomFor(need int64, free func() (bytes int64, known bool)) error {
	if free == nil {
		return nil
	}
	there, known := free()
	if !known || max(need, 0) <= there-Reserve {
		return nil
	}
	return &RoomError{Need: need, Free: there}
}

// Room returns a *RoomError if the disk has no room for that many bytes.
func (r *Runner) Room(need int64) error { return roomFor(need, r.c.Free) }

// room returns an error that is no fault of the file if the disk is nearly full.
func (r *Runner) room() error {
	short, ok := errors.AsType[*RoomError](r.Room(0))
	if !ok || r.c.RowBytes == 0 {
		return nil
	}
	return &resilience.LocalError{
		Problem: words.New("trouble.room", "Free", inBytes(short.Free), "Kept", inBytes(Reserve)), Err: short,
	}
}

func isLocal(err error) bool {
	_, ok := errors.AsType[*resilience.LocalError](err)
	return ok
}

// attempt calls do until it fails for another reason than the disk or the database. While it waits it says why, and
// others have their turn.
func (j *job) attempt(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !isLocal(err) {
			j.r.worry(j.v, nil)
			return err
		}
		j.r.worry(j.v, err)
		mine := j.mine
		if err := j.leave(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookEvery):
		}
		if mine {
			if err := j.acquire(ctx); err != nil {
				return err
			}
		}
	}
}

// worry notes why an import waits, or with nil that it goes on.
func (r *Runner) worry(v Import, err error) {
	var why words.Text
	if e, ok := errors.AsType[*resilience.LocalError](err); ok {
		why = words.Of(e.Problem)
	}
	r.mu.Lock()
	before := r.trouble[v.ID]
	if why.IsZero() {
		delete(r.trouble, v.ID)
	} else {
		r.trouble[v.ID] = why
	}
	r.mu.Unlock()
	switch {
	case before.IsZero() && !why.IsZero():
		r.c.Log.Error("import waits", "user_id", v.User, "provider", v.Connection, "err", err)
	case !before.IsZero() && why.IsZero():
		r.c.Log.Info("import continues", "user_id", v.User, "provider", v.Connection)
	}
	if before != why {
		r.tell(v)
	}
}

// Trouble says why an import waits, on whichever server; empty when it does not.
func (r *Runner) Trouble(id int64) words.Text {
	r.mu.Lock()
	why, elsewhere := r.trouble[id], r.elsewhere
	r.mu.Unlock()
	if why.IsZero() && elsewhere != nil {
		return elsewhere(id)
	}
	return why
}

// ReadRemote has Trouble ask as well why an import waits that another server reads.
func (r *Runner) ReadRemote(trouble func(id int64) words.Text) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elsewhere = trouble
}

// Troubles says why the imports wait that this server reads, by their ids; nil when none does.
func (r *Runner) Troubles() map[int64]words.Text {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.trouble) == 0 {
		return nil
	}
	return maps.Clone(r.trouble)
}

// AnyTrouble says why any import waits that this server reads; empty when none does.
func (r *Runner) AnyTrouble() words.Text {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, why := range r.trouble {
		return why
	}
	return words.Text{}
}
