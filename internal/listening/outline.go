package listening

import (
	"slices"
	"time"
)

// pause is how much silence ends a session, in seconds.
const pause = 30 * 60

// Outline divides listens into days and sessions.
type Outline struct {
	music    *Music
	clock    clock
	days     map[int64]*amount
	sessions []Session
}

// Session is a run of listens without half an hour of silence between them.
type Session struct {
	From, To int64 // Unix seconds of its first and its last listen
	Listens  int
	Time     time.Duration // how long its tracks last together, as that of a day

	until int64 // when the last of its tracks ended, in Unix seconds
	heard amount
}

// amount counts listens, and the seconds of those with a known length.
type amount struct{ listens, unknown, seconds int64 }

func (a *amount) add(seconds uint32) {
	a.listens++
	a.seconds += int64(seconds)
	if seconds == 0 {
		a.unknown++
	}
}

// time returns how long that was. A track of unknown length counts as long as the others do on average.
func (a *amount) time() time.Duration { return estimate(a.seconds, int(a.listens), a.unknown) }

// NewOutline returns an empty Outline, whose days are those of a zone.
func NewOutline(music *Music, zone *time.Location) *Outline {
	return &Outline{music: music, clock: clock{zone: zone}, days: map[int64]*amount{}}
}

// Add adds a listen at a time in Unix seconds. Listens must be added in order of time.
func (o *Outline) Add(at int64, spelling uint32) {
	v := o.music.of(spelling)
	day, _ := o.clock.day(at)
	if o.days[day] == nil {
		o.days[day] = &amount{}
	}
	o.days[day].add(v.seconds)
	length := int64(v.seconds)
	if length == 0 {
		length = usual
	}
	n := len(o.sessions) - 1
	if n < 0 || at > o.sessions[n].until+pause {
		o.sessions = append(o.sessions, Session{From: at})
		n++
	}
	s := &o.sessions[n]
	s.To = at
	s.until = max(s.until, at+length)
	s.heard.add(v.seconds)
	s.Listens, s.Time = int(s.heard.listens), s.heard.time()
}

// Day returns how much was heard on the day of a time.
func (o *Outline) Day(at time.Time) (listens int, took time.Duration) {
	day, _ := o.clock.day(at.Unix())
	a := o.days[day]
	if a == nil {
		return 0, 0
	}
	return int(a.listens), a.time()
}

// Session returns the session of the listen at a time, and its index; -1 if there is none.
func (o *Outline) Session(at time.Time) (Session, int) {
	t := at.Unix()
	i, _ := slices.BinarySearchFunc(o.sessions, t, func(s Session, t int64) int {
		if s.To < t {
			return -1
		}
		return 1
	})
	if i == len(o.sessions) || o.sessions[i].From > t {
		return Session{}, -1
	}
	return o.sessions[i], i
}
