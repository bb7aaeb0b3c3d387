package ledger

import (
	"cmp"
	"slices"
	"time"

	"reprise/internal/library"
)

// State is what is known of a month of a history.
type State string

// The states.
const (
	Proven   State = "proven"   // all that the service has is here
	Empty    State = "empty"    // the service has nothing, which is proven as well
	Live     State = "live"     // it was read as it was played, without a break
	Imported State = "imported" // an export covers it
	Part     State = "part"     // the same from some time of the month on
	Pending  State = "pending"  // it is still to be compared, or to be read
	Short    State = "short"    // the service counts more than it lists
	Gone     State = "gone"     // plays are here that the service has no more
	Held     State = "held"     // the service lists plays all of a sudden, about which their person decides
	Lost     State = "lost"     // plays were lost that the service no longer offers
	Unknown  State = "unknown"  // nothing says what was played
)

// States are all of them.
var States = []State{Proven, Empty, Live, Imported, Part, Pending, Short, Gone, Held, Lost, Unknown}

// Whole reports whether nothing of the month is missing.
func (s State) Whole() bool {
	switch s {
	case Proven, Empty, Live, Imported, Gone:
		return true
	}
	return false
}

// Cell is a month of a history, with what its state is concluded from.
type Cell struct {
	State State
	Audit library.Audit // of a history that can be compared
	Known bool          // there is an audit of the month, so that it can be compared
	Lost  []library.Gap // those of the month
	From  time.Time     // with Part
}

// Compared reports whether a history can be compared with the service.
func Compared(l library.Ledger) bool {
	if len(l.Audits) == 0 {
		return l.Kept
	}
	return l.Audits[len(l.Audits)-1].Counted != library.NotKept
}

// Judge returns what is known of a month of a history.
func Judge(l library.Ledger, m library.Month, now time.Time) Cell {
	if Compared(l) {
		return judgeAudit(l, m)
	}
	c := Cell{State: Unknown}
	if l.Read.IsZero() || !m.Start().Before(l.Read) || Stale(l, now) && l.Read.Before(m.End()) {
		c.State = Pending
		return c
	}
	for _, g := range LostOf(l) {
		if g.From.Before(m.End()) && g.LostTo.After(m.Start()) {
			c.Lost = append(c.Lost, g)
		}
	}
	start, file := covered(l, m)
	switch {
	case len(c.Lost) > 0:
		c.State = Lost
	case start.IsZero():
	case start.After(m.Start()):
		c.State, c.From = Part, start
	case file:
		c.State = Imported
	default:
		c.State = Live
	}
	return c
}

// LostOf returns the times whose plays were lost and that no imported export covers.
func LostOf(l library.Ledger) (lost []library.Gap) {
	for _, g := range l.Gaps {
		covers := func(f library.Span) bool { return !f.After.After(g.From) && !f.Before.Before(g.LostTo.Add(-Slack)) }
		if !g.LostTo.IsZero() && !slices.ContainsFunc(l.Files, covers) {
			lost = append(lost, g)
		}
	}
	return lost
}

func judgeAudit(l library.Ledger, m library.Month) (c Cell) {
	i, found := slices.BinarySearchFunc(l.Audits, m, func(a library.Audit, m library.Month) int {
		return cmp.Compare(m, a.Month) // the latest first
	})
	if found {
		return Cell{State: stateOf(l.Audits[i]), Audit: l.Audits[i], Known: true}
	}
	c.State = Pending
	if i > 0 && i < len(l.Audits) { // it is before the first, where the last of them tells of all
		c.State = stateOf(l.Audits[i])
	}
	return c
}

// stateOf returns what a comparison has shown.
func stateOf(a library.Audit) State {
	switch {
	case !a.Compared() && !a.FailedAt.IsZero():
		return Unknown
	case !a.Compared():
		return Pending
	case len(a.Held) > 0:
		return Held
	case len(Undecided(a)) > 0:
		return Gone
	case a.Short > 0 && a.Tries < tries:
		return Short
	case a.Plays() <= 0 && a.Here == 0:
		return Empty
	}
	return Proven
}

// covered returns the time from which everything up to the end of a month is here; zero if nothing says so. file
// reports whether it takes an imported export to say so.
func covered(l library.Ledger, m library.Month) (start time.Time, file bool) {
	start = m.End()
	if l.Since.Before(start) {
		start = l.Since
	}
	for again := true; again && start.After(m.Start()); {
		again = false
		for _, f := range l.Files {
			if f.After.Before(start) && !f.Before.Before(start.Add(-Slack)) {
				start, file, again = f.After, true, true
			}
		}
	}
	if start.Equal(m.End()) {
		return time.Time{}, false
	}
	return start, file
}

// Slack is how old an export's last play may be when the export is made.
const Slack = 7 * 24 * time.Hour

// Whole is how far back a person's histories are complete.
type Whole struct {
	Since time.Time // all that was played from then on is here; zero if not even the present month is
	Until time.Time // up to then; zero for now
}

// WholeOf returns how far back all histories are complete together. A source that is no longer read ends that.
func WholeOf(all []library.Ledger, now time.Time) (w Whole) {
	var first, since time.Time
	for _, l := range all {
		if l.Read.IsZero() {
			return Whole{}
		}
		if Stale(l, now) && (w.Until.IsZero() || l.Read.Before(w.Until)) {
			w.Until = l.Read
		}
		from, bounded := wholeSince(l, now)
		switch {
		case bounded && from.IsZero():
			return Whole{}
		case bounded && from.After(since):
			since = from
		case !bounded && !from.IsZero() && (first.IsZero() || from.Before(first)):
			first = from
		}
	}
	w.Since = since
	if since.IsZero() {
		w.Since = first
	}
	if !w.Until.IsZero() && w.Since.After(w.Until) {
		return Whole{}
	}
	return w
}

// staleAfter is how long a source may not have been read before that is worth saying.
const staleAfter = 48 * time.Hour

// Stale reports whether a history has been read, but not for days.
func Stale(l library.Ledger, now time.Time) bool {
	return !l.Read.IsZero() && now.Sub(l.Read) > staleAfter
}

// longest is how long a source may not have been read for others to stand in: after that it is simply not used.
const longest = 365 * 24 * time.Hour

// Missed returns between which times a source was read last that isn't read now, and whose plays may come through
// others meanwhile.
func Missed(now time.Time) library.Span {
	return library.Span{After: now.Add(-longest), Before: now.Add(-staleAfter)}
}

// wholeSince returns the time since which a history is complete. bounded reports whether plays before that may be
// missing; otherwise the history begins there.
func wholeSince(l library.Ledger, now time.Time) (since time.Time, bounded bool) {
	m, first := library.MonthOf(now), library.MonthOf(Beginning)
	if l.Read.Before(now) {
		m = library.MonthOf(l.Read.Add(-time.Millisecond))
	}
	if Compared(l) {
		m = min(m, Latest(now))
		if n := len(l.Audits); n > 1 {
			first = l.Audits[n-2].Month - 1 // what was before is one
		}
	} else if Stale(l, now) {
		m-- // it ends within that month
	}
	for ; m >= first; m-- {
		c := Judge(l, m, now)
		if c.State == Part {
			return c.From, true
		}
		if !c.State.Whole() {
			return since, true
		}
		if c.Known || !Compared(l) {
			since = m.Start()
		}
	}
	return since, false
}

// Beginning is before every play. Unlike the zero time it does not ask a service for all that it has.
var Beginning = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// firstOf returns the first month of the audits of a history; the one given if it is earlier.
func firstOf(audits []library.Audit, first library.Month) library.Month {
	for _, a := range audits {
		if a.Month != library.Before {
			first = min(first, a.Month)
		}
	}
	return first
}

// Bounds returns the first instant of a month of a history, and the first after it.
func Bounds(audits []library.Audit, m library.Month, now time.Time) (from, to time.Time) {
	if m == library.Before {
		return Beginning, firstOf(audits, library.MonthOf(now)).Start()
	}
	return m.Start(), m.End()
}

// First returns the first month that any history tells of; the present one without any.
func First(all []library.Ledger, now time.Time) library.Month {
	first := library.MonthOf(now)
	for _, l := range all {
		first = firstOf(l.Audits, first)
		if !l.Since.IsZero() {
			first = min(first, library.MonthOf(l.Since))
		}
		for _, f := range l.Files {
			first = min(first, library.MonthOf(f.After))
		}
	}
	return first
}
