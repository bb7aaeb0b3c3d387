package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpansOfTimeInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{0: "0 minutes", time.Second: "under a minute",
		59 * time.Second: "under a minute", 61 * time.Second: "1 minute", 90 * time.Minute: "90 minutes"} {
		require.Equal(t, want, Minutes(d))
	}
	for d, want := range map[time.Duration]string{time.Microsecond: "under 1 ms", 45 * time.Millisecond: "45 ms",
		1540 * time.Millisecond: "1.5 s", 5 * time.Minute: "5 minutes"} {
		require.Equal(t, want, Took(d))
	}
}
