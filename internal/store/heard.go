package store

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"reprise/internal/library"
	"reprise/internal/listening"
)

// heardBy is how often a person has heard what, and when last. They are never changed.
type heardBy struct {
	version  uint64 // of the listens before the latest span
	latest   span   // the latest span, whose listens change all the time
	music    *listening.Music
	listens  int
	base     []tally // by spelling, without those of the latest span
	spelling []tally // by spelling
	entity   []tally // by artist, album or track
}

// span is the version of the listens in a span.
type span struct{ number, version int64 }

// tally counts listens.
type tally struct {
	n    uint32
	last int64 // Unix seconds
}

// add adds listens to those of a number, for which it makes room.
func add(all []tally, id int64, t tally) []tally {
	for int64(len(all)) <= id {
		all = append(all, make([]tally, max(id+1-int64(len(all)), 1<<10))...)
	}
	all[id].n += t.n
	all[id].last = max(all[id].last, t.last)
	return all
}

// of returns the listens of a number.
func of(all []tally, id int64) tally {
	if id < 0 || id >= int64(len(all)) {
		return tally{}
	}
	return all[id]
}

// playsCache holds what some people have heard. It is safe for concurrent use.
type playsCache struct {
	mu sync.Mutex
	by map[int64]*heardBy
}

// mostHeard is the most people whose plays are held, each in some 25 bytes for every track of the household.
const mostHeard = 16

// heardOf returns what a person has heard. It reads all listens only after earlier ones have changed.
func (s *Store) heardOf(ctx context.Context, user int64) (*heardBy, error) {
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
	next := &heardBy{music: music}
	if last := len(spans) - 1; last >= 0 {
		next.latest, spans = spans[last], spans[:last]
	}
	sum := fnv.New64a()
	for _, v := range spans {
		_ = binary.Write(sum, binary.LittleEndian, v)
	}
	next.version = sum.Sum64()
	have := c.by[user]
	if have != nil && have.version == next.version && have.latest == next.latest && have.music == music {
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
		c.by = map[int64]*heardBy{}
	}
	c.by[user] = next
	return next, nil
}

// countAll counts the listens before the latest span.
func (s *Store) countAll(ctx context.Context, user int64, p *heardBy) error {
	all, err := s.Columns(ctx, user)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Start >= p.latest.number*spanLength/1000 {
			continue
		}
		for i, id := range c.Spelling {
			p.base = add(p.base, int64(id), tally{1, c.Start + int64(c.At[i])})
		}
	}
	return nil
}

// countLatest counts the listens of the latest span.
func (s *Store) countLatest(ctx context.Context, user int64, p *heardBy) error {
	p.spelling = append([]tally{}, p.base...)
	scan := func(r scanner) (none struct{}, err error) {
		var id, ms int64
		if err := r.Scan(&id, &ms); err != nil {
			return none, err
		}
		p.spelling = add(p.spelling, id, tally{1, time.UnixMilli(ms).Unix()})
		return none, nil
	}
	_, err := list(ctx, s.reader, scan, "SELECT spelling_id, played_at FROM listens WHERE user_id = $1 AND "+
		"played_at >= $2", user, p.latest.number*spanLength)
	return err
}

// sum adds the listens of spellings up to those of artists, albums and tracks.
func (p *heardBy) sum() {
	for id, t := range p.spelling {
		if t.n == 0 {
			continue
		}
		p.listens += int(t.n)
		artists, album, track := p.music.Of(uint32(id))
		for _, a := range artists {
			p.entity = add(p.entity, int64(a), t)
		}
		for _, e := range []uint32{album, track} {
			if e != 0 {
				p.entity = add(p.entity, int64(e), t)
			}
		}
	}
}

// spellingsOf returns the spellings of an artist, an album or a track that the person has heard.
func (p *heardBy) spellingsOf(kind string, id int64) (all []int64) {
	for spelt, t := range p.spelling {
		if t.n == 0 {
			continue
		}
		artists, album, track := p.music.Of(uint32(spelt))
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
	plays, err := s.heardOf(ctx, user)
	if err != nil {
		return false, err
	}
	return of(plays.entity, int64(id)).n > 0, nil
}
