package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/library"
	"reprise/internal/listening"
)

// model is an independent implementation of the rules about artists, by name.
type model struct {
	instead map[string][]string
	names   map[string]string
}

func (m *model) ends(name string) (all []string) {
	next, ok := m.instead[name]
	if !ok {
		return []string{name}
	}
	for _, n := range next {
		for _, end := range m.ends(n) {
			if !slices.Contains(all, end) {
				all = append(all, end)
			}
		}
	}
	return all
}

func (m *model) called(name string) string {
	if now, ok := m.names[name]; ok {
		return now
	}
	return name
}

// TestStatisticsFollowRulesBothWays checks that, after any mixture of listens, merges, divisions, renames and undos,
// statistics equal a count of the listens one by one.
func TestStatisticsFollowRulesBothWays(t *testing.T) {
	t.Parallel()
	s, user := setup(t)
	random := rand.New(rand.NewPCG(7, 8))
	type rule struct {
		library.Correction
		add func(*model)
	}
	var rules []rule
	base := time.Date(2024, 10, 20, 0, 0, 0, 0, time.UTC)
	current := func() *model {
		m := &model{map[string][]string{}, map[string]string{}}
		for _, r := range rules {
			r.add(m)
		}
		return m
	}
	check := func() {
		t.Helper()
		m := current()
		artists, tracks := map[string]int{}, map[string]int{}
		for _, l := range everything(t, s, user) {
			ends := m.ends(l.Artist)
			for _, name := range ends {
				artists[m.called(name)]++
			}
			tracks[fmt.Sprint(ends, l.Title)]++
		}
		require.Equal(t, artists, counts(t, s, user, library.KindArtist))
		columns, err := s.Columns(t.Context(), user)
		require.NoError(t, err)
		music, err := s.Meanings(t.Context())
		require.NoError(t, err)
		a := listening.Count(columns, music, listening.Question{Span: listening.Span{Name: listening.All},
			Now: base.AddDate(3, 0, 0), Most: 1000})
		var listens []int
		for _, row := range a.Tracks {
			listens = append(listens, row.Listens)
		}
		var want []int
		for _, n := range tracks {
			want = append(want, n)
		}
		require.ElementsMatch(t, want, listens)
		played := 0
		for _, l := range everything(t, s, user) {
			if slices.ContainsFunc(l.Sources, func(o library.Source) bool { return o.Player != "" }) {
				played++
			}
		}
		if played > 0 {
			require.Equal(t, []listening.Player{{Name: "Rhythmbox", Listens: played}}, a.Players)
		}
	}
	for step := range 60 {
		plays := make([]library.Listen, 3)
		for i := range plays {
			at := base.Add(time.Duration(random.IntN(700*24*60)) * time.Minute)
			plays[i] = library.Listen{PlayedAt: at, Track: library.Track{Title: fmt.Sprint("Song ", random.IntN(5)),
				Artist: fmt.Sprint("Artist ", random.IntN(6+step/10)), SourceID: fmt.Sprint(step, i)},
				Player: []string{"", "Rhythmbox"}[random.IntN(2)]}
		}
		save(t, s, user, "lastfm", plays...)
		m := current()
		var roots []string
		for _, l := range everything(t, s, user) {
			for _, end := range m.ends(l.Artist) {
				if !slices.Contains(roots, end) {
					roots = append(roots, end)
				}
			}
		}
		random.Shuffle(len(roots), func(i, j int) { roots[i], roots[j] = roots[j], roots[i] })
		id := func(name string) int64 {
			return int64(number(t, s, "SELECT id FROM entities WHERE kind = 'artist' AND artist = '"+name+"'"))
		}
		var c library.Correction
		var err error
		var add func(*model)
		switch op := random.IntN(5); {
		case op < 2 && len(rules) > 0:
			i := random.IntN(len(rules))
			undone(t, s, rules[i].Correction)
			rules = slices.Delete(rules, i, i+1)
		case op == 2 && len(roots) > 1:
			from, to := roots[0], roots[1]
			c, err = s.MergeMusic(t.Context(), user, library.KindArtist, id(from), id(to))
			add = func(m *model) { m.instead[from] = []string{to} }
		case op == 3:
			from, to := roots[0], []string{fmt.Sprint("One ", step), fmt.Sprint("Two ", step)}
			c, err = s.DivideMusic(t.Context(), user, library.KindArtist, id(from), library.Division{Names: to})
			add = func(m *model) { m.instead[from] = to }
		case op == 4:
			from, to := roots[0], fmt.Sprint("Name ", step)
			c, err = s.RenameMusic(t.Context(), user, library.KindArtist, id(from), to)
			add = func(m *model) { m.names[from] = to }
		}
		require.NoError(t, err)
		if add != nil {
			rules = append(rules, rule{c, add})
		}
		if step%3 == 0 {
			check()
		}
	}
	for _, r := range rules {
		undone(t, s, r.Correction)
	}
	rules = nil
	check()
	require.Zero(t, number(t, s, "SELECT count(*) FROM entities WHERE artist LIKE 'One %' OR artist LIKE 'Two %'"))
}
