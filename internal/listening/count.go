package listening

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"reprise/internal/library"
)

// away is how long somebody must not have heard an artist who came back.
const away = 365 * daySeconds

// The marks of an artist, an album or a track.
const (
	ever uint8 = 1 << iota
	inBefore
	inSpan
	isNew
	isBack
)

// tally is one counting.
type tally struct {
	q     Question
	music *Music
	pick  *Picker
	clock clock

	from, to          int64 // Unix seconds
	before, beforeEnd int64 // the span before, up to where the span itself has come
	mark              []uint8
	last              []uint32 // when it was heard last, in Unix seconds
	now, prior, time  []uint32 // listens in the span, listens in the span before, seconds in the span
	kind              []kind
	away              map[uint32]uint32

	a            Answer
	known, guess [2]int64 // seconds of known lengths, and listens without one, in the span and before it
	days         []DayCount
	run          Run
	today        int64
	earlier      []Anniversary
	at           int // in earlier
	plays        map[uint32]int
	sources      map[library.ConnectionID]*Source
	leaders      *leaders // nil unless the question asks for them
}

type kind uint8

const (
	artist kind = iota + 1
	album
	track
)

// Count answers a question about all listens of a person, whose columns are in order of time.
func Count(all []*Columns, music *Music, q Question) Answer {
	q.Most = cmp.Or(q.Most, 10)
	n := int(music.last) + 1
	t := &tally{q: q, music: music, clock: clock{zone: q.Now.Location()}, mark: make([]uint8, n),
		last: make([]uint32, n), now: make([]uint32, n), prior: make([]uint32, n), time: make([]uint32, n),
		kind: make([]kind, n), away: map[uint32]uint32{}, sources: map[library.ConnectionID]*Source{}}
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
	wanted := t.pick.source(c)
	var told, only [mostSources]int
	for i, offset := range c.At {
		at := c.Start + int64(offset)
		v := t.music.of(c.Spelling[i])
		day, second := t.clock.day(at)
		fits := c.Sources[i]&wanted == wanted && t.pick.fits(c.Spelling[i], day, second)
		if !fits && t.q.Bare {
			continue
		}
		t.listen(v, at, fits)
		if !fits {
			continue
		}
		t.selected(v, at, day)
		if at < t.from || at >= t.to {
			continue
		}
		t.a.Hours[weekday(day)][second/3600]++
		for rest := c.Sources[i]; rest != 0; rest &= rest - 1 {
			told[bits.TrailingZeros16(rest)]++
		}
		if one := c.Sources[i]; bits.OnesCount16(one) == 1 {
			only[bits.TrailingZeros16(one)]++
		}
	}
	for i, id := range c.From {
		if told[i] == 0 {
			continue
		}
		if t.sources[id] == nil {
			t.sources[id] = &Source{Connection: id}
		}
		t.sources[id].Listens += told[i]
		t.sources[id].Only += only[i]
	}
}

// listen counts one listen for its track, its album and its artists.
func (t *tally) listen(v meaning, at int64, fits bool) {
	in, before := at >= t.from && at < t.to && fits, at >= t.before && at < t.beforeEnd && fits
	count := func(id uint32, k kind) {
		if id == 0 {
			return
		}
		if t.mark[id]&ever == 0 {
			t.mark[id] |= ever
			t.kind[id] = k
			if in {
				t.mark[id] |= isNew
			} else if before {
				t.fresh(&t.a.Before, k)
			}
		} else if since := at - int64(t.last[id]); in && k == artist && since >= away && t.mark[id]&isBack == 0 {
			t.mark[id] |= isBack
			t.away[id] = uint32(since)
		}
		t.last[id] = uint32(at)
		if in {
			t.mark[id] |= inSpan
			t.now[id]++
			t.time[id] += v.seconds
		} else if before {
			t.mark[id] |= inBefore
			t.prior[id]++
		}
	}
	count(v.track, track)
	count(v.album, album)
	for _, id := range t.music.artistsOf(v) {
		count(id, artist)
	}
	if in {
		t.a.Totals.Listens++
		t.length(0, v)
	} else if before {
		t.a.Before.Listens++
		t.length(1, v)
	}
}

func (t *tally) length(which int, v meaning) {
	if v.seconds == 0 {
		t.guess[which]++
	}
	t.known[which] += int64(v.seconds)
}

// fresh counts something that was heard for the first time.
func (t *tally) fresh(in *Totals, k kind) {
	switch k {
	case artist:
		in.NewArtists++
	case album:
		in.NewAlbums++
	case track:
		in.NewTracks++
	}
}

// selected notes when the listens are that the filter selects.
func (t *tally) selected(v meaning, at, day int64) {
	if t.a.First.IsZero() {
		t.a.First = time.Unix(at, 0).UTC()
	}
	t.a.Last = time.Unix(at, 0).UTC()
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
		if v.track != 0 {
			t.plays[v.track]++
			if e.Track == 0 || t.plays[v.track] > t.plays[e.Track] {
				e.Track = v.track
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
	lists := map[kind]*[]Row{artist: &a.Artists, album: &a.Albums, track: &a.Tracks}
	distinct := map[kind][2]*int{artist: {&a.Totals.Artists, &a.Before.Artists},
		album: {&a.Totals.Albums, &a.Before.Albums}, track: {&a.Totals.Tracks, &a.Before.Tracks}}
	for id, marks := range t.mark {
		if marks&(inSpan|inBefore) == 0 {
			continue
		}
		k := t.kind[id]
		if marks&inBefore != 0 {
			*distinct[k][1]++
		}
		if marks&inSpan == 0 {
			continue
		}
		*distinct[k][0]++
		row := Row{ID: uint32(id), Listens: int(t.now[id]), Before: int(t.prior[id]),
			Time: time.Duration(t.time[id]) * time.Second}
		*lists[k] = append(*lists[k], row)
		if marks&isNew != 0 {
			t.fresh(&a.Totals, k)
			if k == artist {
				a.New = append(a.New, row)
				if t.q.Lead {
					a.Stayed = append(a.Stayed, row)
				}
			}
		}
		if marks&isBack != 0 {
			row.Away = time.Duration(t.away[uint32(id)]) * time.Second
			a.Back = append(a.Back, row)
		}
	}
	for _, rows := range []*[]Row{&a.Artists, &a.Albums, &a.Tracks, &a.New, &a.Back} {
		*rows = most(*rows, t.q.Most)
	}
	a.Totals.Time, a.Totals.Guessed = estimate(t.known[0], a.Totals.Listens, t.guess[0]), int(t.guess[0])
	a.Before.Time, a.Before.Guessed = estimate(t.known[1], a.Before.Listens, t.guess[1]), int(t.guess[1])
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
	slices.SortFunc(a.Sources, func(x, y Source) int {
		return cmp.Or(y.Listens-x.Listens, cmp.Compare(x.Connection, y.Connection))
	})
	for _, e := range slices.Backward(t.earlier) {
		if e.Listens > 0 {
			a.Earlier = append(a.Earlier, e)
		}
	}
	t.over(all)
	t.stayed()
	return *a
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
	slices.SortFunc(rows, func(x, y Row) int { return cmp.Or(y.Listens-x.Listens, cmp.Compare(x.ID, y.ID)) })
	if len(rows) > n {
		rows = rows[:n:n]
	}
	return rows
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
	index := make([]int, last-first+1) // of the piece of each day
	for day := first; day <= last; {
		piece, err := NewSpan(a.Unit, Date(day))
		if err != nil {
			return
		}
		for end := DayOf(piece.To); day < end && day <= last; day++ {
			index[day-first] = len(a.Over)
		}
		a.Over = append(a.Over, Piece{From: piece.From, By: make([]int, min(Stacked, len(a.Artists)))})
	}
	for _, d := range a.Days {
		a.Over[index[d.Day-first]].Listens += d.Listens
	}
	t.stack(all, func(day int64) *Piece { return &a.Over[index[day-first]] })
}
