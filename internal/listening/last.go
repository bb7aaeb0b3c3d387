package listening

import (
	"slices"
	"time"
)

// LastBefore returns the time of the last listen before a time; false if there is none.
func LastBefore(all []*Columns, before time.Time) (time.Time, bool) {
	limit := before.Unix()
	for _, c := range slices.Backward(all) {
		n, _ := slices.BinarySearchFunc(c.At, limit, func(offset uint32, limit int64) int {
			if c.Start+int64(offset) < limit {
				return -1
			}
			return 1
		})
		if n > 0 {
			return time.Unix(c.Start+int64(c.At[n-1]), 0).UTC(), true
		}
	}
	return time.Time{}, false
}
