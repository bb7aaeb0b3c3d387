package listening

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// suspected returns what is suspicious in plays of tracks at seconds, which are stored in columns of a span each.
func suspected(m *Music, span int64, plays [][2]int64) (all []string) {
	by := map[int64]*Columns{}
	for _, p := range plays {
		start := p[0] / span * span
		if by[start] == nil {
			by[start] = &Columns{Start: start}
		}
		c := by[start]
		c.At, c.Spelling = append(c.At, uint32(p[0]-start)), append(c.Spelling, uint32(p[1]))
		c.Sources = append(c.Sources, 0)
	}
	starts := make([]int64, 0, len(by))
	for start := range by {
		starts = append(starts, start)
	}
	slices.Sort(starts)
	s := NewSuspects(m, func(v Suspect) bool {
		all = append(all, fmt.Sprint(v.Listens, " of ", v.Track, " from ", v.From, " to ", v.To, " lasting ", v.Length))
		return true
	})
	for _, start := range slices.Backward(starts) {
		s.Add(by[start])
	}
	s.End()
	return all
}

// tracks returns music in which the spelling n is of the track n, with these lengths in seconds.
func tracks(seconds ...uint32) *Music {
	all := make([]Meaning, len(seconds))
	for i, n := range seconds {
		all[i] = Meaning{Spelling: uint32(i), Track: uint32(i), Length: time.Duration(n) * time.Second}
	}
	return (&Music{}).With(all)
}

func TestOneTrackTwiceBeforeItEnds(t *testing.T) {
	t.Parallel()
	m := tracks(0, 200, 0, 7200)
	const day = 86400
	for name, c := range map[string]struct {
		plays [][2]int64
		want  []string
	}{
		"41 s apart":          {[][2]int64{{1000, 1}, {1041, 1}}, []string{"2 of 1 from 1000 to 1041 lasting 3m20s"}},
		"faded into itself":   {[][2]int64{{1000, 1}, {1186, 1}}, nil},
		"unknown length":      {[][2]int64{{1000, 2}, {1029, 2}}, []string{"2 of 2 from 1000 to 1029 lasting 0s"}},
		"unknown, half a min": {[][2]int64{{1000, 2}, {1030, 2}}, nil},
		"a mix of two hours":  {[][2]int64{{1000, 3}, {4601, 3}}, nil},
		"without a title":     {[][2]int64{{1000, 0}, {1001, 0}}, nil},
		"with another between": {[][2]int64{{1000, 1}, {1010, 2}, {1041, 1}},
			[]string{"2 of 1 from 1000 to 1041 lasting 3m20s"}},
		"across two spans": {[][2]int64{{day - 1, 1}, {day + 1, 1}, {day + 90000, 1}, {day + 90009, 1}},
			[]string{"2 of 1 from 176400 to 176409 lasting 3m20s", "2 of 1 from 86399 to 86401 lasting 3m20s"}},
		"three in a second": {[][2]int64{{5, 1}, {5, 1}, {5, 1}}, []string{"2 of 1 from 5 to 5 lasting 3m20s"}},
	} {
		require.Equal(t, c.want, suspected(m, day, c.plays), name)
	}
}

func TestTenSongsInAMinute(t *testing.T) {
	t.Parallel()
	m := tracks(0, 200, 200)
	var plays [][2]int64
	for i := range int64(12) {
		plays = append(plays, [2]int64{1000 + 4*i, 1 + i%2})
	}
	require.Equal(t, []string{"12 of 0 from 1000 to 1044 lasting 0s"}, suspected(m, 1020, plays))
	plays = append(plays, [2]int64{1100, 1}, [2]int64{3000, 2}, [2]int64{3001, 2})
	require.Equal(t, []string{"2 of 2 from 3000 to 3001 lasting 3m20s", "2 of 1 from 1040 to 1100 lasting 3m20s",
		"12 of 0 from 1000 to 1044 lasting 0s"}, suspected(m, 86400, plays), "the pairs within it are not named")
}

// TestSuspectsEqualACount of each listen with each other one, for random libraries in columns of any length.
func TestSuspectsEqualACount(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(15, 3))
	m := tracks(0, 200, 0, 30, 5000)
	pairs, stretches := 0, 0
	for range 300 {
		plays, wide := make([][2]int64, 40), 60+r.Int64N(1+r.Int64N(4000))
		for i := range plays {
			plays[i] = [2]int64{10_000 + r.Int64N(wide), r.Int64N(5)}
		}
		slices.SortFunc(plays, func(x, y [2]int64) int { return slices.Compare(x[:1], y[:1]) })
		joined := make([]bool, len(plays)) // with the one before, in some minute of ten
		for i := range plays[9:] {
			for n := i + 1; n < i+10 && plays[i+9][0]-plays[i][0] <= 60; n++ {
				joined[n] = true
			}
		}
		want := map[string]bool{}
		for i, b := range plays {
			first := i
			for joined[first] {
				first--
			}
			if first < i && (i+1 == len(plays) || !joined[i+1]) {
				stretches++
				want[fmt.Sprint(i-first+1, " of 0 from ", plays[first][0], " to ", b[0])] = true
			}
			for n := i - 1; n >= 0; n-- {
				if a := plays[n]; a[1] == b[1] {
					if b[0]-a[0] < []int64{0, 185, 30, 15, 3600}[b[1]] && n < first {
						pairs++
						want[fmt.Sprint("2 of ", b[1], " from ", a[0], " to ", b[0])] = true
					}
					break
				}
			}
		}
		got := suspected(m, 1+r.Int64N(9000), plays)
		require.Len(t, got, len(want))
		for _, v := range got {
			what, _, _ := strings.Cut(v, " lasting")
			require.Contains(t, want, what)
		}
	}
	require.Greater(t, pairs, 1000)
	require.Greater(t, stretches, 100)
}
