package listening

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
)

// The numbers of some music: two tracks by one artist on an album, and one that two artists made together.
const (
	joga, bachelorette, together = 1, 2, 3
	homogenic                    = 4
	bjork, thom                  = 5, 6
)

func someMusic() *Music {
	return (&Music{}).With([]Meaning{
		{Spelling: 1, Track: joga, Album: homogenic, Artists: []uint32{bjork}, Length: 5 * time.Minute},
		{Spelling: 2, Track: bachelorette, Album: homogenic, Artists: []uint32{bjork}, Length: 5 * time.Minute},
		{Spelling: 3, Track: together, Artists: []uint32{bjork, thom}},
	})
}

// play is a listen to a spelling at a time.
type play struct {
	at       string
	spelling uint32
	from     []library.ConnectionID // with a player after a slash
}

func columnsOf(t *testing.T, zone *time.Location, plays ...play) []*Columns {
	t.Helper()
	b := NewBuilder(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Unix())
	for _, p := range plays {
		at, err := time.ParseInLocation("2006-01-02 15:04", p.at, zone)
		require.NoError(t, err)
		b.Add(at.Unix(), p.spelling)
		for _, id := range p.from {
			connection, player, _ := strings.Cut(string(id), "/")
			b.From(Origin{library.ConnectionID(connection), player})
		}
	}
	c := b.Columns()
	parsed, err := ParseColumns(c.Append(nil))
	require.NoError(t, err)
	require.Equal(t, c, parsed)
	return []*Columns{parsed}
}

func TestWhatWasHeardInAMonth(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	both := []library.ConnectionID{"spotify", "lastfm"}
	all := columnsOf(t, berlin,
		play{"2024-11-22 20:00", joga, both[:1]},
		play{"2026-09-30 23:59", joga, both[:1]},
		play{"2026-10-05 08:00", bachelorette, both[:1]},
		play{"2026-11-01 00:00", together, both},
		play{"2026-11-20 14:10", together, []library.ConnectionID{"lastfm/Strawberry", "lastfm"}},
		play{"2026-11-21 14:20", joga,
			[]library.ConnectionID{"lastfm/Rhythmbox", "spotify/Windows", "lastfm/Strawberry"}},
		play{"2026-11-22 14:30", together, both[:1]},
	)
	now := time.Date(2026, 11, 22, 15, 0, 0, 0, berlin)
	span, err := NewSpan(Month, now)
	require.NoError(t, err)
	a := Count(all, someMusic(), Question{Span: span, Now: now})
	require.Equal(t, Totals{Listens: 4, Time: 20 * time.Minute, Guessed: 3, Artists: 2, Albums: 1, Tracks: 2,
		NewArtists: 1, NewTracks: 1}, a.Totals)
	require.Equal(t, Totals{Listens: 1, Time: 5 * time.Minute, Artists: 1, Albums: 1, Tracks: 1, NewTracks: 1},
		a.Before, "of October up to the 22nd")
	require.Equal(t, []Row{{ID: bjork, Listens: 4, Before: 1, Time: 5 * time.Minute},
		{ID: thom, Listens: 3}}, a.Artists)
	require.Equal(t, []Row{{ID: thom, Listens: 3}}, a.New)
	require.Equal(t, Run{First: DayOf(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)), Days: 3}, a.Streak)
	require.Equal(t, a.Streak, a.Longest)
	require.Equal(t, 1, a.Hours[6][0], "midnight on Sunday the 1st")
	require.Equal(t, []Source{{"lastfm", 3, 1}, {"spotify", 3, 1}}, a.Sources)
	require.Equal(t, []Player{{"Strawberry", 2}, {"Rhythmbox", 1}, {"Windows", 1}}, a.Players)
	before := DayOf(time.Date(2024, 11, 22, 0, 0, 0, 0, time.UTC))
	require.Equal(t, []Anniversary{{Day: before, Listens: 1, Track: joga}}, a.Earlier)
	require.Equal(t, Day, a.Unit)
	require.Len(t, a.Over, 22, "to today")
	require.Equal(t, []int{1, 1}, a.Over[21].By)

	t.Run("by filter", func(t *testing.T) {
		for name, test := range map[string]struct {
			filter Filter
			want   int
		}{
			"artist": {Filter{Artist: thom}, 3}, "album": {Filter{Album: homogenic}, 1},
			"track": {Filter{Track: joga}, 1}, "nobody": {Filter{Artist: 99}, 0},
			"tag": {Filter{Tagged: map[uint32]bool{homogenic: true}}, 1}, "no such tag": {
				Filter{Tagged: map[uint32]bool{}}, 0},
			"hour": {Filter{Hours: 1 << 14}, 3}, "weekday": {Filter{Weekdays: 1 << 6}, 2},
			"source": {Filter{Source: "spotify"}, 3}, "unknown source": {Filter{Source: "youtube"}, 0},
			"player": {Filter{Player: "Strawberry"}, 2}, "another's player": {
				Filter{Player: "Strawberry", Source: "spotify"}, 0}, "unknown player": {Filter{Player: "VLC"}, 0},
		} {
			a := Count(all, someMusic(), Question{Span: span, Now: now, Filter: test.filter})
			require.Equal(t, test.want, a.Totals.Listens, name)
		}
	})
}

// A day has time until its end, so a streak lasts through the day after its last listen.
func TestAStreakLastsUntilADayIsMissed(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	all := columnsOf(t, berlin, play{"2026-10-01 12:00", joga, nil}, play{"2026-10-02 00:00", joga, nil},
		play{"2026-10-03 12:00", joga, nil}, play{"2026-10-26 12:00", joga, nil}, play{"2026-10-27 00:00", joga, nil},
		play{"2026-10-29 23:59", joga, nil}, play{"2026-10-30 00:00", joga, nil}, play{"2026-10-31 12:00", joga, nil},
		play{"2026-11-01 12:00", joga, nil}, play{"2026-11-02 12:00", joga, nil})
	on := func(text string) time.Time {
		at, err := time.ParseInLocation("2006-01-02 15:04", text, berlin)
		require.NoError(t, err)
		return at
	}
	count := func(name, in, now string) Answer {
		span, err := NewSpan(name, on(in))
		require.NoError(t, err)
		return Count(all, someMusic(), Question{Span: span, Now: on(now)})
	}
	start := DayOf(time.Date(2026, 10, 29, 0, 0, 0, 0, time.UTC))
	for now, want := range map[string]Run{"2026-11-02 13:00": {start, 5}, "2026-11-03 00:00": {start, 5},
		"2026-11-03 23:59": {start, 5}, "2026-11-04 00:00": {}} {
		require.Equal(t, want, count(Month, now, now).Streak, "%s: it began in October", now)
	}
	for _, test := range []struct { // of the longest, the first
		name, in string
		want     Run
	}{{Month, "2026-10-01 00:00", Run{start - 28, 3}}, {Month, "2026-11-01 00:00", Run{start + 3, 2}},
		{Year, "2026-11-01 00:00", Run{start, 5}}, {All, "2026-11-01 00:00", Run{start, 5}}} {
		require.Equal(t, test.want, count(test.name, test.in, "2026-11-02 13:00").Longest, "%s %s", test.name, test.in)
	}
}

// While a month lasts, it is compared with as much of the month before.
func TestAPartIsComparedWithAsMuchOfTheLast(t *testing.T) {
	all := columnsOf(t, time.UTC, play{"2026-01-31 23:59", joga, nil}, play{"2026-02-01 00:00", joga, nil},
		play{"2026-02-10 11:59", joga, nil}, play{"2026-02-10 12:00", joga, nil}, play{"2026-02-28 23:59", joga, nil},
		play{"2026-03-01 00:00", joga, nil}, play{"2026-03-09 12:00", joga, nil}, play{"2026-04-01 00:00", joga, nil})
	for _, test := range []struct {
		month             time.Month
		now               time.Time
		listens, compared int
	}{
		{3, time.Date(2026, 3, 1, 0, 0, 1, 0, time.UTC), 2, 1},
		{3, time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC), 2, 2},
		{3, time.Date(2026, 3, 10, 12, 0, 1, 0, time.UTC), 2, 3},
		{3, time.Date(2026, 3, 30, 0, 0, 0, 0, time.UTC), 2, 4}, // February was shorter
		{3, time.Date(2026, 4, 2, 0, 0, 0, 0, time.UTC), 2, 4},
		{2, time.Date(2026, 2, 28, 23, 59, 59, 0, time.UTC), 4, 0}, // and January longer
		{2, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), 4, 1},
	} {
		span, err := NewSpan(Month, time.Date(2026, test.month, 1, 0, 0, 0, 0, time.UTC))
		require.NoError(t, err)
		a := Count(all, someMusic(), Question{Span: span, Now: test.now})
		require.Equal(t, []int{test.listens, test.compared}, []int{a.Totals.Listens, a.Before.Listens}, test.now)
		require.Equal(t, test.compared, a.Tracks[0].Before, test.now)
		a = Count(all, someMusic(), Question{Span: span, Now: test.now, Filter: Filter{Track: together}})
		require.Zero(t, a.Before, "what the filter leaves out")
	}
}

// A year without 29 February has no such anniversary.
func TestALeapDayComesBackEveryFourYears(t *testing.T) {
	all := columnsOf(t, time.UTC, play{"2020-02-29 12:00", joga, nil}, play{"2023-03-01 12:00", joga, nil})
	now := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	a := Count(all, someMusic(), Question{Span: Span{Name: All}, Now: now})
	require.Equal(t, []Anniversary{{Day: DayOf(time.Date(2020, 2, 29, 0, 0, 0, 0, time.UTC)), Listens: 1, Track: joga}},
		a.Earlier)
}

func TestAnArtistComesBackAfterAYear(t *testing.T) {
	all := columnsOf(t, time.UTC, play{"2023-01-01 12:00", joga, nil}, play{"2026-11-02 12:00", joga, nil},
		play{"2026-11-03 12:00", joga, nil})
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	span, err := NewSpan(Month, now)
	require.NoError(t, err)
	a := Count(all, someMusic(), Question{Span: span, Now: now})
	require.Len(t, a.Back, 1)
	require.Equal(t, 1401*24*time.Hour, a.Back[0].Away)
	require.Zero(t, a.Streak, "not today, and not yesterday")
	require.Empty(t, Count(nil, &Music{}, Question{Span: span, Now: now}).Artists)
}

func TestSpansAcrossAChangeOfTheClock(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := time.Date(2026, 10, 25, 12, 0, 0, 0, berlin) // the day has 25 hours
	for name, want := range map[string][4]string{
		Day:   {"2026-10-25", "2026-10-26", "2026-10-24", "2026-10-26"},
		Week:  {"2026-10-19", "2026-10-26", "2026-10-12", "2026-10-26"},
		Month: {"2026-10-01", "2026-11-01", "2026-09-01", "2026-11-01"},
		Year:  {"2026-01-01", "2027-01-01", "2025-01-01", "2027-01-01"},
	} {
		s, err := NewSpan(name, at)
		require.NoError(t, err)
		before, _ := s.Before()
		after, _ := s.After()
		got := [4]string{}
		for i, at := range []time.Time{s.From, s.To, before.From, after.From} {
			require.Zero(t, at.Hour(), name)
			got[i] = at.Format(time.DateOnly)
		}
		require.Equal(t, want, got, name)
	}
	weekend := Span{From: time.Date(2026, 10, 24, 0, 0, 0, 0, berlin), To: time.Date(2026, 10, 26, 0, 0, 0, 0, berlin)}
	before, ok := weekend.Before()
	require.True(t, ok)
	require.Equal(t, "2026-10-22", before.From.Format(time.DateOnly))
	_, err = NewSpan("decade", at)
	require.Error(t, err)
}

// The top artist of each month, and the new artists heard in several months, are counted along with everything else.
func TestWhoLedAndWhoStayed(t *testing.T) {
	all := columnsOf(t, time.UTC, play{"2025-05-01 12:00", joga, nil},
		play{"2026-01-05 12:00", joga, nil}, play{"2026-01-06 12:00", joga, nil},
		play{"2026-02-01 12:00", together, nil},
		play{"2026-04-03 12:00", together, nil}, play{"2026-04-04 12:00", joga, nil})
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	span, err := NewSpan(Year, now)
	require.NoError(t, err)
	a := Count(all, someMusic(), Question{Span: span, Now: now, Lead: true})
	require.Len(t, a.Over, 11, "to this month")
	require.Equal(t, []Row{{ID: bjork, Listens: 2}, {ID: bjork, Listens: 1}, {}, {ID: bjork, Listens: 2}},
		[]Row{a.Over[0].Lead, a.Over[1].Lead, a.Over[2].Lead, a.Over[3].Lead})
	require.Equal(t, []Row{{ID: thom, Listens: 2, Pieces: 2}}, a.Stayed)
	a = Count(all, someMusic(), Question{Span: span, Now: now, Lead: true, Filter: Filter{Weekdays: 1 << 4}})
	require.Equal(t, Row{ID: bjork, Listens: 1}, a.Over[3].Lead, "on a Friday")
	require.Zero(t, a.Over[0].Lead)
	require.Empty(t, Count(all, someMusic(), Question{Span: span, Now: now}).Stayed, "unless asked for")
}
