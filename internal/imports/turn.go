package imports

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reprise/internal/library"
	"reprise/internal/notify"
	"reprise/internal/words"
)

// The length of a turn, when somebody else waits for theirs.
const (
	turnPages = 5        // transactions
	turnBytes = 16 << 20 // bytes of a file, as they are in it, with nothing stored
)

// enter waits for the import's turn, and counts a crash in advance, so that it is counted when the process ends.
func (j *job) enter(ctx context.Context) error {
	if err := j.acquire(ctx); err != nil {
		return err
	}
	j.pages, j.begun = 0, j.bytes()
	return j.attempt(ctx, func() error { return j.r.c.Store.SaveCrashes(ctx, j.v.ID, j.v.Crashes+1) })
}

// acquire waits for the import's turn.
func (j *job) acquire(ctx context.Context) error {
	j.r.waiting.Add(1)
	err := j.r.turn.Acquire(ctx, 1)
	j.r.waiting.Add(-1)
	j.mine = err == nil
	return err
}

// leave ends the turn and the attempt, if they are under way. The process has survived that. It stores so even when ctx
// has ended.
func (j *job) leave(ctx context.Context) error {
	if !j.mine {
		return nil
	}
	j.mine = false
	defer j.r.turn.Release(1)
	if j.ended {
		return nil
	}
	err := j.r.c.Store.SaveCrashes(context.WithoutCancel(ctx), j.v.ID, j.v.Crashes)
	if isLocal(err) {
		return nil // it counts as a crash if the process ends before the import goes on
	}
	return err
}

// pause ends the import with ctx. After a long stretch without rows, it looks whether the import is still open, and
// lets others have their turn.
func (j *job) pause(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if j.bytes()-j.begun < turnBytes {
		return nil
	}
	j.begun = j.bytes()
	if j.r.waiting.Load() > 0 {
		return j.handOver(ctx)
	}
	return j.attempt(ctx, func() error { return j.r.c.Store.SaveCrashes(ctx, j.v.ID, j.v.Crashes+1) })
}

// handOver lets others have their turn if they wait.
func (j *job) handOver(ctx context.Context) error {
	if j.r.waiting.Load() == 0 {
		return nil
	}
	if err := j.leave(ctx); err != nil {
		return err
	}
	return j.enter(ctx)
}

// setAside says why an import that has ended the process too often is not read further.
func setAside(v Import) words.Text {
	return words.New("import.stopped.set_aside", "Count", v.Crashes, "Row", v.Rows)
}

func cause(v Import) string { return fmt.Sprintf("import %d", v.ID) }

// fail ends an import that cannot go on, and tells its owner.
func (j *job) fail(ctx context.Context, reason words.Text) error {
	v := j.v
	v.State, v.Reason, v.EndedAt = Failed, reason, time.Now()
	_, err := j.r.c.Store.SaveImported(ctx, v, nil)
	if err != nil && !errors.Is(err, library.ErrNotFound) {
		return err
	}
	j.ended = true
	defer j.r.forget(ctx, v)
	if err != nil || j.r.c.Notifier == nil {
		return nil
	}
	return j.r.c.Notifier.Open(context.WithoutCancel(ctx), notify.Notification{
		User:       v.User,
		Connection: v.Connection,
		Cause:      cause(v),
		Severity:   notify.Warning,
		Title:      words.New("import.failed"),
		Message:    words.New("import.failed_why", "File", v.Name, "Reason", reason),
		Action:     notify.Action{Label: words.New("import.open"), URL: "/imports"},
	})
}
