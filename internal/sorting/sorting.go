// Package sorting sorts slices of structs.
package sorting

import (
	"cmp"
	"slices"
)

// By sorts s by compare. What compares as equal keeps its order.
//
// It sorts places and moves each element once. Package slices would do, too, but moves large elements often, and the
// program would have 20 KB of it for each type.
func By[S ~[]E, E any](s S, compare func(a, b E) int) {
	from := make([]int, len(s))
	for i := range from {
		from[i] = i
	}
	slices.SortFunc(from, func(i, j int) int { return cmp.Or(compare(s[i], s[j]), i-j) })
	was := slices.Clone(s)
	for to, i := range from {
		s[to] = was[i]
	}
}
