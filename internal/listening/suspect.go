package listening

import (
	"cmp"
	"slices"
	"time"
)

// These are the limits of what somebody can hear.
const (
	manyListens = 10 // of any tracks are too many
	manyWithin  = 60 // seconds from the first of these to the last

	// A track may begin again this many seconds before its end: players fade for up to 12, and clocks differ.
	overlap = 15
	// A track of unknown length is taken to last this many seconds: services count no shorter listens.
	leastLength = 30
	// Listens further apart than this many seconds have nothing to do with each other, however long a track is.
	mostLength = 60 * 60
)

// Suspect are listens that can hardly be what happened: a pair, which is one track twice before it can have ended, or a
// stretch, which is many listens within a minute. A pair within a stretch is none of its own.
type Suspect struct {
	From, To int64         // Unix seconds of the first and the last listen
	Track    uint32        // of a pair; 0 for a stretch
	First    uint32        // the spelling of the first listen of a pair
	Second   uint32        // the spelling of the second
	Listens  int           // how many there are
	Length   time.Duration // of the track of a pair; 0 for unknown
}

// Suspects finds suspects. It is not safe for concurrent use.
type Suspects struct {
	music    *Music
	found    func(Suspect) bool
	at       []int64 // of listens without an hour of silence between them, the latest first
	spelling []uint32
	before   int     // how many listens came before those
	last     []int64 // by track, the number of its last listen among all, from 1
	enough   bool
}

// NewSuspects returns what calls found for suspects, the latest first, until that returns false.
func NewSuspects(music *Music, found func(Suspect) bool) *Suspects {
	return &Suspects{music: music, found: found, last: make([]int64, music.last+1)}
}

// Add adds columns, which come the latest first, and reports whether more are wanted. End follows the last ones.
func (s *Suspects) Add(c *Columns) bool {
	for i := len(c.At) - 1; i >= 0 && !s.enough; i-- {
		at := c.Start + int64(c.At[i])
		if n := len(s.at); n > 0 && s.at[n-1]-at > mostLength {
			s.End()
		}
		s.at = append(s.at, at)
		s.spelling = append(s.spelling, c.Spelling[i])
	}
	return !s.enough
}

// End finds the suspects among the listens that were added last.
func (s *Suspects) End() {
	if s.enough {
		return
	}
	slices.Reverse(s.at)
	slices.Reverse(s.spelling)
	all, within := s.stretches()
	all = append(all, s.pairs(within)...)
	slices.SortStableFunc(all, func(x, y Suspect) int { return y.compare(x) })
	for _, v := range all {
		if s.enough = !s.found(v); s.enough {
			return
		}
	}
	s.before += len(s.at)
	s.at, s.spelling = s.at[:0], s.spelling[:0]
}

// compare orders suspects by their times, the earliest first.
func (v Suspect) compare(o Suspect) int {
	return cmp.Or(cmp.Compare(v.From, o.From), cmp.Compare(v.To, o.To), cmp.Compare(v.Track, o.Track))
}

// Before reports whether v is found after o.
func (v Suspect) Before(o Suspect) bool { return v.compare(o) < 0 }

// stretches returns the stretches, and for each listen the number of the one that it is in, from 1; 0 for none.
func (s *Suspects) stretches() (all []Suspect, within []int32) {
	within = make([]int32, len(s.at))
	for i := manyListens - 1; i < len(s.at); i++ {
		first := i - manyListens + 1
		if s.at[i]-s.at[first] > manyWithin {
			continue
		}
		if within[first] == 0 {
			all = append(all, Suspect{From: s.at[first]})
		}
		v := &all[len(all)-1]
		v.To = s.at[i]
		for n := i; n >= first && within[n] == 0; n-- {
			within[n] = int32(len(all))
			v.Listens++
		}
	}
	return all, within
}

// pairs returns the pairs that are not within one stretch.
func (s *Suspects) pairs(within []int32) (all []Suspect) {
	for i, at := range s.at {
		v := s.music.of(s.spelling[i])
		if v.track == 0 { // it has no title
			continue
		}
		before := int(s.last[v.track]) - 1 - s.before
		s.last[v.track] = int64(s.before + i + 1)
		if before < 0 || within[i] != 0 && within[i] == within[before] {
			continue
		}
		seconds := shorter(v.seconds, s.music.of(s.spelling[before]).seconds)
		if at-s.at[before] >= least(seconds) {
			continue
		}
		pair := Suspect{From: s.at[before], To: at, Track: v.track, First: s.spelling[before], Second: s.spelling[i],
			Listens: 2, Length: time.Duration(seconds) * time.Second}
		if n := len(all); n == 0 || all[n-1].compare(pair) != 0 { // three in one second are shown one by one
			all = append(all, pair)
		}
	}
	return all
}

// shorter returns the shorter one of two lengths of a track; 0 is unknown.
func shorter(a, b uint32) uint32 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// least returns how many seconds lie at least between two listens of a track of a length, which may be unknown.
func least(seconds uint32) int64 {
	if seconds == 0 {
		return leastLength
	}
	length := int64(seconds)
	return min(max(length-overlap, length/2), mostLength)
}
