package listening

import (
	"cmp"
	"slices"
	"time"

	"reprise/internal/library"
)

// away is how long somebody must not have heard an artist who came back.
const away = 365 * daySeconds

// tally is one counting.
type tally struct {
	q     Question
	music *Music
	pick  *Picker
	clock clock

	from, to          int64             // Unix seconds
	before, beforeEnd int64             // the span before, up to where the span itself has come
	heard             []heard           // by spelling
	listens           uint32            // so far
	last              []uint32          // when each artist was heard last, in Unix seconds; 0 for never
	away              map[uint32]uint32 // for how many seconds the artists that came back were not heard
	first, final      int64             // the first and the last listen that the filter selects, in Unix seconds

	a       Answer
	days    []DayCount
	run     Run
	today   int64
	earlier []Anniversary
	at      int // in earlier
	plays   map[uint32]int
	sources map[library.ConnectionID]*Source
	players map[string]int
	leaders *leaders // nil unless the question asks for them
}

// Count answers a question about all listens of a person, whose columns are in order of time.
func Count(all []*Columns, music *Music, q Question) Answer {
	q.Most = cmp.Or(q.Most, 10)
	t := &tally{q: q, music: music, clock: clock{zone: q.Now.Location()}, heard: make([]heard, len(music.meanings)+1),
		last: make([]uint32, int(music.last)+1), away: map[uint32]uint32{},
		sources: map[library.ConnectionID]*Source{}, players: map[string]int{}}
	t.pick = NewPicker(q.Filter, music, q.Now.Location())
	t.from, t.to = q.Span.unix()
	t.before, t.beforeEnd = t.from, t.from
	if before, ok := q.Span.Before(); ok {
		t.before, _ = before.unix()
		if now := q.Now.Unix(); now > t.from && now < t.to {
			t.beforeEnd = min(t.from, t.before+now-t.from)
		}
	}
	t.today, _ = t.clock.day(q.Now.Unix())
	t.anniversaries()
	for _, c := range all {
		t.columns(c)
	}
	return t.answer(all)
}

// anniversaries notes this day in the earlier years.
func (t *tally) anniversaries() {
	date := Date(t.today)
	for year := 1970; year < date.Year(); year++ {
		on := time.Date(year, date.Month(), date.Day(), 0, 0, 0, 0, time.UTC)
		if on.Day() == date.Day() { // not every year has 29 February
			t.earlier = append(t.earlier, Anniversary{Day: DayOf(on)})
		}
	}
	t.plays = map[uint32]int{}
}

// columns counts the listens of one span of time.
func (t *tally) columns(c *Columns) {
	wanted := t.pick.sources(c)
	sets := make([]int, max(1, len(c.Sets)))
	for i, offset := range c.At {
		at := c.Start + int64(offset)
		day, second := t.clock.day(at)
		fits := wanted.has(c.Sources[i]) && t.pick.fits(c.Spelling[i], day, second)
		if !fits && t.q.Bare {
			continue
		}
		t.listen(c.Spelling[i], at, fits)
		if !fits {
			continue
		}
		t.selected(c.Spelling[i], at, day)
		if at < t.from || at >= t.to {
			continue
		}
		t.a.Hours[weekday(day)][second/3600]++
		sets[c.Sources[i]]++
	}
	for i, n := range sets {
		if n > 0 && i > 0 {
			t.origins(c, c.Sets[i], n)
		}
	}
}

// origins counts listens by the connections that reported them, and by player, each once.
func (t *tally) origins(c *Columns, set []uint16, n int) {
	first := c.From[set[0]].Connection
	only := !slices.ContainsFunc(set, func(i uint16) bool { return c.From[i].Connection != first })
	for at, i := range set {
		o, again, played := c.From[i], false, false
		for _, i := range set[:at] {
			again = again || c.From[i].Connection == o.Connection
			played = played || c.From[i].Player == o.Player
		}
		if !played && o.Player != "" {
			t.players[o.Player] += n
		}
		if again {
			continue
		}
		if t.sources[o.Connection] == nil {
			t.sources[o.Connection] = &Source{Connection: o.Connection}
		}
		t.sources[o.Connection].Listens += n
		if only {
			t.sources[o.Connection].Only += n
		}
	}
}

// listen counts one listen.
func (t *tally) listen(spelling uint32, at int64, fits bool) {
	in, before := at >= t.from && at < t.to && fits, at >= t.before && at < t.beforeEnd && fits
	t.listens++
	// The last one is for spellings without a meaning.
	h := &t.heard[min(int(spelling), len(t.heard)-1)]
	if h.first == 0 {
		h.first, h.isNew, h.wasNew = t.listens, in, before
	}
	if in {
		h.now++
	} else if before {
		h.prior++
	}
	if t.q.Bare {
		return
	}
	for _, id := range t.music.artistsOf(t.music.of(spelling)) {
		if last := t.last[id]; in && last != 0 && at-int64(last) >= away && t.away[id] == 0 {
			t.away[id] = uint32(at) - last
		}
		t.last[id] = uint32(at)
	}
}

// selected notes when the listens are that the filter selects.
func (t *tally) selected(spelling uint32, at, day int64) {
	if len(t.days) == 0 {
		t.first = at
	}
	t.final = at
	in := at >= t.from && at < t.to
	if n := len(t.days); n == 0 || t.days[n-1].Day != day {
		if n == 0 || t.days[n-1].Day != day-1 {
			t.run = Run{First: day}
		}
		t.run.Days++
		t.days = append(t.days, DayCount{Day: day})
	}
	if in {
		t.days[len(t.days)-1].Listens++
		// Of a run that began before the span only the days in it count.
		if first := max(t.run.First, t.firstDay()); day-first+1 > t.a.Longest.Days {
			t.a.Longest = Run{First: first, Days: day - first + 1}
		}
	}
	for t.at < len(t.earlier) && t.earlier[t.at].Day < day {
		t.at++
		clear(t.plays)
	}
	if t.at < len(t.earlier) && t.earlier[t.at].Day == day {
		e := &t.earlier[t.at]
		e.Listens++
		if track := t.music.of(spelling).track; track != 0 {
			t.plays[track]++
			if e.Track == 0 || t.plays[track] > t.plays[e.Track] {
				e.Track = track
			}
		}
	}
}

// firstDay returns the first day of the span.
func (t *tally) firstDay() int64 {
	if t.q.Span.Name == All {
		return -1 << 62
	}
	return DayOf(t.q.Span.From)
}

// answer puts together what was counted.
func (t *tally) answer(all []*Columns) Answer {
	a := &t.a
	t.rows(t.things())
	for _, rows := range []*[]Row{&a.Artists, &a.Albums, &a.Tracks, &a.New, &a.Back} {
		*rows = most(*rows, t.q.Most)
	}
	if len(t.days) > 0 {
		a.First, a.Last = time.Unix(t.first, 0).UTC(), time.Unix(t.final, 0).UTC()
	}
	for _, d := range t.days {
		if d.Listens > 0 {
			a.Days = append(a.Days, d)
		}
	}
	if n := len(t.days); n > 0 && t.days[n-1].Day >= t.today-1 {
		a.Streak = t.run
	}
	for _, s := range t.sources {
		a.Sources = append(a.Sources, *s)
	}
	slices.SortStableFunc(a.Sources, func(x, y Source) int {
		return cmp.Or(y.Listens-x.Listens, cmp.Compare(x.Connection, y.Connection))
	})
	a.Players = t.played()
	for _, e := range slices.Backward(t.earlier) {
		if e.Listens > 0 {
			a.Earlier = append(a.Earlier, e)
		}
	}
	t.over(all)
	t.stayed()
	return *a
}

// mostPlayers is how many players an answer has unless the question asks for more.
const mostPlayers = 100

// played returns the players, the most used first.
func (t *tally) played() (all []Player) {
	for name, n := range t.players {
		all = append(all, Player{name, n})
	}
	slices.SortStableFunc(all, func(x, y Player) int {
		return cmp.Or(y.Listens-x.Listens, cmp.Compare(x.Name, y.Name))
	})
	return all[:min(len(all), max(mostPlayers, t.q.Most))]
}

// usual is how long a track is taken to be where no length is known at all: 3:30.
const usual = 210

// estimate returns how long listens took, some of which are of unknown length.
func estimate(seconds int64, listens int, unknown int64) time.Duration {
	if known := int64(listens) - unknown; known > 0 {
		seconds += unknown * seconds / known
	} else {
		seconds = unknown * usual
	}
	return time.Duration(seconds) * time.Second
}

// most returns the n rows with the most listens.
func most(rows []Row, n int) []Row {
	return Top(rows, n, func(x, y Row) int { return cmp.Or(y.Listens-x.Listens, cmp.Compare(x.ID, y.ID)) })
}

// over counts the pieces of the span: from its beginning to its end or today, without empty ones of all time at its
// ends.
func (t *tally) over(all []*Columns) {
	a := &t.a
	if len(a.Days) == 0 {
		return
	}
	span := t.q.Span
	first, last := a.Days[0].Day, a.Days[len(a.Days)-1].Day
	if span.Name != All {
		first, last = DayOf(span.From), min(DayOf(span.To)-1, max(t.today, last))
	} else {
		span = Span{From: Date(first), To: Date(last + 1)}
	}
	a.Unit = span.Unit()
	for _, row := range a.Artists[:min(mostStacked, len(a.Artists))] {
		a.Stacked = append(a.Stacked, row.ID)
	}
	if id := t.q.Highlight; id != 0 && !slices.Contains(a.Stacked, id) {
		a.Stacked = append(a.Stacked, id)
	}
	index := make([]int, last-first+1) // of the piece of each day
	for day := first; day <= last; {
		piece, err := NewSpan(a.Unit, Date(day))
		if err != nil {
			return
		}
		for end := DayOf(piece.To); day < end && day <= last; day++ {
			index[day-first] = len(a.Over)
		}
		a.Over = append(a.Over, Piece{From: piece.From, By: make([]int, len(a.Stacked))})
	}
	for _, d := range a.Days {
		a.Over[index[d.Day-first]].Listens += d.Listens
	}
	t.stack(all, func(day int64) *Piece { return &a.Over[index[day-first]] })
}
