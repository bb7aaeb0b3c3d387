package statistics

import (
	"time"
)

// SpanLength is the length of a span in milliseconds. The numbers of spans are stored, so it never changes.
const SpanLength = int64(30 * 24 * time.Hour / time.Millisecond)

// SpanOf returns the number of the span of a time.
func SpanOf(at time.Time) int64 {
	ms := at.UnixMilli()
	n := ms / SpanLength
	if ms%SpanLength < 0 {
		n--
	}
	return n
}
