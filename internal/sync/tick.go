package sync

import (
	"context"
	"time"

	"reprise/internal/library"
)

// Tick makes a stream of all connections due, or of those that need it most where a pace has no room for all.
func (s *Syncer) Tick(ctx context.Context, stream string) error {
	all, err := s.store.Outlines(ctx)
	if err != nil {
		return err
	}
	type group struct{ provider, app string }
	var due []Key
	sharing := map[group][]Key{} // those that share a pace
	for _, l := range all {
		p, k := s.guard.opt.Registry.Get(l.Provider()), Key{l.User, l.ID, stream}
		switch {
		case p == nil || !p.Pulls(stream) || l.Paused || time.Since(s.reader.last.get(k).lacks) < lookAgain:
		case p.SharedPace(l.App) > 0:
			g := group{l.Provider(), l.App}
			sharing[g] = append(sharing[g], k)
		default:
			due = append(due, k)
		}
	}
	now := time.Now()
	for g, keys := range sharing {
		p := s.guard.opt.Registry.Get(g.provider)
		runs, short := allowance(p, stream, len(keys), p.SharedPace(g.app), s.Every)
		if !short {
			s.reader.habits.roomy(keys)
			due = append(due, keys...)
			continue
		}
		if err := s.seedHabits(ctx, stream); err != nil {
			return err
		}
		chosen := s.reader.habits.choose(keys, now, s.Every(stream), runs)
		s.tick(chosen, now, time.Duration(float64(s.Every(stream))/max(runs, 1)))
	}
	s.tick(due, now, 0)
	return nil
}

// seedHabits reads what is known of habits from before the start, once.
func (s *Syncer) seedHabits(ctx context.Context, stream string) error {
	if !s.reader.habits.needsSeed(stream) {
		return nil
	}
	all, err := s.store.Habits(ctx, stream)
	if err == nil {
		s.reader.habits.seed(stream, all, time.Now())
	}
	return err
}

// tick makes streams due, with that much time between two.
func (s *Syncer) tick(keys []Key, now time.Time, space time.Duration) {
	s.mu.Lock()
	s.ticked = now
	for i, k := range keys {
		if s.runs[k] == nil { // a run under way is the one that this tick would have started
			s.queue.add(k, now.Add(time.Duration(i)*space))
		}
	}
	s.mu.Unlock()
	s.poke.send()
}

// Rhythm returns about how often a stream of a connection is read, zero if no loop reads it. Where so many connections
// share its pace that it isn't read with every tick, sharing is how many; else it is 0.
func (s *Syncer) Rhythm(k Key) (every time.Duration, sharing int) {
	loop := s.Every(k.Stream)
	every, sharing = s.reader.habits.rhythm(k)
	unit := 5 * time.Minute // nobody reads more exactly
	if every > 2*time.Hour {
		unit = time.Hour
	}
	if every = every.Round(unit); every > loop {
		return every, sharing
	}
	return loop, 0
}

// Every returns about how often a loop reads a stream; zero if none does.
func (s *Syncer) Every(stream string) time.Duration {
	switch stream {
	case library.Listens:
		return s.opt.now().ListensEvery
	case library.Playlists:
		return s.opt.now().PlaylistsEvery
	}
	return 0
}

// TickedAt returns when a loop ticked last; zero before the first tick.
func (s *Syncer) TickedAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ticked
}
