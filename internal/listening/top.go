package listening

import (
	"slices"
)

// Top returns the first n of some values in an order, or all of them if there are fewer. It may reorder all.
// A page shows ten of tens of thousands: most of them are only compared with the tenth.
func Top[T any](all []T, n int, order func(x, y T) int) []T {
	if n >= len(all)/8 {
		slices.SortStableFunc(all, order)
		n = min(n, len(all))
		return all[:n:n]
	}
	best := make([]T, 0, n+1)
	for _, v := range all {
		if len(best) == n && order(v, best[n-1]) >= 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, v, order)
		best = slices.Insert(best, at, v)[:min(n, len(best)+1)]
	}
	return best
}
