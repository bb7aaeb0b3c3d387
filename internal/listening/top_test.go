package listening

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTopIsTheBeginningOfTheOrder(t *testing.T) {
	for range 300 {
		all := make([]int, 1+rand.IntN(200))
		for i := range all {
			all[i] = rand.IntN(50)
		}
		sorted := slices.Sorted(slices.Values(all))
		n := 1 + rand.IntN(30)
		require.Equal(t, sorted[:min(n, len(sorted))], Top(all, n, cmp.Compare[int]), "%d of %d", n, len(all))
	}
}
