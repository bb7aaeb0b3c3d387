package sync

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"reprise/internal/library"
	"reprise/internal/providers"
)

// Where many connections share the pace of one host, a tick cannot read them all. Then each is read in proportion to
// the square root of its plays, between once a tick and once a day: for a given number of calls, this makes a play's
// average wait the shortest. The calls of a tick are spaced, so that a "Sync now" does not wait behind them. While
// there is room, every tick reads everything.
const (
	// paceShare is how much of a pace ticks may use. The rest is for what people wait for, and for sending.
	paceShare = 0.8
	// seldomest is the longest time between two reads.
	seldomest = 24 * time.Hour
	// habitDays is the number of days over which the plays of a connection are averaged.
	habitDays = 2.0
	// mostPlays caps the plays of a day, because the first read of a history says nothing about habits.
	mostPlays = 200.0
	// fewestPlays keeps a silent connection from never being read.
	fewestPlays = 0.05
)

// load is what reading a stream costs where a pace is kept: calls of a run, roughly, and the part of the pace that it
// gets when both streams want more than there is.
var load = map[string]struct{ calls, part float64 }{library.Listens: {1, 2}, library.Playlists: {3, 1},
	library.Loves: {1, 1}, library.Songs: {20, 1}}

// habit is what is known of the plays and the reading of one stream of one connection.
type habit struct {
	plays   float64   // a day, on average
	at      time.Time // when plays was right
	taken   time.Time // when it was made due by a tick, or read
	every   time.Duration
	sharing int // connections that share the pace; 0 while each tick reads them all
}

func (h *habit) playsNow(now time.Time) float64 {
	return h.plays * math.Exp(-now.Sub(h.at).Hours()/24/habitDays)
}

// habits are those of all connections. Safe for concurrent use.
type habits struct {
	mu     sync.Mutex
	of     map[Key]*habit
	seeded map[string]bool // streams whose habits before the start are known
}

func (hs *habits) findLocked(k Key) *habit {
	h := hs.of[k]
	if h == nil {
		h = &habit{}
		hs.of[k] = h
	}
	return h
}

// read notes a run that began at an instant and brought that many new plays.
func (hs *habits) read(k Key, began time.Time, plays int) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.findLocked(k)
	h.plays = min(h.playsNow(began)+float64(plays)/habitDays, mostPlays)
	h.at = began
	if began.After(h.taken) {
		h.taken = began
	}
}

// seed fills in what was read and played before the start.
func (hs *habits) seed(stream string, all []library.Habit, now time.Time) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, before := range all {
		h := hs.findLocked(Key{before.User, before.Connection, stream})
		if before.ReadAt.After(h.taken) {
			h.taken = before.ReadAt
		}
		if h.at.IsZero() {
			h.plays, h.at = min(float64(before.Plays), mostPlays), now
		}
	}
	hs.seeded[stream] = true
}

func (hs *habits) needsSeed(stream string) bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return !hs.seeded[stream]
}

func (hs *habits) forget(k Key) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	delete(hs.of, k)
}

// rhythm returns how often a stream is read at the moment, and how many connections share its pace, if they are too
// many for every tick; 0 and 0 if it is read with every tick.
func (hs *habits) rhythm(k Key) (every time.Duration, sharing int) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h := hs.of[k]; h != nil {
		return h.every, h.sharing
	}
	return 0, 0
}

// allowance returns how many runs of a stream a tick may start at a pace, in calls a second, that n connections to a
// provider share; false if that is all of them. every is the interval of each stream's loop.
func allowance(
	p *providers.Provider, stream string, n int, perSecond float64, every func(stream string) time.Duration,
) (runs float64, short bool) {
	total, parts, wanted := perSecond*paceShare, 0.0, 0.0
	demand := func(stream string) float64 { return float64(n) * load[stream].calls / every(stream).Seconds() }
	for _, s := range p.Streams {
		wanted += demand(s)
		parts += load[s].part
	}
	if wanted <= total {
		return 0, false
	}
	own := demand(stream)
	mine := max(total*load[stream].part/parts, total-(wanted-own))
	return mine * every(stream).Seconds() / load[stream].calls, mine < own
}

// roomy notes that each tick reads all of these.
func (hs *habits) roomy(keys []Key) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, k := range keys {
		if h := hs.of[k]; h != nil {
			h.every, h.sharing = 0, 0
		}
	}
}

// choose returns those that a tick of this interval reads, the longest overdue first: that many runs at most.
func (hs *habits) choose(keys []Key, now time.Time, tick time.Duration, runs float64) []Key {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	type candidate struct {
		key     Key
		habit   *habit
		overdue float64
	}
	all, needs := make([]candidate, len(keys)), make([]float64, len(keys))
	for i, k := range keys {
		h := hs.findLocked(k)
		all[i] = candidate{key: k, habit: h}
		needs[i] = math.Sqrt(max(h.playsNow(now), fewestPlays))
	}
	scale := scaleOf(needs, tick, runs)
	for i := range all {
		h := all[i].habit
		h.every, h.sharing = interval(needs[i], scale, tick), len(keys)
		all[i].overdue = (float64(now.Sub(h.taken)) + float64(tick)/2) / float64(h.every)
		if now.Sub(h.taken) >= seldomest-tick { // a day is a promise
			all[i].overdue += float64(seldomest)
		}
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return c.overdue < 1 })
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.overdue, a.overdue) })
	all = all[:min(len(all), max(1, int(runs)))]
	chosen := make([]Key, len(all))
	for i, c := range all {
		chosen[i], c.habit.taken = c.key, now
	}
	return chosen
}

// interval returns how often something of that need is read.
func interval(need, scale float64, tick time.Duration) time.Duration {
	return time.Duration(min(max(scale/need, float64(tick)), float64(max(seldomest, tick))))
}

// scaleOf returns the scale of intervals at which ticks read that many on average.
func scaleOf(needs []float64, tick time.Duration, runs float64) float64 {
	low, high := 0.0, float64(seldomest)*mostPlays
	if float64(len(needs))*float64(tick) >= runs*float64(seldomest) {
		return high // once a day is too much already
	}
	for range 30 {
		scale, sum := (low+high)/2, 0.0
		for _, need := range needs {
			sum += float64(tick) / float64(interval(need, scale, tick))
		}
		if sum > runs {
			low = scale
		} else {
			high = scale
		}
	}
	return high
}
