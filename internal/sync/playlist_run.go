package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"reprise/internal/events"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/backoff"
)

// The limits of failures that may be about one playlist alone.
const (
	// failuresToAsk is how many in a row make the run ask whether the service is there at all.
	failuresToAsk = 2
	// failuresToEnd is how many end a run, however many playlists are left: each may have taken minutes.
	failuresToEnd = 10
)

// playlistRun reads the playlists of one connection in one run. A playlist that the service refuses, or whose answer
// breaks off or breaks the contract, is skipped, and the next ones are read. The run fails if the service itself cannot
// be reached, or if it could read none of the playlists that it asked for.
type playlistRun struct {
	rd     *reader
	c      library.Connection
	source providers.PlaylistSource
	total  int // playlists that are listed
	known  map[string]*library.StoredPlaylist
	room   *room
	skips  *skips

	changed  int // playlists that were read
	fine     int // playlists that are as they were, or could be read
	failures []failure
	failed   int // in all
	first    error
}

// failure is a playlist that could not be read, for a reason that may be the service's.
type failure struct {
	playlist library.Playlist
	err      error
}

// readAll reads what has changed. Playlists that were refused before come last, so that they keep no other from being
// read.
func (r *playlistRun) readAll(ctx context.Context, now []library.Playlist) error {
	r.total = len(now)
	again := r.skips.due()
	order := make([]listed, 0, len(now))
	for i, p := range now {
		if r.skips.waits(p) {
			continue
		}
		order = append(order, listed{Playlist: p, position: i, known: r.known[p.SourceID], again: again[p.SourceID]})
	}
	slices.SortStableFunc(order, func(a, b listed) int {
		return rank(r.skips.has(a.Playlist)) - rank(r.skips.has(b.Playlist))
	})
	for _, p := range order {
		if err := r.readOne(ctx, p); err != nil {
			return err
		}
	}
	return r.settle(ctx)
}

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// readOne reads one playlist. The error ends the run.
func (r *playlistRun) readOne(ctx context.Context, p listed) error {
	read, left, err := r.rd.readPlaylist(ctx, r.c, r.source, p, r.room)
	switch {
	case err == nil:
		r.answered(ctx)
		r.fine++
		if read {
			r.skips.read(p.Playlist, left)
			r.changed++
			r.rd.bus.Publish(r.c.User, events.Event{Type: events.Progress, Connection: r.c.ID,
				Stream: library.Playlists, Done: p.position + 1, Total: r.total})
		}
		return nil
	case resilience.IsItem(err):
		r.answered(ctx)
		r.skips.refused(ctx, p.Playlist, err)
		return nil
	case !mayBeOfOne(ctx, err):
		if e, ok := errors.AsType[*backoff.NotBeforeError](err); ok && e.State.Category == resilience.CircuitOpen {
			r.answered(ctx) // what opened the breaker comes last in the next run
		}
		return err
	}
	if r.first == nil {
		r.first = err
	}
	r.failed++
	r.failures = append(r.failures, failure{p.Playlist, err})
	if len(r.failures) < failuresToAsk {
		return nil
	}
	if !r.reachable(ctx) {
		return err
	}
	r.answered(ctx)
	if r.failed >= failuresToEnd {
		return err
	}
	return nil
}

// mayBeOfOne reports whether a failure may be about one playlist alone: an answer that breaks off, an error of the
// service, a broken contract.
func mayBeOfOne(ctx context.Context, err error) bool {
	if _, ok := errors.AsType[*backoff.NotBeforeError](err); ok || ctx.Err() != nil {
		return false
	}
	if _, ok := errors.AsType[*fullError](err); ok {
		return false
	}
	v := resilience.VerdictOf(err)
	return v.Class == resilience.Retriable && v.NotBefore.IsZero() && (v.Category == resilience.Network ||
		v.Category == resilience.Upstream || v.Category == resilience.Contract)
}

// answered notes that the service is there: what has failed until now is the fault of those playlists.
func (r *playlistRun) answered(ctx context.Context) {
	for _, f := range r.failures {
		r.skips.refused(ctx, f.playlist, f.err)
	}
	r.failures = nil
}

// reachable asks for the list of playlists once more, to tell a service that is gone from playlists that are broken.
func (r *playlistRun) reachable(ctx context.Context) bool {
	for _, err := range r.source.Playlists(ctx) {
		return err == nil
	}
	return ctx.Err() == nil
}

// settle decides about failures at the end of the run. If nothing could be read, the stream has failed; a service with
// other playlists that are as they were is there.
func (r *playlistRun) settle(ctx context.Context) error {
	if r.first == nil {
		return nil
	}
	if r.fine == 0 {
		return r.first
	}
	if len(r.failures) > 0 && r.changed == 0 && !r.reachable(ctx) {
		return r.first
	}
	r.answered(ctx)
	return nil
}

// readPlaylist stores one playlist with its tracks, after all of them have been read. It reports whether it had to, and
// which tracks the provider does not give.
func (rd *reader) readPlaylist(
	ctx context.Context, c library.Connection, source providers.PlaylistSource, p listed, space *room,
) (read bool, left []providers.LeftOut, err error) {
	known := p.known
	if known != nil && known.Active && p.Snapshot != "" && p.Snapshot == known.Snapshot && !p.again {
		if known.Name == p.Name {
			return false, nil, nil
		}
		return false, nil, rd.store.RenamePlaylist(ctx, known.ID, p.Name)
	}
	leave := func(t providers.LeftOut) {
		left = append(left, t)
		if t.Blank {
			p.Blank++
		}
	}
	var tracks []library.Track
	for page, err := range source.Tracks(ctx, p.Playlist, leave) {
		if err != nil {
			return true, left, err
		}
		for _, t := range page {
			t.Clean()
			tracks = append(tracks, t)
		}
		if len(tracks) > maxTracks {
			return true, left, &resilience.ContractError{Endpoint: library.Playlists,
				What: fmt.Sprintf("a playlist of more than %d tracks", maxTracks)}
		}
	}
	if tracks, err = rd.describe(ctx, source, tracks, leave); err != nil {
		return true, left, err
	}
	if known != nil && shrinks(known.TrackCount, len(tracks)) && known.ShrunkTo != len(tracks) {
		return true, left, rd.store.SetShrunk(ctx, known.ID, len(tracks))
	}
	if err := space.take(known, len(tracks)); err != nil {
		return true, left, err
	}
	return true, left, rd.store.SavePlaylist(ctx, c.User, c.ID, p.Playlist, p.position, tracks)
}
