package sync

import (
	"context"
	"errors"
	"fmt"
	"time"

	"reprise/internal/events"
	"reprise/internal/providers"
	"reprise/internal/resilience"
)

// pull is one run: it reads one stream of one connection, as far as it may.
func (s *Syncer) pull(ctx context.Context, k Key) error {
	c, err := s.store.Connection(ctx, k.User, k.Provider)
	if errors.Is(err, providers.ErrNotFound) || err == nil && c.Paused {
		return nil
	}
	if err != nil {
		s.log.Error("connection cannot be loaded", "user_id", k.User, "provider", k.Provider, "err", err)
		return err
	}
	err = s.guard.Do(ctx, c, k.Stream, func(ctx context.Context, a providers.Adapter) error {
		s.bus.Publish(c.User, events.Event{Type: events.Connection, Provider: c.Provider})
		return s.read(ctx, c, k.Stream, a)
	})
	if err == nil {
		return nil
	}
	if _, refused := errors.AsType[*resilience.NotBeforeError](err); refused {
		return err
	}
	if state := s.guard.Backoff.State(keyOf(c, k.Stream)); !state.Until.IsZero() {
		return &retryError{error: err, until: state.Until}
	}
	return err
}

// read hands the stream to whoever reads it. A server that does not offer it has nothing to read.
func (s *Syncer) read(ctx context.Context, c providers.Connection, stream string, a providers.Adapter) error {
	var err error
	begun := time.Now()
	switch stream {
	case providers.Listens:
		source, ok := a.(providers.ListenSource)
		if !ok {
			return fmt.Errorf("%s: adapter reads no listens", c.Provider)
		}
		err = s.readListens(ctx, c, source)
	case providers.Playlists:
		source, ok := a.(providers.PlaylistSource)
		if !ok {
			return fmt.Errorf("%s: adapter reads no playlists", c.Provider)
		}
		err = s.readPlaylists(ctx, c, source)
	default:
		return fmt.Errorf("%s: no such stream: %q", c.Provider, stream)
	}
	if errors.Is(err, providers.ErrNotOffered) {
		if stream == providers.Listens { // there is nothing, and that is all there is to know
			s.noteRead(Key{c.User, c.Provider, stream}, readTo{begun: begun})
		}
		return nil
	}
	return err
}

// endsSoon says whether a tenth or less of a run's time is left, so that work that can be continued is better stopped
// than cut off.
func (s *Syncer) endsSoon(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && time.Until(deadline) < s.opt.RunTimeout/10
}
