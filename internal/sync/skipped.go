package sync

import (
	"context"
	"errors"
	"slices"
	"time"

	"reprise/internal/alerts"
	"reprise/internal/library"
	"reprise/internal/providers"
	"reprise/internal/resilience"
	"reprise/internal/resilience/hosts"
	"reprise/internal/words"
)

const (
	// lookAgain is how long something skipped, or not offered, is left alone.
	lookAgain = 24 * time.Hour
	// quickLooks is how often a playlist whose answer was bad is tried with the next run before it has to wait.
	quickLooks = 2
)

// skippedStore keeps what upstreams do not give.
type skippedStore interface {
	Skipped(ctx context.Context, user int64, conn library.ConnectionID) ([]library.Skipped, error)
	SaveSkipped(ctx context.Context, user int64, conn library.ConnectionID, stream string,
		items []library.Skipped) error
}

type skipKey struct{ playlist, id string }

func keyOf(s library.Skipped) skipKey { return skipKey{s.Playlist, s.SourceID} }

// skips is what is skipped of one connection's playlists during one run.
type skips struct {
	rd      *reader
	c       library.Connection
	now     time.Time
	before  []library.Skipped
	items   map[skipKey]library.Skipped
	changed bool
}

func (rd *reader) loadSkips(ctx context.Context, c library.Connection) (*skips, error) {
	before, err := rd.store.Skipped(ctx, c.User, c.ID)
	s := &skips{rd: rd, c: c, now: time.Now(), before: before, items: make(map[skipKey]library.Skipped, len(before))}
	for _, v := range before {
		if v.Stream == library.Playlists {
			s.items[keyOf(v)] = v
		}
	}
	return s, err
}

// save stores what has changed, even if the run's own time is over.
func (s *skips) save(ctx context.Context) error {
	if !s.changed {
		return nil
	}
	all := make([]library.Skipped, 0, len(s.items))
	for _, v := range s.items {
		all = append(all, v)
	}
	slices.SortStableFunc(all, func(a, b library.Skipped) int { // playlists first, for the limit
		if a.Kind != b.Kind {
			return map[bool]int{true: -1, false: 1}[a.Kind == library.SkippedPlaylist]
		}
		return a.Since.Compare(b.Since)
	})
	return s.rd.store.SaveSkipped(context.WithoutCancel(ctx), s.c.User, s.c.ID, library.Playlists,
		all[:min(len(all), library.MaxSkipped)])
}

// waits reports whether a playlist was refused and is not to be asked for yet: one that has changed since is.
func (s *skips) waits(p library.Playlist) bool {
	v, ok := s.items[skipKey{"", p.SourceID}]
	return ok && v.RetryAt.After(s.now) && (p.Snapshot == "" || p.Snapshot == v.Snapshot)
}

// has reports whether a playlist was refused when it was asked for last.
func (s *skips) has(p library.Playlist) bool {
	_, ok := s.items[skipKey{"", p.SourceID}]
	return ok
}

// due returns the playlists with tracks that were left out and are to be looked at again now.
func (s *skips) due() map[string]bool {
	all := map[string]bool{}
	for _, v := range s.items {
		if v.Kind == library.SkippedTrack && !v.RetryAt.After(s.now) {
			all[v.Playlist] = true
		}
	}
	return all
}

// retain forgets what belongs to playlists that are no longer listed.
func (s *skips) retain(now []library.Playlist) {
	listed := make(map[string]bool, len(now))
	for _, p := range now {
		listed[p.SourceID] = true
	}
	for k := range s.items {
		if !listed[k.playlist] && !listed[k.id] || k.playlist != "" && !listed[k.playlist] {
			s.drop(k)
		}
	}
}

func (s *skips) drop(k skipKey) {
	if _, ok := s.items[k]; ok {
		delete(s.items, k)
		s.changed = true
	}
}

// put keeps one item, with how often in a row it has failed.
func (s *skips) put(v library.Skipped) {
	v.Stream, v.Since, v.TriedAt, v.RetryAt, v.Failures = library.Playlists, s.now, s.now, s.now.Add(lookAgain), 1
	if old, ok := s.items[keyOf(v)]; ok {
		v.Since, v.Failures = old.Since, old.Failures+1
	} else {
		s.rd.opt.now().Metrics.Skipped(s.c.Provider(), v.Category)
	}
	if v.Category != resilience.Item.String() && v.Failures <= quickLooks { // it may have been a moment's trouble
		v.RetryAt = s.now
	}
	s.items[keyOf(v)], s.changed = v, true
}

// soon has what failed in this run tried again with the next one.
func (s *skips) soon() {
	for k, v := range s.items {
		if v.TriedAt.Equal(s.now) && v.Category != resilience.Item.String() {
			v.RetryAt = s.now
			s.items[k], s.changed = v, true
		}
	}
}

// refused keeps a playlist that could not be read.
func (s *skips) refused(ctx context.Context, p library.Playlist, err error) {
	v := resilience.VerdictOf(err)
	reason := alerts.AdviceOf(err)
	shown := s.rd.screened(ctx, s.c, err)
	if _, hidden := errors.AsType[*hosts.ScreenedError](shown); hidden || reason.IsZero() {
		reason = reasonOf(v.Category)
	}
	s.put(library.Skipped{Kind: library.SkippedPlaylist, SourceID: p.SourceID, Name: p.Name, Snapshot: p.Snapshot,
		Category: v.Category.String(), Reason: reason, Answer: resilience.Excerpt(shown.Error())})
}

// reasonOf says why a playlist is skipped, for people.
func reasonOf(why resilience.Category) words.Text {
	switch why {
	case resilience.Network:
		return words.New("skipped.network")
	case resilience.Upstream:
		return words.New("skipped.upstream")
	case resilience.Contract:
		return words.New("skipped.contract")
	}
	return words.New("skipped.hidden")
}

// read keeps what a playlist that could be read leaves out, and forgets what it left out before.
func (s *skips) read(p library.Playlist, left []providers.LeftOut) {
	s.drop(skipKey{"", p.SourceID})
	still := make(map[skipKey]bool, len(left))
	for _, t := range left[:min(len(left), library.MaxSkipped)] {
		v := library.Skipped{Kind: library.SkippedTrack, Playlist: p.SourceID, SourceID: library.ID(t.SourceID),
			Name: library.Name(t.Name), In: p.Name, Snapshot: p.Snapshot, Category: resilience.Item.String(),
			Reason: t.Reason}
		if k := keyOf(v); !still[k] {
			still[k] = true
			s.put(v)
		}
	}
	for k := range s.items {
		if k.playlist == p.SourceID && !still[k] {
			s.drop(k)
		}
	}
}

// screened returns what the person may read of an error.
func (rd *reader) screened(ctx context.Context, c library.Connection, err error) error {
	if rd.guard == nil {
		return err
	}
	p := rd.guard.opt.Registry.Get(c.Provider())
	if p == nil {
		return err
	}
	call := resilience.Call{User: c.User, Provider: p.Name}
	return rd.guard.opt.Screen.Hide(ctx, call, p.NamedHost(c.Credentials), err)
}
