package sorting_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/sorting"
)

type play struct{ at, id int }

func TestEqualsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	byTime := func(a, b play) int { return a.at - b.at }
	for _, n := range []int{0, 1, 2, 10, 1000} {
		plays := make([]play, n)
		for i := range plays {
			plays[i] = play{at: rand.IntN(1 + n/3), id: i}
		}
		want := slices.Clone(plays)
		slices.SortStableFunc(want, byTime)
		sorting.By(plays, byTime)
		require.Equal(t, want, plays)
	}
}
