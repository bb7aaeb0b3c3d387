package versions

import "slices"

// Conflict is why the changes of two lists can't be merged. Empty: they can.
type Conflict string

// The conflicts.
const (
	Reordered Conflict = "reordered" // both put what they share into different orders
	Displaced Conflict = "displaced" // one moved what the other removed
	Shrunk    Conflict = "shrunk"    // more than half of what they had would be gone
	Unknown   Conflict = "unknown"   // they differ, and nothing tells what they had; never from Merge
)

// Merge returns what two lists become together: what either has added to, removed from or moved in the list that both
// were once. Items are numbers above 0, each at most once in a list. Merging one of the lists with the result returns
// that result, so one that was written to only one of them is not merged twice.
func Merge(base, here, there []int) (merged []int, why Conflict) {
	if slices.Equal(here, there) {
		return slices.Clone(here), ""
	}
	was, inHere, inThere := placesOf(base), placesOf(here), placesOf(there)
	shared := func(list []int) []int {
		return filter(list, func(n int) bool { return has(was, n) && has(inHere, n) && has(inThere, n) })
	}
	order, orderHere, orderThere := shared(base), shared(here), shared(there)
	movedHere, movedThere := !slices.Equal(order, orderHere), !slices.Equal(order, orderThere)
	if movedHere && movedThere && !slices.Equal(orderHere, orderThere) {
		return nil, Reordered
	}
	if displaced(was, here, inThere) || displaced(was, there, inHere) {
		return nil, Displaced
	}
	frame, inFrame, other, inOther := here, inHere, there, inThere
	if movedThere && !movedHere {
		frame, inFrame, other, inOther = there, inThere, here, inHere
	}
	merged = filter(frame, func(n int) bool { return !has(was, n) || has(inOther, n) })
	merged = Insert(merged, other, func(n int) bool { return !has(was, n) && !has(inFrame, n) })
	stayed := placesOf(merged)
	if gone := filter(base, func(n int) bool { return !has(stayed, n) }); 2*len(gone) > len(base) {
		return nil, Shrunk
	}
	return merged, ""
}

// Insert returns a list with items of another one added, those that only selects, each behind what is before it there.
func Insert(list, from []int, only func(int) bool) []int {
	in, behind, last := placesOf(list), map[int][]int{}, 0
	for _, n := range from {
		switch {
		case has(in, n):
			last = n
		case only(n):
			behind[last] = append(behind[last], n)
		}
	}
	all := slices.Clone(behind[0])
	for _, n := range list {
		all = append(append(all, n), behind[n]...)
	}
	return all
}

// displaced reports whether a list has moved an item that the other one no longer has.
func displaced(was map[int]int, list []int, other map[int]int) bool {
	kept := filter(list, func(n int) bool { return has(was, n) })
	places := make([]int, len(kept))
	for i, n := range kept {
		places[i] = was[n]
	}
	still := rising(places)
	for i, n := range kept {
		if !still[i] && !has(other, n) {
			return true
		}
	}
	return false
}

func placesOf(list []int) map[int]int {
	places := make(map[int]int, len(list))
	for i, n := range list {
		places[n] = i
	}
	return places
}

func has(places map[int]int, n int) bool {
	_, ok := places[n]
	return ok
}

func filter(list []int, keep func(int) bool) []int {
	return slices.DeleteFunc(slices.Clone(list), func(n int) bool { return !keep(n) })
}
