package statistics

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
	"reprise/internal/store/db"
)

// HeardBy is how often a person has heard what, and when last. They are never changed.
type HeardBy struct {
	version  uint64 // of the listens before the latest span
	latest   span   // the latest span, whose listens change all the time
	Music    *listening.Music
	Listens  int
	base     []Tally // by spelling, without those of the latest span
	Spelling []Tally // by spelling
	Entity   []Tally // by artist, album or track
}

// span is the version of the listens in a span.
type span struct{ number, version int64 }

// Tally counts listens.
type Tally struct {
	N    uint32
	Last int64 // Unix seconds
}

// add adds listens to those of a number, for which it makes room.
func add(all []Tally, id int64, t Tally) []Tally {
	for int64(len(all)) <= id {
		all = append(all, make([]Tally, max(id+1-int64(len(all)), 1<<10))...)
	}
	all[id].N += t.N
	all[id].Last = max(all[id].Last, t.Last)
	return all
}

// PlaysOf returns the listens of a number.
func PlaysOf(all []Tally, id int64) Tally {
	if id < 0 || id >= int64(len(all)) {
		return Tally{}
	}
	return all[id]
}

// playsCache holds what some people have heard: without it BenchmarkSearch takes five times as long. It is safe for
// concurrent use.
type playsCache struct {
	mu sync.Mutex
	by map[int64]*HeardBy
}

// mostHeard is the most people whose plays are held, each in some 25 bytes for every track of the household.
const mostHeard = 16

// HeardOf returns what a person has heard. It reads all listens only after earlier ones have changed.
func (s *Store) HeardOf(ctx context.Context, user int64) (*HeardBy, error) {
	c := &s.heard
	c.mu.Lock()
	defer c.mu.Unlock()
	spans, err := s.spansOf(ctx, user)
	if err != nil {
		return nil, err
	}
	music, err := s.Meanings(ctx)
	if err != nil {
		return nil, err
	}
	next := &HeardBy{Music: music}
	if last := len(spans) - 1; last >= 0 {
		next.latest, spans = spans[last], spans[:last]
	}
	sum := fnv.New64a()
	for _, v := range spans {
		_ = binary.Write(sum, binary.LittleEndian, v)
	}
	next.version = sum.Sum64()
	have := c.by[user]
	if have != nil && have.version == next.version && have.latest == next.latest && have.Music == music {
		return have, nil
	}
	if have != nil && have.version == next.version {
		next.base = have.base
	} else if err := s.countAll(ctx, user, next); err != nil {
		return nil, err
	}
	if err := s.countLatest(ctx, user, next); err != nil {
		return nil, err
	}
	next.sum()
	if c.by == nil || len(c.by) >= mostHeard {
		c.by = map[int64]*HeardBy{}
	}
	c.by[user] = next
	return next, nil
}

// countAll counts the listens before the latest span.
func (s *Store) countAll(ctx context.Context, user int64, p *HeardBy) error {
	all, err := s.Columns(ctx, user)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Start >= p.latest.number*SpanLength/1000 {
			continue
		}
		for i, id := range c.Spelling {
			p.base = add(p.base, int64(id), Tally{1, c.Start + int64(c.At[i])})
		}
	}
	return nil
}

// countLatest counts the listens of the latest span.
func (s *Store) countLatest(ctx context.Context, user int64, p *HeardBy) error {
	p.Spelling = append([]Tally{}, p.base...)
	scan := func(r db.Scanner) (none struct{}, err error) {
		var id, ms int64
		if err := r.Scan(&id, &ms); err != nil {
			return none, err
		}
		p.Spelling = add(p.Spelling, id, Tally{1, time.UnixMilli(ms).Unix()})
		return none, nil
	}
	_, err := db.List(ctx, s.db.Reader, scan, "SELECT spelling_id, played_at FROM listens WHERE user_id = $1 AND "+
		"played_at >= $2", user, p.latest.number*SpanLength)
	return err
}

// sum adds the listens of spellings up to those of artists, albums and tracks.
func (p *HeardBy) sum() {
	for id, t := range p.Spelling {
		if t.N == 0 {
			continue
		}
		p.Listens += int(t.N)
		artists, album, track := p.Music.Of(uint32(id))
		for _, a := range artists {
			p.Entity = add(p.Entity, int64(a), t)
		}
		for _, e := range []uint32{album, track} {
			if e != 0 {
				p.Entity = add(p.Entity, int64(e), t)
			}
		}
	}
}

// SpellingsOf returns the spellings of an artist, an album or a track that the person has heard.
func (p *HeardBy) SpellingsOf(kind string, id int64) (all []int64) {
	for spelt, t := range p.Spelling {
		if t.N == 0 {
			continue
		}
		artists, album, track := p.Music.Of(uint32(spelt))
		switch kind {
		case library.KindArtist:
			if !slices.Contains(artists, uint32(id)) {
				continue
			}
		case library.KindAlbum:
			if int64(album) != id {
				continue
			}
		case library.KindTrack:
			if int64(track) != id {
				continue
			}
		}
		all = append(all, int64(spelt))
	}
	return all
}

// HasHeard reports whether a person has heard an artist, an album or a track.
func (s *Store) HasHeard(ctx context.Context, user int64, id uint32) (bool, error) {
	plays, err := s.HeardOf(ctx, user)
	if err != nil {
		return false, err
	}
	return PlaysOf(plays.Entity, int64(id)).N > 0, nil
}
