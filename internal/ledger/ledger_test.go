package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

var march = library.Month(2026*12 + 2)

// heard returns a play that a service lists, and the same one as it was reported.
func heard(title string, at time.Time) (library.Listen, library.Reported) {
	id := fmt.Sprint(at.Unix(), ":", title)
	return library.Listen{Track: library.Track{Title: title, Artist: "Nina"}, SourceID: id, PlayedAt: at},
		library.Reported{ID: id, At: at, Title: title, Artist: "Nina"}
}

func TestWhatDiffersIsMissingMovedRenamedOrGone(t *testing.T) {
	at := march.Start()
	listed, _ := heard("Sinnerman", at)
	known, here := heard("Feeling Good", at.Add(time.Hour))
	_, was := heard("Suzane", at.Add(2*time.Hour))
	is, _ := heard("Suzanne", at.Add(2*time.Hour))
	_, early := heard("I Put a Spell on You", at.Add(3*time.Hour))
	late, _ := heard("I put a spell on you", at.Add(4*time.Hour))
	_, gone := heard("Baltimore", at.Add(5*time.Hour))
	_, deleted := heard("Wild Is the Wind", at.Add(6*time.Hour))
	deleted.Removed = true
	d := Compare([]library.Listen{listed, listed, known, is, late},
		[]library.Reported{here, was, early, gone, deleted}, map[string]bool{here.ID: true})
	require.Equal(t, Difference{Missing: []library.Listen{listed}, Renamed: 2, Gone: []string{gone.ID}}, d)
}

func TestHalfAMillionPlaysHaveNoFalseHole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2005, 1, 1, 0, 0, 0, 0, time.UTC)
	var there []library.Listen
	var here []library.Reported
	known := map[string]bool{}
	month := library.MonthOf(at)
	for range 500_000 {
		at = at.Add(time.Duration(random.IntN(2600)) * time.Second)
		if m := library.MonthOf(at); m != month {
			d := Compare(there, here, known)
			require.Equal(t, Difference{Missing: d.Missing[:0]}, d, month.String())
			there, here, known, month = nil, nil, map[string]bool{}, m
		}
		l, r := heard(fmt.Sprint("song ", random.IntN(300)), at)
		there, here = append(there, l), append(here, r)
		known[r.ID] = true
	}
}

func TestMonthsAreComparedWhenTheyMayHaveChanged(t *testing.T) {
	now := time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)
	night := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC)
	audits := func(checked time.Time) (all []library.Audit) {
		for m := library.MonthOf(now); m > library.MonthOf(now)-40; m-- {
			all = append(all, library.Audit{Month: m, CheckedAt: checked})
		}
		return append(all, library.Audit{Month: library.Before, CheckedAt: checked})
	}
	a, due, _ := Next(audits(time.Time{}), now, time.UTC)
	require.True(t, due)
	require.Equal(t, library.MonthOf(now), a.Month, "the latest first, at any hour")

	year := audits(time.Time{})
	for i := range year {
		if i < 13 || i == 40 {
			year[i].CheckedAt = now.Add(-time.Hour)
		}
	}
	_, due, ask := Next(year, now, time.UTC)
	require.False(t, due, "older months wait for the night")
	require.Equal(t, time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC), ask)
	_, due, _ = Next(year, now, time.FixedZone("far", -11*3600))
	require.True(t, due, "which is the person's")

	checked := audits(night.Add(-100 * 24 * time.Hour))
	counts := 0
	for range 60 {
		a, due, _ := Next(checked, night.Add(time.Duration(counts)*between), time.UTC)
		if !due || counts > 8 {
			break
		}
		for i := range checked {
			if checked[i].Month == a.Month {
				checked[i].CheckedAt = night.Add(time.Duration(counts) * between)
			}
		}
		counts++
	}
	require.LessOrEqual(t, counts, 8, "what was over for years is not compared every few months")
	wanted := audits(now)
	wanted[20].Wanted = true
	a, due, _ = Next(wanted, now, time.UTC)
	require.True(t, due)
	require.Equal(t, wanted[20].Month, a.Month)
}

func TestOtherHistoriesAreJudgedByWhenTheyWereRead(t *testing.T) {
	now := time.Date(2026, 11, 20, 14, 0, 0, 0, time.UTC)
	l := library.Ledger{Connection: "spotify", Since: time.Date(2026, 5, 10, 0, 0, 0, 0, time.UTC), Read: now,
		Gaps: []library.Gap{{From: now.AddDate(0, -3, 0), To: now, LostTo: now.AddDate(0, -3, 4)}}}
	state := func(year, month int) State { return Judge(l, library.Month(year*12+month-1), now).State }
	require.Equal(t, []State{Live, Lost, Live, Part, Unknown},
		[]State{state(2026, 11), state(2026, 8), state(2026, 6), state(2026, 5), state(2026, 4)})
	require.Equal(t, Whole{Since: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)}, WholeOf([]library.Ledger{l}, now))

	lost := l.Gaps
	l.Gaps = nil
	require.Equal(t, l.Since, WholeOf([]library.Ledger{l}, now).Since)
	l.Files = []library.Span{{After: time.Date(2019, 2, 3, 0, 0, 0, 0, time.UTC),
		Before: time.Date(2026, 5, 8, 0, 0, 0, 0, time.UTC)}}
	require.Equal(t, []State{Imported, Imported, Part, Unknown},
		[]State{state(2026, 4), state(2019, 3), state(2019, 2), state(2019, 1)})
	require.Equal(t, l.Files[0].After, WholeOf([]library.Ledger{l}, now).Since)

	l.Gaps = lost
	require.Equal(t, Lost, state(2026, 8))
	l.Files = append(l.Files, library.Span{After: lost[0].From, Before: lost[0].LostTo})
	require.Equal(t, Live, state(2026, 8), "an export covers what was lost")
	l.Read = now.AddDate(0, 0, -10)
	require.Equal(t, Pending, state(2026, 11), "it ended in between")
	require.Equal(t, Whole{Since: l.Files[0].After, Until: l.Read}, WholeOf([]library.Ledger{l}, now))
	require.Equal(t, Whole{}, WholeOf([]library.Ledger{l, {Connection: "lastfm"}}, now), "one was never read")
}

func TestPlaysAreGoneAfterTwoReadingsADayApart(t *testing.T) {
	a, now := library.Audit{}, march.Start()
	Suspects(&a, []string{"a", "b", "c"}, now)
	Suspects(&a, []string{"a", "b", "d"}, now.Add(time.Minute))
	require.Empty(t, a.Gone, "the service has a bad minute")
	Suspects(&a, []string{"a", "b", "d"}, now.Add(25*time.Hour))
	require.Equal(t, []string{"a", "b"}, a.Gone)
	require.True(t, Asks(a))
	a.Decided = []string{"a", "b"}
	require.False(t, Asks(a))
	Suspects(&a, []string{"b", "d"}, now.Add(50*time.Hour))
	require.Equal(t, []string{"b", "d"}, a.Gone)
	require.Equal(t, []string{"d"}, Undecided(a), "nobody is asked twice")
	Suspects(&a, nil, now.Add(80*time.Hour))
	require.Empty(t, a.Gone)
}

func TestSourcesTogetherAreAsCompleteAsTheWorst(t *testing.T) {
	now := time.Date(2026, 3, 20, 14, 0, 0, 0, time.UTC)
	audited := func(conn library.ConnectionID, months int) library.Ledger {
		l := library.Ledger{Connection: conn, Since: now, Read: now}
		for m := march; m > march-library.Month(months); m-- {
			l.Audits = append(l.Audits, library.Audit{Month: m, Counted: 10, Listed: -1, Here: 10, CheckedAt: now})
		}
		l.Audits = append(l.Audits, library.Audit{CheckedAt: now})
		return l
	}
	long, short := audited("lastfm", 30), audited("listenbrainz", 3)
	both := []library.Ledger{long, short}
	require.Equal(t, Empty, Judge(short, march-10, now).State)
	require.Equal(t, (march - 29).Start(), WholeOf(both, now).Since,
		"before its first play, a source has nothing to miss")
	require.Equal(t, march-29, First(both, now))
	april := time.Date(2026, 4, 1, 10, 0, 0, 0, time.UTC)
	begun := long
	begun.Read = april
	begun.Audits = append([]library.Audit{{Month: march + 1, Counted: -1, Listed: -1}}, long.Audits...)
	require.Equal(t, (march - 29).Start(), WholeOf([]library.Ledger{begun}, april).Since,
		"a month that has just begun can't be compared yet")
	earlier := long
	earlier.Audits = slices.Clone(long.Audits)
	earlier.Audits[30].Held = []string{"x"}
	require.Equal(t, Held, Judge(earlier, march-40, now).State)
	require.Equal(t, (march - 29).Start(), WholeOf([]library.Ledger{earlier}, now).Since)
	long.Audits[12].Short = 3
	require.Equal(t, (march - 11).Start(), WholeOf(both, now).Since)
	long.Audits[0].CheckedAt = time.Time{}
	require.Equal(t, Whole{}, WholeOf(both, now))
}
