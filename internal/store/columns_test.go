package store

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/listening"
)

// everything returns all listens of a person, the earliest first.
func everything(t *testing.T, s *Store, user int64) (all []library.StoredListen) {
	t.Helper()
	for next := ""; ; {
		page, more, err := s.Listens(t.Context(), user, next, 1000)
		require.NoError(t, err)
		all = append(all, page...)
		if next = more; next == "" {
			slices.Reverse(all)
			return all
		}
	}
}

// TestStatisticsEqualACountOfTheListens after any mixture of pages from two services and a disconnect, in zones with
// and without summer time.
func TestStatisticsEqualACountOfTheListens(t *testing.T) {
	s, user := setup(t)
	connect(t, s, user, "lastfm")
	random := rand.New(rand.NewPCG(1, 2))
	base := time.Date(2024, 10, 20, 0, 0, 0, 0, time.UTC)
	var earlier []library.Listen
	for page := range 30 {
		from := []library.ConnectionID{"spotify", "lastfm"}[page%2]
		plays := make([]library.Listen, 20)
		for i := range plays {
			at := base.Add(time.Duration(random.IntN(400*24*60)) * time.Minute)
			plays[i] = library.Listen{SourceID: fmt.Sprint(from, at.Unix()), PlayedAt: at, Track: library.Track{
				Title: fmt.Sprint("Song ", random.IntN(9)), Artist: fmt.Sprint("Artist ", random.IntN(7))},
				Player: fmt.Sprint("Player ", random.IntN(3))}
			if random.IntN(3) == 0 {
				plays[i].Player = ""
			}
		}
		if page%5 == 4 { // another service reports what was reported before
			for i, l := range earlier {
				plays[i] = l
				plays[i].SourceID, plays[i].Player = fmt.Sprint(from, "again", l.SourceID), "Another"
			}
		}
		earlier = plays
		save(t, s, user, from, plays...)
		if page%7 == 3 {
			equalsACount(t, s, user, base.Add(time.Duration(random.IntN(400*24))*time.Hour))
		}
	}
	require.Greater(t, count(t, s, user), 450)
	for range 5 {
		equalsACount(t, s, user, base.Add(time.Duration(random.IntN(400*24))*time.Hour))
	}
	require.NoError(t, s.DeleteConnection(t.Context(), user, "lastfm", true))
	equalsACount(t, s, user, base.AddDate(0, 3, 0))
}

// equalsACount compares statistics of the spans around a time with a count of all listens, one by one.
func equalsACount(t *testing.T, s *Store, user int64, now time.Time) {
	t.Helper()
	columns, err := s.Columns(t.Context(), user)
	require.NoError(t, err)
	music, err := s.Meanings(t.Context())
	require.NoError(t, err)
	all := everything(t, s, user)
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/St_Johns"} {
		at, err := time.LoadLocation(zone)
		require.NoError(t, err)
		for _, name := range []string{listening.Day, listening.Week, listening.Month, listening.Year, listening.All} {
			span, err := listening.NewSpan(name, now.In(at))
			require.NoError(t, err)
			a := listening.Count(columns, music, listening.Question{Span: span, Now: now.In(at), Most: 100})
			artists, days, hours, total, over := map[string]int{}, map[string]int{}, [7][24]int{}, 0, 0
			sources, players := map[library.ConnectionID]listening.Source{}, map[string]int{}
			for _, l := range all {
				if name != listening.All && (l.PlayedAt.Before(span.From) || !l.PlayedAt.Before(span.To)) {
					continue
				}
				local := l.PlayedAt.In(at)
				total++
				artists[l.Artist]++
				countSources(l.Sources, sources, players)
				days[local.Format(time.DateOnly)]++
				hours[(int(local.Weekday())+6)%7][local.Hour()]++
			}
			require.Equal(t, total, a.Totals.Listens, "%s %s", name, zone)
			require.Equal(t, len(artists), a.Totals.Artists)
			require.Equal(t, hours, a.Hours)
			require.Len(t, a.Sources, len(sources))
			for _, one := range a.Sources {
				require.Equal(t, sources[one.Connection], one)
			}
			require.Len(t, a.Players, len(players))
			for _, one := range a.Players {
				require.Equal(t, players[one.Name], one.Listens, one.Name)
			}
			require.Len(t, a.Days, len(days))
			for _, d := range a.Days {
				require.Equal(t, days[listening.Date(d.Day).Format(time.DateOnly)], d.Listens)
			}
			for _, p := range a.Over {
				over += p.Listens
			}
			require.Equal(t, total, over)
			require.True(t, slices.IsSortedFunc(a.Artists, func(x, y listening.Row) int {
				return cmp.Compare(y.Listens, x.Listens)
			}))
			for _, row := range a.Artists {
				m, err := s.Music(t.Context(), user, library.KindArtist, int64(row.ID))
				require.NoError(t, err)
				require.Equal(t, artists[m.Artist], row.Listens, m.Artist)
			}
		}
	}
}

// countSources counts a listen by its sources.
func countSources(all []library.Source, sources map[library.ConnectionID]listening.Source, players map[string]int) {
	connections, played := map[library.ConnectionID]bool{}, map[string]bool{}
	for _, one := range all {
		connections[one.Connection], played[one.Player] = true, true
	}
	delete(played, "")
	for id := range connections {
		v := sources[id]
		v.Connection = id
		v.Listens++
		if len(connections) == 1 {
			v.Only++
		}
		sources[id] = v
	}
	for name := range played {
		players[name]++
	}
}

// Columns are built before anybody asks for them, and again only after their listens have changed.
func TestColumnsAreBuiltAhead(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	built := func() (n int) {
		require.NoError(t, s.BuildColumns(t.Context()))
		return number(t, s, "SELECT count(*) FROM listen_columns WHERE data IS NOT NULL")
	}
	const month = 31 * 24 * 60
	save(t, s, user, "spotify", by(0, "One", "Air"), by(-month, "Two", "Air"), by(-2*month, "Three", "Air"))
	require.Equal(t, 2, built(), "the latest changes all the time")
	version := number(t, s, "SELECT sum(version) FROM listen_columns")
	require.Equal(t, 2, built())
	require.Equal(t, version, number(t, s, "SELECT sum(version) FROM listen_columns"))
	save(t, s, user, "spotify", by(-month-10, "Four", "Air"))
	require.Equal(t, 1, number(t, s, "SELECT count(*) FROM listen_columns WHERE data IS NOT NULL"))
	require.Equal(t, 2, built())
	equalsACount(t, s, user, at(0))
}

// TestARecountMendsTheStatistics damages columns, as a bad disk would, and rebuilds them.
func TestARecountMendsTheStatistics(t *testing.T) {
	s, user := setup(t)
	base := time.Date(2024, 10, 20, 0, 0, 0, 0, time.UTC)
	for day := range 200 {
		save(t, s, user, "spotify", library.Listen{SourceID: fmt.Sprint(day), PlayedAt: base.AddDate(0, 0, day),
			Track: library.Track{Title: "Song", Artist: fmt.Sprint("Artist ", day%7)}})
	}
	before, err := s.Columns(t.Context(), user)
	require.NoError(t, err)
	require.Greater(t, len(before), 5)
	for _, harm := range []string{
		"DELETE FROM listen_columns WHERE span % 2 = 0",
		`UPDATE listen_columns
			SET data = (SELECT data FROM listen_columns WHERE data IS NOT NULL ORDER BY span LIMIT 1)`,
		"UPDATE listen_columns SET data = substr(data, 1, 12)",
	} {
		require.NoError(t, s.Exec(t.Context(), harm))
		listens, err := s.Recount(t.Context())
		require.NoError(t, err)
		require.Equal(t, 200, listens, harm)
		after, err := s.Columns(t.Context(), user)
		require.NoError(t, err)
		require.Equal(t, before, after, harm)
		equalsACount(t, s, user, base.AddDate(0, 3, 0))
	}
}
