package versions_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"reprise/internal/versions"
)

func TestChangesOfBothSidesAreMerged(t *testing.T) {
	for _, test := range []struct {
		name              string
		base, here, there []int
		merged            []int
		why               versions.Conflict
	}{
		{"nothing", []int{1, 2}, []int{1, 2}, []int{1, 2}, []int{1, 2}, ""},
		{"only here", []int{1, 2, 3}, []int{3, 1, 4}, []int{1, 2, 3}, []int{3, 1, 4}, ""},
		{"only there", []int{1, 2, 3}, []int{1, 2, 3}, []int{3, 1, 4}, []int{3, 1, 4}, ""},
		{"both add", []int{1, 2}, []int{1, 3, 2}, []int{4, 1, 2, 5}, []int{4, 1, 3, 2, 5}, ""},
		{"both add the same", []int{1}, []int{1, 2}, []int{2, 1}, []int{1, 2}, ""},
		{"one adds, one removes", []int{1, 2, 3}, []int{1, 2, 3, 4}, []int{1, 3}, []int{1, 3, 4}, ""},
		{"both remove", []int{1, 2, 3, 4}, []int{2, 3, 4}, []int{1, 2, 3}, []int{2, 3}, ""},
		{"one moves, one adds", []int{1, 2, 3}, []int{1, 2, 4, 3}, []int{3, 1, 2}, []int{3, 1, 2, 4}, ""},
		{"both move alike", []int{1, 2, 3}, []int{3, 1, 2}, []int{3, 1, 2, 4}, []int{3, 1, 2, 4}, ""},
		{"both move", []int{1, 2, 3}, []int{3, 1, 2}, []int{2, 1, 3}, nil, versions.Reordered},
		{"moved and removed", []int{1, 2, 3, 4}, []int{4, 1, 2, 3}, []int{1, 2, 3}, nil, versions.Displaced},
		{"emptied", []int{1}, []int{}, []int{1}, nil, versions.Shrunk},
		{"more than half gone", []int{1, 2, 3}, []int{1, 2, 3, 4}, []int{1}, nil, versions.Shrunk},
		{"half gone", []int{1, 2}, []int{1, 2}, []int{1}, []int{1}, ""},
		{"gone together", []int{1, 2, 3}, []int{1, 2}, []int{3}, nil, versions.Shrunk},
		{"both emptied", []int{1, 2, 3}, []int{}, []int{}, []int{}, ""},
		{"from nothing", nil, []int{1}, []int{2}, []int{2, 1}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			merged, why := versions.Merge(test.base, test.here, test.there)
			require.Equal(t, test.why, why)
			require.Equal(t, test.merged, merged)
		})
	}
}

// listOf reads a list of different items above 0.
func listOf(b []byte) (list []int) {
	for _, n := range b {
		if item := int(n%16) + 1; !slices.Contains(list, item) {
			list = append(list, item)
		}
	}
	return list
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte{1, 2, 3}, []byte{3, 1, 2}, []byte{1, 3, 4})
	f.Add([]byte{1, 2, 3, 4}, []byte{2, 3, 4, 5}, []byte{1, 6, 2, 3})
	f.Fuzz(func(t *testing.T, b, h, o []byte) {
		base, here, there := listOf(b), listOf(h), listOf(o)
		merged, why := versions.Merge(base, here, there)
		_, back := versions.Merge(base, there, here)
		require.Equal(t, why == "", back == "", "a question is one from either side")
		if why != "" {
			return
		}
		for item := 1; item <= 16; item++ {
			in := func(list []int) bool { return slices.Contains(list, item) }
			wanted := in(here) && in(there) || !in(base) && (in(here) || in(there))
			require.Equal(t, wanted, in(merged), "item %d", item)
		}
		require.Len(t, listOfInts(merged), len(merged), "nothing twice")
		for _, half := range [][2][]int{{here, merged}, {merged, there}, {merged, merged}} {
			again, why := versions.Merge(base, half[0], half[1])
			require.Empty(t, why)
			require.Equal(t, len(merged), len(again))
			require.True(t, slices.Equal(merged, again), "%v is merged again to %v", merged, again)
		}
		if slices.Equal(base, there) {
			require.True(t, slices.Equal(here, merged))
		}
		if slices.Equal(base, here) {
			require.True(t, slices.Equal(there, merged))
		}
	})
}

func listOfInts(list []int) []int { return slices.Compact(slices.Sorted(slices.Values(list))) }
