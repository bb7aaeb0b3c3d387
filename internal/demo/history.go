package demo

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"time"
)

const (
	historyDays = 3 * 365 // by default
	runLength   = 8       // plays of a day with music, on average, in a small history
)

// play is a track at an instant. A history is sorted by at, oldest first; 100,000 plays are 1.6 MB.
type play struct {
	at    int64 // Unix milliseconds, the start
	track int32
	home  bool // played on Navidrome, not on Spotify
}

func (p play) seconds() int64 { return p.at / 1000 }

// teller makes up a history.
type teller struct {
	cat     *catalog
	rnd     *rand.Rand
	days    int   // the length of the history
	ranking []int // albums by how much this person likes them, best first
	weights []float64
}

func newTeller(cat *catalog, o *Options, person uint64) *teller {
	t := &teller{cat: cat, rnd: rand.New(rand.NewPCG(o.Seed, person)), days: cmp.Or(o.Days, historyDays)}
	t.ranking = t.rnd.Perm(len(cat.albums))
	sum := 0.0
	for i := range t.ranking {
		sum += 1 / float64(i+4) // a few favourites, a long tail
		t.weights = append(t.weights, sum)
	}
	return t
}

func (t *teller) album() *album {
	x := t.rnd.Float64() * t.weights[len(t.weights)-1]
	return &t.cat.albums[t.ranking[sort.SearchFloat64s(t.weights, x)]]
}

func (t *teller) track() int {
	a := t.album()
	return a.tracks[t.rnd.IntN(len(a.tracks))]
}

// slot is a time of the day at which somebody puts music on.
type slot struct {
	hour, minute int
	home         bool
}

var (
	workday = []slot{{7, 35, false}, {17, 40, false}, {20, 30, true}}
	weekend = []slot{{10, 15, true}, {15, 0, false}, {20, 50, true}}
)

// history returns exactly n plays of the years before now.
func (t *teller) history(n int, now time.Time) []play {
	first := time.Date(now.Year(), now.Month(), now.Day()-t.days, 0, 0, 0, 0, now.Location())
	days, total := t.appetite(n, first)
	plays := make([]play, 0, n)
	sum := 0.0
	for i, w := range days {
		sum += w
		due := int(sum/total*float64(n)+0.5) - len(plays)
		plays = t.day(plays, first.AddDate(0, 0, i), due)
	}
	// What would be played later today was played before the first day instead.
	limit := now.Add(-time.Minute).UnixMilli()
	end := slices.IndexFunc(plays, func(p play) bool { return p.at+t.length(p) > limit })
	if end < 0 {
		end = len(plays)
	}
	plays = plays[:end]
	var older []play
	for at := first; len(plays)+len(older) < n; {
		before := len(older)
		at = at.AddDate(0, 0, -1)
		older = t.session(older, at.Add(20*time.Hour).UnixMilli(), min(runLength, n-len(plays)-before), true)
		slices.SortStableFunc(older, byTime)
	}
	return append(older, plays...)
}

func byTime(a, b play) int { return cmp.Compare(a.at, b.at) }

func (t *teller) length(p play) int64 { return t.cat.tracks[p.track].duration.Milliseconds() }

// appetite says how much music each day has, and the sum. Little music a day means days without any, not days with one
// song.
func (t *teller) appetite(n int, first time.Time) (days []float64, total float64) {
	chance := min(1, float64(n)/float64(t.days)/runLength)
	for i := range t.days + 1 {
		w := 0.5 + t.rnd.Float64()
		if wd := first.AddDate(0, 0, i).Weekday(); wd == time.Saturday || wd == time.Sunday {
			w *= 1.6
		}
		if t.rnd.Float64() > chance {
			w = 0
		}
		days = append(days, w)
		total += w
	}
	return days, total
}

// day appends n plays of the day that starts at midnight, in the order of time.
func (t *teller) day(plays []play, midnight time.Time, n int) []play {
	slots := workday
	if wd := midnight.Weekday(); wd == time.Saturday || wd == time.Sunday {
		slots = weekend
	}
	if n < runLength { // one session is enough, the evening most likely
		k := min(len(slots)-1, t.rnd.IntN(len(slots)+1))
		slots = slots[k : k+1]
	}
	for i, s := range slots {
		share := n / (len(slots) - i)
		n -= share
		start := midnight.Add(time.Duration(s.hour)*time.Hour + time.Duration(s.minute)*time.Minute)
		at := start.Add(time.Duration(t.rnd.IntN(40)) * time.Minute).UnixMilli()
		if len(plays) > 0 {
			last := plays[len(plays)-1]
			at = max(at, last.at+t.length(last)+int64(1000+t.rnd.IntN(60_000)))
		}
		plays = t.session(plays, at, share, s.home)
	}
	return plays
}

// session appends n plays one after the other: whole albums mostly, else a mix.
func (t *teller) session(plays []play, at int64, n int, home bool) []play {
	for n > 0 {
		tracks := t.album().tracks
		if t.rnd.IntN(10) < 4 {
			tracks = []int{t.track(), t.track(), t.track()}
		}
		for _, id := range tracks[:min(n, len(tracks))] {
			plays = append(plays, play{at: at, track: int32(id), home: home && t.cat.albumOf(id).local})
			at += t.cat.tracks[id].duration.Milliseconds() + int64(t.rnd.IntN(3000))
			n--
		}
	}
	return plays
}
