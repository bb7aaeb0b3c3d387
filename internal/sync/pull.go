package sync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
)

// pull is one run: it reads one stream of one connection, as far as it may.
func (s *Syncer) pull(ctx context.Context, k Key) error {
	c, err := s.store.Connection(ctx, k.User, k.Provider)
	if errors.Is(err, library.ErrNotFound) || err == nil && c.Paused {
		return nil
	}
	if err != nil {
		s.log.Error("connection cannot be loaded", "user_id", k.User, "provider", k.Provider, "err", err)
		return err
	}
	return s.run(ctx, c, k)
}

// run reads a stream as far as it may, and notes what came of it.
func (s *Syncer) run(ctx context.Context, c library.Connection, k Key) error {
	r := library.Run{User: k.User, Provider: k.Provider, Stream: k.Stream, Started: time.Now()}
	began, end := s.opt.Began(ctx, k)
	err := s.guard.Do(began, providers.OfConnection(c, k.Stream), func(ctx context.Context, a providers.Adapter) (err error) {
		s.bus.Publish(c.User, events.Event{Type: events.Connection, Provider: c.Provider})
		r.Rows, err = s.read(ctx, c, k.Stream, a)
		return err
	})
	if !refused(err) {
		r = s.record(ctx, c, r, err)
	}
	end(r)
	return err
}

// read hands the stream to whoever reads it, and returns how many rows that brought. A server that does not offer it has
// nothing to read.
func (s *Syncer) read(ctx context.Context, c library.Connection, stream string, a providers.Adapter) (rows int, err error) {
	begun := time.Now()
	switch stream {
	case library.Listens:
		source, ok := a.(providers.ListenSource)
		if !ok {
			return 0, fmt.Errorf("%s: adapter reads no listens", c.Provider)
		}
		rows, err = s.readListens(ctx, c, source)
	case library.Playlists:
		source, ok := a.(providers.PlaylistSource)
		if !ok {
			return 0, fmt.Errorf("%s: adapter reads no playlists", c.Provider)
		}
		rows, err = s.readPlaylists(ctx, c, source)
	default:
		return 0, fmt.Errorf("%s: no such stream: %q", c.Provider, stream)
	}
	if errors.Is(err, providers.ErrNotOffered) {
		if stream == library.Listens { // there is nothing, and that is all there is to know
			s.noteRead(Key{c.User, c.Provider, stream}, lastRead{begun: begun})
		}
		return 0, nil
	}
	return rows, err
}

// endsSoon says whether a tenth or less of a run's time is left, so that work that can be continued is better stopped
// than cut off.
func (s *Syncer) endsSoon(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < s.opt.RunTimeout/10
}
