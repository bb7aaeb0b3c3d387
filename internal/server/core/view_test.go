package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"reprise/internal/words"
)

func TestSpansOfTimeInWords(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{time.Microsecond: "unter 1 ms", 45 * time.Millisecond: "45 ms",
		1540 * time.Millisecond: "1,5 s", 5 * time.Minute: "5 Minuten", 90 * time.Minute: "90 Minuten"} {
		require.Equal(t, want, Took(words.With(t.Context(), words.German), d))
	}
}
