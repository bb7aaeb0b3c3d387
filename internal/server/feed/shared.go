package feed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"reprise/internal/events"
	"reprise/internal/notify"
	"reprise/internal/server/core"
)

// notice is a notification as streams send it: without and with a toast.
type notice struct {
	notify.Notification
	quiet, loud []byte
}

// announcement is a notification in JSON.
type announcement struct {
	core.Notification
	Toast bool `json:"toast"` // the tab announces it now
}

func noticeOf(ctx context.Context, n notify.Notification) (notice, error) {
	v := announcement{Notification: core.ViewNotification(ctx, n)}
	quiet, err := json.Marshal(v)
	if err != nil {
		return notice{}, err
	}
	v.Toast = true
	loud, err := json.Marshal(v)
	return notice{n, quiet, loud}, err
}

// state is what a snapshot is made of.
type state struct {
	connections []byte // JSON
	open        []notice
}

// snapshot sends everything that a reader needs to begin with.
func (f *feed) snapshot(ctx context.Context) error {
	now, err := shared(ctx, &f.answers, f.reader.on(events.Event{Type: "snapshot"}), need{serial: f.since},
		func(ctx context.Context) (now state, err error) {
			connections, err := f.Statuses.All(ctx, f.watcher.User)
			if err != nil {
				return now, err
			}
			if now.connections, err = json.Marshal(connections); err != nil {
				return now, err
			}
			open, err := f.Store.Notifications(ctx, f.watcher.User, true)
			if err != nil {
				return now, err
			}
			for _, n := range open {
				one, err := noticeOf(ctx, n)
				if err != nil {
					return now, err
				}
				now.open = append(now.open, one)
			}
			return now, nil
		})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"serial":%d,"connections":%s,"notifications":[`, f.since, now.connections)
	for i, n := range now.open {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(f.toasts.of(n))
	}
	b.WriteString("]}")
	return f.message("snapshot", b.Bytes())
}

// connection returns the state of the connection of an event, or library.ErrNotFound.
func (f *feed) connection(ctx context.Context, e events.Event) ([]byte, error) {
	return shared(ctx, &f.answers, f.reader.on(e), need{serial: e.Serial},
		func(ctx context.Context) ([]byte, error) {
			v, err := f.Statuses.One(ctx, f.watcher.User, e.Connection)
			if err != nil {
				return nil, err
			}
			return json.Marshal(v)
		})
}

// notification returns the notification of an event.
func (f *feed) notification(ctx context.Context, e events.Event) (notice, error) {
	return shared(ctx, &f.answers, f.reader.on(e), need{serial: e.Serial},
		func(ctx context.Context) (notice, error) {
			id, err := strconv.ParseInt(e.ID, 10, 64)
			if err != nil {
				return notice{}, fmt.Errorf("event names notification %q", e.ID)
			}
			n, err := f.Store.Notification(ctx, f.watcher.User, id)
			if err != nil {
				return notice{}, err
			}
			return noticeOf(ctx, n)
		})
}

// newest returns the person's newest listen; null for none. The connections that have brought some are asked about
// together.
func (f *feed) newest(ctx context.Context, e events.Event) ([]byte, error) {
	return shared(ctx, &f.answers, f.reader.on(events.Event{Type: e.Type}), need{serial: e.Serial},
		func(ctx context.Context) ([]byte, error) {
			newest, _, err := f.Store.Listens(ctx, f.watcher.User, "", 1)
			if err != nil || len(newest) == 0 {
				return []byte("null"), err
			}
			return json.Marshal(newest[0].Record())
		})
}

// still returns errSession if the session or the token of the stream has ended.
func (f *feed) still(ctx context.Context, min need) error {
	about := events.Event{Type: events.Access, ID: f.watcher.Ends}
	_, err := shared(ctx, &f.answers, f.reader.on(about), min, f.watcher.Still)
	if err != nil {
		return errSession
	}
	return nil
}

// recheck is still, unless nothing can have ended the session or the token since that was asked last: what this
// process ends is an event.
func (f *feed) recheck(ctx context.Context) error {
	now := time.Now()
	if f.Store.Changes() == f.checked.changes && now.Before(f.checked.until) {
		return nil
	}
	if err := f.still(ctx, need{begun: now.Add(-shelf)}); err != nil {
		return err
	}
	f.checked = checked{f.Store.Changes(), now.Add(recheckEvery)}
	if end := f.watcher.Until; end.After(now) && end.Before(f.checked.until) {
		f.checked.until = end
	}
	return nil
}
