// Package ledger says how complete a history is: month by month, which plays a service has, which of them are here, and
// what proves it. It compares, decides what to compare next, and judges; it reads and stores nothing.
//
// A month is proven when the service counts as many plays as it has reported here, or when every play that it listed at
// a reading is here. What a service has no more is kept, and believed to be gone only when two readings a day or more
// apart say so: a page that was cut off looks the same.
package ledger

import (
	"cmp"
	"slices"
	"time"

	"reprise/internal/library"
	"reprise/internal/music"
)

// shift is how far a service may have moved a play, as with a wrong time zone, for it to be taken for the same one.
const shift = 26 * time.Hour

// Difference is how a month that a service lists differs from what it has reported before.
type Difference struct {
	Missing []library.Listen // it lists them, and they are not here
	Renamed int              // it lists them under another name or at another time
	Gone    []string         // the ids of those that it does not list, unless their person has deleted them
}

// Compare compares what a service lists of a time with what it has reported of it before. known says which of the
// listed ids are here, whenever they are said to have been played.
//
// A play that is listed with another id than before is not missing: with the same names, within a day or so, it was
// moved, and in the same second it was renamed.
func Compare(there []library.Listen, here []library.Reported, known map[string]bool) (d Difference) {
	listed := make(map[string]bool, len(there))
	for i := range there {
		listed[there[i].SourceID] = true
	}
	gone := slices.DeleteFunc(slices.Clone(here), func(r library.Reported) bool { return listed[r.ID] })
	fresh := unique(there)
	fresh = slices.DeleteFunc(fresh, func(l library.Listen) bool { return known[l.SourceID] })
	taken, songs := make([]bool, len(gone)), make([]int64, len(gone))
	for i, r := range gone {
		songs[i] = music.MatchKey(r.Title, music.Indexed(r.Artist))
	}
	moved := func(l library.Listen) func(int) bool {
		song := music.MatchKey(l.Title, music.Indexed(l.Artist))
		return func(i int) bool { return songs[i] == song && gone[i].At.Sub(l.PlayedAt).Abs() <= shift }
	}
	renamed := func(l library.Listen) func(int) bool {
		return func(i int) bool { return gone[i].At.Unix() == l.PlayedAt.Unix() }
	}
	d.Missing = fresh
	for _, as := range []func(library.Listen) func(int) bool{moved, renamed} {
		d.Missing = slices.DeleteFunc(d.Missing, func(l library.Listen) bool {
			same := as(l)
			for i := range gone {
				if !taken[i] && same(i) {
					taken[i] = true
					d.Renamed++
					return true
				}
			}
			return false
		})
	}
	for i, r := range gone {
		if !taken[i] && !r.Removed {
			d.Gone = append(d.Gone, r.ID)
		}
	}
	slices.Sort(d.Gone)
	return d
}

// few is how many plays of a month that was compared before may turn up without a question.
const few = 100

// Sudden reports whether so many plays turn up in a month that the person must be asked before they are stored: after
// accounts were merged, they could be another person's. It is false for the first comparison, because what is missing
// then was just never read.
func Sudden(a library.Audit, missing int) bool {
	return a.Compared() && !a.Take && missing > max(few, a.Here/2)
}

// Undecided returns the ids of plays that a service no longer has and about which their person has not decided.
func Undecided(a library.Audit) []string { return Without(a.Gone, a.Decided) }

// Asks reports whether a person has to decide about a month.
func Asks(a library.Audit) bool { return len(Undecided(a)) > 0 || len(a.Held) > 0 }

// unique returns plays, each id once.
func unique(all []library.Listen) []library.Listen {
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(slices.Clone(all), func(l library.Listen) bool {
		before := seen[l.SourceID]
		seen[l.SourceID] = true
		return before
	})
}

// Without returns the ids of a list that are in none of the others, which have to be sorted.
func Without(ids []string, others ...[]string) (rest []string) {
	for _, id := range ids {
		if !slices.ContainsFunc(others, func(other []string) bool {
			_, in := slices.BinarySearch(other, id)
			return in
		}) {
			rest = append(rest, id)
		}
	}
	return rest
}

// Suspects notes which plays a service did not list at a reading. Those that it did not list a day ago either are gone.
func Suspects(a *library.Audit, missing []string, now time.Time) {
	a.Gone = Both(a.Gone, missing)
	switch {
	case len(a.Suspect) == 0:
		a.Suspect, a.SuspectAt = missing, now
	case now.Sub(a.SuspectAt) >= soonest:
		a.Gone = slices.Compact(slices.Sorted(slices.Values(append(a.Gone, Both(a.Suspect, missing)...))))
		a.Suspect, a.SuspectAt = missing, now
	default:
		a.Suspect = Both(a.Suspect, missing)
	}
}

// Both returns the ids that are in both lists. The second one has to be sorted.
func Both(a, b []string) (both []string) {
	for _, id := range a {
		if _, in := slices.BinarySearch(b, id); in {
			both = append(both, id)
		}
	}
	return both
}

// Days counts the plays of a month by day: those that a service lists, and those of them that are here.
func Days(there []library.Listen, here []library.Reported, month library.Month) (all []library.DayCount) {
	if month == library.Before {
		return nil
	}
	var of [32]library.DayCount
	for _, l := range unique(there) {
		of[l.PlayedAt.UTC().Day()].There++
	}
	for _, r := range here {
		of[r.At.UTC().Day()].Here++
	}
	for day, n := range of {
		if n.There+n.Here > 0 {
			n.Day = day
			all = append(all, n)
		}
	}
	return all
}

const (
	// yearBack is how many months are compared at once after an account was connected, and everything before the first
	// play; older ones in quiet hours.
	yearBack = 13
	// between is the shortest time between two comparisons of an account in quiet hours, so that decades take weeks.
	between = 30 * time.Minute
	// soonest and latest bound the time until a month is compared again. It is as long as the month had been over at
	// the comparison: what has not changed for a year seldom changes in the next one.
	soonest, latest = 24 * time.Hour, 180 * 24 * time.Hour
	// tries is how many days in a row a month is read when a service lists fewer plays than it counts.
	tries = 3
	// QuietFrom and QuietTo are the hours of the night in which months are compared, by the person's clock.
	QuietFrom, QuietTo = 1, 6
)

// Lateness is how late a play usually reaches a service: the latest plays are not compared yet.
const Lateness = 24 * time.Hour

// Latest returns the latest month that can be compared.
func Latest(now time.Time) library.Month { return library.MonthOf(now.Add(-Lateness)) }

// Next returns the month of a history to compare now. If there is none, it returns when to ask again.
func Next(all []library.Audit, now time.Time, zone *time.Location) (due library.Audit, ok bool, ask time.Time) {
	newest, hour := Latest(now), now.In(zone).Hour()
	quiet := hour >= QuietFrom && hour < QuietTo
	audits := slices.DeleteFunc(slices.Clone(all), func(a library.Audit) bool { return a.Month > newest })
	var last time.Time
	for _, a := range audits {
		if a.Counted == library.NotKept { // it may be another version one day
			return a, !againAt(a).After(now), againAt(a)
		}
		if a.Wanted {
			return a, true, now
		}
		if a.CheckedAt.After(last) {
			last = a.CheckedAt
		}
	}
	slices.SortFunc(audits, func(a, b library.Audit) int {
		return cmp.Or(againAt(a).Compare(againAt(b)), cmp.Compare(b.Month, a.Month))
	})
	for _, a := range audits {
		recent := a.Month > newest-yearBack || a.Month == library.Before
		if recent && !a.Compared() && !againAt(a).After(now) {
			return a, true, now
		}
	}
	if quiet && !last.Add(between).After(now) {
		for _, a := range audits {
			if !againAt(a).After(now) {
				return a, true, now
			}
		}
	}
	if quiet {
		return due, false, now.Add(between)
	}
	return due, false, nextQuiet(now, zone)
}

// nextQuiet returns when the next night's quiet hours begin.
func nextQuiet(now time.Time, zone *time.Location) time.Time {
	local := now.In(zone)
	at := time.Date(local.Year(), local.Month(), local.Day(), QuietFrom, 0, 0, 0, zone)
	if !at.After(now) {
		at = time.Date(local.Year(), local.Month(), local.Day()+1, QuietFrom, 0, 0, 0, zone)
	}
	return at
}

// againAt returns when to compare a month again; the zero time if it never was.
func againAt(a library.Audit) time.Time {
	at := time.Time{}
	if a.Compared() {
		wait := latest
		if a.Month != library.Before {
			wait = min(max(a.CheckedAt.Sub(a.Month.End()), soonest), latest)
		}
		if a.Counted == library.NotKept || len(a.Suspect) > len(a.Gone) || a.Short > 0 && a.Tries < tries {
			wait = soonest
		}
		at = a.CheckedAt.Add(wait)
	}
	if failed := a.FailedAt.Add(soonest); !a.FailedAt.IsZero() && failed.After(at) {
		at = failed
	}
	return at
}
