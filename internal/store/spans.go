package store

import "time"

// spanLength is the length of a span in milliseconds. The numbers of spans are stored, so it never changes.
const spanLength = int64(30 * 24 * time.Hour / time.Millisecond)

// spanOf returns the number of the span of a time.
func spanOf(at time.Time) int64 {
	ms := at.UnixMilli()
	n := ms / spanLength
	if ms%spanLength < 0 {
		n--
	}
	return n
}
